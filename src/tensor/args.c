/* args.c: tensors, sizes and lists of them as arguments, with errors in the user's terms.
 */
#include <string.h>
#include "ir/check.h"
#include "tensor/args.h"
#include "tensor/dim.h"
#include "tensor/number.h"

const char *tensor_colon_hint(lua_State *L)
{
    lua_Debug ar;
    if (!lua_getstack(L, 0, &ar) || !lua_getinfo(L, "n", &ar) || !ar.name) return NULL;
    if (strcmp(ar.namewhat, "method") != 0 && strcmp(ar.namewhat, "field") != 0) return NULL;
    if (lua_getfield(L, LUA_REGISTRYINDEX, "sgl.core") != LUA_TTABLE) return NULL;
    lua_getfield(L, -1, "Tensor");
    lua_pushstring(L, ar.name);
    if (lua_rawget(L, -2) == LUA_TNIL) return NULL;
    return lua_pushfstring(L, "t:%s(…), with a colon", ar.name);
}

void tensor_check_alive(lua_State *L, const Tensor *t, const char *what)
{
    if (t->life == TENSOR_CLOSED)
        bind_raise(L, SGL_ECLOSED, NULL, "%s: the tensor is closed", what);
    if (t->life == TENSOR_ESCAPED)
        bind_raise(L, SGL_ESTATE,
                   "return the tensor from the step, or assign it to a tensor made outside",
                   "%s: the tensor belongs to a captured step that is over", what);
}

Tensor *tensor_check(lua_State *L, Host *h, int arg, const char *what)
{
    Tensor *t = tensor_or_number(L, h, arg, what);
    if (t->weak)
        bind_raise(L, SGL_EARG, "sgl.tensor(n) makes a tensor of it",
                   "%s: a tensor is needed, got %s", what, bind_kind(L, arg));
    return t;
}

/* Argument 1 may be no tensor because a dot stood for the colon: the hint says so. */
Tensor *tensor_or_number(lua_State *L, Host *h, int arg, const char *what)
{
    Tensor *t = tensor_at(L, h, arg);
    if (t) {
        tensor_check_alive(L, t, what);
        return t;
    }
    const char *got = bind_kind(L, arg);
    const char *hint = arg == 1 ? tensor_colon_hint(L) : NULL;
    bind_raise(L, SGL_EARG, hint, "%s: a tensor is needed, got %s", what, got);
    return NULL;
}

/* The list keeps the tensors alive while the scratch is used. */
Tensor **tensor_list(lua_State *L, Host *h, int arg, const char *what, int *n)
{
    *n = bind_check_list(L, arg, what);
    Tensor **list = bind_scratch(L, *n, sizeof *list);
    for (int i = 0; i < *n; i++) {
        lua_rawgeti(L, arg, i + 1);
        list[i] = tensor_at(L, h, -1);
        if (!list[i])
            bind_raise(L, SGL_EARG, NULL, "%s: element %d must be a tensor, got %s", what, i + 1,
                       bind_kind(L, -1));
        tensor_check_alive(L, list[i], what);
        lua_pop(L, 1);
    }
    return list;
}

/* A number of the step has no value here: that is a break, not a wrong argument. */
lua_Integer tensor_check_item(lua_State *L, int arg, int i, const char *what)
{
    int exact;
    lua_rawgeti(L, arg, i);
    tensor_number_settle(L, bind_of(L), lua_gettop(L), what);
    lua_Integer v = lua_tointegerx(L, -1, &exact);
    if (!exact)
        return bind_raise(L, SGL_EARG, NULL, "%s: element %d must be an integer, got %s", what, i,
                          lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1) : bind_kind(L, -1));
    lua_pop(L, 1);
    return v;
}

bool tensor_check_size(lua_State *L, int arg, int i, const char *what, Dim *out)
{
    lua_rawgeti(L, arg, i);
    *out = tensor_dim_at(L, -1);
    lua_pop(L, 1);
    if (*out != DIM_FAIL) return true;
    *out = tensor_check_item(L, arg, i, what);
    return false;
}

/* The product is kept in doubles, in which it cannot wrap. */
int tensor_check_dims(lua_State *L, int arg, const char *what, int64_t *dims)
{
    int rank = bind_check_list(L, arg, what);
    if (rank > OP_MAX_RANK)
        return bind_raise(L, SGL_ESHAPE, NULL, "%s: %d dims, at most %d are possible", what, rank,
                          OP_MAX_RANK);
    double count = 1;
    for (int i = 0; i < rank; i++) {
        if (tensor_check_size(L, arg, i + 1, what, &dims[i])) continue;
        if (dims[i] < 0)
            return bind_raise(L, SGL_ESHAPE, NULL, "%s: dim %d is %I, a size cannot be negative",
                              what, i + 1, (lua_Integer)dims[i]);
        count *= dims[i] ? (double)dims[i] : 1;
    }
    if (count >= (double)IR_MAX_COUNT)
        return bind_raise(L, SGL_ESHAPE, NULL, "%s: that many elements are not possible", what);
    return rank;
}

void tensor_push_dims(lua_State *L, int rank, const int64_t *dims)
{
    lua_createtable(L, rank, 0);
    for (int i = 0; i < rank; i++) {
        tensor_push_size(L, dims[i]);
        lua_rawseti(L, -2, i + 1);
    }
}
