-- pytorch_spec.lua: files that PyTorch's safetensors saved load by one call and give PyTorch's
-- outputs; files saved here load there (spec/fixtures/make_models.py makes and checks them).

local sgl = require "sgl"
local support = require "spec.support"

local nn = sgl.nn
local fixtures = support.root .. "spec/fixtures/"

local Layer = nn.module("Layer", function(self, width, heads, hidden)
  self.self_attn = nn.MultiheadAttention(width, heads)
  self.linear1, self.linear2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
  self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
end)
function Layer:forward(x)
  x = self.norm1(x + self.self_attn(x))
  return self.norm2(x + self.linear2(nn.relu(self.linear1(x))))
end

local Encoder = nn.module("Encoder", function(self)
  self.layers = { Layer(8, 2, 16), Layer(8, 2, 16) }
  self.norm = nn.LayerNorm(8)
end)
function Encoder:forward(x)
  for _, layer in ipairs(self.layers) do x = layer(x) end
  return self.norm(x)
end

local MODELS = {
  sequential = function()
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.BatchNorm1d(6), nn.Linear(6, 3))
  end,
  encoder = Encoder,
  lstm = function() return nn.LSTM(3, 5, { layers = 2 }) end,
}

local data
setup(function() data = assert(sgl.load(fixtures .. "models.safetensors")) end)

local function loaded(name)
  local model = MODELS[name]()
  model:load_state_dict(sgl.load(fixtures .. name .. ".safetensors"), { from = "pytorch" })
  return model:eval()
end

-- A safetensors file of bytes, whose header is given.
local function file_of(path, header, bytes)
  return support.write(path, ("<s8"):pack(header) .. bytes)
end

for name in pairs(MODELS) do
  describe("a " .. name .. " that PyTorch saved", function()
    it("gives PyTorch's outputs, compiled too", function()
      local model = loaded(name)
      local function forward(x) return (model(x)) end
      for _, fn in ipairs { forward, sgl.compile(forward),
                            sgl.compile(forward, { dynamic = true }) } do
        support.close(fn(data[name .. ".input"]), data[name .. ".output"], 1e-5, 1e-6, name)
      end
    end)

    it("has PyTorch's names and values when it is saved for it", function()
      local file = sgl.load(fixtures .. name .. ".safetensors")
      local dict = loaded(name):state_dict { names = "pytorch" }
      local count = 0
      for _, key in ipairs(dict) do
        assert(file[key], key)
        assert.are.same(file[key]:tolist(), dict[key]:tolist())
        count = count + 1
      end
      assert.are.equal(#file, count)
    end)

    it("is refused where its names would fall into other places", function()
      local model = MODELS[name]()
      local before = model:state_dict()
      local ok, e = pcall(model.load_state_dict, model,
        (sgl.load(fixtures .. name .. ".safetensors")), { strict = false })
      if name == "lstm" then return assert.is_true(ok) end
      assert.is_false(ok)
      assert.matches("from = \"pytorch\"", e.hint, 1, true)
      for _, key in ipairs(before) do assert.are.equal(before[key], model:state_dict()[key]) end
    end)
  end)
end

describe("files saved here", function()
  it("load into PyTorch by its strict load_state_dict and give the same there", function()
    local folder = support.folder()
    for name in pairs(MODELS) do
      assert(sgl.save(loaded(name):state_dict { names = "pytorch" },
        folder .. name .. ".safetensors"))
    end
    local out, status = support.run(("cd %s && python3 make_models.py check %s"):format(fixtures,
      folder))
    support.remove(folder)
    if status == 77 or status == 127 then return pending("no PyTorch here: " .. out) end
    assert.are.equal(0, status, out)
  end)
end)

describe("the names of a module", function()
  it("are PyTorch's where positions are, and no others are shifted", function()
    local m = nn.module("Net", function(self)
      self.list = { nn.Linear(1, 1, { bias = false }), { nn.Linear(1, 1, { bias = false }) } }
      self.named = { ["1"] = nn.Linear(1, 1, { bias = false }) }
      self.zero = { [0] = nn.Linear(1, 1, { bias = false }), nn.Linear(1, 1, { bias = false }) }
      self.attn = nn.MultiheadAttention(2, 1, { bias = false })
    end)()
    local dict = m:state_dict { names = "pytorch" }
    assert.are.same({ "list.0.weight", "list.1.0.weight", "named.1.weight", "zero.0.weight",
      "zero.1.weight", "attn.in_proj_weight", "attn.out_proj.weight" }, { table.unpack(dict) })
    assert.are.same({ 6, 2 }, { table.unpack(dict["attn.in_proj_weight"].shape) })
    m:load_state_dict(dict, { from = "pytorch" })
  end)

  it("may be taken as they are", function()
    local m = nn.Sequential(nn.ReLU(), nn.Linear(1, 1, { bias = false }))
    local _, missing, extra = m:load_state_dict({ ["1.weight"] = sgl.ones(1, 1) },
      { from = "sgl", strict = false })
    assert.are.same({ { "2.weight" }, { "1.weight" } }, { missing, extra })
    assert.matches("from = \"pytorch\"", support.error_of(m.load_state_dict, m,
      { ["1.weight"] = sgl.ones(1, 1), other = sgl.ones(1) }, { strict = false }).hint, 1, true)
    for _, call in ipairs { { m.load_state_dict, m, {}, { from = "torch" } },
                            { m.state_dict, m, { names = "torch" } } } do
      assert.matches("must be 'sgl' or 'pytorch', got 'torch'",
        support.error_of(table.unpack(call)).message)
    end
  end)

  it("are joined from tensors of one dtype and of fitting sizes only", function()
    local m = nn.MultiheadAttention(2, 1, { bias = false })
    local before = m:state_dict()
    local e = support.error_of(m.load_state_dict, m,
      { in_proj_weight = sgl.ones(5, 2), ["out_proj.weight"] = sgl.ones(2, 2) },
      { from = "pytorch" })
    assert.matches("'in_proj_weight' is f32%[6, 2%] here and f32%[5, 2%] in the dict", e.message)
    assert.are.equal(before["out.weight"], m.out.weight)
  end)
end)

describe("a dtype that there is not here", function()
  local path
  local HEADER = '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
    .. '"q.b":{"dtype":"%s","shape":[2],"data_offsets":[4,%d]}}'
  setup(function() path = os.tmpname() end)
  teardown(function() os.remove(path) end)

  for dtype, bytes in pairs { I8 = 1, U16 = 2, I16 = 2, U32 = 4, U64 = 8, F8_E4M3 = 1, C64 = 8 } do
    it("is refused where its tensor is asked for, and only there: " .. dtype, function()
      file_of(path, HEADER:format(dtype, 4 + 2 * bytes), ("<f"):pack(2.5) .. ("\0"):rep(2 * bytes))
      local dict = assert(sgl.load(path))
      assert.are.same({ "a", "q.b" }, { table.unpack(dict) })
      assert.are.equal(2.5, dict.a:item())
      assert.is_nil(dict.none)
      local e = support.error_of(function() return dict["q.b"] end)
      assert.are.equal("SGL_EDTYPE", e.code)
      assert.matches("'q.b' of .* is " .. dtype, e.message)
      assert.matches("pytorch_spec.lua", e.file)
      local m = nn.module("Net", function(self) self.a = nn.parameter(sgl.zeros(1)) end)()
      local _, missing, extra = m:load_state_dict(sgl.load(path), { strict = false })
      assert.are.same({ {}, { "q.b" } }, { missing, extra })
      assert.are.equal(2.5, m.a:item())
      assert.matches("unexpected: q.b", support.error_of(m.load_state_dict, m,
        (sgl.load(path))).message)
      assert.are.same({ "b" }, { table.unpack((sgl.load(path, { prefix = "q." }))) })
      assert.are.equal(1, #sgl.data.safetensors(path, "a"))
      assert.are.equal("SGL_EDTYPE", support.error_of(sgl.data.safetensors, path).code)
      assert.are.equal("SGL_EDTYPE", support.error_of(sgl.save, dict, path).code)
      assert.are.equal(2.5, sgl.load(path).a:item())
    end)
  end
end)
