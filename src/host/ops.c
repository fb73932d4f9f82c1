/* ops.c: the elementwise ops of the table as methods and operators.
 *
 * A closure over the op's number serves each. Operands are tensors, numbers and booleans;
 * the latter two are weak: they take the dtype of the tensors beside them unless their class is
 * higher. So are tensors that stand for number arguments of a step, and what is computed of those
 * and numbers alone, as it would be a number outside.
 */
#include "host/capture.h"
#include "host/dim.h"
#include "host/ops.h"
#include "host/trace.h"
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
    host_raise(L, SGL_EARG, "cast the tensor to a wider dtype first, such as t:to(\"i64\")",
               "%s: %I does not fit into %s", what, v, DTYPES[t].name);
}

/* Of numbers alone. */
static Dtype default_dtype(int class)
{
    return class == CLASS_FLOAT ? DT_f32 : class == CLASS_INT ? DT_i32 : DT_bool;
}

static Node *weak_operand(lua_State *L, Host *h, const char *what, int arg, int beside)
{
    const Tensor *t = host_tensor_at(L, h, arg);
    Node *n = host_node(L, h, arg, what);
    if (!t->weak || beside < 0) return n;
    if (DTYPES[beside].class != CLASS_FLOAT) host_capture_step(h->capture)->classed = true;
    return ir_cast(n, ir_dtype_weak((Dtype)beside, t->weak == WEAK_INT ? CLASS_INT : CLASS_FLOAT));
}

Node *host_operand(lua_State *L, Host *h, Trace *tr, const char *what, int arg, int beside)
{
    int type = lua_type(L, arg);
    Dim size = host_dim_at(L, arg);
    if (size != DIM_FAIL) {
        Dtype t = beside < 0 ? DT_i32 : ir_dtype_weak((Dtype)beside, CLASS_INT);
        return ir_size(tr->graph, t, size);
    }
    if (type != LUA_TNUMBER && type != LUA_TBOOLEAN) {
        if (host_tensor_at(L, h, arg)) return weak_operand(L, h, what, arg, beside);
        const char *got = host_kind(L, arg), *hint = host_colon_hint(L);
        host_raise(L, SGL_EARG, hint, "%s: operand %d must be a tensor or a number, got %s", what,
                   arg, got);
    }
    int class = number_class(L, arg);
    Dtype t = beside < 0 ? default_dtype(class) : ir_dtype_weak((Dtype)beside, class);
    check_fits(L, what, arg, t);
    double value = type == LUA_TBOOLEAN ? lua_toboolean(L, arg) : lua_tonumber(L, arg);
    return ir_const(tr->graph, t, 0, NULL, value);
}

/* The dtype that the tensors among the operands give the numbers, or -1. The condition of a
 * select has no say. */
static int beside_dtype(lua_State *L, Host *h, Op op, int n)
{
    int found = -1;
    for (int arg = OPS[op].family == FAM_select ? 2 : 1; arg <= n; arg++) {
        Tensor *t = host_tensor_at(L, h, arg);
        if (!t || t->weak) continue;
        Dtype dtype = host_tensor_shape(host_tensor_check(L, h, arg, OPS[op].name)).dtype;
        found = found < 0 ? (int)dtype : (int)ir_dtype_promote((Dtype)found, dtype);
    }
    return found;
}

/* Numbers without a tensor beside them share the highest class among them; with one that stands
 * for a number they are what it is. */
static int beside_numbers(lua_State *L, Host *h, Op op, int n)
{
    int class = CLASS_BOOL;
    for (int arg = OPS[op].family == FAM_select ? 2 : 1; arg <= n; arg++) {
        const Tensor *t = host_tensor_at(L, h, arg);
        if (t) return (int)host_tensor_shape(t).dtype;
        if (number_class(L, arg) > class) class = number_class(L, arg);
    }
    return (int)default_dtype(class);
}

/* What an op of numbers alone gives: Lua's integers stay so in these. */
static int weak_result(lua_State *L, Host *h, Op op, int n, const Node *made)
{
    static const bool KEEPS[OP_COUNT] = {
        [OP_add] = true, [OP_sub] = true, [OP_mul] = true,      [OP_mod] = true, [OP_neg] = true,
        [OP_abs] = true, [OP_max] = true, [OP_floordiv] = true, [OP_min] = true,
    };
    bool weak = false, integers = KEEPS[op];
    if (!h->capture || DTYPES[made->dtype].class != CLASS_FLOAT) return STRONG;
    for (int arg = 1; arg <= n; arg++) {
        const Tensor *t = host_tensor_at(L, h, arg);
        if (t && !t->weak) return STRONG;
        weak |= t != NULL;
        integers &= t ? t->weak == WEAK_INT : number_class(L, arg) == CLASS_INT;
    }
    return !weak ? STRONG : integers ? WEAK_INT : WEAK_FLOAT;
}

void host_elementwise(lua_State *L, Host *h, Op op)
{
    const OpInfo *info = &OPS[op];
    int n = info->inputs;
    Tensor *out = host_tensor_new(L, h);
    Trace *tr = host_trace(L, h);
    int beside = beside_dtype(L, h, op, n);
    if (beside < 0) beside = beside_numbers(L, h, op, n);
    Node *in[MAX_OPERANDS];
    for (int i = 0; i < n; i++) {
        bool condition = info->family == FAM_select && i == 0;
        in[i] = host_operand(L, h, tr, info->name, i + 1, condition ? DT_bool : beside);
    }
    Node *made = ir_elementwise(tr->graph, op, n, in);
    if (!made) host_throw(L, h);
    host_tensor_bind(out, tr, made);
    out->weak = weak_result(L, h, op, n, made);
}

static int op_method(lua_State *L)
{
    Host *h = host_of(L);
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(2));
    int given = lua_gettop(L);
    if (given > OPS[op].inputs)
        return host_raise(L, SGL_EARG, NULL, "%s takes %d operand%s, got %d", OPS[op].name,
                          OPS[op].inputs, OPS[op].inputs == 1 ? "" : "s", given);
    lua_settop(L, OPS[op].inputs);
    host_elementwise(L, h, op);
    return 1;
}

/* Lua gives the metamethod of an unary operator its operand twice. */
static int op_operator(lua_State *L)
{
    Host *h = host_of(L);
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(2));
    lua_settop(L, OPS[op].inputs);
    host_elementwise(L, h, op);
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

/* Stack: methods, metatable, host. */
void host_open_ops(lua_State *L)
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
