/* dim.c: symbolic sizes as Lua values, and guards on them.
 */
#include "ir/check.h"
#include "tensor/dim.h"

const char TENSOR_DIM_CLASS[] = "sgl.dim";

void tensor_push_size(lua_State *L, Dim d)
{
    if (ir_dim_is_const(d)) {
        lua_pushinteger(L, d);
        return;
    }
    Dim *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = d;
    luaL_setmetatable(L, TENSOR_DIM_CLASS);
}

Dim tensor_dim_at(lua_State *L, int arg)
{
    const Dim *box =
        lua_type(L, arg) == LUA_TUSERDATA ? luaL_testudata(L, arg, TENSOR_DIM_CLASS) : NULL;
    return box ? *box : DIM_FAIL;
}

static bool holds(DimOrder order, int64_t difference)
{
    return order == DIM_LT ? difference < 0 : order == DIM_LE ? difference <= 0 : difference == 0;
}

bool tensor_guards_hold(const Ctx *cx, const DimGuards *g, const int64_t *values, int *which)
{
    for (int i = 0; i < g->n; i++) {
        const DimGuard *guard = &g->at[i];
        int64_t a = ir_dim_eval(cx, guard->a, values), b = ir_dim_eval(cx, guard->b, values);
        *which = i;
        if (holds(guard->order, a - b - guard->add) != guard->result) return false;
    }
    return true;
}

/* "batch < 8 is true (train.lua:12)" */
static void guard_text(Ctx *cx, const DimGuard *g, Str *out)
{
    static const char *const SIGNS[] = {[DIM_LT] = "<", [DIM_LE] = "<=", [DIM_EQ] = "=="};
    SrcPos at = base_src_pos(cx, g->src);
    ir_dim_text(cx, g->a, out);
    base_str_fmt(out, " %s ", SIGNS[g->order]);
    if (g->b != 0 || g->add == 0) ir_dim_text(cx, g->b, out);
    if (g->add != 0) base_str_fmt(out, g->b ? "%+lld" : "%lld", (long long)g->add);
    base_str_fmt(out, " is %s (%s:%d)", g->result ? "true" : "false", at.file, at.line);
}

void tensor_push_guards(lua_State *L, Ctx *cx, const DimGuards *g)
{
    lua_createtable(L, g->n, 0);
    for (int i = 0; i < g->n; i++) {
        Str *s = bind_text(L);
        guard_text(cx, &g->at[i], s);
        bind_text_push(L, s);
        lua_rawseti(L, -3, i + 1);
        lua_pop(L, 1);
    }
}
