/* ranks_plan.c: what a step costs a rank of a mesh, without the ranks: memory, collectives, work,
 * and which buffers are the largest.
 *
 * The rank is the last one, whose parts are the largest (comm/mesh.h). Memory of a run is what the
 * passes plan for it.
 */
#include "ir/attr.h"
#include "ir/dot.h"
#include "pass/pass.h"
#include "shard/collective.h"
#include "tensor/args.h"
#include "tensor/graph.h"
#include "tensor/graph_ranks.h"
#include "tensor/room.h"

enum { MOST_BUFFERS = 8 };

/* A schedule that lives as long as Lua looks at it. */
typedef struct Planned {
    Schedule *schedule;
} Planned;

static int planned_gc(lua_State *L)
{
    Planned *p = lua_touserdata(L, 1);
    pass_schedule_free(p->schedule);
    p->schedule = NULL;
    return 0;
}

static Planned *planned_new(lua_State *L)
{
    static const luaL_Reg META[] = {{"__gc", planned_gc}, {NULL, NULL}};
    Planned *p = lua_newuserdatauv(L, sizeof *p, 0);
    p->schedule = NULL;
    bind_class(L, "sgl.planned", META, NULL, 0);
    lua_setmetatable(L, -2);
    return p;
}

static lua_Integer bytes_of(const Node *n)
{
    return (lua_Integer)(ir_count(n) * (int64_t)DTYPES[n->dtype].bytes);
}

static void set_integer(lua_State *L, const char *name, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, double value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name);
}

static void set_place(lua_State *L, const Node *n)
{
    SrcPos at = base_src_pos(n->graph->cx, n->src);
    lua_pushfstring(L, "%s:%d", at.file ? at.file : "?", at.line);
    lua_setfield(L, -2, "where");
}

static void set_type(lua_State *L, const Node *n)
{
    Str *s = bind_text(L);
    ir_type_text(n, s);
    bind_text_push(L, s);
    lua_setfield(L, -3, "type");
    lua_pop(L, 1);
}

/* Inputs of the whole graph beside those of the rank's. `trained`: a gradient by it is taken. */
static void push_inputs(lua_State *L, const Graph *whole, const Graph *part)
{
    lua_createtable(L, whole->inputs.n, 0);
    for (int i = 0; i < whole->inputs.n; i++) {
        const GraphInput *in = &whole->inputs.at[i];
        bool trained = false, set = false;
        for (int g = 0; g < whole->grads.n; g++)
            trained = trained || whole->grads.at[g].of == in->node;
        for (int a = 0; a < whole->assigns.n; a++) set = set || whole->assigns.at[a].input == i;
        lua_createtable(L, 0, 6);
        bind_set_text(L, "name", in->name ? in->name : "");
        bind_set_text(L, "kind", in->kind == INPUT_ARG ? "arg" : "state");
        set_integer(L, "bytes", bytes_of(part->inputs.at[i].node));
        set_integer(L, "whole", bytes_of(in->node));
        lua_pushboolean(L, trained);
        lua_setfield(L, -2, "trained");
        lua_pushboolean(L, set);
        lua_setfield(L, -2, "set");
        lua_rawseti(L, -2, i + 1);
    }
}

/* The collectives in their order: the bytes of the whole value, and how many ranks take part. */
static void push_collectives(lua_State *L, const Graph *part)
{
    int count = 0;
    lua_newtable(L);
    for (int id = 0; id < part->nodes.n; id++) {
        const Node *n = part->nodes.at[id];
        if (ir_op(n)->family != FAM_comm) continue;
        Collective k = shard_collective_read(n);
        lua_Integer in = bytes_of(n->in[0]), out = bytes_of(n);
        lua_createtable(L, 0, 5);
        bind_set_text(L, "op", ir_op(n)->name);
        set_integer(L, "bytes", in > out ? in : out);
        set_integer(L, "members", comm_mesh_parts(&k.mesh, k.gone));
        set_type(L, n);
        set_place(L, n);
        lua_rawseti(L, -2, ++count);
    }
}

/* Operations of a node: two for each product, else one for each element that it reads or gives. */
static double work_of(const Node *n)
{
    double count = (double)ir_count(n), most = count;
    if (n->op == OP_dot) {
        DotDims d = ir_dot_dims(n);
        for (int i = 0; i < d.inner; i++) count *= (double)n->in[0]->dims[n->in[0]->rank - 1 - i];
        return 2 * count;
    }
    for (int i = 0; i < n->nin; i++)
        if ((double)ir_count(n->in[i]) > most) most = (double)ir_count(n->in[i]);
    return most;
}

/* The largest buffers of the run, each with the node that it is for. */
static void push_buffers(lua_State *L, const Schedule *s)
{
    int best[MOST_BUFFERS] = {0}, n = 0;
    for (int b = 0; b < s->buffers.n; b++) {
        if (s->buffers.at[b].place == BUF_INPUT) continue;
        int at = n < MOST_BUFFERS ? n++ : n;
        for (; at > 0 && s->buffers.at[b].bytes > s->buffers.at[best[at - 1]].bytes; at--)
            if (at < MOST_BUFFERS) best[at] = best[at - 1];
        if (at < MOST_BUFFERS) best[at] = b;
    }
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        const Buffer *b = &s->buffers.at[best[i]];
        lua_createtable(L, 0, 4);
        set_integer(L, "bytes", (lua_Integer)b->bytes);
        bind_set_text(L, "op", ir_op(b->node)->name);
        set_type(L, b->node);
        set_place(L, b->node);
        lua_rawseti(L, -2, i + 1);
    }
}

/* Totals of the rank's run. */
static void set_totals(lua_State *L, const Schedule *s)
{
    double work = 0, dots = 0, traffic = 0;
    lua_Integer outputs = 0;
    for (int id = 0; id < s->graph->nodes.n; id++) {
        const Node *n = s->graph->nodes.at[id];
        if (ir_op(n)->family == FAM_comm || n->op == OP_input) continue;
        *(n->op == OP_dot ? &dots : &work) += work_of(n);
    }
    for (int g = 0; g < s->groups.n; g++) {
        for (int i = 0; i < s->groups.at[g].ins.n; i++)
            traffic += (double)bytes_of(s->groups.at[g].ins.at[i]);
        for (int i = 0; i < s->groups.at[g].outs.n; i++)
            traffic += (double)bytes_of(s->groups.at[g].outs.at[i]);
    }
    for (int b = 0; b < s->buffers.n; b++)
        if (s->buffers.at[b].place == BUF_OUTPUT) outputs += (lua_Integer)s->buffers.at[b].bytes;
    set_integer(L, "workspace", (lua_Integer)s->arena_bytes);
    set_integer(L, "outputs", outputs);
    set_integer(L, "steps", s->groups.n);
    set_number(L, "work", work);
    set_number(L, "dots", dots);
    set_number(L, "traffic", traffic);
}

/* core.ranks_plan(graph, plan) -> { inputs, collectives, buffers, workspace, … } */
static int ranks_plan(lua_State *L)
{
    Host *h = bind_of(L);
    const Graph *g = tensor_graph_check(L)->graph;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    ShardPlan plan = tensor_ranks_plan(L, h, 2, true);
    plan.rank = comm_mesh_ranks(&plan.mesh) - 1;
    const char **place = tensor_ranks_places(L, h, g, 2);
    CommSpread *lies = bind_scratch(L, (size_t)g->inputs.n + 1, sizeof *lies);
    Planned *p = planned_new(L);
    GraphBox *part = tensor_graph_new(L, h);
    part->kernels = -1;
    part->graph = shard_step(g, &plan, place, lies);
    tensor_graph_made(L, h, part);
    Graph *copy = tensor_copy_whole(part->graph);
    p->schedule = copy ? pass_run(copy, NULL, NULL, NULL, NULL, NULL) : NULL;
    if (!p->schedule) return bind_throw(L, h);
    lua_createtable(L, 0, 10);
    set_integer(L, "ranks", comm_mesh_ranks(&plan.mesh));
    push_inputs(L, g, part->graph);
    lua_setfield(L, -2, "inputs");
    push_collectives(L, part->graph);
    lua_setfield(L, -2, "collectives");
    push_buffers(L, p->schedule);
    lua_setfield(L, -2, "buffers");
    set_totals(L, p->schedule);
    return 1;
}

const luaL_Reg TENSOR_RANKS_PLAN[] = {
    {"ranks_plan", ranks_plan},
    {NULL, NULL},
};
