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

const void *tensor_host(lua_State *L, Host *h, const Storage *s)
{
    base_err_clear(&h->cx->err);
    const void *at = dev_storage_host(s);
    if (!at) bind_throw(L, h);
    return at;
}

static void push_element(lua_State *L, Dtype dtype, const void *at, int64_t i)
{
    if (dtype == DT_i64) lua_pushinteger(L, ((const int64_t *)at)[i]);
    else if (dtype == DT_bool) lua_pushboolean(L, ((const uint8_t *)at)[i]);
    else if (DTYPES[dtype].class == CLASS_INT)
        lua_pushinteger(L, (lua_Integer)ir_dtype_load(dtype, at, i));
    else lua_pushnumber(L, ir_dtype_load(dtype, at, i));
}

/* t:item() */
static int read_item(lua_State *L)
{
    Host *h = bind_of(L);
    const Storage *s = tensor_value(L, h, 1, "item");
    if (s->count == 1) {
        push_element(L, s->dtype, tensor_host(L, h, s), 0);
        bind_events_flush(L, h);
        return 1;
    }
    Shape shape = tensor_shape(tensor_at(L, h, 1));
    bind_push_type(L, &shape);
    return bind_raise(L, SGL_ESHAPE, "use t:tolist() for all values, or t[i] for one",
                      "item: %s has %I elements, not one", lua_tostring(L, -1),
                      (lua_Integer)s->count);
}

/* Nested tables, one level for each axis; *next counts the elements. */
static void push_list(lua_State *L, const Storage *s, const void *at, int axis, int64_t *next)
{
    if (axis == s->rank) {
        push_element(L, s->dtype, at, (*next)++);
        return;
    }
    luaL_checkstack(L, LUA_MINSTACK, "nested lists");
    int64_t n = s->dims[axis];
    lua_createtable(L, n < INT32_MAX ? (int)n : INT32_MAX, 0);
    for (int64_t i = 1; i <= n; i++) {
        push_list(L, s, at, axis + 1, next);
        lua_rawseti(L, -2, i);
    }
}

/* t:tolist() */
static int read_list(lua_State *L)
{
    Host *h = bind_of(L);
    int64_t next = 0;
    const Storage *s = tensor_value(L, h, 1, "tolist");
    push_list(L, s, tensor_host(L, h, s), 0, &next);
    bind_events_flush(L, h);
    return 1;
}

/* t:bytes() */
static int read_bytes(lua_State *L)
{
    Host *h = bind_of(L);
    const Storage *s = tensor_value(L, h, 1, "bytes");
    lua_pushlstring(L, tensor_host(L, h, s), s->bytes);
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
    {"item", read_item},       {"tolist", read_list},   {"bytes", read_bytes},
    {"realize", read_realize}, {"close", tensor_close}, {NULL, NULL},
};
