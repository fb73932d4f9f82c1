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

typedef enum OperandKind {
    OPERAND_TENSOR,
    OPERAND_NUMBER, /* of the step */
    OPERAND_SIZE,   /* symbolic */
    OPERAND_VALUE,  /* a number or boolean of Lua */
    OPERAND_OTHER,  /* none that can be computed with */
} OperandKind;

/* An operand, read from the stack once. */
typedef struct Operand {
    OperandKind kind;
    int arg;   /* where it stands */
    int class; /* of a value or size */
    Tensor *tensor;
    Dim size;
} Operand;

static Operand read_operand(lua_State *L, Host *h, int arg)
{
    Operand o = {.kind = OPERAND_OTHER, .arg = arg, .class = CLASS_FLOAT, .size = DIM_FAIL};
    switch (lua_type(L, arg)) {
    case LUA_TUSERDATA:
        o.tensor = tensor_at(L, h, arg);
        o.class = CLASS_INT;
        if (o.tensor) o.kind = o.tensor->weak ? OPERAND_NUMBER : OPERAND_TENSOR;
        else if ((o.size = tensor_dim_at(L, arg)) != DIM_FAIL) o.kind = OPERAND_SIZE;
        break;
    case LUA_TBOOLEAN:
        o.kind = OPERAND_VALUE;
        o.class = CLASS_BOOL;
        break;
    case LUA_TNUMBER:
        o.kind = OPERAND_VALUE;
        if (lua_isinteger(L, arg)) o.class = CLASS_INT;
    }
    return o;
}

/* Reads the operands of the op, which stand at 1 … */
static void read_operands(lua_State *L, Host *h, Op op, Operand *list)
{
    for (int i = 0; i < OPS[op].inputs; i++) list[i] = read_operand(L, h, i + 1);
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

/* A number of that class beside a dtype, or alone (-1). */
static Dtype weak_dtype(int beside, int class)
{
    return beside < 0 ? default_dtype(class) : ir_dtype_weak((Dtype)beside, class);
}

/* Beside floats it does not matter whether a number of the step is an integer. */
static Dtype number_dtype(Host *h, const Tensor *number, int beside)
{
    if (beside >= 0 && DTYPES[beside].class == CLASS_FLOAT) return (Dtype)beside;
    return weak_dtype(beside, tensor_number_class(h, number));
}

/* A size in a dtype; one that may not fit is checked at each run, as a number of the step is. */
static Node *size_node(lua_State *L, Host *h, Trace *tr, const char *what, const Operand *o,
                       Dtype to)
{
    int64_t least, most;
    ir_dim_range(h->cx, o->size, &least, &most);
    bool fits = DTYPES[to].class == CLASS_FLOAT || to == DT_i64 ||
                ((double)least >= ir_dtype_round(to, -INFINITY) &&
                 (double)most <= ir_dtype_round(to, INFINITY));
    if (fits || !tensor_recording(h)) return ir_size(tr->graph, to, o->size);
    tensor_number_of_size(L, h, o->arg);
    return tensor_number_cast(L, h, what, o->arg, to);
}

/* A number or boolean of Lua as a constant. */
static Node *value_node(lua_State *L, Trace *tr, const char *what, const Operand *o, Dtype t)
{
    check_fits(L, what, o->arg, t);
    if (t == DT_i64 && o->class == CLASS_INT)
        return ir_integer(tr->graph, lua_tointeger(L, o->arg));
    double value = o->class == CLASS_BOOL ? lua_toboolean(L, o->arg) : lua_tonumber(L, o->arg);
    return ir_const(tr->graph, t, 0, NULL, value);
}

/* The operand as a node; `beside` as for tensor_operand. NULL with the error set, or raises. */
static Node *node_of(lua_State *L, Host *h, Trace *tr, const char *what, const Operand *o,
                     int beside)
{
    switch (o->kind) {
    case OPERAND_TENSOR:
        return tensor_node_of(L, h, o->arg, o->tensor, what);
    case OPERAND_NUMBER:
        return tensor_number_cast(L, h, what, o->arg, number_dtype(h, o->tensor, beside));
    case OPERAND_SIZE:
        return size_node(L, h, tr, what, o, weak_dtype(beside, CLASS_INT));
    case OPERAND_VALUE:
        return value_node(L, tr, what, o, weak_dtype(beside, o->class));
    case OPERAND_OTHER:
        break;
    }
    const char *got = bind_kind(L, o->arg), *hint = tensor_colon_hint(L);
    bind_raise(L, SGL_EARG, hint, "%s: operand %d must be a tensor or a number, got %s", what,
               o->arg, got);
    return NULL;
}

/* A tensor stands as it is; numbers, booleans and sizes become constants of the dtype beside
 * them. */
Node *tensor_operand(lua_State *L, Host *h, Trace *tr, const char *what, int arg, int beside)
{
    Operand o = read_operand(L, h, arg);
    return node_of(L, h, tr, what, &o, beside);
}

/* The dtype that the operands give the numbers among them: that of the tensors or, where there is
 * none, of the highest class. The condition of a select has no say. */
static Dtype common_dtype(lua_State *L, Host *h, Op op, const Operand *list)
{
    int found = -1, class = CLASS_BOOL, first = OPS[op].family == FAM_select;
    for (int i = first; i < OPS[op].inputs; i++) {
        const Tensor *t = list[i].tensor;
        if (list[i].kind != OPERAND_TENSOR) continue;
        tensor_check_alive(L, t, OPS[op].name);
        Dtype dtype = tensor_dtype(t);
        found = found < 0 ? (int)dtype : (int)ir_dtype_promote((Dtype)found, dtype);
    }
    if (found >= 0) return (Dtype)found;
    for (int i = first; i < OPS[op].inputs; i++) {
        bool number = list[i].kind == OPERAND_NUMBER;
        int own = number ? tensor_number_class(h, list[i].tensor) : list[i].class;
        if (own > class) class = own;
    }
    return default_dtype(class);
}

/* Records the op over the operands and pushes the result. The handle is made before the trace is
 * asked for, as making it may collect, and so change the trace. */
static void elementwise(lua_State *L, Host *h, Op op, const Operand *list)
{
    const OpInfo *info = &OPS[op];
    Tensor *out = tensor_new(L, h);
    Trace *tr = tensor_trace(L, h);
    Dtype beside = common_dtype(L, h, op, list);
    Node *in[MAX_OPERANDS];
    for (int i = 0; i < info->inputs; i++) {
        bool condition = info->family == FAM_select && i == 0;
        in[i] = node_of(L, h, tr, info->name, &list[i], condition ? DT_bool : (int)beside);
    }
    Node *made = ir_elementwise(tr->graph, op, info->inputs, in);
    if (!made) bind_throw(L, h);
    tensor_bind(out, tr, made);
}

void tensor_elementwise(lua_State *L, Host *h, Op op)
{
    Operand list[MAX_OPERANDS];
    read_operands(L, h, op, list);
    elementwise(L, h, op, list);
}

/* An operator of Lua, which of numbers alone gives a number. */
static void operate(lua_State *L, Host *h, Op op, const Operand *list)
{
    bool strong = !tensor_recording(h);
    for (int i = 0; i < OPS[op].inputs; i++) strong |= list[i].kind == OPERAND_TENSOR;
    if (strong) elementwise(L, h, op, list);
    else tensor_number_operator(L, h, op);
}

void tensor_operator(lua_State *L, Host *h, Op op)
{
    Operand list[MAX_OPERANDS];
    read_operands(L, h, op, list);
    operate(L, h, op, list);
}

/* The method of an op by its number: as many operands as it has, and no more. */
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
static bool other_operator(lua_State *L, Op op, const Operand *list)
{
    if (list[0].kind != OPERAND_NUMBER || list[1].kind != OPERAND_OTHER) return false;
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
    Operand list[MAX_OPERANDS];
    lua_settop(L, OPS[op].inputs);
    read_operands(L, h, op, list);
    if (OPS[op].inputs < 2 || !other_operator(L, op, list)) operate(L, h, op, list);
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
