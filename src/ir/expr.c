/* expr.c: the values of all elementwise ops and conversions as micro-ops, parsed once.
 *
 * In:   the value columns of op.def and cast.def, rows of math.def.
 * Out:  tables of Expr by op or dtype and by the type of registers.
 * Holds: everything is static and written once, so any thread reads it without a lock and nothing
 *        is allocated. POOL is a little more than the rows need; a row too many is an error.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "ir/expr_build.h"

enum { REGS = 5, POOL = 8192 };

const MicroInfo MICROS[EX_COUNT] = {
#define MICRO(name, operands, cost, floats, integers) {#name, operands, cost, floats, integers},
#include "ir/expr.def"
#undef MICRO
};

static const ExprType REG_TYPES[REGS] = {EXT_f32, EXT_f64, EXT_i32, EXT_i64, EXT_u8};
static const int REG_OF[EXT_COUNT] = {
    [EXT_f32] = 0, [EXT_f64] = 1, [EXT_i32] = 2, [EXT_i64] = 3, [EXT_u8] = 4,
};

static const struct { const char *name, *text; } CASTS[DT_COUNT] = {
#define CAST(to, R, value) [DT_##to] = {#to, #value},
#include "ir/cast.def"
#undef CAST
};

static const char *const FNS[EXPR_FN_COUNT] = {
    [EXPR_WIDEN_F16] = "math_widen_f16",      [EXPR_WIDEN_BF16] = "math_widen_bf16",
    [EXPR_NARROW_F16] = "math_to_f16_f32",    [EXPR_NARROW_BF16] = "math_to_bf16_f32",
    [EXPR_RAND_WORD] = "math_rand_word",      [EXPR_UNIFORM] = "math_uniform",
};

ExprType ir_expr_type(Dtype dtype)
{
    static const ExprType types[DT_COUNT] = {
        [DT_bool] = EXT_u8, [DT_u8] = EXT_u8,    [DT_i32] = EXT_i32, [DT_i64] = EXT_i64,
        [DT_f16] = EXT_f32, [DT_bf16] = EXT_f32, [DT_f32] = EXT_f32, [DT_f64] = EXT_f64,
    };
    return types[dtype];
}

static struct {
    pthread_once_t once;
    ExprInst pool[POOL];
    int used;
    Expr op[OP_COUNT][REGS], cast[REGS][DT_COUNT], fn[EXPR_FN_COUNT];
    char error[2 * EXPR_ERROR_BYTES];      /* "" if all rows were understood */
    ExprBuild build;
} all = {.once = PTHREAD_ONCE_INIT};

/* Copies what `value` needs of the list into the pool, the value last. */
static void keep(ExprBuild *b, int value, int inputs, Expr *to)
{
    int number[EXPR_MOST];
    bool needed[EXPR_MOST] = {false};
    needed[value] = true;
    *to = (Expr){.inputs = inputs, .at = all.pool + all.used};
    for (int i = value; i >= 0; i--) {
        const ExprInst *t = &b->at[i];
        const int operand[3] = {t->a, t->b, t->c};
        for (int k = 0; k < 3 && needed[i]; k++)
            if (operand[k] >= 0) needed[operand[k]] = true;
    }
    for (int i = 0; i <= value; i++) {
        if (!needed[i]) continue;
        if (all.used == POOL) {
            ir_expr_fail(b, "more than %d micro-ops in all rows", POOL);
            return;
        }
        ExprInst t = b->at[i];
        int16_t *operand[3] = {&t.a, &t.b, &t.c};
        for (int k = 0; k < 3; k++)
            if (*operand[k] >= 0) *operand[k] = (int16_t)number[*operand[k]];
        number[i] = to->n++;
        all.pool[all.used++] = t;
        to->cost += MICROS[t.code].cost;
    }
}

/* Ends a row: keeps its value, or the error with the row's name. */
static void finish(const char *row, const char *type, int value, int inputs, Expr *to)
{
    ExprBuild *b = &all.build;
    if (value >= 0) keep(b, value, inputs, to);
    if (b->error[0] && !all.error[0])
        snprintf(all.error, sizeof all.error, "the value of %s (%s): %s", row, type, b->error);
    for (int i = 0; i < b->n; i++)
        if (b->at[i].code == EX_input) to->input[b->at[i].bits] = b->at[i].type;
    b->n = 0;
    b->error[0] = '\0';
}

/* Classes of dtypes whose register has the type. */
static int class_of(ExprType type)
{
    if (type == EXT_u8) return CLASS_BOOL | CLASS_INT;
    return ir_ext_float(type) ? CLASS_FLOAT : CLASS_INT;
}

static void parse_op(Op op, int reg)
{
    static const char *const names[REGS] = {"f32", "f64", "i32", "i64", "u8"};
    const OpInfo *info = &OPS[op];
    ExprType type = REG_TYPES[reg], input[3] = {EXT_COUNT, EXT_COUNT, EXT_COUNT};
    if (!ir_family_elementwise(info->family) || !(info->types & class_of(type))) return;
    for (int i = 0; i < info->inputs; i++) input[i] = type;
    if (info->family == FAM_select) input[0] = EXT_u8;
    bool truth = info->family == FAM_test || info->family == FAM_compare;
    int value = ir_expr_parse(&all.build, info->value, type, input, truth ? EXT_u8 : type);
    finish(info->name, names[reg], value, info->inputs, &all.op[op][reg]);
}

static void parse_cast(int reg, Dtype to)
{
    const ExprType input[3] = {REG_TYPES[reg], EXT_COUNT, EXT_COUNT};
    int value = ir_expr_parse(&all.build, CASTS[to].text, input[0], input, ir_expr_type(to));
    finish("cast", CASTS[to].name, value, 1, &all.cast[reg][to]);
}

static void parse_all(void)
{
    for (int reg = 0; reg < REGS; reg++) {
        for (int op = 0; op < OP_COUNT; op++) parse_op((Op)op, reg);
        for (int to = 0; to < DT_COUNT; to++) parse_cast(reg, (Dtype)to);
    }
    for (int i = 0; i < EXPR_FN_COUNT; i++) {
        int inputs = 0, value = ir_expr_parse_fn(&all.build, FNS[i], &inputs);
        finish(FNS[i], "math.def", value, inputs, &all.fn[i]);
    }
}

static bool ready(void)
{
    pthread_once(&all.once, parse_all);
    return !all.error[0];
}

int ir_expr_start(Ctx *cx)
{
    return ready() ? SGL_OK : base_fail(cx, SGL_EINTERN, "%s", all.error);
}

static const Expr *given(const Expr *e) { return ready() && e->n > 0 ? e : NULL; }

const Expr *ir_expr_op(Op op, Dtype operands)
{
    return given(&all.op[op][REG_OF[ir_expr_type(operands)]]);
}

const Expr *ir_expr_cast(Dtype from, Dtype to)
{
    return given(&all.cast[REG_OF[ir_expr_type(from)]][to]);
}

const Expr *ir_expr_fn(ExprFn fn) { return given(&all.fn[fn]); }

/* The interpreter's instruction also loads and stores, which is worth about two micro-ops. */
int ir_expr_cost(Op op, Dtype operands)
{
    const Expr *e = ir_expr_op(op, operands);
    return e && e->cost > 2 ? e->cost / 2 : 1;
}
