/* number.c: numbers of a step: arithmetic as Lua has it, and their way into tensors.
 *
 * Lua adds integers as integers, which wrap, and everything else as doubles; so i64 and f64 nodes
 * do. Where the two differ it matters whether an argument is an integer: the capture is classed.
 * Holds: an input is f64, which holds the integer arguments of a classed program (capture/ sees
 *        to it); a computed integer may be any. Through f64 a number becomes a narrower
 *        float, as a constant does: each is rounded from a double.
 */
#include <math.h>
#include <string.h>
#include "tensor/break.h"
#include "tensor/dim.h"
#include "tensor/number.h"
#include "tensor/recorder.h"
#include "ir/build.h"

/* What Lua computes of integers in integers. */
static const bool KEEPS[OP_COUNT] = {
    [OP_add] = true, [OP_sub] = true,      [OP_mul] = true,
    [OP_mod] = true, [OP_floordiv] = true, [OP_neg] = true,
};

const Tensor *tensor_number_at(lua_State *L, Host *h, int arg)
{
    const Tensor *t = tensor_at(L, h, arg);
    return t && t->weak ? t : NULL;
}

const char *tensor_number_kind(const Tensor *t)
{
    return t->node && t->node->op == OP_input ? "a number that is an input of the step"
                                              : "a number computed of inputs of the step";
}

/* It matters which numbers among the arguments are integers. */
static void depend_on_types(const Host *h)
{
    Assumed *assumed = tensor_recorder(h)->assumed;
    if (assumed) assumed->classed = true;
}

int tensor_number_class(Host *h, const Tensor *t)
{
    if (!t->known) depend_on_types(h);
    return t->weak == WEAK_INT ? CLASS_INT : CLASS_FLOAT;
}

void tensor_number_refuse(lua_State *L, Host *h, int arg, const char *what)
{
    const Tensor *t = tensor_number_at(L, h, arg);
    if (t) tensor_break(L, h, BREAK_NUMBER, NULL, "%s on %s", what, tensor_number_kind(t));
}

/* The recorder of the step that the number at `arg` belongs to; NULL: it is none of one. */
static Recorder *recorder_of(lua_State *L, Host *h, int arg)
{
    Recorder *r = tensor_recorder(h);
    return r->assumed && tensor_number_at(L, h, arg) ? r : NULL;
}

void tensor_number_settle(lua_State *L, Host *h, int arg, const char *what)
{
    Recorder *r = recorder_of(L, h, arg);
    if (!r || !r->ops->settle(L, r, arg, what)) tensor_number_refuse(L, h, arg, what);
}

bool tensor_number_value(lua_State *L, Host *h, int arg)
{
    Recorder *r = recorder_of(L, h, arg);
    return r && r->ops->value(L, r, arg);
}

bool tensor_number_compare(lua_State *L, Host *h, int op, int a, int b, const char *what)
{
    Recorder *r = recorder_of(L, h, a);
    if (!r) r = recorder_of(L, h, b);
    int result = r ? r->ops->compare(L, r, op, a, b) : -1;
    if (result >= 0) return result;
    tensor_number_refuse(L, h, a, what);
    tensor_number_refuse(L, h, b, what);
    return false;
}

/* Then it is like a number among the arguments: known at each run. */
void tensor_number_of_size(lua_State *L, Host *h, int arg)
{
    Dim size = tensor_dim_at(L, arg);
    if (size == DIM_FAIL || !tensor_recording(h)) return;
    Tensor *t = tensor_new(L, h);
    Trace *tr = tensor_trace(L, h);
    Node *n = ir_size(tr->graph, DT_i64, size);
    if (!n) bind_throw(L, h);
    tensor_bind(t, tr, n);
    t->weak = WEAK_INT;
    t->known = true;
    lua_replace(L, arg);
}

/* ---- into tensors */

void tensor_number_check(lua_State *L, const NumberCheck *must)
{
    double value = lua_tonumber(L, -1);
    if (value >= must->least && value < must->limit) return;
    bind_raise(L, SGL_EARG, NULL, "%s",
               luaL_gsub(L, must->text, "{}", luaL_tolstring(L, -1, NULL)));
}

/* An integer must come out as it is, a float lose no more than its fraction. */
static void check_fits(lua_State *L, Host *h, const char *what, int arg, Node *n, Dtype to)
{
    double least = ir_dtype_round(to, -INFINITY), most = ir_dtype_round(to, INFINITY);
    NumberCheck must = {.least = least, .limit = most + 1};
    if (n->dtype == DT_f64 && to != DT_i64) must.least = nextafter(least - 1, 0);
    if (to == DT_i64) must.limit = most; /* 2^63, one more than there is */
    must.text = lua_pushfstring(L, "%s: {} does not fit into %s", what, DTYPES[to].name);
    Recorder *r = tensor_recorder(h);
    r->ops->require(L, r, arg, n, (int)to, &must);
    lua_pop(L, 1);
}

/* Floats go through f64, as a constant would; integers are checked to fit at each run. */
Node *tensor_number_cast(lua_State *L, Host *h, const char *what, int arg, Dtype to)
{
    const Tensor *t = tensor_number_at(L, h, arg);
    Node *n = tensor_node(L, h, arg, what), *made;
    if (DTYPES[to].class != CLASS_INT) {
        made = ir_cast(ir_cast(n, DT_f64), to);
    } else {
        bool whole = tensor_number_class(h, t) == CLASS_INT;
        n = ir_cast(n, whole ? DT_i64 : DT_f64);
        made = ir_cast(n, to);
        if (made && made != n) check_fits(L, h, what, arg, n, to);
    }
    return made ? made : (bind_throw(L, h), NULL);
}

/* ---- operators */

/* What the operands say together of the result. */
typedef struct Numbers {
    bool whole; /* integers, computed as such */
    bool known; /* so, or not so, whatever the types of the arguments */
} Numbers;

/* Whether Lua would compute it in integers, and whether that depends on the arguments' types. */
static Numbers look(lua_State *L, Host *h, Op op)
{
    Numbers is = {KEEPS[op], true};
    bool real = !KEEPS[op];
    for (int arg = 1; arg <= OPS[op].inputs; arg++) {
        const Tensor *t = tensor_number_at(L, h, arg);
        bool size = tensor_dim_at(L, arg) != DIM_FAIL;
        if (!t && !size && lua_type(L, arg) != LUA_TNUMBER)
            bind_raise(L, SGL_EARG, NULL, "%s: operand %d must be a number, got %s", OPS[op].name,
                       arg, bind_kind(L, arg));
        bool whole = t ? t->weak == WEAK_INT : size || lua_isinteger(L, arg);
        is.whole &= whole;
        is.known &= !t || t->known;
        real |= !whole && (!t || t->known);
    }
    is.known |= real;
    if (!is.known) depend_on_types(h);
    return is;
}

static Node *operand(lua_State *L, Host *h, Graph *g, Op op, int arg, bool whole)
{
    Dtype t = whole ? DT_i64 : DT_f64;
    Dim size = tensor_dim_at(L, arg);
    if (size != DIM_FAIL) return ir_size(g, t, size);
    if (tensor_number_at(L, h, arg)) return ir_cast(tensor_node(L, h, arg, OPS[op].name), t);
    return whole ? ir_integer(g, lua_tointeger(L, arg))
                 : ir_const(g, t, 0, NULL, lua_tonumber(L, arg));
}

/* Lua refuses to divide an integer by 0, which the graph cannot. */
static void check_divisor(lua_State *L, Host *h, Op op)
{
    Dim size = tensor_dim_at(L, 2);
    int64_t least = 0, most;
    if (op != OP_floordiv && op != OP_mod) return;
    if (size != DIM_FAIL) ir_dim_range(h->cx, size, &least, &most);
    if (least > 0 || (lua_type(L, 2) == LUA_TNUMBER && lua_tointeger(L, 2) != 0)) return;
    const char *what = lua_pushfstring(L, "'%s' of integers, where 0 is an error of Lua",
                                       op == OP_mod ? "%%" : "//");
    lua_pushinteger(L, 0);
    bool known = tensor_number_at(L, h, 2) != NULL;
    if (!known || tensor_number_compare(L, h, LUA_OPEQ, 2, lua_gettop(L), what))
        tensor_break(L, h, BREAK_NUMBER, NULL, "%s", what);
    lua_pop(L, 2);
}

/* Lua takes a text for the number that it shows. */
static void read_texts(lua_State *L, Op op)
{
    for (int arg = 1; arg <= OPS[op].inputs; arg++)
        if (lua_type(L, arg) == LUA_TSTRING && lua_stringtonumber(L, lua_tostring(L, arg)))
            lua_replace(L, arg);
}

/* As Lua computes it: of integers in i64 where Lua stays in integers, else in f64. */
void tensor_number_operator(lua_State *L, Host *h, Op op)
{
    read_texts(L, op);
    if (OPS[op].types == CLASS_BOOL)
        tensor_break(L, h, BREAK_NUMBER, NULL, "an operator on the bits of a number");
    Tensor *out = tensor_new(L, h);
    Trace *tr = tensor_trace(L, h);
    Numbers is = look(L, h, op);
    if (is.whole) check_divisor(L, h, op);
    Node *in[2] = {NULL, NULL};
    for (int i = 0; i < OPS[op].inputs; i++) in[i] = operand(L, h, tr->graph, op, i + 1, is.whole);
    Node *made = ir_elementwise(tr->graph, op, OPS[op].inputs, in);
    if (!made) bind_throw(L, h);
    tensor_bind(out, tr, made);
    out->weak = is.whole ? WEAK_INT : WEAK_FLOAT;
    out->known = is.known;
}

/* ---- what Lua calls */

/* core.weak(v) -> what v is, in words, if it is a number of the step */
static int weak(lua_State *L)
{
    const Tensor *t = lua_gettop(L) > 0 ? tensor_number_at(L, bind_of(L), 1) : NULL;
    if (t) lua_pushstring(L, tensor_number_kind(t));
    else lua_pushnil(L);
    return 1;
}

/* core.number(t) -> the scalar tensor of a step as a number of it, a float of Lua */
static int number(lua_State *L)
{
    Host *h = bind_of(L);
    if (!tensor_recording(h))
        return bind_raise(L, SGL_ESTATE, NULL, "number: only while a step is captured");
    Node *n = ir_cast(tensor_node(L, h, 1, "number"), DT_f64);
    Tensor *t = tensor_new(L, h);
    if (!n) bind_throw(L, h);
    tensor_bind(t, tensor_trace(L, h), n);
    t->weak = WEAK_FLOAT;
    t->known = true;
    return 1;
}

/* core.number_type(v): math.type, of a number of the step too */
static int number_type(lua_State *L)
{
    Host *h = bind_of(L);
    const Tensor *t = tensor_number_at(L, h, 1);
    if (t) lua_pushstring(L, tensor_number_class(h, t) == CLASS_INT ? "integer" : "float");
    else if (lua_type(L, 1) != LUA_TNUMBER) lua_pushnil(L);
    else lua_pushstring(L, lua_isinteger(L, 1) ? "integer" : "float");
    return 1;
}

/* core.number_settle(v, what) -> v; of a number of the step its value, to which the step is held,
 * or a break */
static int number_settle(lua_State *L)
{
    const char *what = luaL_checkstring(L, 2);
    luaL_checkany(L, 1);
    tensor_number_settle(L, bind_of(L), 1, what);
    lua_pushvalue(L, 1);
    return 1;
}

/* core.number_within(v, least, limit, text): an error of the run, with the text, {} in it for the
 * value, unless the number of the step is at least the one and below the other. */
static int number_within(lua_State *L)
{
    Host *h = bind_of(L);
    tensor_trace(L, h);
    Node *n = ir_cast(tensor_node(L, h, 1, "within"), DT_f64);
    NumberCheck must = {.least = luaL_checknumber(L, 2),
                        .limit = luaL_checknumber(L, 3),
                        .text = luaL_checkstring(L, 4)};
    Recorder *r = tensor_recorder(h);
    r->ops->require(L, r, 1, n, -1, &must);
    return 0;
}

const luaL_Reg TENSOR_NUMBER[] = {
    {"number", number},
    {"weak", weak},
    {"number_type", number_type},
    {"number_settle", number_settle},
    {"number_within", number_within},
    {NULL, NULL},
};
