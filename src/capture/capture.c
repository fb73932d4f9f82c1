/* capture.c: core.capture: runs a function once and records what it does as a graph.
 *
 * In:   a function, its arguments as a flat list, their names. A number is a run-time input, f64.
 * Out:  a program. The function returns a flat list of tensors: the outputs.
 * Holds: the capture ends in any case, as a to-be-closed variable: an error of the function goes
 *        on as it was raised, with its traceback.
 */
#include <string.h>
#include "capture/dynamic.h"
#include "tensor/args.h"
#include "capture/room.h"
#include "tensor/break.h"
#include "bind/events.h"
#include "ir/build.h"
#include "ir/mark.h"
#include "ir/solve.h"

/* A hook of on_graph_capture may capture in turn: then the backend is capturing already. */
static void capturing_begin(lua_State *L, Host *h, Capture *c)
{
    c->span = obs_span_begin(h->cx);
    room_of(h)->recording++;
    c->backend = exec_backend_chosen(h->cx);
    c->before = exec_lifecycle_state(h->cx, c->backend);
    if (c->before != BACKEND_CAPTURING) exec_lifecycle_move(h->cx, c->backend, BACKEND_CAPTURING);
    obs_event(h->cx, OBS_capture_start, -1, OBS_TEXT("file", c->start.file),
              OBS_INT("line", c->start.line), OBS_INT("inputs", c->nargs));
    bind_events_flush(L, h);
}

/* The sizes that argument i has inside: those of the list at `dims`, item i, where there is one. */
static void take_sizes(lua_State *L, int dims, int i, Shape *s)
{
    if (lua_istable(L, dims) && lua_rawgeti(L, dims, i) == LUA_TTABLE)
        s->rank = tensor_check_dims(L, lua_gettop(L), "capture: the dims", s->dims);
    lua_settop(L, lua_istable(L, dims) ? -2 : -1);
}

/* The values that the symbols among the inputs' dims have in this call. */
static void take_example(lua_State *L, Host *h, Capture *c)
{
    const Graph *g = c->trace.graph;
    if (!ir_graph_symbolic(g)) return;
    Shape *list = bind_scratch(L, (size_t)c->nargs, sizeof *list);
    for (int i = 0; i < c->nargs; i++) {
        lua_rawgeti(L, 2, i + 1);
        Tensor *t = tensor_at(L, h, -1);
        list[i] = t ? tensor_shape(t) : (Shape){.dtype = DT_f64};
        lua_pop(L, 1);
    }
    ir_dim_budget(h->cx, DIM_STEPS);
    c->assumed.nexample = ir_dim_symbol_count(h->cx);
    c->assumed.example = ir_solve(g, list);
    lua_pop(L, 1);
    if (!c->assumed.example) bind_throw(L, h);
}

/* Where the arguments of core.capture stand, and what it pushes. */
enum {
    FN = 1,
    ARGS,
    NAMES,
    USER_FN,
    ONCE,
    NOTE,
    DIMS,
    SETTLE,
    CALLED,
    BATCH,
    HELD,
    GUARDS,
    CAPTURE,
    STATES
};

/* The dim that counts samples of argument i, where it is said. */
static int take_batch(lua_State *L, Capture *c, int i, const Node *n)
{
    int status = SGL_OK;
    if (!lua_istable(L, BATCH)) return status;
    if (lua_rawgeti(L, BATCH, i) == LUA_TNUMBER)
        status = ir_mark_batch(c->trace.graph, n, lua_tointeger(L, -1) - 1);
    lua_pop(L, 1);
    return status;
}

/* The number on the top. */
static void take_number(lua_State *L, CapturedArg *a)
{
    a->number = lua_isinteger(L, -1) ? INTEGER : FLOAT;
    if (a->number == INTEGER) a->value.integer = lua_tointeger(L, -1);
    else a->value.real = lua_tonumber(L, -1);
}

/* Pushes the stand-in for argument i of the list at 2; the list at `anchors` keeps it, so that
 * nothing made later has its address. */
static void push_argument(lua_State *L, Host *h, Capture *c, int i, int anchors)
{
    Shape s = {.dtype = DT_f64};
    lua_rawgeti(L, 2, i);
    c->args[i - 1].given = tensor_at(L, h, -1);
    if (c->args[i - 1].given) s = tensor_shape(tensor_check(L, h, lua_gettop(L), "capture"));
    else if (lua_type(L, -1) != LUA_TNUMBER)
        bind_raise(L, SGL_EARG, NULL, "capture: argument %d must be a tensor or a number, got %s",
                   i, bind_kind(L, -1));
    else take_number(L, &c->args[i - 1]);
    take_sizes(L, DIMS, i, &s);
    const char *name = NULL;
    if (lua_istable(L, 3) && lua_rawgeti(L, 3, i) == LUA_TSTRING) name = lua_tostring(L, -1);
    for (int k = 1; k < i; k++) { /* one tensor twice: one stand-in, so that updates are seen */
        lua_rawgeti(L, 2, k);
        bool same = lua_isuserdata(L, -1) && lua_rawequal(L, -1, lua_istable(L, 3) ? -3 : -2);
        lua_pop(L, 1);
        if (same) c->args[i - 1].same = k;
    }
    Tensor *t = tensor_new(L, h);
    Node *n = ir_input(c->trace.graph, INPUT_ARG, name, s.dtype, s.rank, s.dims);
    if (!n || take_batch(L, c, i, n) < 0) bind_throw(L, h);
    tensor_bind(t, &c->trace, n);
    lua_pushvalue(L, -1);
    lua_rawseti(L, anchors, i);
    c->args[i - 1].tensor = t;
    if (c->args[i - 1].number) t->weak = c->args[i - 1].number == INTEGER ? WEAK_INT : WEAK_FLOAT;
    lua_replace(L, -(lua_istable(L, 3) ? 3 : 2));
    if (lua_istable(L, 3)) lua_pop(L, 1);
    if (!c->args[i - 1].same) return;
    lua_pushvalue(L, lua_gettop(L) - i + c->args[i - 1].same);
    lua_replace(L, -2);
}

/* The values of updated arguments become further outputs, in order. */
static void take_updates(lua_State *L, Host *h, Capture *c)
{
    for (int i = 0; i < c->nargs; i++)
        if (c->args[i].assigned && ir_output(c->trace.graph, c->args[i].tensor->node, NULL) < 0)
            bind_throw(L, h);
}

/* Whether the input is assigned becomes an output, one for all that have the same answer. */
static void tell(lua_State *L, Capture *c, const Node *input, Node *set)
{
    Graph *g = c->trace.graph;
    Told told = {.input = (int)ir_attr_int(input, 0), .output = g->outputs.n};
    if (!set) return;
    for (int i = 0; i < c->told.n; i++)
        if (g->outputs.at[c->told.at[i].output].node == set) told.output = c->told.at[i].output;
    if (told.output == g->outputs.n && ir_output(g, set, NULL) < 0) bind_throw(L, c->host);
    if (!vec_push(&c->told, told)) bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
}

static void take_told(lua_State *L, Capture *c)
{
    const Graph *g = c->trace.graph;
    for (int i = 0; i < c->nargs; i++) tell(L, c, g->inputs.at[i].node, c->args[i].set);
    for (int i = 0; i < c->states.n; i++) tell(L, c, c->states.at[i].input, c->states.at[i].set);
}

/* The list on the top of the stack becomes the outputs. */
static void take_outputs(lua_State *L, Host *h, Capture *c)
{
    int list = lua_gettop(L), n = bind_check_list(L, list, "capture: the result");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, list, i);
        Node *node = tensor_node(L, h, lua_gettop(L), "capture: the result");
        if (ir_output(c->trace.graph, node, NULL) < 0) bind_throw(L, h);
        lua_pop(L, 1);
    }
}

/* A break that user code caught, or a hook that it took away, ends the capture all the same. */
static void check_whole(lua_State *L, Capture *c)
{
    if (c->broken) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, c);
        lua_getfield(L, -1, "broken");
        lua_error(L);
    }
    if (watch_lost(L, c->watch))
        tensor_break(L, c->host, BREAK_HOOK, NULL, "the debug hook was replaced");
    if (watch_failed(c->watch)) bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
}

/* Where a function begins. */
static SrcPos function_start(lua_State *L, Host *h, int arg)
{
    lua_Debug ar;
    if (!lua_isfunction(L, arg)) return (SrcPos){NULL, 0, NULL};
    lua_pushvalue(L, arg);
    lua_getinfo(L, ">S", &ar);
    return base_src_pos(h->cx,
                        base_src(h->cx, bind_plain_name(ar.short_src), ar.linedefined, NULL));
}

/* What fn returned, on the top, becomes the list of outputs. The hook is off: that is no part of
 * the step. */
static void settle(lua_State *L)
{
    if (lua_isnil(L, SETTLE)) return;
    lua_pushvalue(L, SETTLE);
    lua_insert(L, -2);
    lua_call(L, 1, 1);
}

/* The inputs of state get the names, and composites the paths of modules, that the function at
 * CALLED gives for the lists of tensors and of calls. The hook is off: that is no part of
 * the step. */
static void name_states(lua_State *L, Host *h, const Capture *c)
{
    if (lua_isnil(L, CALLED)) return;
    lua_pushvalue(L, CALLED);
    lua_pushvalue(L, STATES);
    capture_modules(L, c);
    lua_call(L, 2, 2);
    luaL_checktype(L, -1, LUA_TTABLE);
    luaL_checktype(L, -2, LUA_TTABLE);
    capture_modules_named(L, h, c);
    lua_pop(L, 1);
    for (int i = 0; i < c->states.n; i++) {
        lua_rawgeti(L, -1, i + 1);
        if (ir_input_name(c->trace.graph, c->states.at[i].input, luaL_checkstring(L, -1)) < 0)
            bind_throw(L, h);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* The state of random numbers goes on by the draws, as an assign. */
static void advance_rng(lua_State *L, Host *h, Capture *c)
{
    Graph *g = c->trace.graph;
    if (!c->rng) return;
    g->src = c->rng->src;
    Node *counter = ir_iota(g, DT_i64, 1, (const Dim[]){2}, 0);
    Node *by = ir_const(g, DT_i64, 1, (const Dim[]){2}, c->draws);
    Node *next = ir_add(c->rng, ir_mul(counter, by));
    if (!next || ir_assign(g, c->rng, next) < 0) bind_throw(L, h);
}

/* What stands for an argument is another object than the argument itself. */
static void give_arguments(lua_State *L, Capture *c)
{
    bool ok = true;
    for (int i = 0; i < c->nargs && ok; i++) ok = watch_give(c->watch, c->args[i].tensor);
    if (!ok) bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
}

/* Is there a number among the arguments, or a symbolic size? */
static bool stands_in(const Capture *c)
{
    bool found = ir_graph_symbolic(c->trace.graph) != NULL;
    for (int i = 0; i < c->nargs; i++) found = found || c->args[i].number;
    return found;
}

/* Runs the function on what stands for the arguments. */
static void record(lua_State *L, Host *h, Capture *c, Guards *g)
{
    bool once = lua_toboolean(L, ONCE);
    lua_createtable(L, c->nargs, 0);
    int anchors = lua_gettop(L);
    lua_pushvalue(L, FN);
    for (int i = 1; i <= c->nargs; i++) push_argument(L, h, c, i, anchors);
    take_example(L, h, c);
    give_arguments(L, c);
    if (stands_in(c)) watch_stand_ins(c->watch);
    c->guards = g;
    watch_on(L, c->watch, g, once);
    lua_call(L, c->nargs, 1);
    check_whole(L, c);
    watch_off(L, c->watch);
    settle(L);
    capture_grad_step_end(L, h, c);
    watch_guards_done(L, g, once);
    name_states(L, h, c);
    take_outputs(L, h, c);
    take_updates(L, h, c);
    take_told(L, c);
    advance_rng(L, h, c);
    if (c->effect && ir_effect(c->trace.graph, IR_HOST, c->effect) < 0) bind_throw(L, h);
}

/* core.capture(fn, args, names?, user_fn?, once?, note?, dims?, settle?, called?,
 * batch?, held?) -> program, guards.
 * user_fn is what fn calls. With `once`, writes to what was there before are accepted; note(guards)
 * is called before fn, so that they are there when fn breaks. dims[i] are the sizes, some
 * symbolic, that argument i has inside. settle(result of fn) returns the list of outputs; without
 * it fn does. called(tensors from outside, calls of modules) returns the lists
 * of their names and paths.
 * batch[i] is the dim of argument i that counts samples. With `held`, a number among the arguments
 * whose value is needed may be held to it. */
static int capture(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, HELD);
    SrcPos start = function_start(L, h, USER_FN);
    luaL_checktype(L, FN, LUA_TFUNCTION);
    int nargs = bind_check_list(L, ARGS, "capture: the arguments");
    if (tensor_recording(h))
        return bind_raise(L, SGL_ESTATE, NULL, "capture: another step is being captured");
    watch_test(L, h);
    luaL_checkstack(L, nargs + 2 * LUA_MINSTACK, "too many arguments");
    Guards *g = watch_guards_new(L, h);
    if (lua_isfunction(L, NOTE)) {
        lua_pushvalue(L, NOTE);
        lua_pushvalue(L, GUARDS);
        lua_call(L, 1, 0);
    }
    Capture *c = capture_new(L, h);
    if (exec_lifecycle_ready(h->cx, exec_backend_chosen(h->cx)) < 0) return bind_throw(L, h);
    lua_toclose(L, CAPTURE);
    c->args = base_mem_zero((size_t)nargs + 1, sizeof *c->args);
    c->watch = watch_new(h);
    if (!c->args || !c->watch)
        return bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
    c->nargs = nargs;
    c->held = lua_toboolean(L, HELD);
    c->start = start;
    capturing_begin(L, h, c);
    tensor_recorder_on(h, &c->recorder);
    bind_events_hold(h, true);
    c->trace.graph->src =
        start.file ? base_src(h->cx, start.file, start.line, NULL) : bind_src(L, h, NULL);
    record(L, h, c, g);
    c->whole = true;
    capture_off(L, c);
    capture_graph_told(L, h, c->trace.graph, ARGS);
    capture_program_push(L, h, c, STATES);
    lua_pushvalue(L, GUARDS);
    return 2;
}

/* core.given(table) -> table: it stands for one among the arguments. The step may read it; a write
 * would not reach the table that was passed. */
static int given(lua_State *L)
{
    Capture *c = capture_on(bind_of(L));
    lua_settop(L, 1);
    if (c && !watch_give(capture_step(c)->watch, lua_topointer(L, 1)))
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
    return 1;
}

/* core.stand_in(places, values): { container, key, behind } each have that value while the step is
 * captured; false: they keep their own. The lists are the library's, so nothing of this is a read
 * of the step. */
static int stand_in(lua_State *L)
{
    Capture *c = capture_on(bind_of(L));
    lua_settop(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, 1); c && i <= n; i++, lua_settop(L, 2)) {
        lua_rawgeti(L, 1, i);
        lua_getfield(L, 3, "container");
        lua_getfield(L, 3, "key");
        lua_getfield(L, 3, "behind");
        bool behind = lua_toboolean(L, -1);
        lua_rawgeti(L, 2, i);
        lua_replace(L, -2);
        luaL_argcheck(L, lua_istable(L, 4) || lua_isfunction(L, 4), 1, "a place has no container");
        if (lua_toboolean(L, -1)) watch_stand_in_place(L, capture_step(c)->watch, behind);
    }
    return 0;
}

/* core.written() -> once the step has returned, the list of what it wrote to. */
static int written(lua_State *L)
{
    Capture *c = capture_on(bind_of(L));
    if (!c) return 0;
    watch_journal_push(L, capture_step(c)->watch);
    return 1;
}

static int capturing(lua_State *L)
{
    lua_pushboolean(L, tensor_recording(bind_of(L)));
    return 1;
}

const luaL_Reg CAPTURE_CAPTURE[] = {
    {"capture", capture},   {"capturing", capturing}, {"given", given},
    {"stand_in", stand_in}, {"written", written},     {NULL, NULL},
};
