/* expr.c: the values of elementwise ops and conversions as micro-ops, each parsed when first asked
 * for.
 *
 * In:   the value columns of op.def and cast.def, rows of math.def.
 * Out:  tables of Expr by op or dtype and by the type of registers.
 * Holds: everything is static: nothing is allocated, and what was parsed is read without a lock.
 *        POOL is a little more than all rows need; a row too many is an error.
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

static const struct {
    const char *name, *text;
} CASTS[DT_COUNT] = {
#define CAST(to, R, value) [DT_##to] = {#to, #value},
#include "ir/cast.def"
#undef CAST
};

static const char *const FNS[EXPR_FN_COUNT] = {
    [EXPR_WIDEN_F16] = "math_widen_f16",   [EXPR_WIDEN_BF16] = "math_widen_bf16",
    [EXPR_NARROW_F16] = "math_to_f16_f32", [EXPR_NARROW_BF16] = "math_to_bf16_f32",
    [EXPR_RAND_WORD] = "math_rand_word",   [EXPR_UNIFORM] = "math_uniform",
};

ExprType ir_expr_type(Dtype dtype)
{
    static const ExprType types[DT_COUNT] = {
        [DT_bool] = EXT_u8, [DT_u8] = EXT_u8,    [DT_i32] = EXT_i32, [DT_i64] = EXT_i64,
        [DT_f16] = EXT_f32, [DT_bf16] = EXT_f32, [DT_f32] = EXT_f32, [DT_f64] = EXT_f64,
    };
    return types[dtype];
}

typedef enum SlotState { SLOT_UNREAD, SLOT_READ, SLOT_FAILED } SlotState;
typedef struct Slot {
    _Atomic int state;
    Expr expr;
} Slot;

static struct {
    pthread_mutex_t lock; /* of what follows but slots that are READ or FAILED */
    ExprInst pool[POOL];
    int used;
    Slot op[OP_COUNT][REGS], cast[REGS][DT_COUNT], fn[EXPR_FN_COUNT];
    char error[2 * EXPR_ERROR_BYTES]; /* of the first row that was not understood */
    ExprBuild build;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Copies what `value` needs of the list to `at`, which has room for so many, the value last. */
static void keep(ExprBuild *b, int value, int inputs, ExprInst *at, int room, Expr *to)
{
    int number[EXPR_MOST];
    bool needed[EXPR_MOST] = {false};
    needed[value] = true;
    *to = (Expr){.inputs = inputs, .at = at};
    for (int i = value; i >= 0; i--) {
        const ExprInst *t = &b->at[i];
        const int operand[3] = {t->a, t->b, t->c};
        for (int k = 0; k < 3 && needed[i]; k++)
            if (operand[k] >= 0) needed[operand[k]] = true;
    }
    for (int i = 0; i < b->n; i++)
        if (b->at[i].code == EX_input) to->input[b->at[i].bits] = b->at[i].type;
    for (int i = 0; i <= value; i++) {
        if (!needed[i]) continue;
        if (to->n == room) {
            ir_expr_fail(b, "no room for more micro-ops");
            return;
        }
        ExprInst *t = &at[to->n];
        *t = b->at[i];
        int16_t *operand[3] = {&t->a, &t->b, &t->c};
        for (int k = 0; k < 3; k++)
            if (*operand[k] >= 0) *operand[k] = (int16_t)number[*operand[k]];
        number[i] = to->n++;
        to->cost += MICROS[t->code].cost;
    }
}

/* Ends a row: keeps its value, or the error with the row's name. */
static void finish(const char *row, const char *type, int value, int inputs, Slot *to)
{
    ExprBuild *b = &all.build;
    if (value >= 0) keep(b, value, inputs, all.pool + all.used, POOL - all.used, &to->expr);
    all.used += to->expr.n;
    if (b->error[0] && !all.error[0])
        snprintf(all.error, sizeof all.error, "the value of %s (%s): %s", row, type, b->error);
    to->state = b->error[0] ? SLOT_FAILED : SLOT_READ;
    b->n = 0;
    b->error[0] = '\0';
}

/* Classes of dtypes whose register has the type. */
static int class_of(ExprType type)
{
    if (type == EXT_u8) return CLASS_BOOL | CLASS_INT;
    return ir_ext_float(type) ? CLASS_FLOAT : CLASS_INT;
}

static void parse_op(int op, int reg)
{
    static const char *const names[REGS] = {"f32", "f64", "i32", "i64", "u8"};
    const OpInfo *info = &OPS[op];
    ExprType type = REG_TYPES[reg], input[3] = {EXT_COUNT, EXT_COUNT, EXT_COUNT};
    for (int i = 0; i < info->inputs; i++) input[i] = type;
    if (info->family == FAM_select) input[0] = EXT_u8;
    bool truth = info->family == FAM_test || info->family == FAM_compare;
    int value = ir_expr_parse(&all.build, info->value, type, input, truth ? EXT_u8 : type);
    finish(info->name, names[reg], value, info->inputs, &all.op[op][reg]);
}

static void parse_cast(int reg, int to)
{
    const ExprType input[3] = {REG_TYPES[reg], EXT_COUNT, EXT_COUNT};
    int value = ir_expr_parse(&all.build, CASTS[to].text, input[0], input, ir_expr_type((Dtype)to));
    finish("cast", CASTS[to].name, value, 1, &all.cast[reg][to]);
}

static void parse_fn(int fn, int unused)
{
    int inputs = 0, value = ir_expr_parse_fn(&all.build, FNS[fn], &inputs);
    (void)unused;
    finish(FNS[fn], "math.def", value, inputs, &all.fn[fn]);
}

/* What is in the slot, by `parse` of a and b if nobody asked before. */
static const Expr *parsed(Slot *slot, void (*parse)(int a, int b), int a, int b)
{
    if (slot->state == SLOT_UNREAD) {
        pthread_mutex_lock(&all.lock);
        if (slot->state == SLOT_UNREAD) parse(a, b);
        pthread_mutex_unlock(&all.lock);
    }
    return slot->state == SLOT_READ ? &slot->expr : NULL;
}

const Expr *ir_expr_op(Op op, Dtype operands)
{
    int reg = REG_OF[ir_expr_type(operands)];
    const OpInfo *info = &OPS[op];
    if (!ir_family_elementwise(info->family) || !(info->types & class_of(REG_TYPES[reg])))
        return NULL;
    return parsed(&all.op[op][reg], parse_op, op, reg);
}

const Expr *ir_expr_cast(Dtype from, Dtype to)
{
    int reg = REG_OF[ir_expr_type(from)];
    return parsed(&all.cast[reg][to], parse_cast, reg, to);
}

const Expr *ir_expr_fn(ExprFn fn) { return parsed(&all.fn[fn], parse_fn, fn, 0); }

int ir_expr_error(Ctx *cx)
{
    char text[sizeof all.error];
    pthread_mutex_lock(&all.lock);
    memcpy(text, all.error, sizeof text);
    pthread_mutex_unlock(&all.lock);
    return text[0] ? base_fail(cx, SGL_EINTERN, "%s", text) : SGL_OK;
}

/* The interpreter's instruction also loads and stores, which is worth about two micro-ops. */
int ir_expr_cost(Op op, Dtype operands)
{
    const Expr *e = ir_expr_op(op, operands);
    return e && e->cost > 2 ? e->cost / 2 : 1;
}

const Expr *ir_expr_of_text(Ctx *cx, Arena *arena, const char *name, const char *text, int inputs,
                            Dtype dtype)
{
    ExprType type = ir_expr_type(dtype), input[3] = {EXT_COUNT, EXT_COUNT, EXT_COUNT};
    ExprBuild *b = base_arena_zero(arena, 1, sizeof *b);
    Expr *e = base_arena_zero(arena, 1, sizeof *e);
    ExprInst *at = base_arena_zero(arena, EXPR_MOST, sizeof *at);
    if (!b || !e || !at) {
        base_fail(cx, SGL_ENOMEM, "out of memory for the value of %s", name);
        return NULL;
    }
    for (int i = 0; i < inputs && i < 3; i++) input[i] = type;
    int value = ir_expr_parse(b, text, type, input, type);
    if (value >= 0) keep(b, value, inputs, at, EXPR_MOST, e);
    if (!b->error[0]) return e;
    base_fail(cx, SGL_EARG, "the value of %s (%s): %s", name, DTYPES[dtype].name, b->error);
    return NULL;
}

/* The row math_<op>_f32 of math.def. */
double ir_expr_stated(Op op)
{
    static const struct {
        const char *name;
        double error;
    } rows[] = {
#define CONST(type, name, value)
#define TABLE(type, name, ...)
#define FN(type, name, params, ...)
#define FN_ULP(error, type, name, params, ...) {#name, error},
#define LIBM(f)
#include "ir/math.def"
#include "ir/math_undef.h"
    };
    char name[48];
    snprintf(name, sizeof name, "math_%s_f32", OPS[op].name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].error;
    return 0;
}
