/* read.c: values of tensors back in Lua, which runs what is pending; the end of a tensor.
 */
#include <string.h>
#include "bind/events.h"
#include "tensor/args.h"
#include "tensor/room.h"

Storage *tensor_value(lua_State *L, Host *h, int arg, const char *what)
{
    Recorder *r = tensor_recorder(h);
    return r->ops->read(L, r, arg, tensor_check(L, h, arg, what), what);
}

static void push_element(lua_State *L, const Storage *s, int64_t i)
{
    if (s->dtype == DT_i64) lua_pushinteger(L, ((const int64_t *)s->data)[i]);
    else if (s->dtype == DT_bool) lua_pushboolean(L, ((const uint8_t *)s->data)[i]);
    else if (DTYPES[s->dtype].class == CLASS_INT)
        lua_pushinteger(L, (lua_Integer)ir_dtype_load(s->dtype, s->data, i));
    else lua_pushnumber(L, ir_dtype_load(s->dtype, s->data, i));
}

/* t:item() */
static int read_item(lua_State *L)
{
    Host *h = bind_of(L);
    const Storage *s = tensor_value(L, h, 1, "item");
    if (s->count == 1) {
        push_element(L, s, 0);
        bind_events_flush(L, h);
        return 1;
    }
    Shape shape = tensor_shape(tensor_at(L, h, 1));
    bind_push_type(L, &shape);
    return bind_raise(L, SGL_ESHAPE, "use t:tolist() for all values, or t[i] for one",
                      "item: %s has %I elements, not one", lua_tostring(L, -1),
                      (lua_Integer)s->count);
}

static void push_list(lua_State *L, const Storage *s, int axis, int64_t *next)
{
    if (axis == s->rank) {
        push_element(L, s, (*next)++);
        return;
    }
    luaL_checkstack(L, LUA_MINSTACK, "nested lists");
    int64_t n = s->dims[axis];
    lua_createtable(L, n < INT32_MAX ? (int)n : INT32_MAX, 0);
    for (int64_t i = 1; i <= n; i++) {
        push_list(L, s, axis + 1, next);
        lua_rawseti(L, -2, i);
    }
}

/* t:tolist() */
static int read_list(lua_State *L)
{
    Host *h = bind_of(L);
    int64_t next = 0;
    push_list(L, tensor_value(L, h, 1, "tolist"), 0, &next);
    bind_events_flush(L, h);
    return 1;
}

/* t:bytes() */
static int read_bytes(lua_State *L)
{
    Host *h = bind_of(L);
    const Storage *s = tensor_value(L, h, 1, "bytes");
    lua_pushlstring(L, s->data, s->bytes);
    bind_events_flush(L, h);
    return 1;
}

/* t:realize() -> t */
static int read_realize(lua_State *L)
{
    Host *h = bind_of(L);
    tensor_value(L, h, 1, "realize");
    bind_events_flush(L, h);
    lua_settop(L, 1);
    return 1;
}

/* t:close(), once; leaving the scope of a <close> variable may follow. */
static int tensor_close(lua_State *L)
{
    Host *h = bind_of(L);
    Tensor *t = tensor_check(L, h, 1, "close");
    Recorder *r = tensor_recorder(h);
    if (!r->ops->made(r, t))
        return bind_raise(L, SGL_ESTATE, "close it after the step",
                          "close: not inside sgl.compile, where the tensor was before");
    bind_disown(&t->owned);
    t->owned.end(&t->owned);
    return 0;
}

const luaL_Reg TENSOR_READ_METHODS[] = {
    {"item", read_item},       {"tolist", read_list}, {"bytes", read_bytes},
    {"realize", read_realize}, {"close", tensor_close}, {NULL, NULL},
};
