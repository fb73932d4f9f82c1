/* tables.c: the op table, the dtypes and the passes as Lua tables, and samples from an op's domain:
 * what generated docs and specs are made of.
 */
#include <string.h>
#include "module/module.h"
#include "tensor/args.h"
#include "tensor/tensor.h"
#include "ir/eval.h"
#include "ir/expr.h"
#include "ir/factor.h"
#include "kern/print_c.h"
#include "pass/pass.h"

static const char *const FAMILIES[] = {
    [FAM_unary] = "unary",     [FAM_test] = "test",         [FAM_binary] = "binary",
    [FAM_compare] = "compare", [FAM_select] = "select",     [FAM_leaf] = "leaf",
    [FAM_cast] = "cast",       [FAM_movement] = "movement", [FAM_reduce] = "reduce",
    [FAM_dot] = "dot",         [FAM_index] = "index",       [FAM_control] = "control",
    [FAM_custom] = "custom",   [FAM_result] = "result",     [FAM_effect] = "effect",
    [FAM_comm] = "comm",
};

static const char *const DOMAINS[] = {
    [DOM_NONE] = "none",         [DOM_REAL] = "real",         [DOM_NONZERO] = "nonzero",
    [DOM_POSITIVE] = "positive", [DOM_UNIT] = "unit",         [DOM_BROKEN] = "broken",
    [DOM_APART] = "apart",       [DOM_SMALLINT] = "smallint", [DOM_ANYTHING] = "anything",
    [DOM_INDEX] = "index",       [DOM_RNGSTATE] = "rngstate", NULL,
};

/* Classes of dtypes as a list of names. */
static void push_classes(lua_State *L, int classes)
{
    static const struct {
        int bit;
        const char *name;
    } CLASSES[] = {
        {CLASS_BOOL, "bool"},
        {CLASS_INT, "int"},
        {CLASS_FLOAT, "float"},
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++) {
        if (!(classes & CLASSES[i].bit)) continue;
        lua_pushstring(L, CLASSES[i].name);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
}

/* Pushes the row of an op. */
static void push_op(lua_State *L, const OpInfo *op)
{
    lua_createtable(L, 0, 11);
    bind_set_text(L, "name", op->name);
    bind_set_text(L, "family", FAMILIES[op->family]);
    bind_set_text(L, "attrs", op->attrs);
    bind_set_text(L, "domain", DOMAINS[op->domain]);
    bind_set_text(L, "layout", ir_layout_name(op->layout));
    bind_set_text(L, "kind", ir_factor_name(op->kind));
    bind_set_text(L, "onnx", op->onnx);
    bind_set_text(L, "doc", op->doc);
    if (ir_expr_stated((Op)(op - OPS)) > 0) {
        lua_pushnumber(L, ir_expr_stated((Op)(op - OPS)));
        lua_setfield(L, -2, "ulp");
    }
    lua_pushinteger(L, op->inputs);
    lua_setfield(L, -2, "inputs");
    push_classes(L, op->types);
    lua_setfield(L, -2, "types");
    lua_pushboolean(L, op->flows);
    lua_setfield(L, -2, "differentiable");
}

static int ops(lua_State *L)
{
    lua_createtable(L, OP_COUNT, 0);
    for (int op = 0; op < OP_COUNT; op++) {
        push_op(L, &OPS[op]);
        lua_rawseti(L, -2, op + 1);
    }
    return 1;
}

/* core.dtypes() -> list of {name, class, bytes, onnx} in the order of their numbers; onnx is the
 * number that ONNX has for it */
static int dtypes(lua_State *L)
{
    lua_createtable(L, DT_COUNT, 0);
    for (int t = 0; t < DT_COUNT; t++) {
        const DtypeInfo *info = &DTYPES[t];
        lua_createtable(L, 0, 4);
        bind_set_text(L, "name", info->name);
        bind_set_text(L, "class",
                      info->class == CLASS_BOOL  ? "bool"
                      : info->class == CLASS_INT ? "int"
                                                 : "float");
        lua_pushinteger(L, (lua_Integer)info->bytes);
        lua_setfield(L, -2, "bytes");
        lua_pushinteger(L, info->onnx);
        lua_setfield(L, -2, "onnx");
        lua_rawseti(L, -2, t + 1);
    }
    return 1;
}

/* core.passes() -> list of {name, doc} in the order of the pipeline */
static int passes(lua_State *L)
{
    lua_newtable(L);
    for (const Pass *p = PASSES; p->name; p++) {
        lua_createtable(L, 0, 2);
        bind_set_text(L, "name", p->name);
        bind_set_text(L, "doc", p->doc);
        lua_rawseti(L, -2, p - PASSES + 1);
    }
    return 1;
}

/* core.sample(domain, seed, shape, dtype, bound?) */
static int sample(lua_State *L)
{
    Host *h = bind_of(L);
    int64_t dims[OP_MAX_RANK];
    Domain domain = (Domain)luaL_checkoption(L, 1, NULL, DOMAINS);
    lua_Integer seed = luaL_checkinteger(L, 2), bound = luaL_optinteger(L, 5, 1);
    int rank = tensor_check_dims(L, 3, "sample: the shape", dims);
    Dtype dtype = bind_check_dtype(L, 4, DT_f32);
    Storage *s = tensor_make(L, h, dtype, rank, dims)->storage;
    RefArray a = {.dtype = dtype, .rank = rank, .count = s->count};
    memcpy(a.dims, dims, rank * sizeof *dims);
    a.at = bind_scratch(L, s->count, sizeof *a.at);
    ir_domain_sample(domain, (uint64_t)seed, bound, &a);
    void *to = dev_storage_edit(s);
    for (int64_t i = 0; i < s->count; i++) ir_dtype_store(dtype, to, i, a.at[i]);
    lua_pop(L, 1);
    return 1;
}

/* core.value(text, dtype, inputs): the value of a row as C, a line for each micro-op. The text is
 * an op's name or, over that many inputs, an expression as in a row. */
static int value(lua_State *L)
{
    Host *h = bind_of(L);
    const char *text = luaL_checkstring(L, 1);
    int dtype = ir_dtype_find(luaL_checkstring(L, 2)), op = ir_op_find(text);
    int inputs = (int)luaL_optinteger(L, 3, 1);
    luaL_argcheck(L, dtype >= 0, 2, "unknown dtype");
    luaL_argcheck(L, inputs >= 1 && inputs <= 3, 3, "1 to 3");
    Str *out = bind_text(L);
    Arena arena = {0};
    base_err_clear(&h->cx->err);
    const Expr *e = op >= 0 ? ir_expr_op((Op)op, (Dtype)dtype)
                            : ir_expr_of_text(h->cx, &arena, "value", text, inputs, (Dtype)dtype);
    if (e) kern_print_expr(&KERN_C, e, op >= 0 ? text : "value", out);
    base_arena_free(&arena);
    if (!e && op >= 0) return bind_raise(L, SGL_EARG, NULL, "value: %s is of no such op", text);
    return e ? bind_text_push(L, out) : bind_throw(L, h);
}

const luaL_Reg MODULE_TABLES[] = {
    {"ops", ops},       {"dtypes", dtypes}, {"passes", passes},
    {"sample", sample}, {"value", value},   {NULL, NULL},
};
