-- graph.lua: looking into a graph by the names it is shown under.
--
-- In:    a Graph (from f:graph() or core.parse) and names as its short form prints them: "%2",
--        or an input's name. A composite is one node here as there.
-- Out:   users, paths, and a picture made by Graphviz, if that is installed.
-- Holds: the short form (tostring) is the source: what is asked and what is seen agree.
local api = require "sgl.api"
local core = require "sgl.core"
local picture = require "sgl.picture"

local raise = core.raise

-- The methods that C gave graphs; ours join them.
local Graph = getmetatable(core.graph {}).__index

local LINE = "^%s+(%%%d+) = (%S+)(.-)%s* : (%S+%[[^%]]*%])%s*(%S*)"

-- { order = names, [name] = { name, op, inputs, type, source, users } }
local function read(graph)
  local nodes = { order = {} }
  local function add(node)
    node.users = {}
    nodes[node.name] = node
    nodes.order[#nodes.order + 1] = node.name
    for _, input in ipairs(node.inputs) do
      local users = nodes[input].users
      if users[#users] ~= node.name then users[#users + 1] = node.name end
    end
  end
  for i, input in ipairs(graph:inputs()) do
    add { name = input.name or "input" .. i, op = "input", inputs = {}, source = "",
          type = ("%s[%s]"):format(input.dtype, table.concat(input.shape, ", ")) }
  end
  for line in tostring(graph):gmatch "[^\n]+" do
    if line:find "^%s*block " then break end      -- the blocks' names are their own
    local name, op, operands, type, source = line:match(LINE)
    if name then
      local inputs = {}
      for operand in operands:gsub(" {.*", ""):gmatch "[^%s,]+" do
        operand = operand:match "^%%%d+" or operand
        if nodes[operand] then inputs[#inputs + 1] = operand end
      end
      add { name = name, op = op, inputs = inputs, type = type, source = source }
    end
  end
  return nodes
end

local function find(nodes, name)
  if nodes[name] and name ~= "order" then return nodes[name] end
  raise("SGL_EARG", ("the graph has no node %s"):format(core.quote(name)),
    "nodes: " .. table.concat(nodes.order, ", "))
end

api.class(api.root, "Graph", {
  doc = "A captured graph. tostring shows it; g:text() is the form that can be read back.",
}, Graph)

api.method(Graph, "users", {
  doc = "The names of the nodes that read a node.",
  args = { { "name", "string", 'as the short form shows it, such as "%2"' } },
  returns = "list of names", errors = "an unknown name",
}, function(self, name) return find(read(self), name).users end)

api.method(Graph, "path", {
  doc = "The names along a shortest way from one node to another that depends on it.",
  args = { { "from", "string", 'such as "x" or "%1"' }, { "to", "string", 'such as "%3"' } },
  returns = "list of names, or nil when there is none", errors = "an unknown name",
}, function(self, from, to)
  local nodes = read(self)
  find(nodes, to)
  local before, queue, at = { [from] = find(nodes, from) }, { from }, 1
  while queue[at] and queue[at] ~= to do
    for _, user in ipairs(nodes[queue[at]].users) do
      if not before[user] then
        before[user] = queue[at]
        queue[#queue + 1] = user
      end
    end
    at = at + 1
  end
  if not queue[at] then return nil end
  local path = {}
  while to ~= from do
    table.insert(path, 1, to)
    to = before[to]
  end
  table.insert(path, 1, from)
  return path
end)

local function dot_text(nodes)
  local lines = { "digraph {", "  node [shape=box, fontname=monospace, fontsize=10]" }
  for _, name in ipairs(nodes.order) do
    local node = nodes[name]
    lines[#lines + 1] = ("  %q [label=%s%s]"):format(name, picture.string(
      ("%s  %s\n%s\n%s"):format(name, node.op, node.type, node.source):gsub("\n$", "")),
      node.op == "input" and ", style=filled, fillcolor=lightgrey" or "")
    for _, input in ipairs(node.inputs) do
      lines[#lines + 1] = ("  %q -> %q"):format(input, name)
    end
  end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

api.method(Graph, "dot", {
  doc = "The graph in Graphviz's language.", returns = "string",
}, function(self) return dot_text(read(self)) end)

api.method(Graph, "picture", {
  doc = "Draws the graph with Graphviz into an SVG file.",
  args = { { "path", "string?", "default graph.svg" } },
  returns = "the path; or nil, message, code when Graphviz or the folder is missing",
}, function(self, path) return picture.draw(dot_text(read(self)), path or "graph.svg") end)

api.strict(Graph, "a graph")
