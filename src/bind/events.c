/* events.c: the sink of Lua's callbacks, and what Lua can ask about events.
 *
 * In:    events from below, as they happen; events that Lua reports (core.event).
 * Out:   calls of the function given to core.listen, one event table each.
 * Holds: an event that is queued while another is told waits for the next flush, so a callback that
 *        causes events cannot keep a flush going. What such an event causes in turn is not told to
 *        callbacks, nor a capture inside the graph hook to that, or they could multiply without
 *        end. What does not fit into the queue is counted.
 */
#include "bind/events.h"
#include <string.h>
#include "exec/lifecycle.h"
#include "tensor/graph.h"

enum { QUEUE_MAX = 1 << 16, SPARE_MAX = 64, DEPTH_MAX = 1 };

/* Their addresses are keys in the registry. */
static const char LISTENER, GRAPH_HOOK;

typedef struct Queued {
    int table; /* the reporter's own table in the registry, or LUA_NOREF */
    int depth; /* 0, or one more than that of the event whose callback caused it */
    ObsRecord record;
} Queued;

typedef struct Events {
    int sink;
    int table; /* that of the event that Lua is reporting now, or LUA_NOREF */
    bool telling, hooked, in_hook;
    int depth;        /* that of events which happen now */
    bool interrupted; /* a callback ended with the Ctrl-C that is meant for the script */
    int64_t dropped;
    VEC(Queued *) queue, spare;
} Events;

static Queued *queued_new(Events *ev)
{
    if (ev->spare.n) return vec_pop(&ev->spare);
    return ev->queue.n < QUEUE_MAX ? base_mem_alloc(sizeof(Queued)) : NULL;
}

static void queued_free(Events *ev, Queued *q)
{
    if (ev->spare.n == SPARE_MAX || !vec_push(&ev->spare, q)) base_mem_free(q);
}

static void on_event(void *arg, const ObsEvent *e)
{
    Events *ev = arg;
    if (ev->depth > DEPTH_MAX) return;
    Queued *q = queued_new(ev);
    if (!q || !vec_push(&ev->queue, q)) {
        base_mem_free(q);
        ev->dropped++;
        return;
    }
    obs_record(&q->record, e);
    q->table = ev->table;
    q->depth = ev->depth;
    ev->table = LUA_NOREF;
}

int bind_events_open(Host *h)
{
    Events *ev = base_mem_zero(1, sizeof *ev);
    if (!ev) return base_fail(h->cx, SGL_ENOMEM, "out of memory for events");
    h->events = ev;
    ev->table = LUA_NOREF;
    ev->sink = obs_sink_add(h->cx, (ObsSink){0, on_event, NULL, ev});
    return ev->sink < 0 ? ev->sink : SGL_OK;
}

void bind_events_close(Host *h)
{
    Events *ev = h->events;
    if (!ev) return;
    for (int i = 0; i < ev->queue.n; i++) base_mem_free(ev->queue.at[i]);
    for (int i = 0; i < ev->spare.n; i++) base_mem_free(ev->spare.at[i]);
    vec_free(&ev->queue);
    vec_free(&ev->spare);
    base_mem_free(ev);
    h->events = NULL;
}

static void push_field(lua_State *L, const ObsField *f)
{
    switch (f->type) {
    case OBS_TYPE_INT:
        lua_pushinteger(L, f->i);
        break;
    case OBS_TYPE_NUMBER:
        lua_pushnumber(L, f->f);
        break;
    case OBS_TYPE_BOOL:
        lua_pushboolean(L, f->i != 0);
        break;
    case OBS_TYPE_TEXT:
        lua_pushstring(L, f->s);
    }
}

/* The pairs of the table in the registry go into the one on the top of the stack. */
static void copy_table(lua_State *L, int table)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, table);
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -5);
    }
    lua_pop(L, 1);
}

static void set_id(lua_State *L, const char *key, uint64_t id)
{
    if (!id) return;
    char text[17];
    for (int i = 15; i >= 0; i--, id >>= 4) text[i] = "0123456789abcdef"[id & 15];
    text[16] = 0;
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

/* Frequent ones stay small: their weight instead of the spans. */
static void push_event(lua_State *L, const ObsEvent *e, int table)
{
    bool often = OBS_EVENTS[e->id].pace == OBS_OFTEN;
    lua_createtable(L, 0, e->n + (often ? 5 : 6));
    for (int i = 0; i < e->n; i++) {
        push_field(L, &e->field[i]);
        lua_setfield(L, -2, e->field[i].name);
    }
    if (table != LUA_NOREF) copy_table(L, table);
    lua_pushstring(L, OBS_EVENTS[e->id].name);
    lua_setfield(L, -2, "event");
    set_id(L, "trace", e->trace);
    lua_pushnumber(L, e->time);
    lua_setfield(L, -2, "time");
    if (e->ms >= 0) {
        lua_pushnumber(L, e->ms);
        lua_setfield(L, -2, "ms");
    }
    if (often) {
        lua_pushnumber(L, e->weight);
        lua_setfield(L, -2, "weight");
        return;
    }
    set_id(L, "span", e->span);
    set_id(L, "parent", e->parent);
}

/* Is the value on the top an error object of ours with that code? Others may have metamethods that
 * raise. */
static bool is_interrupt(lua_State *L)
{
    if (!lua_istable(L, -1) || !lua_getmetatable(L, -1)) return false;
    bool ours = luaL_getmetatable(L, "sgl.error") == LUA_TTABLE && lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return ours && lua_getfield(L, -1, "code") == LUA_TSTRING &&
           strcmp(lua_tostring(L, -1), base_err_name(SGL_EINTR)) == 0;
}

/* core.callback_interrupted(): a callback ended with Ctrl-C */
static int interrupted(lua_State *L)
{
    bind_of(L)->events->interrupted = true;
    return 0;
}

/* Calls the function below its arguments. Only an interrupt goes on from here. */
static void call_protected(lua_State *L, Events *ev, int nargs)
{
    int top = lua_gettop(L) - nargs - 1;
    if (lua_pcall(L, nargs, 0, 0) != LUA_OK && is_interrupt(L)) ev->interrupted = true;
    lua_settop(L, top);
    if (ev->interrupted) bind_interrupt_again();
    ev->interrupted = false;
}

static int tell(lua_State *L)
{
    const Host *h = lua_touserdata(L, 1);
    Events *ev = h->events;
    for (int i = 0, n = (int)lua_tointeger(L, 2); i < n; i++) {
        ev->depth = ev->queue.at[i]->depth + 1;
        if (lua_rawgetp(L, LUA_REGISTRYINDEX, &LISTENER) != LUA_TFUNCTION) return 0;
        push_event(L, &ev->queue.at[i]->record.event, ev->queue.at[i]->table);
        lua_call(L, 1, 0);
    }
    return 0;
}

void bind_events_flush(lua_State *L, Host *h)
{
    Events *ev = h->events;
    if (!ev || !ev->queue.n || ev->telling || h->capture || !lua_checkstack(L, 8)) return;
    int n = ev->queue.n;
    ev->telling = true;
    lua_pushcfunction(L, tell);
    lua_pushlightuserdata(L, h);
    lua_pushinteger(L, n);
    call_protected(L, ev, 2);
    ev->telling = false;
    ev->depth = 0;
    for (int i = 0; i < n; i++) {
        luaL_unref(L, LUA_REGISTRYINDEX, ev->queue.at[i]->table);
        queued_free(ev, ev->queue.at[i]);
    }
    ev->queue.n -= n;
    for (int i = 0; i < ev->queue.n; i++) ev->queue.at[i] = ev->queue.at[n + i];
}

static int tell_graph(lua_State *L)
{
    Host *h = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &GRAPH_HOOK);
    GraphBox *b = tensor_graph_new(L, h);
    b->kernels = -1;
    b->graph = tensor_copy_whole(lua_touserdata(L, 2));
    tensor_graph_made(L, h, b);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 0);
    return 0;
}

void bind_events_graph(lua_State *L, Host *h, const Graph *g, int inputs)
{
    Events *ev = h->events;
    if (!ev->hooked || ev->in_hook || !lua_checkstack(L, 8)) return;
    int list = lua_absindex(L, inputs);
    lua_pushcfunction(L, tell_graph);
    lua_pushlightuserdata(L, h);
    lua_pushlightuserdata(L, (void *)(uintptr_t)g);
    lua_pushvalue(L, list);
    ev->in_hook = true;
    call_protected(L, ev, 3);
    ev->in_hook = false;
}

/* The kind whose name is at arg; raises with the nearest. */
static int check_kind(lua_State *L, int arg)
{
    const char *name = luaL_checkstring(L, arg), *names[OBS_COUNT];
    for (int id = 0; id < OBS_COUNT; id++) {
        names[id] = OBS_EVENTS[id].name;
        if (strcmp(name, names[id]) == 0) return id;
    }
    const char *near = base_str_nearest(name, names, OBS_COUNT);
    luaL_Buffer all;
    luaL_buffinit(L, &all);
    for (int id = 0; id < OBS_COUNT; id++) {
        if (id) luaL_addstring(&all, ", ");
        luaL_addstring(&all, names[id]);
    }
    luaL_pushresult(&all);
    return bind_raise(L, SGL_EARG, NULL, "unknown event '%s' (%s%s%sevents: %s)", name,
                      near ? "did you mean '" : "", near ? near : "", near ? "'? " : "",
                      lua_tostring(L, -1));
}

/* Reads the value on the top of the stack, which stays on the stack's table; false: no scalar. */
static bool read_field(lua_State *L, const char *name, ObsField *to)
{
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        *to = lua_isinteger(L, -1) ? OBS_INT(name, lua_tointeger(L, -1))
                                   : OBS_NUMBER(name, lua_tonumber(L, -1));
        return true;
    case LUA_TBOOLEAN:
        *to = OBS_BOOL(name, lua_toboolean(L, -1));
        return true;
    case LUA_TSTRING:
        *to = OBS_TEXT(name, lua_tostring(L, -1));
        return true;
    default:
        return false;
    }
}

/* core.event(name, fields): Lua reports that something happened. Callbacks get all fields, the
 * other sinks those that are numbers, booleans and strings; the field `ms` is the duration. */
static int event(lua_State *L)
{
    Host *h = bind_of(L);
    Events *ev = h->events;
    ObsField fields[OBS_MAX_FIELDS];
    int id = check_kind(L, 1), n = 0;
    double ms = -1;
    luaL_checktype(L, 2, LUA_TTABLE);
    if (!obs_wanted(h->cx, (ObsId)id)) return 0;
    if (OBS_EVENTS[id].pace == OBS_OFTEN && !obs_sample(h->cx, (ObsId)id)) return 0;
    lua_settop(L, 2);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        if (n == OBS_MAX_FIELDS || lua_type(L, -2) != LUA_TSTRING) continue;
        const char *name = lua_tostring(L, -2);
        if (strcmp(name, "ms") == 0 && lua_type(L, -1) == LUA_TNUMBER) ms = lua_tonumber(L, -1);
        else n += read_field(L, name, &fields[n]);
    }
    ev->table = luaL_ref(L, LUA_REGISTRYINDEX);
    obs_emit(h->cx, (ObsId)id, ms, n, fields);
    luaL_unref(L, LUA_REGISTRYINDEX, ev->table);
    ev->table = LUA_NOREF;
    bind_events_flush(L, h);
    return 0;
}

/* core.listen(fn, names): fn(event) is called for events of these names, instead of what was said
 * before. */
static int listen(lua_State *L)
{
    Host *h = bind_of(L);
    uint64_t wants = 0;
    luaL_checktype(L, 1, LUA_TFUNCTION);
    int n = bind_check_list(L, 2, "listen: the names");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, 2, i);
        wants |= UINT64_C(1) << check_kind(L, lua_gettop(L));
        lua_pop(L, 1);
    }
    bind_events_flush(L, h);
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &LISTENER);
    obs_sink_want(h->cx, h->events->sink, wants);
    return 0;
}

/* core.on_graph(fn): fn(graph, inputs) is called after each capture; nil: nobody is. */
static int on_graph(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 1);
    h->events->hooked = !lua_isnil(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &GRAPH_HOOK);
    return 0;
}

/* core.event_kinds() -> list of {name, component, pace, fields, help, count, weight, ms} */
static int kinds(lua_State *L)
{
    static const char *const PACES[] = {
        [OBS_SELDOM] = "seldom", [OBS_MANY] = "many", [OBS_OFTEN] = "often"};
    const Host *h = bind_of(L);
    lua_createtable(L, OBS_COUNT, 0);
    for (int id = 0; id < OBS_COUNT; id++) {
        const ObsInfo *info = &OBS_EVENTS[id];
        ObsCounter c = obs_counter(h->cx, (ObsId)id);
        lua_createtable(L, 0, 8);
        lua_pushstring(L, info->name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, info->component);
        lua_setfield(L, -2, "component");
        lua_pushstring(L, PACES[info->pace]);
        lua_setfield(L, -2, "pace");
        lua_pushstring(L, info->fields);
        lua_setfield(L, -2, "fields");
        lua_pushstring(L, info->help);
        lua_setfield(L, -2, "help");
        lua_pushinteger(L, c.count);
        lua_setfield(L, -2, "count");
        lua_pushnumber(L, c.weight);
        lua_setfield(L, -2, "weight");
        lua_pushnumber(L, c.ms);
        lua_setfield(L, -2, "ms");
        lua_rawseti(L, -2, id + 1);
    }
    lua_pushinteger(L, h->events->dropped);
    lua_setfield(L, -2, "dropped");
    return 1;
}

/* core.history() -> list of the last events, the oldest first */
static int history(lua_State *L)
{
    const Host *h = bind_of(L);
    const ObsRecord *r;
    lua_newtable(L);
    for (int i = 0; (r = obs_history(h->cx, i)); i++) {
        push_event(L, &r->event, LUA_NOREF);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* core.lifecycle() -> list of {name, state}; core.lifecycle(name, state) takes a step. */
static int lifecycle(lua_State *L)
{
    Host *h = bind_of(L);
    const char *names[BACKEND_COUNT + 1] = {NULL}, *states[BACKEND_STATES + 1] = {NULL};
    for (int i = 0; i < BACKEND_COUNT; i++) names[i] = exec_backend_at(i)->name;
    for (int i = 0; i < BACKEND_STATES; i++) states[i] = exec_state_name((BackendState)i);
    if (!lua_isnoneornil(L, 1)) {
        int backend = luaL_checkoption(L, 1, NULL, names);
        BackendState to = (BackendState)luaL_checkoption(L, 2, NULL, states);
        base_err_clear(&h->cx->err);
        if (exec_lifecycle_move(h->cx, backend, to) < 0) return bind_throw(L, h);
        bind_events_flush(L, h);
    }
    lua_createtable(L, BACKEND_COUNT, 0);
    for (int i = 0; i < BACKEND_COUNT; i++) {
        lua_createtable(L, 0, 2);
        lua_pushstring(L, names[i]);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, states[exec_lifecycle_state(h->cx, i)]);
        lua_setfield(L, -2, "state");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* core.lifecycle_steps() -> list of {from, to, when} */
static int lifecycle_steps(lua_State *L)
{
    const BackendStep *step;
    lua_newtable(L);
    for (int i = 0; (step = exec_lifecycle_step(i)); i++) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, exec_state_name(step->from));
        lua_setfield(L, -2, "from");
        lua_pushstring(L, exec_state_name(step->to));
        lua_setfield(L, -2, "to");
        lua_pushstring(L, step->when);
        lua_setfield(L, -2, "when");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

const luaL_Reg BIND_EVENTS[] = {
    {"event", event},
    {"listen", listen},
    {"on_graph", on_graph},
    {"event_kinds", kinds},
    {"history", history},
    {"lifecycle", lifecycle},
    {"lifecycle_steps", lifecycle_steps},
    {"callback_interrupted", interrupted},
    {NULL, NULL},
};
