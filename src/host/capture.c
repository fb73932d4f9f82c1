/* capture.c: core.capture: runs a function once and records what it does as a graph.
 *
 * In:   a function, its arguments as a flat list, their names. A number is a run-time input, f32.
 * Out:  a program. The function returns a flat list of tensors: the outputs.
 * Holds: the capture ends in any case, as a to-be-closed variable: an error of the function goes
 *        on as it was raised, with its traceback. Tensors born inside are dead afterwards.
 */
#include <string.h>
#include "host/capture.h"
#include "host/events.h"

static void capture_off(lua_State *L, Capture *c)
{
    if (c->host->capture != c) return;
    c->host->capture = NULL;
    const Graph *g = c->trace.graph;
    obs_event(c->host->cx, OBS_capture_end, obs_span_ms(&c->span), OBS_TEXT("file", c->end.file),
              OBS_INT("line", c->end.line), OBS_BOOL("ok", c->whole), OBS_INT("nodes", g->nodes.n),
              OBS_INT("inputs", c->nargs), OBS_INT("outputs", g->outputs.n),
              OBS_INT("states", c->states.n));
    Tensor *ring = &c->trace.handles;
    while (ring->next != ring) {
        Tensor *t = ring->next;
        host_tensor_detach(t);
        t->life = TENSOR_ESCAPED;
    }
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, c);
}

static void capture_end(Owned *o)
{
    Capture *c = (Capture *)o;
    host_trace_end(&c->trace);
    vec_free(&c->states);
    base_map_free(&c->state_of);
}

static int capture_close(lua_State *L)
{
    Capture *c = lua_touserdata(L, 1);
    Ctx *cx = c->host->cx;
    capture_off(L, c);
    if (exec_lifecycle_state(cx, c->backend) == BACKEND_CAPTURING)
        exec_lifecycle_move(cx, c->backend, c->before);
    obs_span_end(cx, &c->span);
    host_events_flush(L, c->host);
    return 0;
}

static int capture_gc(lua_State *L)
{
    Capture *c = lua_touserdata(L, 1);
    capture_off(L, c);
    host_disown(&c->owned);
    capture_end(&c->owned);
    return 0;
}

static const luaL_Reg CAPTURE_META[] = {
    {"__close", capture_close},
    {"__gc", capture_gc},
    {NULL, NULL},
};

static int no_memory(Host *h)
{
    return base_fail(h->cx, SGL_ENOMEM, "out of memory for a capture");
}

/* The tensor's place in states; a new one becomes an input. */
static CapturedState *state_at(lua_State *L, Host *h, int arg, Tensor *t)
{
    Capture *c = h->capture;
    uint64_t place;
    if (base_map_get(&c->state_of, (uintptr_t)t, &place)) return &c->states.at[place];
    int index = lua_absindex(L, arg), n = c->states.n;
    lua_rawgetp(L, LUA_REGISTRYINDEX, c);
    lua_pushvalue(L, index);
    lua_rawseti(L, -2, n + 1);
    lua_pop(L, 1);
    Shape s = host_tensor_shape(t);
    Node *input = ir_input(c->trace.graph, INPUT_STATE, NULL, s.dtype, s.rank, s.dims);
    CapturedState state = {t, input, input};
    if (!input) host_throw(L, h);
    if (!vec_push(&c->states, state) || !base_map_set(&c->state_of, (uintptr_t)t, (uint64_t)n)) {
        no_memory(h);
        host_throw(L, h);
    }
    return &c->states.at[n];
}

Node *host_capture_node(lua_State *L, Host *h, int arg, Tensor *t)
{
    return t->trace == &h->capture->trace ? t->node : state_at(L, h, arg, t)->now;
}

Node *host_capture_assign(lua_State *L, Host *h, int arg, Tensor *t, Node *value)
{
    if (t->trace == &h->capture->trace) {
        host_tensor_bind(t, t->trace, value);
        return value;
    }
    CapturedState *s = state_at(L, h, arg, t);
    return ir_assign(h->capture->trace.graph, s->input, value) < 0 ? NULL : (s->now = value);
}

Node *host_capture_rng(Host *h)
{
    Capture *c = h->capture;
    if (!c->rng) c->rng = ir_input(c->trace.graph, INPUT_STATE, "rng", DT_i64, 1, (const Dim[]){2});
    return c->rng;
}

/* Pushes the stand-in for argument i of the list at 2. */
static void push_argument(lua_State *L, Host *h, Capture *c, int i)
{
    Shape s = {.dtype = DT_f32};
    lua_rawgeti(L, 2, i);
    if (host_tensor_at(L, h, -1))
        s = host_tensor_shape(host_tensor_check(L, h, lua_gettop(L), "capture"));
    else if (lua_type(L, -1) != LUA_TNUMBER)
        host_raise(L, SGL_EARG, NULL, "capture: argument %d must be a tensor or a number, got %s",
                   i, host_kind(L, -1));
    const char *name = NULL;
    if (lua_istable(L, 3) && lua_rawgeti(L, 3, i) == LUA_TSTRING) name = lua_tostring(L, -1);
    Tensor *t = host_tensor_new(L, h);
    Node *n = ir_input(c->trace.graph, INPUT_ARG, name, s.dtype, s.rank, s.dims);
    if (!n) host_throw(L, h);
    host_tensor_bind(t, &c->trace, n);
    lua_replace(L, -(lua_istable(L, 3) ? 3 : 2));
    if (lua_istable(L, 3)) lua_pop(L, 1);
}

/* The list on the top of the stack becomes the outputs. */
static void take_outputs(lua_State *L, Host *h, Capture *c)
{
    int list = lua_gettop(L), n = host_check_list(L, list, "capture: the result");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, list, i);
        Node *node = host_node(L, h, lua_gettop(L), "capture: the result");
        if (ir_output(c->trace.graph, node, NULL) < 0) host_throw(L, h);
        lua_pop(L, 1);
    }
}

/* Pushes the capture, not on yet, and the list of its states. */
static Capture *capture_new(lua_State *L, Host *h)
{
    Capture *c = lua_newuserdatauv(L, sizeof *c, 0);
    memset(c, 0, sizeof *c);
    c->host = h;
    host_class(L, "sgl.capture", CAPTURE_META, NULL, 0);
    lua_setmetatable(L, -2);
    host_own(h, &c->owned, capture_end);
    base_err_clear(&h->cx->err);
    if (host_trace_init(&c->trace, h->cx) < 0) host_throw(L, h);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, c);
    return c;
}

/* The last line with code of the function at arg before its `end`: where a tail call most often
 * stands, which leaves no frame to ask. */
static SrcPos function_end(lua_State *L, Host *h, int arg)
{
    lua_Debug ar;
    if (!lua_isfunction(L, arg)) return (SrcPos){NULL, 0};
    lua_pushvalue(L, arg);
    lua_getinfo(L, ">SL", &ar);
    int line = ar.linedefined;
    for (lua_pushnil(L); lua_istable(L, -2) && lua_next(L, -2); lua_pop(L, 1)) {
        int active = (int)lua_tointeger(L, -2);
        if (active > line && active < ar.lastlinedefined) line = active;
    }
    lua_settop(L, arg);
    return base_src_pos(h->cx, base_src(h->cx, ar.short_src, line));
}

static int capture(lua_State *L);

bool host_capture_position(lua_State *L, lua_Debug *frame, SrcPos *out)
{
    lua_getinfo(L, "f", frame);
    bool is = lua_tocfunction(L, -1) == capture && lua_getupvalue(L, -1, 1);
    const Host *h = is ? lua_touserdata(L, -1) : NULL;
    lua_pop(L, is ? 2 : 1);
    if (!h || !h->capture || !h->capture->end.file) return false;
    *out = h->capture->end;
    return true;
}

/* A hook of on_graph_capture may capture in turn: then the backend is capturing already. */
static void lifecycle_capture(lua_State *L, Host *h, Capture *c)
{
    c->backend = exec_backend_chosen(h->cx);
    if (exec_lifecycle_ready(h->cx, c->backend) < 0) host_throw(L, h);
    c->before = exec_lifecycle_state(h->cx, c->backend);
    if (c->before != BACKEND_CAPTURING) exec_lifecycle_move(h->cx, c->backend, BACKEND_CAPTURING);
}

/* core.capture(fn, args, names?, user_fn?) -> program. user_fn is what fn calls, for positions. */
static int capture(lua_State *L)
{
    Host *h = host_of(L);
    lua_settop(L, 4);
    SrcPos end = function_end(L, h, 4);
    lua_settop(L, 3);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    int nargs = host_check_list(L, 2, "capture: the arguments");
    if (h->capture)
        return host_raise(L, SGL_ESTATE, NULL, "capture: another step is being captured");
    luaL_checkstack(L, nargs + LUA_MINSTACK, "too many arguments");
    Capture *c = capture_new(L, h);
    c->nargs = nargs;
    c->end = end;
    c->span = obs_span_begin(h->cx);
    lua_toclose(L, 4);
    lifecycle_capture(L, h, c);
    obs_event(h->cx, OBS_capture_start, -1, OBS_TEXT("file", end.file), OBS_INT("line", end.line),
              OBS_INT("inputs", nargs));
    host_events_flush(L, h);
    h->capture = c;
    c->trace.graph->src = host_src(L, h);
    lua_pushvalue(L, 1);
    for (int i = 1; i <= nargs; i++) push_argument(L, h, c, i);
    lua_call(L, nargs, 1);
    take_outputs(L, h, c);
    c->whole = true;
    capture_off(L, c);
    host_events_graph(L, h, c->trace.graph, 2);
    return host_program_push(L, h, c, 5);
}

static int capturing(lua_State *L)
{
    lua_pushboolean(L, host_of(L)->capture != NULL);
    return 1;
}

const luaL_Reg HOST_CAPTURE[] = {
    {"capture", capture},
    {"capturing", capturing},
    {NULL, NULL},
};
