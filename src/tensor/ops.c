/* ops.c: the elementwise ops of the table as methods and operators.
 *
 * A closure over the op's number serves each. Operands are tensors, numbers and booleans;
 * the latter two are weak: they take the dtype of the tensors beside them unless their class is
 * higher. The numbers of a step (number.h) are numbers here too: a method of numbers alone gives a
 * tensor, and an operator what Lua gives.
 */
#include <math.h>
#include "tensor/args.h"
#include "tensor/dim.h"
#include "tensor/number.h"
#include "tensor/ops.h"
#include "tensor/room.h"
#include "ir/build.h"

enum { MAX_OPERANDS = 3 };

static int number_class(lua_State *L, int arg)
{
    if (lua_type(L, arg) == LUA_TBOOLEAN) return CLASS_BOOL;
    if (lua_type(L, arg) == LUA_TUSERDATA) return CLASS_INT;
    return lua_isinteger(L, arg) ? CLASS_INT : CLASS_FLOAT;
}

static void check_fits(lua_State *L, const char *what, int arg, Dtype t)
{
    if (!lua_isinteger(L, arg) || DTYPES[t].class != CLASS_INT || t == DT_i64) return;
    lua_Integer v = lua_tointeger(L, arg);
    if (v == (lua_Integer)ir_dtype_round(t, (double)v)) return;
    bind_raise(L, SGL_EARG, "cast the tensor to a wider dtype first, such as t:to(\"i64\")",
               "%s: %I does not fit into %s", what, v, DTYPES[t].name);
}

/* Of numbers alone. */
static Dtype default_dtype(int class)
{
    return class == CLASS_FLOAT ? DT_f32 : class == CLASS_INT ? DT_i32 : DT_bool;
}

/* Beside floats it does not matter whether a number is an integer. */
static Dtype number_dtype(Host *h, const Tensor *number, int beside)
{
    if (beside >= 0 && DTYPES[beside].class == CLASS_FLOAT) return (Dtype)beside;
    int class = tensor_number_class(h, number);
    return beside < 0 ? default_dtype(class) : ir_dtype_weak((Dtype)beside, class);
}

/* A size in a dtype; one that may not fit is checked at each run, as a number of the step is. */
static Node *size_operand(lua_State *L, Host *h, Trace *tr, const char *what, int arg, Dtype to)
{
    int64_t least, most;
    Dim size = tensor_dim_at(L, arg);
    ir_dim_range(h->cx, size, &least, &most);
    bool fits = DTYPES[to].class == CLASS_FLOAT || to == DT_i64 ||
                ((double)least >= ir_dtype_round(to, -INFINITY) &&
                 (double)most <= ir_dtype_round(to, INFINITY));
    if (fits || !tensor_recording(h)) return ir_size(tr->graph, to, size);
    tensor_number_of_size(L, h, arg);
    return tensor_number_cast(L, h, what, arg, to);
}

Node *tensor_operand(lua_State *L, Host *h, Trace *tr, const char *what, int arg, int beside)
{
    int type = lua_type(L, arg);
    const Tensor *number = tensor_number_at(L, h, arg);
    if (number) return tensor_number_cast(L, h, what, arg, number_dtype(h, number, beside));
    if (tensor_dim_at(L, arg) != DIM_FAIL) {
        Dtype t = beside < 0 ? DT_i32 : ir_dtype_weak((Dtype)beside, CLASS_INT);
        return size_operand(L, h, tr, what, arg, t);
    }
    if (type != LUA_TNUMBER && type != LUA_TBOOLEAN) {
        if (tensor_at(L, h, arg)) return tensor_node(L, h, arg, what);
        const char *got = bind_kind(L, arg), *hint = tensor_colon_hint(L);
        bind_raise(L, SGL_EARG, hint, "%s: operand %d must be a tensor or a number, got %s", what,
                   arg, got);
    }
    int class = number_class(L, arg);
    Dtype t = beside < 0 ? default_dtype(class) : ir_dtype_weak((Dtype)beside, class);
    check_fits(L, what, arg, t);
    if (t == DT_i64 && lua_isinteger(L, arg)) return ir_integer(tr->graph, lua_tointeger(L, arg));
    double value = type == LUA_TBOOLEAN ? lua_toboolean(L, arg) : lua_tonumber(L, arg);
    return ir_const(tr->graph, t, 0, NULL, value);
}

/* The dtype that the tensors among the operands give the numbers, or -1. The condition of a
 * select has no say. */
static int beside_dtype(lua_State *L, Host *h, Op op, int n)
{
    int found = -1;
    for (int arg = OPS[op].family == FAM_select ? 2 : 1; arg <= n; arg++) {
        Tensor *t = tensor_at(L, h, arg);
        if (!t || t->weak) continue;
        Dtype dtype = tensor_shape(tensor_check(L, h, arg, OPS[op].name)).dtype;
        found = found < 0 ? (int)dtype : (int)ir_dtype_promote((Dtype)found, dtype);
    }
    return found;
}

/* Numbers without a tensor beside them share the highest class among them. */
static int beside_numbers(lua_State *L, Host *h, Op op, int n)
{
    int class = CLASS_BOOL;
    for (int arg = OPS[op].family == FAM_select ? 2 : 1; arg <= n; arg++) {
        const Tensor *t = tensor_number_at(L, h, arg);
        int own = t ? tensor_number_class(h, t) : number_class(L, arg);
        if (own > class) class = own;
    }
    return (int)default_dtype(class);
}

void tensor_elementwise(lua_State *L, Host *h, Op op)
{
    const OpInfo *info = &OPS[op];
    int n = info->inputs;
    Tensor *out = tensor_new(L, h);
    Trace *tr = tensor_trace(L, h);
    int beside = beside_dtype(L, h, op, n);
    if (beside < 0) beside = beside_numbers(L, h, op, n);
    Node *in[MAX_OPERANDS];
    for (int i = 0; i < n; i++) {
        bool condition = info->family == FAM_select && i == 0;
        in[i] = tensor_operand(L, h, tr, info->name, i + 1, condition ? DT_bool : beside);
    }
    Node *made = ir_elementwise(tr->graph, op, n, in);
    if (!made) bind_throw(L, h);
    tensor_bind(out, tr, made);
}

void tensor_operator(lua_State *L, Host *h, Op op)
{
    bool strong = !tensor_recording(h);
    for (int arg = 1; arg <= OPS[op].inputs; arg++) {
        const Tensor *t = tensor_at(L, h, arg);
        strong |= t && !t->weak;
    }
    if (strong) tensor_elementwise(L, h, op);
    else tensor_number_operator(L, h, op);
}

static int op_method(lua_State *L)
{
    Host *h = bind_of(L);
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(2));
    int given = lua_gettop(L);
    if (given > OPS[op].inputs)
        return bind_raise(L, SGL_EARG, NULL, "%s takes %d operand%s, got %d", OPS[op].name,
                          OPS[op].inputs, OPS[op].inputs == 1 ? "" : "s", given);
    lua_settop(L, OPS[op].inputs);
    tensor_elementwise(L, h, op);
    return 1;
}

static const struct {
    const char *event;
    Op op;
} OPERATORS[] = {
    {"__add", OP_add},        {"__sub", OP_sub},          {"__mul", OP_mul},
    {"__div", OP_div},        {"__mod", OP_mod},          {"__pow", OP_pow},
    {"__idiv", OP_floordiv},  {"__unm", OP_neg},          {"__band", OP_logical_and},
    {"__bor", OP_logical_or}, {"__bxor", OP_logical_xor}, {"__bnot", OP_logical_not},
};

/* Lua asks the second operand for its operator when the first is a number: so with an object beside
 * a number of a step. */
static bool other_operator(lua_State *L, Host *h, Op op)
{
    if (!tensor_number_at(L, h, 1) || tensor_dim_at(L, 2) != DIM_FAIL || tensor_at(L, h, 2))
        return false;
    if (lua_type(L, 2) != LUA_TTABLE && lua_type(L, 2) != LUA_TUSERDATA) return false;
    size_t i = 0;
    while (OPERATORS[i].op != op) i++;
    if (!luaL_getmetafield(L, 2, OPERATORS[i].event)) return false;
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return true;
}

/* Lua gives the metamethod of an unary operator its operand twice. */
static int op_operator(lua_State *L)
{
    Host *h = bind_of(L);
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(2));
    lua_settop(L, OPS[op].inputs);
    if (OPS[op].inputs < 2 || !other_operator(L, h, op)) tensor_operator(L, h, op);
    return 1;
}

/* Stack: methods, metatable, host. */
void tensor_open_ops(lua_State *L)
{
    int host = lua_gettop(L), meta = host - 1, methods = host - 2;
    for (int op = 0; op < OP_COUNT; op++) {
        if (!ir_family_elementwise(OPS[op].family)) continue;
        lua_pushvalue(L, host);
        lua_pushinteger(L, op);
        lua_pushcclosure(L, op_method, 2);
        lua_setfield(L, methods, OPS[op].name);
    }
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++) {
        lua_pushvalue(L, host);
        lua_pushinteger(L, OPERATORS[i].op);
        lua_pushcclosure(L, op_operator, 2);
        lua_setfield(L, meta, OPERATORS[i].event);
    }
}
