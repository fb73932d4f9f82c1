-- data_spec.lua: files become the rows they hold, batches come in an order that depends on the seed
-- and the epoch only, and state survives a file.

local sgl = require "sgl"
local support = require "spec.support"
local data = sgl.data

local folder
local function write(name, text)
  local path = folder .. name
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

setup(function()
  folder = os.tmpname()
  os.remove(folder)
  os.execute("mkdir -p " .. folder)
  folder = folder .. "/"
end)
teardown(function() os.execute("rm -r " .. folder) end)

local function numbers(n) return data.dataset(sgl.arange(n):reshape(n, 1), sgl.arange(n)) end

local function order_of(batches)
  local list = {}
  for x in batches do table.move(x:flatten():tolist(), 1, x.shape[1], #list + 1, list) end
  return list
end

describe("a dataset", function()
  it("gives each row once in an epoch, with its label", function()
    local seen = {}
    for x, y in numbers(10):batches(3) do
      assert.are.same(x:flatten():tolist(), y:tolist())
      for _, v in ipairs(y:tolist()) do seen[v + 1] = true end
    end
    assert.are.equal(10, #seen)
  end)

  it("has another order in each epoch, the same for the same seed and epoch", function()
    sgl.seed(5)
    local first, again = numbers(20), numbers(20)
    local one, two = order_of(first:batches(6)), order_of(first:batches(6))
    assert.are_not.same(one, two)
    sgl.rand(3):realize()
    assert.are.same(one, order_of(again:batches(4)))
    assert.are.same(two, order_of(again:batches(20, { epoch = 2 })))
    sgl.seed(6)
    assert.are_not.same(one, order_of(again:batches(6, { epoch = 1 })))
  end)

  it("leaves the random numbers of the script alone", function()
    sgl.seed(5)
    local want = sgl.rand(3):tolist()
    sgl.seed(5)
    numbers(20):split(0.5)
    order_of(numbers(20):batches(6))
    assert.are.same(want, sgl.rand(3):tolist())
  end)

  it("keeps or leaves out a smaller last batch", function()
    local function sizes(options)
      local list = {}
      for x in numbers(10):batches(4, options) do list[#list + 1] = x.shape[1] end
      return list
    end
    assert.are.same({ 4, 4, 2 }, sizes {})
    assert.are.same({ 4, 4 }, sizes { drop_last = true })
  end)

  it("is split into parts that share no row", function()
    local train, test = numbers(10):split(0.7)
    assert.are.equal(7, #train)
    assert.are.equal(3, #test)
    local all = order_of(train:batches(10))
    table.move(order_of(test:batches(10)), 1, 3, 8, all)
    table.sort(all)
    assert.are.same({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, all)
  end)
end)

describe("a file", function()
  it("of CSV gives scaled features and labels, by position and by name", function()
    local path = write("a.csv", "a,b,kind\n1,2,0\n3,4,1\n")
    for _, label in ipairs { "kind", 3, -1 } do
      local x, y = data.csv(path, { label = label, scale = 2 }):batches(2, { shuffle = false })()
      assert.are.same({ { 2.0, 4.0 }, { 6.0, 8.0 } }, x:tolist())
      assert.are.same({ 0, 1 }, y:tolist())
    end
    local e = support.error_of(data.csv, path, { label = "kid" })
    assert.matches("no column 'kid' %(did you mean 'kind'%?%)", e.message)
  end)

  it("of IDX gives images and labels", function()
    local images = write("i.idx", "\0\0\8\3\0\0\0\2\0\0\0\1\0\0\0\2" .. "\0\255\255\0")
    local labels = write("l.idx", "\0\0\8\1\0\0\0\2" .. "\7\9")
    local ds = data.idx(images, labels, { scale = 1 / 255 })
    assert.are.same({ { { { 0.0, 1.0 } }, { { 1.0, 0.0 } } }, { 7, 9 } },
      { ds.tensors[1]:tolist(), ds.tensors[2]:tolist() })
  end)

  it("of text gives windows whose targets are one character ahead", function()
    local text = data.text(write("a.txt", "héllo wörld, hello"))
    assert.are.equal(18, #text)
    assert.are.equal("hö", text:decode(text:encode "hö"))
    for _, options in ipairs { { length = 4, steps = 3 }, { length = 4 } } do
      for x, y in text:batches(2, options) do
        assert.are.same({ 2, 4 }, x.shape)
        assert.are.same(x[{ {}, { 2, 4 } }]:tolist(), y[{ {}, { 1, 3 } }]:tolist())
      end
    end
    local x = text:batches(2, { length = 4, shuffle = false })()
    assert.are.equal("héllo wö", text:decode(x))
    assert.are.equal("SGL_EARG", support.error_of(text.encode, text, "z").code)
  end)

  it("that is missing gives nil, a message and a code", function()
    for _, read in ipairs { data.csv, data.idx, data.text, data.safetensors, sgl.load } do
      local value, message, code = read(folder .. "none")
      assert.is_nil(value)
      assert.matches("none", message)
      assert.are.equal("SGL_EFILE", code)
    end
  end)
end)

describe("an iterator", function()
  it("is stacked to batches", function()
    local stream = data.iterator(function(epoch)
      local i = 0
      return function()
        i = i + 1
        if i <= 5 then return { i, epoch }, i end
      end
    end)
    local batches = {}
    for x, y in stream:batches(2) do batches[#batches + 1] = { x:tolist(), y:tolist() } end
    assert.are.same({ { { { 1, 1 }, { 2, 1 } }, { 1, 2 } }, { { { 3, 1 }, { 4, 1 } }, { 3, 4 } },
      { { { 5, 1 } }, { 5 } } }, batches)
  end)
end)

describe("an iterator that is a coroutine", function()
  local function stream(n)
    return data.iterator(function(epoch)
      return coroutine.wrap(function()
        for i = 1, n do coroutine.yield({ i, epoch }, i) end
      end)
    end)
  end

  it("ends with its last sample, also within a batch", function()
    for n = 0, 5 do
      local s, seen = stream(n), {}
      for epoch = 1, 2 do
        for x, y in s:batches(2) do
          for k, v in ipairs(y:tolist()) do
            seen[#seen + 1] = v
            assert.are.same({ v, epoch }, x[k]:tolist())
          end
        end
        assert.are.equal(n * epoch, #seen)
      end
    end
  end)

  it("raises its own errors as they are", function()
    local broken = data.iterator(function()
      return coroutine.wrap(function()
        coroutine.yield(1)
        error "the disk is gone"
      end)
    end)
    local e = support.error_of(function() for _ in broken:batches(2) do end end)
    assert.matches("^[^:]*data_spec.lua:%d+: the disk is gone$", e)
  end)
end)

describe("a sample that does not fit", function()
  local function of(list)
    return data.iterator(function()
      local i = 0
      return function()
        i = i + 1
        if list[i] then return table.unpack(list[i], 1, list[i].n or #list[i]) end
      end
    end)
  end
  for text, list in pairs {
    ["value 1 of sample 3 is 'a', which makes no tensor"] = { { 1 }, { 2 }, { "a" } },
    ["value 2 of sample 2 is nil, which makes no tensor"] = { { 1, 1 }, { 1, nil, n = 2 } },
    ["value 1 of sample 2 is i32[1], that of the first is i32[2]"] = { { { 1, 2 } }, { { 1 } } },
    ["sample 3 has 2 values, those before have 1"] = { { 1 }, { 1 }, { 1, 2 } },
  } do
    it("is named by its number: " .. text, function()
      local e = support.error_of(function() for _ in of(list):batches(2) do end end)
      assert.matches(text, e.message, 1, true)
      assert.matches("data_spec.lua", e.file)
    end)
  end

  it("is told from a function that gives no iterator", function()
    local e = support.error_of(function()
      for _ in data.iterator(coroutine.wrap(function() coroutine.yield(1) end)):batches(1) do end
    end)
    assert.matches("must return an iterator, got 1", e.message)
    assert.matches("coroutine.wrap", e.hint)
  end)
end)

describe("saved state", function()
  it("has its names, order, values and metadata when it is loaded", function()
    local path = folder .. "s.safetensors"
    local model = sgl.nn.Linear(2, 1)
    local state = { model = model, epoch = 3 }
    assert.is_true(sgl.save(state, path, { metadata = { note = "x" } }))
    local dict, metadata = sgl.load(path)
    assert.are.same({ "epoch", "model.weight", "model.bias" }, table.move(dict, 1, #dict, 1, {}))
    assert.are.equal(3.0, dict.epoch:item())
    assert.are.equal("x", metadata.note)
    local other = sgl.nn.Linear(2, 1)
    other:load_state_dict((sgl.load(path, { prefix = "model." })))
    assert.is_true(other.weight:equal(model.weight))
  end)
end)
