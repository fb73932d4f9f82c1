/* events.c: the sink of Lua's callbacks: events are queued, and told where any Lua code may run.
 *
 * In:    events from below, as they happen; those that Lua reports (report.c).
 * Out:   calls of the function given to core.listen, one event table each.
 * Holds: an event that is queued while another is told waits for the next flush, so a callback that
 *        causes events cannot keep a flush going. What such an event causes in turn is not told to
 *        callbacks, or they could multiply without end. What does not fit into the queue is
 *        counted.
 */
#include "bind/events.h"
#include <string.h>
#include "bind/room.h"

enum { QUEUE_MAX = 1 << 16, SPARE_MAX = 64, DEPTH_MAX = 1 };

const char BIND_LISTENER;

static Queued *queued_new(Events *ev)
{
    if (ev->spare.n) return vec_pop(&ev->spare);
    return ev->queue.n < QUEUE_MAX ? base_mem_alloc(sizeof(Queued)) : NULL;
}

static void queued_free(Events *ev, Queued *q)
{
    if (ev->spare.n == SPARE_MAX || !vec_push(&ev->spare, q)) base_mem_free(q);
}

/* The sink: copies the event into the queue. What a callback caused counts its depth, so that
 * events cannot multiply. */
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

/* Pushes the value of a field as Lua has it. */
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
void bind_events_push(lua_State *L, const ObsEvent *e, int table)
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

void bind_events_call(lua_State *L, Host *h, int nargs)
{
    Events *ev = h->events;
    int top = lua_gettop(L) - nargs - 1;
    if (lua_pcall(L, nargs, 0, 0) != LUA_OK && is_interrupt(L)) ev->interrupted = true;
    lua_settop(L, top);
    if (ev->interrupted) bind_interrupt_again();
    ev->interrupted = false;
}

/* (host, n): tells the first n of the queue. */
static int tell(lua_State *L)
{
    const Host *h = lua_touserdata(L, 1);
    Events *ev = h->events;
    for (int i = 0, n = (int)lua_tointeger(L, 2); i < n; i++) {
        ev->depth = ev->queue.at[i]->depth + 1;
        if (lua_rawgetp(L, LUA_REGISTRYINDEX, &BIND_LISTENER) != LUA_TFUNCTION) return 0;
        bind_events_push(L, &ev->queue.at[i]->record.event, ev->queue.at[i]->table);
        lua_call(L, 1, 0);
    }
    return 0;
}

void bind_events_hold(Host *h, bool on) { h->events->held += on ? 1 : -1; }

/* Tells what is queued now; what is queued meanwhile waits for the next time. */
void bind_events_flush(lua_State *L, Host *h)
{
    Events *ev = h->events;
    if (!ev || !ev->queue.n || ev->telling || ev->held || !lua_checkstack(L, 8)) return;
    int n = ev->queue.n;
    ev->telling = true;
    lua_pushcfunction(L, tell);
    lua_pushlightuserdata(L, h);
    lua_pushinteger(L, n);
    bind_events_call(L, h, 2);
    ev->telling = false;
    ev->depth = 0;
    for (int i = 0; i < n; i++) {
        luaL_unref(L, LUA_REGISTRYINDEX, ev->queue.at[i]->table);
        queued_free(ev, ev->queue.at[i]);
    }
    ev->queue.n -= n;
    for (int i = 0; i < ev->queue.n; i++) ev->queue.at[i] = ev->queue.at[n + i];
}
