/* host.c: the host of a Lua state: made once, found by its functions, ended with the state.
 *
 * Holds: the host's userdata is marked for finalisation before any handle is made, so lua_close
 *        finalises it last. Handles that are still alive then, such as those that finalisers
 *        made while the state was closing, are ended here; later calls raise.
 */
#include <string.h>
#include "bind/events.h"
#include "bind/room.h"
#include "exec/engine.h"
#include "exec/lifecycle.h"

static const char KEY; /* its address is the host's key in the registry */

/* Ends handles first, then the rooms that they may lean on, the upper ones first, and the context
 * last. */
static int host_end(lua_State *L)
{
    Host *h = lua_touserdata(L, 1);
    if (!h->cx) return 0;
    while (h->owned.next != &h->owned) {
        Owned *o = h->owned.next;
        bind_disown(o);
        o->end(o);
    }
    bind_interrupt_watch(NULL);
    for (int i = ROOM_COUNT - 1; i >= 0; i--) {
        if (!h->room[i].state) continue;
        h->room[i].close(h, h->room[i].state);
        base_mem_free(h->room[i].state);
        h->room[i].state = NULL;
    }
    base_ctx_free(h->cx);
    bind_events_close(h);
    h->cx = NULL;
    return 0;
}

static int host_start(lua_State *L, Host *h)
{
    Err e = {0};
    h->cx = exec_engine_open(&e);
    if (!h->cx) return bind_raise(L, e.code, e.hint, "%s", e.text);
    bind_interrupt_watch(h->cx);
    if (bind_events_open(h) == SGL_OK && exec_lifecycle_start(h->cx) == SGL_OK) return 0;
    return bind_raise(L, SGL_ENOMEM, NULL, "out of memory for the engine");
}

/* The userdata gets its finaliser before anything is made for it, so a failure in between leaks
 * nothing. */
Host *bind_open(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY) == LUA_TUSERDATA) {
        Host *h = lua_touserdata(L, -1);
        if (h->cx) return h;
        luaL_error(L, "sgl is closed");
    }
    lua_pop(L, 1);
    Host *h = lua_newuserdatauv(L, sizeof *h, 0);
    memset(h, 0, sizeof *h);
    h->owned.prev = h->owned.next = &h->owned;
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, host_end);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    bind_open_error(L);
    host_start(L, h);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY);
    return h;
}

Host *bind_peek(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY);
    Host *h = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return h && h->cx ? h : NULL;
}

void *bind_room(lua_State *L, Host *h, Room room, size_t size, void (*close)(Host *h, void *state))
{
    if (!h->room[room].state) {
        h->room[room].state = base_mem_zero(1, size);
        h->room[room].close = close;
    }
    if (!h->room[room].state) bind_raise(L, SGL_ENOMEM, NULL, "out of memory for the engine");
    return h->room[room].state;
}

Host *bind_of(lua_State *L)
{
    Host *h = lua_touserdata(L, lua_upvalueindex(1));
    if (!h->cx) luaL_error(L, "sgl is closed");
    return h;
}

void bind_own(Host *h, Owned *o, void (*end)(Owned *))
{
    o->end = end;
    o->prev = h->owned.prev;
    o->next = &h->owned;
    o->prev->next = o->next->prev = o;
}

void bind_disown(Owned *o)
{
    if (!o->next) return;
    o->prev->next = o->next;
    o->next->prev = o->prev;
    o->prev = o->next = NULL;
}

void *bind_scratch(lua_State *L, size_t count, size_t size)
{
    if (count > SIZE_MAX / 2 / size) luaL_error(L, "not enough memory");
    void *at = lua_newuserdatauv(L, count * size + 1, 0);
    memset(at, 0, count * size + 1);
    return at;
}

static int text_end(lua_State *L)
{
    base_str_free(lua_touserdata(L, 1));
    return 0;
}

Str *bind_text(lua_State *L)
{
    Str *s = lua_newuserdatauv(L, sizeof *s, 0);
    *s = (Str){0};
    if (luaL_newmetatable(L, "sgl.text")) {
        lua_pushcfunction(L, text_end);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return s;
}

int bind_text_push(lua_State *L, Str *s)
{
    if (s->failed) return bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a text");
    lua_pushlstring(L, s->at ? s->at : "", s->n);
    base_str_free(s);
    return 1;
}
