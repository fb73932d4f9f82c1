/* captured.c: what is captured of a step or a block: its life, and tensors as nodes of its graph.
 *
 * Holds: a tensor from outside becomes an input once, by handle; the tensors made inside are dead
 *        when it goes off.
 */
#include <string.h>
#include "bind/events.h"
#include "capture/room.h"
#include "ir/side.h"
#include "ir/build.h"

static void tell_end(const Capture *c)
{
    const Graph *g = c->trace.graph;
    obs_event(c->host->cx, OBS_capture_end, obs_span_ms(&c->span), OBS_TEXT("file", c->start.file),
              OBS_INT("line", c->start.line), OBS_BOOL("ok", c->whole),
              OBS_INT("nodes", g->nodes.n), OBS_INT("inputs", c->nargs),
              OBS_INT("outputs", g->outputs.n), OBS_INT("states", c->states.n));
}

/* Ends the blocks of c that are still on: an error in a coroutine closes nothing of it. */
static void end_blocks(lua_State *L, const Capture *c)
{
    for (Capture *on; (on = capture_on(c->host)) != NULL && on != c; capture_off(L, on)) {
        const Capture *around = on->outer;
        while (around && around != c) around = around->outer;
        if (!around) return;
    }
}

/* Turns the capture off: the recorder around it is on again, and what it made is dead. Once is
 * enough. */
void capture_off(lua_State *L, Capture *c)
{
    end_blocks(L, c);
    if (tensor_recorder(c->host) != &c->recorder) return;
    if (c->outer) watch_block_end(capture_step(c)->watch, c->around);
    else watch_off(L, c->watch);
    if (!c->outer && c->watch) watch_journal_free(L, c->watch);
    if (!c->outer) tell_end(c);
    tensor_recorder_on(c->host, c->recorder.outer);
    if (!c->outer) bind_events_hold(c->host, false);
    Tensor *ring = &c->trace.handles;
    while (ring->next != ring) {
        Tensor *t = ring->next;
        tensor_detach(t);
        t->life = TENSOR_ESCAPED;
    }
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, c);
    if (c->outer) return;
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, c->guards);
}

Capture *capture_step(const Capture *c)
{
    while (c->outer) c = c->outer;
    return (Capture *)(uintptr_t)c;
}

Capture *capture_on(const Host *h)
{
    Recorder *r = tensor_recorder(h);
    return r->assumed ? capture_of(r) : NULL;
}

bool capture_changed(const Capture *c, const Tensor *t)
{
    uint64_t place;
    for (; c; c = c->outer)
        if (base_map_get(&c->state_of, (uintptr_t)t, &place) &&
            c->states.at[place].now != c->states.at[place].input)
            return true;
    return false;
}

bool capture_made(const Capture *c, const Tensor *t)
{
    return t->born >= capture_step(c)->first_id;
}

const CapturedArg *capture_argument(const Capture *c, const Tensor *t)
{
    while (c && c->outer) c = c->outer;
    for (int i = 0; c && i < c->nargs; i++)
        if (c->args[i].tensor == t) return &c->args[i];
    return NULL;
}

/* Unless the capture became a program, the backend is where it was. */
static void capturing_end(lua_State *L, Capture *c)
{
    Ctx *cx = c->host->cx;
    if (!c->span.id) return;
    room_of(c->host)->recording--;
    if (exec_lifecycle_state(cx, c->backend) == BACKEND_CAPTURING && c->before != BACKEND_CAPTURING)
        exec_lifecycle_move(cx, c->backend, c->before);
    obs_span_end(cx, &c->span);
    bind_events_flush(L, c->host);
}

/* Frees what it has, as a handle of the host; the graph may have gone to a program already. */
static void capture_end(Owned *o)
{
    Capture *c = (Capture *)o;
    tensor_trace_end(&c->trace);
    vec_free(&c->states);
    vec_free(&c->inputs);
    vec_free(&c->results);
    for (int i = 0; i < c->grads.n; i++) base_mem_free(c->grads.at[i].roles);
    vec_free(&c->grads);
    vec_free(&c->assumed.sizes);
    base_mem_free(c->assumed.example);
    c->assumed.example = NULL;
    vec_free(&c->changes);
    vec_free(&c->told);
    vec_free(&c->given);
    base_map_free(&c->state_of);
    base_map_free(&c->fits);
    vec_free(&c->checks);
    base_mem_free(c->args);
    watch_free(c->watch);
}

static int capture_close(lua_State *L)
{
    Capture *c = lua_touserdata(L, 1);
    capture_off(L, c);
    capturing_end(L, c);
    return 0;
}

static int capture_gc(lua_State *L)
{
    Capture *c = lua_touserdata(L, 1);
    capture_off(L, c);
    lua_pushnil(L); /* the list of its states, if it failed before it was on */
    lua_rawsetp(L, LUA_REGISTRYINDEX, c);
    bind_disown(&c->owned);
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
static CapturedState *state_at(lua_State *L, Host *h, Capture *c, int arg, Tensor *t)
{
    uint64_t place;
    if (base_map_get(&c->state_of, (uintptr_t)t, &place)) return &c->states.at[place];
    int index = lua_absindex(L, arg), n = c->states.n;
    lua_rawgetp(L, LUA_REGISTRYINDEX, c);
    lua_pushvalue(L, index);
    lua_rawseti(L, -2, n + 1);
    lua_pop(L, 1);
    Shape s = tensor_shape(t);
    Node *input = c->outer ? capture_block_tensor(L, h, c, index, t)
                           : ir_input(c->trace.graph, INPUT_STATE, NULL, s.dtype, s.rank, s.dims);
    CapturedState state = {.tensor = t, .input = input, .now = input};
    int64_t asked = (int64_t)(intptr_t)t->place; /* an interned text */
    if (input && asked && !c->outer &&
        ir_side_set(c->trace.graph, SIDE_asked, input, 1, &asked) < 0)
        input = NULL;
    if (!input) bind_throw(L, h);
    if (!vec_push(&c->states, state) || !base_map_set(&c->state_of, (uintptr_t)t, (uint64_t)n)) {
        no_memory(h);
        bind_throw(L, h);
    }
    return &c->states.at[n];
}

Node *capture_node_in(lua_State *L, Host *h, Capture *c, int arg, Tensor *t)
{
    return t->trace == &c->trace ? t->node : state_at(L, h, c, arg, t)->now;
}

/* Was it assigned, when another assignment comes? `assigned`: it may have been, by `before`. */
static Node *either(bool assigned, Node *before, Node *set)
{
    if (!set || (assigned && !before)) return NULL;
    return before ? ir_logical_or(before, set) : set;
}

/* An argument's stand-in, or a tensor of the step, is bound to the new node. */
static void assign_inside(Capture *c, Tensor *t, Node *value, Node *set)
{
    for (int i = 0; i < c->nargs; i++) {
        if (c->args[i].tensor != t) continue;
        c->args[i].set = either(c->args[i].assigned, c->args[i].set, set);
        c->args[i].assigned = true;
    }
    tensor_bind(t, &c->trace, value);
}

/* A tensor from outside stands for the new node from now on, and in a step becomes an assign of the
 * graph. */
Node *capture_assign(lua_State *L, Host *h, int arg, Tensor *t, Node *value, Node *set)
{
    Capture *c = capture_on(h);
    if (t->trace == &c->trace) {
        assign_inside(c, t, value, set);
        return h->cx->err.code ? NULL : value;
    }
    CapturedState *s = state_at(L, h, c, arg, t);
    s->set = either(s->now != s->input, s->set, set);
    if (h->cx->err.code) return NULL;
    if (c->outer) {
        s->input = capture_block_changes(L, h, c, arg, t, s->input);
        return s->input ? (s->now = value) : NULL;
    }
    return ir_assign(c->trace.graph, s->input, value) < 0 ? NULL : (s->now = value);
}

Node *capture_rng(Capture *c)
{
    if (c->rng) return c->rng;
    if (c->outer) return c->rng = capture_block_rng(c);
    return c->rng = ir_input(c->trace.graph, INPUT_STATE, "rng", DT_i64, 1, (const Dim[]){2});
}

Node *capture_effect(Capture *c)
{
    if (c->effect) return c->effect;
    if (c->outer) return c->effect = capture_block_effect(c);
    return c->effect = ir_const(c->trace.graph, DT_i32, 0, NULL, 0);
}

int capture_draw(Capture *c) { return c->draws++; }

/* The userdata is owned by the host before it has memory of its own; the list of its states anchors
 * the tensors from outside. */
Capture *capture_new(lua_State *L, Host *h)
{
    Capture *c = lua_newuserdatauv(L, sizeof *c, 0);
    memset(c, 0, sizeof *c);
    c->host = h;
    c->recorder = (Recorder){room_of(h)->recorder, h, NULL, &c->trace, &c->assumed};
    c->first_id = tensor_id();
    bind_class(L, "sgl.capture", CAPTURE_META, NULL, 0);
    lua_setmetatable(L, -2);
    bind_own(h, &c->owned, capture_end);
    base_err_clear(&h->cx->err);
    if (tensor_trace_init(&c->trace, h->cx) < 0) bind_throw(L, h);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, c);
    return c;
}
