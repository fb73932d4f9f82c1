-- check/init.lua: sgl.rollout: one script in stages, from one device to many ranks, and a verdict.
-- `sgl check` is the same on the command line (main.lua).
--
-- Holds: what runs the stages is loaded when there is something to run.
local api = require "sgl.api"
local core = require "sgl.core"

api.fn(api.root, "rollout", {
  doc = "Runs a script in stages, from one rank to many, each in processes of its own, and "
    .. "compares graphs, data, state, losses, exported files and checkpoints. `sgl check` is the "
    .. "same. See rollout.md.",
  opts = { { "script", "string", nil, "the path of the script" },
           { "arguments", "table", nil, "texts that it gets" },
           { "stages", "table", nil, "default { 'single', 'ddp:2', 'fsdp:2' }" },
           { "steps", "integer", 20, "training steps of each stage", within = { 2, 1000000 } },
           { "exact", "integer", 8, "blocks of exact mode; 0: compare within rounding",
             within = { 0, 256 } },
           { "timeout", "number", 30, "seconds that a rank waits for the others" },
           { "limit", "integer", 600, "seconds that a stage may take", within = { 1, 1000000 } },
           { "keep_going", "boolean", false, "go on behind a stage that fails" } },
  returns = "Report: ok, lines, first_failure(), json(), junit(), html()",
  errors = "no script, a stage that is none",
}, function(o)
  if not o.script then
    core.raise("SGL_EARG", "rollout: option 'script' is missing", "script = \"train.lua\"")
  end
  o.stages = o.stages or { "single", "ddp:2", "fsdp:2" }
  local report = require "sgl.check.run"(o)
  return report      -- no tail call: messages name the line that called
end)
