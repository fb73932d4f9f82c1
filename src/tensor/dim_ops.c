/* dim_ops.c: what Lua can do with symbolic sizes: arithmetic, comparisons, text.
 *
 * Sums, products and quotients (//) of sizes are sizes. What leaves them (/, ^, a minus, a
 * fraction) is a number of the step (number.h), known at each run.
 * Holds: a comparison is decided by the ranges, or by the sizes of the example; then it is
 *        recorded, and sizes with another result get a capture of their own.
 */
#include <math.h>
#include <string.h>
#include "tensor/number.h"
#include "tensor/ops.h"
#include "tensor/room.h"
#include "ir/check.h"

/* The operand as a size; negative integers go to *minus. DIM_FAIL: it is something else. A float,
 * 2.0 as well, is: what Lua computes with it is a float. */
static Dim operand(lua_State *L, int arg, bool *minus)
{
    *minus = false;
    if (lua_type(L, arg) != LUA_TNUMBER) return tensor_dim_at(L, arg);
    if (!lua_isinteger(L, arg)) return DIM_FAIL;
    lua_Integer v = lua_tointeger(L, arg);
    *minus = v < 0;
    return v == INT64_MIN ? DIM_FAIL : v < 0 ? -v : v;
}

/* As a number of the step, or beside a tensor as an element of it. */
static int as_number(lua_State *L, Host *h, Op op)
{
    lua_settop(L, 2);
    if (!tensor_recording(h) && !tensor_at(L, h, 1) && !tensor_at(L, h, 2))
        return bind_raise(L, SGL_EARG, NULL,
                          "a symbolic size has no value here: outside a "
                          "captured function only + - * // and %% of sizes work");
    tensor_operator(L, h, op);
    return 1;
}

/* Is the innermost Lua function one of the library's? */
static bool called_by_library(lua_State *L)
{
    lua_Debug ar;
    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "S", &ar);
        if (*ar.what != 'C') return !strncmp(ar.source, "=sgl/", 5);
    }
    return true;
}

/* The first symbol of a comparison that the example has no size for, or -1. */
static int unknown_symbol(Host *h, const DimGuard *g)
{
    const Assumed *assumed = tensor_recorder(h)->assumed;
    int symbols[64];
    int n = ir_dim_symbols(h->cx, g->a, symbols, 32);
    n += ir_dim_symbols(h->cx, g->b, symbols + n, 32);
    for (int i = 0; i < n; i++)
        if (!assumed || !assumed->example || symbols[i] >= assumed->nexample ||
            !assumed->example[symbols[i]])
            return symbols[i];
    return -1;
}

/* By the sizes of the example, and recorded. */
static bool decide(lua_State *L, Host *h, DimGuard g)
{
    Assumed *assumed = tensor_recorder(h)->assumed;
    int unknown = unknown_symbol(h, &g);
    if (unknown >= 0)
        bind_raise(L, SGL_ESHAPE, "give it a range that decides: sgl.dim(name, { min =, max = })",
                   "the size '%s' is not known here, so it cannot be compared",
                   ir_dim_symbol_at(h->cx, unknown)->name);
    g.result = true;
    int which;
    g.result = tensor_guards_hold(h->cx, &(DimGuards){.at = &g, .n = 1}, assumed->example, &which);
    g.src = bind_src(L, h, NULL);
    if (!vec_push(&assumed->sizes, g)) bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a guard");
    return g.result;
}

/* What the user computes of sizes may be beyond what a size can be, where it would stay at the end
 * of the range: the step is held to sizes for which it is not. */
static void check_most(lua_State *L, Host *h, Dim d)
{
    int64_t lo, hi;
    ir_dim_range(h->cx, d, &lo, &hi);
    DimGuard g = {.order = DIM_LT, .a = d, .add = DIM_MOST};
    if (hi < DIM_MOST || called_by_library(L)) return;
    if (!ir_dim_is_const(d) && (!tensor_recording(h) || unknown_symbol(h, &g) >= 0)) return;
    if (!ir_dim_is_const(d) && decide(L, h, g)) return;
    bind_raise(L, SGL_ESHAPE, "compute it of floats, n * 1.0 * m, or outside the step",
               "what is computed of sizes is beyond 2^60 here");
}

static int push_result(lua_State *L, Host *h, Dim d)
{
    if (d == DIM_FAIL) return bind_throw(L, h);
    check_most(L, h, d);
    tensor_push_size(L, d);
    return 1;
}

/* a ± b */
static int sum(lua_State *L, Op op, bool subtract)
{
    Host *h = bind_of(L);
    bool a_minus, b_minus;
    Dim a = operand(L, 1, &a_minus), b = operand(L, 2, &b_minus);
    if (a == DIM_FAIL || b == DIM_FAIL) return as_number(L, h, op);
    if (a_minus && subtract == b_minus) return push_result(L, h, ir_dim_sub(h->cx, b, a));
    if (a_minus) return as_number(L, h, op);
    base_err_clear(&h->cx->err);
    return push_result(L, h,
                       subtract == b_minus ? ir_dim_add(h->cx, a, b) : ir_dim_sub(h->cx, a, b));
}

static int dim_add(lua_State *L) { return sum(L, OP_add, false); }

static int dim_sub(lua_State *L) { return sum(L, OP_sub, true); }

static int dim_mul(lua_State *L)
{
    Host *h = bind_of(L);
    bool a_minus, b_minus;
    Dim a = operand(L, 1, &a_minus), b = operand(L, 2, &b_minus);
    if (a == DIM_FAIL || b == DIM_FAIL || a_minus || b_minus) return as_number(L, h, OP_mul);
    base_err_clear(&h->cx->err);
    return push_result(L, h, ir_dim_mul(h->cx, a, b));
}

/* A quotient of sizes is a size, but not one of a constant by a size; the rest follows from it. */
static int divide(lua_State *L, Op op, bool rest)
{
    Host *h = bind_of(L);
    bool a_minus, b_minus;
    Dim a = operand(L, 1, &a_minus), b = operand(L, 2, &b_minus);
    bool number = a_minus || b_minus || (ir_dim_is_const(a) && !ir_dim_is_const(b));
    if (a == DIM_FAIL || b == DIM_FAIL || number) return as_number(L, h, op);
    base_err_clear(&h->cx->err);
    Dim q = ir_dim_is_const(b) ? ir_dim_floordiv(h->cx, a, b) : ir_dim_quotient(h->cx, a, b);
    if (!rest) return push_result(L, h, q);
    return push_result(L, h, ir_dim_sub(h->cx, a, ir_dim_mul(h->cx, q, b)));
}

static int dim_idiv(lua_State *L) { return divide(L, OP_floordiv, false); }

static int dim_mod(lua_State *L) { return divide(L, OP_mod, true); }

static int dim_div(lua_State *L) { return as_number(L, bind_of(L), OP_div); }

static int dim_pow(lua_State *L) { return as_number(L, bind_of(L), OP_pow); }

static int dim_unm(lua_State *L) { return as_number(L, bind_of(L), OP_neg); }

/* Is it certain that a - b - less is never below 0? */
static bool at_least(Ctx *cx, Dim a, Dim b, int64_t less)
{
    Dim d = less >= 0 ? ir_dim_sub(cx, a, ir_dim_add(cx, b, less))
                      : ir_dim_sub(cx, ir_dim_add(cx, a, -less), b);
    bool sure = d != DIM_FAIL && (ir_dim_is_const(d) || ir_dim_least(cx, d) >= 0);
    base_err_clear(&cx->err);
    return sure;
}

/* Does a <order> b + add hold for all values (1), none (0), or some (-1)? */
static int certain(Ctx *cx, const DimGuard *g)
{
    int64_t strict = g->order == DIM_LT;
    if (g->order == DIM_EQ) {
        if (g->a == g->b) return g->add == 0;
        bool above = at_least(cx, g->a, g->b, g->add + 1);
        bool below = !above && at_least(cx, g->b, g->a, 1 - g->add);
        return above || below ? 0 : -1;
    }
    if (at_least(cx, g->b, g->a, strict - g->add)) return 1;
    return at_least(cx, g->a, g->b, g->add + !strict) ? 0 : -1;
}

/* A side of a comparison that is a number: the whole number below it, and whether it is whole. */
static int64_t number_side(lua_State *L, int arg, bool *whole)
{
    const double MOST = 0x1p50;
    tensor_number_settle(L, bind_of(L), arg, "a comparison with a size");
    if (lua_type(L, arg) != LUA_TNUMBER)
        bind_raise(L, SGL_EARG, NULL, "a symbolic size is compared with sizes and numbers, not %s",
                   bind_kind(L, arg));
    double v = lua_tonumber(L, arg);
    *whole = v == floor(v);
    return (int64_t)fmax(-MOST, fmin(MOST, floor(v)));
}

static int push_comparison(lua_State *L, Host *h, DimGuard g)
{
    int sure = certain(h->cx, &g);
    lua_pushboolean(L, sure < 0 ? decide(L, h, g) : sure);
    return 1;
}

/* Numbers go to the right: v < d is not (d <= v), and between whole numbers a fraction is the
 * whole number below it. */
static int compare(lua_State *L, DimOrder order)
{
    Host *h = bind_of(L);
    DimGuard g = {.order = order, .a = tensor_dim_at(L, 1), .b = tensor_dim_at(L, 2)};
    bool whole, turned = g.a == DIM_FAIL;
    if (g.a != DIM_FAIL && g.b != DIM_FAIL) return push_comparison(L, h, g);
    if (turned && g.b == DIM_FAIL)
        bind_raise(L, SGL_EARG, NULL, "one side of the comparison must be a symbolic size");
    g.add = number_side(L, turned ? 1 : 2, &whole);
    if (turned) g.a = g.b;
    g.b = 0;
    if (turned && order != DIM_EQ) g.order = order == DIM_LT ? DIM_LE : DIM_LT;
    if (!whole && order == DIM_EQ) g.add = -1;
    else if (!whole) g.order = DIM_LE;
    push_comparison(L, h, g);
    if (turned && order != DIM_EQ) lua_pushboolean(L, !lua_toboolean(L, -1));
    return 1;
}

static int dim_lt(lua_State *L) { return compare(L, DIM_LT); }

static int dim_le(lua_State *L) { return compare(L, DIM_LE); }

static int dim_eq(lua_State *L) { return compare(L, DIM_EQ); }

static int dim_name(lua_State *L)
{
    Host *h = bind_of(L);
    Str *s = bind_text(L);
    ir_dim_text(h->cx, tensor_dim_at(L, 1), s);
    return bind_text_push(L, s);
}

/* core.size_text(size): in a step the text is that of the size of the example, which a guard then
 * holds it to: whatever the step does with the text, it is what it would be without capture. */
static int size_text(lua_State *L)
{
    Host *h = bind_of(L);
    Dim d = tensor_dim_at(L, 1);
    const Assumed *assumed = tensor_recorder(h)->assumed;
    if (d == DIM_FAIL) {
        luaL_tolstring(L, 1, NULL);
        return 1;
    }
    if (!assumed || !assumed->example) return dim_name(L);
    DimGuard g = {.order = DIM_EQ, .a = d, .add = ir_dim_eval(h->cx, d, assumed->example)};
    decide(L, h, g);
    lua_pushfstring(L, "%I", (LUAI_UACINT)g.add);
    return 1;
}

/* In messages of the library a size has its name. */
static int dim_text(lua_State *L) { return called_by_library(L) ? dim_name(L) : size_text(L); }

static int dim_concat(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

/* d.name, d.min, d.max, d.multiple; the multiple of an expression is 1. */
static int dim_index(lua_State *L)
{
    Host *h = bind_of(L);
    Dim d = tensor_dim_at(L, 1);
    int64_t lo, hi;
    int symbol;
    if (d == DIM_FAIL) return 0;
    const char *key = luaL_checkstring(L, 2);
    ir_dim_range(h->cx, d, &lo, &hi);
    if (!strcmp(key, "name")) return dim_name(L);
    if (!strcmp(key, "eq")) lua_pushvalue(L, lua_upvalueindex(2));
    else if (!strcmp(key, "min")) lua_pushinteger(L, lo);
    else if (!strcmp(key, "max")) lua_pushinteger(L, hi);
    else if (strcmp(key, "multiple") != 0)
        return bind_raise(L, SGL_EARG, NULL,
                          "a symbolic size has name, min, max, multiple and "
                          "eq(size), no '%s'",
                          key);
    else if ((symbol = ir_dim_plain(h->cx, d)) >= 0)
        lua_pushinteger(L, ir_dim_symbol_at(h->cx, symbol)->multiple);
    else lua_pushinteger(L, 1);
    return 1;
}

static const luaL_Reg META[] = {
    {"__add", dim_add},       {"__sub", dim_sub}, {"__mul", dim_mul}, {"__idiv", dim_idiv},
    {"__unm", dim_unm},       {"__mod", dim_mod}, {"__div", dim_div}, {"__pow", dim_pow},
    {"__lt", dim_lt},         {"__le", dim_le},   {"__eq", dim_eq},   {"__tostring", dim_text},
    {"__concat", dim_concat}, {NULL, NULL},
};

/* `eq` needs a closure of its own, because == of a size and a number does not ask a metamethod. */
void tensor_dim_class(lua_State *L)
{
    bind_class(L, TENSOR_DIM_CLASS, META, NULL, 0);
    luaL_getmetatable(L, TENSOR_DIM_CLASS);
    lua_pushliteral(L, "symbolic size");
    lua_setfield(L, -2, "__name");
    bind_open(L);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, dim_eq, 1);
    lua_pushcclosure(L, dim_index, 2);
    lua_setfield(L, -2, "__index");
}

/* core.dim(name, min, max, multiple) */
static int make(lua_State *L)
{
    Host *h = bind_of(L);
    const char *name = luaL_checkstring(L, 1);
    base_err_clear(&h->cx->err);
    if (!tensor_recording(h)) ir_dim_budget(h->cx, DIM_STEPS);
    return push_result(L, h,
                       ir_dim_symbol(h->cx, name, luaL_checkinteger(L, 2), luaL_checkinteger(L, 3),
                                     luaL_checkinteger(L, 4)));
}

/* core.is_size(v): a symbolic size? */
static int is_dim(lua_State *L)
{
    lua_pushboolean(L, tensor_dim_at(L, 1) != DIM_FAIL);
    return 1;
}

const luaL_Reg TENSOR_DIM[] = {
    {"dim", make},
    {"is_dim", is_dim},
    {"size_text", size_text},
    {NULL, NULL},
};
