/* custom.c: core.custom: registered ops (ir/custom.h) on tensors; core.load_ops: libraries of them.
 *
 * Holds: what an op gives that differs from call to call is computed when it is called, since
 *        whatever is recorded outside steps may be computed once for each reader.
 */
#include "exec/ops.h"
#include "ir/build.h"
#include "ir/result.h"
#include "tensor/args.h"
#include "tensor/ops.h"
#include "tensor/room.h"

static const sgl_op *check_name(lua_State *L, Host *h, int arg)
{
    const char *name = luaL_checkstring(L, arg);
    const sgl_op *op = ir_custom_find(name);
    if (op) return op;
    ir_custom_missing(h->cx, name);
    bind_throw(L, h);
    return NULL;
}

/* The node of the op over the tensors in the list at 2, with the attributes at 3. */
static Node *record(lua_State *L, Host *h, const sgl_op *op, Trace **trace)
{
    AttrBuf attrs;
    int n = bind_check_list(L, 2, op->name);
    if (n < 1 || n > SGL_OP_INPUTS)
        bind_raise(L, SGL_EARG, NULL, "%s: %d inputs given", op->name, n);
    Node **in = bind_scratch(L, (size_t)n, sizeof *in);
    int first = lua_gettop(L) + 1;
    luaL_checkstack(L, n + LUA_MINSTACK, "too many inputs");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, 2, i);
        tensor_check(L, h, first + i - 1, op->name);
    }
    Shape x = tensor_shape(tensor_check(L, h, first, op->name));
    tensor_attrs_custom(L, op, 3, &x, &attrs);
    *trace = tensor_trace(L, h);
    for (int i = 0; i < n; i++) in[i] = tensor_node(L, h, first + i, op->name);
    return ir_attr_node((*trace)->graph, OP_custom, n, in, &attrs);
}

/* core.custom(name, list of tensors, attributes) -> list of the results, do they differ from call
 * to call? */
static int custom(lua_State *L)
{
    Host *h = bind_of(L);
    const sgl_op *op = check_name(L, h, 1);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    lua_createtable(L, op->outputs, 0);
    Tensor *out[SGL_OP_OUTPUTS];
    for (int k = 0; k < op->outputs; k++) {
        out[k] = tensor_new(L, h);
        lua_rawseti(L, 4, k + 1);
    }
    Trace *tr;
    Node *made = record(L, h, op, &tr);
    for (int k = 0; k < op->outputs; k++) {
        Node *result = made ? ir_result(made, k) : NULL;
        if (!result) return bind_throw(L, h);
        tensor_bind(out[k], tr, result);
    }
    lua_settop(L, 4);
    lua_pushboolean(L, op->flags & SGL_OP_RANDOM);
    return 2;
}

/* core.load_ops(path) -> how many */
static int load_ops(lua_State *L)
{
    Host *h = bind_of(L);
    int n = exec_ops_load(luaL_checkstring(L, 1), &h->cx->err);
    if (n < 0) return bind_throw(L, h);
    lua_pushinteger(L, n);
    return 1;
}

const luaL_Reg TENSOR_CUSTOM[] = {
    {"custom", custom},
    {"load_ops", load_ops},
    {NULL, NULL},
};
