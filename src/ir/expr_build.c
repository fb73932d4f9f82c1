/* expr_build.c: lists of micro-ops, each instruction once and constants folded.
 *
 * In:   an instruction over earlier ones.
 * Out:  the number of one that gives its value.
 * Holds: folding keeps bits for every operand: infinities, -0 and NaN too. Bits of a constant are
 *        those of its type, integers extended to 64 by their sign.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include "ir/expr_build.h"
#include "ir/math.h"

void ir_expr_fail(ExprBuild *b, const char *format, ...)
{
    va_list args;
    if (b->error[0]) return;
    va_start(args, format);
    vsnprintf(b->error, sizeof b->error, format, args);
    va_end(args);
}

/* ---- one instruction of constants ---- */

static double real_of(const ExprInst *t)
{
    return t->type == EXT_f32 ? (double)math_float((int32_t)t->bits) : math_float64(t->bits);
}

static uint64_t bits_of(int type, double v)
{
    return type == EXT_f32 ? (uint32_t)math_bits((float)v) : math_bits64(v);
}

/* The low bits of v as the type has them, extended to 64. */
static uint64_t extended(int type, uint64_t v)
{
    switch (type) {
    case EXT_truth:
        return v != 0;
    case EXT_u8:
        return (uint8_t)v;
    case EXT_u16:
        return (uint16_t)v;
    case EXT_i32:
        return (uint64_t)(int64_t)(int32_t)v;
    case EXT_u32:
        return (uint32_t)v;
    default:
        return v;
    }
}

/* Of floats, in double: the sum, product or quotient of two f32 rounded to double and then to f32
 * is rounded right, because a double has more than twice the digits. */
static double fold_real(const ExprInst *t, double a, double b, double c)
{
    bool narrow = t->type == EXT_f32;
    switch (t->code) {
    case EX_add:
        return a + b;
    case EX_sub:
        return a - b;
    case EX_mul:
        return a * b;
    case EX_div:
        return a / b;
    case EX_neg:
        return -a;
    case EX_fma:
        return narrow ? (double)math_fma((float)a, (float)b, (float)c) : fma(a, b, c);
    case EX_abs:
        return fabs(a);
    case EX_copysign:
        return copysign(a, b);
    case EX_sqrt:
        return sqrt(a);
    case EX_floor:
        return floor(a);
    case EX_ceil:
        return ceil(a);
    case EX_rint:
        return rint(a);
    case EX_min:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static bool fold_compare(int code, bool less, bool equal)
{
    switch (code) {
    case EX_lt:
        return less;
    case EX_le:
        return less || equal;
    case EX_eq:
        return equal;
    default:
        return !equal;
    }
}

static uint64_t fold_whole(const ExprInst *t, uint64_t a, uint64_t b, bool less)
{
    bool is_signed = t->type == EXT_i32 || t->type == EXT_i64;
    switch (t->code) {
    case EX_add:
        return a + b;
    case EX_sub:
        return a - b;
    case EX_mul:
        return a * b;
    case EX_div:
        return is_signed ? (uint64_t)((int64_t)a / (int64_t)b) : a / b;
    case EX_rem:
        return is_signed ? (uint64_t)((int64_t)a % (int64_t)b) : a % b;
    case EX_neg:
        return 0 - a;
    case EX_min:
        return less ? a : b;
    case EX_max:
        return less ? b : a;
    case EX_and:
        return a & b;
    case EX_or:
        return a | b;
    case EX_xor:
        return a ^ b;
    case EX_shl:
        return a << b;
    default:
        return is_signed ? (uint64_t)((int64_t)a >> b) : a >> b;
    }
}

static uint64_t fold_convert(int to, const ExprInst *from)
{
    bool is_signed = from->type == EXT_i32 || from->type == EXT_i64;
    if (ir_ext_float(from->type)) {
        double v = real_of(from);
        if (ir_ext_float(to)) return bits_of(to, v);
        return extended(to, v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v);
    }
    if (to == EXT_f32) {
        float v = is_signed ? (float)(int64_t)from->bits : (float)from->bits;
        return (uint32_t)math_bits(v);
    }
    if (to == EXT_f64)
        return math_bits64(is_signed ? (double)(int64_t)from->bits : (double)from->bits);
    return extended(to, from->bits);
}

uint64_t ir_expr_fold(const ExprInst *t, const ExprInst *const operand[3])
{
    const ExprInst *a = operand[0], *b = operand[1], *c = operand[2];
    if (t->code == EX_select) return a->bits ? b->bits : c->bits;
    if (t->code == EX_convert) return fold_convert(t->type, a);
    if (t->code == EX_bits) return extended(t->type, a->bits);
    bool real = ir_ext_float(a->type);
    double x = real ? real_of(a) : 0, y = real && b ? real_of(b) : 0;
    bool is_signed = a->type == EXT_i32 || a->type == EXT_i64;
    bool less = real        ? x < y
                : b == NULL ? false
                : is_signed ? (int64_t)a->bits < (int64_t)b->bits
                            : a->bits < b->bits;
    if (t->code >= EX_lt && t->code <= EX_ne)
        return fold_compare(t->code, less, real ? x == y : a->bits == b->bits);
    if (real) return bits_of(t->type, fold_real(t, x, y, c ? real_of(c) : 0));
    return extended(t->type, fold_whole(t, a->bits, b ? b->bits : 0, less));
}

/* ---- an instruction among others ---- */

int ir_expr_const(ExprBuild *b, ExprType type, uint64_t bits)
{
    static const int none[3] = {-1, -1, -1};
    return ir_expr_add(b, EX_const, type, none, extended(type, bits));
}

static bool is_const(const ExprInst *t, uint64_t bits)
{
    return t->code == EX_const && t->bits == bits;
}

/* a < b ? a : b and its kind, of which NaN in either gives the second: also with a test of NaN
 * beside the comparison, `a < b || a != a ? a : b`. Or EXPR_FAILED. */
static int fold_extreme(ExprBuild *b, const ExprInst *t)
{
    const ExprInst *test = &b->at[t->a];
    if (test->code == EX_or) {
        const int pair[2] = {test->a, test->b};
        for (int i = 0; i < 2; i++) {
            ExprInst plain = *t;
            plain.a = (int16_t)pair[i];
            int inner = fold_extreme(b, &plain);
            const int select[3] = {pair[1 - i], t->b, inner};
            if (inner >= 0) return ir_expr_add(b, EX_select, (ExprType)t->type, select, 0);
        }
    }
    if (test->code != EX_lt) return EXPR_FAILED;
    const int operand[3] = {t->b, t->c, -1};
    bool least = test->a == t->b && test->b == t->c, most = test->a == t->c && test->b == t->b;
    if (!least && !most) return EXPR_FAILED;
    return ir_expr_add(b, least ? EX_min : EX_max, (ExprType)t->type, operand, 0);
}

/* What t is the same as, or EXPR_FAILED. */
static int simplified(ExprBuild *b, const ExprInst *t)
{
    const ExprInst *x = t->a >= 0 ? &b->at[t->a] : NULL, *y = t->b >= 0 ? &b->at[t->b] : NULL;
    switch (t->code) {
    case EX_convert:
    case EX_bits:
        if (x->type == t->type) return t->a;
        if (t->code == EX_bits && x->code == EX_bits && b->at[x->a].type == t->type) return x->a;
        /* A truth as an int, as something narrower. */
        if (x->code == EX_convert && b->at[x->a].type == EXT_truth && t->code == EX_convert)
            return ir_expr_convert(b, x->a, (ExprType)t->type);
        return EXPR_FAILED;
    case EX_ne: /* an integer is not NaN; a truth is not 0 where it holds */
        if (t->a == t->b && !ir_ext_float(x->type)) return ir_expr_const(b, EXT_truth, 0);
        if (is_const(y, 0) && x->code == EX_convert && b->at[x->a].type == EXT_truth) return x->a;
        return EXPR_FAILED;
    case EX_or:
        return is_const(y, 0) ? t->a : is_const(x, 0) ? t->b : EXPR_FAILED;
    case EX_select:
        if (x->code == EX_const) return x->bits ? t->b : t->c;
        return t->b == t->c ? t->b : fold_extreme(b, t);
    default:
        return EXPR_FAILED;
    }
}

static int find(ExprBuild *b, const ExprInst *t)
{
    for (int i = b->n - 1; i >= 0; i--) {
        const ExprInst *o = &b->at[i];
        if (o->code == t->code && o->type == t->type && o->a == t->a && o->b == t->b &&
            o->c == t->c && o->bits == t->bits)
            return i;
    }
    if (b->n == EXPR_MOST) {
        ir_expr_fail(b, "more than %d micro-ops", EXPR_MOST);
        return EXPR_FAILED;
    }
    b->at[b->n] = *t;
    return b->n++;
}

int ir_expr_add(ExprBuild *b, ExprCode code, ExprType type, const int operand[3], uint64_t bits)
{
    ExprInst t = {.code = (uint8_t)code,
                  .type = (uint8_t)type,
                  .a = (int16_t)operand[0],
                  .b = (int16_t)operand[1],
                  .c = (int16_t)operand[2],
                  .bits = bits};
    int operands = code == EX_call ? 0 : MICROS[code].operands;
    bool constant = operands > 0 && code != EX_table;
    const ExprInst *of[3] = {NULL, NULL, NULL};
    if (b->error[0]) return EXPR_FAILED;
    for (int i = 0; i < operands; i++) {
        of[i] = &b->at[operand[i]];
        constant = constant && of[i]->code == EX_const;
    }
    if (constant) return ir_expr_const(b, type, ir_expr_fold(&t, of));
    int same = simplified(b, &t);
    return same >= 0 ? same : find(b, &t);
}

int ir_expr_convert(ExprBuild *b, int value, ExprType type)
{
    if (value < 0) return EXPR_FAILED;
    ExprType from = (ExprType)b->at[value].type;
    if (from == type) return value;
    if (type == EXT_truth) {
        const int pair[3] = {value, ir_expr_const(b, from, 0), -1};
        return ir_expr_add(b, EX_ne, EXT_truth, pair, 0);
    }
    const int one[3] = {value, -1, -1};
    return ir_expr_add(b, EX_convert, type, one, 0);
}
