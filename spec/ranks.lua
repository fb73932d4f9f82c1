-- ranks.lua: jobs of several ranks, for specs.

local support = require "spec.support"

local M = {}

M.models = support.root .. "spec/shard/models.lua"

-- Output and status of `sgl run` with so many ranks and these words.
function M.run(ranks, words)
  return support.run(("%s run -n %d %s"):format(support.binary, ranks, words))
end

-- What a command of sgl prints on rank 0, without what is written to stderr.
function M.output(command)
  local out, status = support.run(("%s %s 2>/dev/null"):format(support.binary, command))
  assert(status == 0, out)
  return out
end

-- Three steps of one of the models on the ranks.
function M.train(ranks, settings, model, rows)
  return M.output(("run -n %d %s %s %s %d 3"):format(ranks, settings, M.models, model, rows))
end

-- Are all these words in a text?
function M.says(out, ...)
  for _, words in ipairs { ... } do
    assert(out:find(words, 1, true), words .. "\n---\n" .. out)
  end
end

return M
