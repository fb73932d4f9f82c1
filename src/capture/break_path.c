/* break_path.c: what the tensor of a break was made of.
 *
 * In:    a node of the capture that breaks.
 * Out:   field `nodes` of the break's facts: a list, inputs before their users, of
 *        { op, type, file, line, composite, input, tensor, inputs, cut }: input is the name of an
 *        input, "" where it has none, and tensor then what it stands for; inputs are positions in
 *        the list; cut: it reads what the list leaves out. nodes.more: how many are left out.
 * Holds: constants do not count. All nodes stay while they are few; else those nearest to the
 *        break and the beginning of the longest way to it, so that it begins at an input.
 */
#include "capture/room.h"

enum { NEAREST = 24, FIRST = 8, MOST = NEAREST + FIRST };

typedef struct Cone {
    const Node *to;
    uint8_t *in;     /* by id: is it part of the way? */
    int32_t *depth;  /* by id: length of the longest way from an input */
    int32_t *number; /* by id: position in the list; 0: left out */
    int count, kept;
} Cone;

/* Marks what `to` was made of, constants left out, and measures the longest way to each node. */
static void cone_find(Cone *c)
{
    Node *const *at = c->to->graph->nodes.at;
    c->in[c->to->id] = 1;
    for (uint32_t id = c->to->id + 1; id-- > 0;) {
        c->in[id] = c->in[id] && at[id]->op != OP_const;
        c->count += c->in[id];
        for (int i = 0; c->in[id] && i < at[id]->nin; i++) c->in[at[id]->in[i]->id] = 1;
    }
    for (uint32_t id = 0; id <= c->to->id; id++)
        for (int i = 0; c->in[id] && i < at[id]->nin; i++) {
            int32_t way = c->depth[at[id]->in[i]->id] + 1;
            if (way > c->depth[id]) c->depth[id] = way;
        }
}

static void cone_keep(Cone *c, const Node *n)
{
    c->kept += !c->number[n->id];
    c->number[n->id] = 1;
}

/* Breadth first from the break, so that what is kept is connected. */
static void keep_nearest(Cone *c)
{
    const Node *queue[NEAREST] = {c->to};
    int n = 1;
    cone_keep(c, c->to);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < queue[i]->nin && n < NEAREST; k++) {
            const Node *in = queue[i]->in[k];
            if (!c->in[in->id] || c->number[in->id]) continue;
            cone_keep(c, in);
            queue[n++] = in;
        }
}

/* Each node of a longest way has a depth one less than the next. */
static void keep_first(Cone *c)
{
    for (const Node *n = c->to; n;) {
        const Node *before = NULL;
        if (c->depth[n->id] < FIRST) cone_keep(c, n);
        for (int i = 0; i < n->nin && !before; i++)
            if (c->in[n->in[i]->id] && c->depth[n->in[i]->id] == c->depth[n->id] - 1)
                before = n->in[i];
        n = before;
    }
}

static void cone_choose(Cone *c)
{
    if (c->count > MOST) {
        keep_nearest(c);
        keep_first(c);
    }
    int32_t number = 0;
    for (uint32_t id = 0; id <= c->to->id; id++)
        if (c->in[id] && (c->count <= MOST || c->number[id])) c->number[id] = ++number;
    c->kept = number;
}

static void put_text(lua_State *L, int row, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, row, key);
}

/* The tensor from outside that an input stands for, in the capture whose graph has it. */
static void put_input(lua_State *L, int row, const Host *h, const Node *n)
{
    const Capture *c = capture_on(h);
    put_text(L, row, "input", n->graph->inputs.at[ir_attr_int(n, 0)].name);
    while (c && c->trace.graph != n->graph) c = c->outer;
    for (int i = 0; c && i < c->states.n; i++) {
        if (c->states.at[i].input != n) continue;
        lua_rawgetp(L, LUA_REGISTRYINDEX, c);
        lua_rawgeti(L, -1, i + 1);
        lua_setfield(L, row, "tensor");
        lua_pop(L, 1);
    }
}

/* The inputs of n that are in the list, by position; field `cut` where one is left out. */
static void put_inputs(lua_State *L, int row, const Cone *c, const Node *n)
{
    int count = 0;
    lua_createtable(L, n->nin, 0);
    for (int i = 0; i < n->nin; i++) {
        uint32_t id = n->in[i]->id;
        if (c->number[id]) {
            lua_pushinteger(L, c->number[id]);
            lua_rawseti(L, -2, ++count);
        } else if (c->in[id]) {
            lua_pushboolean(L, 1);
            lua_setfield(L, row, "cut");
        }
    }
    lua_setfield(L, row, "inputs");
}

/* Pushes the row of one node. */
static void push_node(lua_State *L, const Host *h, const Cone *c, const Node *n)
{
    SrcPos at = base_src_pos(h->cx, n->src);
    Str *type = bind_text(L);
    ir_type_text(n, type);
    bind_text_push(L, type);
    lua_createtable(L, 0, 9);
    int row = lua_gettop(L);
    lua_pushvalue(L, row - 1);
    lua_setfield(L, row, "type");
    put_text(L, row, "op", ir_op(n)->name);
    if (n->composite) put_text(L, row, "composite", n->graph->composites.at[n->composite].name);
    if (at.file && at.line > 0) {
        put_text(L, row, "file", at.file);
        lua_pushinteger(L, at.line);
        lua_setfield(L, row, "line");
    }
    if (n->op == OP_input) put_input(L, row, h, n);
    put_inputs(L, row, c, n);
    lua_replace(L, row - 2);
    lua_settop(L, row - 2);
}

/* Scratch for all nodes up to `to`, then the kept ones in order of their ids, which is
 * topological. */
void capture_break_path(lua_State *L, const Host *h, int row, const Node *to)
{
    size_t n = (size_t)to->id + 1;
    int top = lua_gettop(L);
    luaL_checkstack(L, LUA_MINSTACK, "a break");
    Cone c = {.to = to};
    c.in = bind_scratch(L, n, sizeof *c.in);
    c.depth = bind_scratch(L, n, sizeof *c.depth);
    c.number = bind_scratch(L, n, sizeof *c.number);
    cone_find(&c);
    cone_choose(&c);
    lua_createtable(L, c.kept, 1);
    for (uint32_t id = 0; id <= to->id; id++) {
        if (!c.number[id]) continue;
        push_node(L, h, &c, to->graph->nodes.at[id]);
        lua_rawseti(L, -2, c.number[id]);
    }
    lua_pushinteger(L, c.count - c.kept);
    lua_setfield(L, -2, "more");
    lua_setfield(L, row, "nodes");
    lua_settop(L, top);
}
