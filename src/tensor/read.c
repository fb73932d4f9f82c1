/* read.c: values of tensors back in Lua. Reading runs what is pending.
 */
#include <string.h>
#include "bind/events.h"
#include "tensor/tensor.h"

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

const luaL_Reg TENSOR_READ_METHODS[] = {
    {"item", read_item},       {"tolist", read_list}, {"bytes", read_bytes},
    {"realize", read_realize}, {NULL, NULL},
};
