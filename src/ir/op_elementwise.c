/* op_elementwise.c: reference evaluation of the elementwise rows of op.def.
 *
 * Each value column is compiled twice: with T = double for floats, with T = int64_t for integers
 * and bool. Integer results wrap to their dtype; integer division and remainder by 0 give 0.
 * Arrays of the reference hold doubles, so i64 values beyond 2^53 are inexact here.
 */
#include <math.h>
#include "ir/ref.h"
#include "ir/rules.h"

/* The test x != x of a float row is always false where T is an integer; that is meant. */
#pragma GCC diagnostic ignored "-Wtautological-compare"

typedef void (*RowFn)(Dtype result, int64_t n, const double *const in[3], double *out);
typedef struct Row {
    RowFn real, whole;
} Row;

static double real_floordiv(double x, double y) { return floor(x / y); }

static double real_mod(double x, double y) /* as Lua's: the sign of y */
{
    double m = fmod(x, y);
    return (m > 0 && y < 0) || (m < 0 && y > 0) ? m + y : m;
}

static int64_t whole_floordiv(int64_t x, int64_t y)
{
    if (y == 0 || y == -1) return -x * (y != 0); /* the lowest integer by -1 wraps, no trap */
    return x / y - (x % y != 0 && (x ^ y) < 0);
}

static int64_t whole_mod(int64_t x, int64_t y)
{
    if (y == 0 || y == -1) return 0;
    int64_t m = x % y;
    return m != 0 && (m ^ y) < 0 ? m + y : m;
}

static int64_t whole_abs(int64_t x) { return x < 0 ? -x : x; }

/* Every row may use x, y, z; in[] repeats the first input where the row has fewer. */
#define LOOP(prefix, name, load, store, value)                                                     \
    static void prefix##_##name(Dtype result, int64_t n, const double *const in[3], double *out)   \
    {                                                                                              \
        (void)result;                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const T x = load(in[0][i]), y = load(in[1][i]), z = load(in[2][i]);                    \
            (void)x, (void)y, (void)z;                                                             \
            out[i] = store(value);                                                                 \
        }                                                                                          \
    }
#define SAME(v) (v)
#define WRAP(v) ir_ref_wrap(result, (int64_t)(v))

/* What a row is compiled for, by the classes it takes. */
#define REAL_FLOAT(name, value) LOOP(row_real, name, SAME, SAME, value)
#define REAL_NUM(name, value) REAL_FLOAT(name, value)
#define REAL_ANY(name, value) REAL_FLOAT(name, value)
#define REAL_INT(name, value)
#define REAL_BOOL(name, value)
#define WHOLE_FLOAT(name, value)
#define WHOLE_NUM(name, value) LOOP(row_whole, name, ir_ref_int, WRAP, value)
#define WHOLE_ANY(name, value) WHOLE_NUM(name, value)
#define WHOLE_INT(name, value) WHOLE_NUM(name, value)
#define WHOLE_BOOL(name, value) WHOLE_NUM(name, value)

#define T double
#define m_abs fabs
#define m_exp exp
#define m_exp2 exp2
#define m_expm1 expm1
#define m_log log
#define m_log2 log2
#define m_log1p log1p
#define m_sqrt sqrt
#define m_sin sin
#define m_cos cos
#define m_tan tan
#define m_asin asin
#define m_acos acos
#define m_atan atan
#define m_sinh sinh
#define m_cosh cosh
#define m_tanh tanh
#define m_erf erf
#define m_floor floor
#define m_ceil ceil
#define m_rint rint
#define m_floordiv real_floordiv
#define m_mod real_mod
#define m_pow pow
#define m_atan2 atan2
#define UNARY(name, types, value, grad, domain, onnx, doc) REAL_##types(name, value)
#define TEST(name, types, value, domain, onnx, doc) REAL_##types(name, value)
#define BINARY(name, types, value, gx, gy, domain, onnx, doc) REAL_##types(name, value)
#define COMPARE(name, types, value, domain, onnx, doc) REAL_##types(name, value)
#define SELECT(name, types, value, domain, onnx, doc) REAL_##types(name, value)
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)
#include "ir/op.def"
#include "ir/op_undef.h"

#undef T
#undef m_abs
#undef m_floordiv
#undef m_mod
#define T int64_t
#define m_abs whole_abs
#define m_floordiv whole_floordiv
#define m_mod whole_mod
#define UNARY(name, types, value, grad, domain, onnx, doc) WHOLE_##types(name, value)
#define TEST(name, types, value, domain, onnx, doc) WHOLE_##types(name, value)
#define BINARY(name, types, value, gx, gy, domain, onnx, doc) WHOLE_##types(name, value)
#define COMPARE(name, types, value, domain, onnx, doc) WHOLE_##types(name, value)
#define SELECT(name, types, value, domain, onnx, doc) WHOLE_##types(name, value)
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)
#include "ir/op.def"
#include "ir/op_undef.h"

#define ROW_FLOAT(name)                                                                            \
    {                                                                                              \
        row_real_##name, NULL                                                                      \
    }
#define ROW_NUM(name)                                                                              \
    {                                                                                              \
        row_real_##name, row_whole_##name                                                          \
    }
#define ROW_ANY(name)                                                                              \
    {                                                                                              \
        row_real_##name, row_whole_##name                                                          \
    }
#define ROW_INT(name)                                                                              \
    {                                                                                              \
        NULL, row_whole_##name                                                                     \
    }
#define ROW_BOOL(name)                                                                             \
    {                                                                                              \
        NULL, row_whole_##name                                                                     \
    }
static const Row ROWS[OP_COUNT] = {
#define UNARY(name, types, value, grad, domain, onnx, doc) [OP_##name] = ROW_##types(name),
#define TEST(name, types, value, domain, onnx, doc) [OP_##name] = ROW_##types(name),
#define BINARY(name, types, value, gx, gy, domain, onnx, doc) [OP_##name] = ROW_##types(name),
#define COMPARE(name, types, value, domain, onnx, doc) [OP_##name] = ROW_##types(name),
#define SELECT(name, types, value, domain, onnx, doc) [OP_##name] = ROW_##types(name),
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)
#include "ir/op.def"
#include "ir/op_undef.h"
};

int ir_eval_elementwise(const Node *n, const RefArray *const *in, RefArray *out)
{
    const double *at[3] = {in[0]->at, in[0]->at, in[0]->at};
    int operand = in[n->nin - 1]->dtype; /* the last: `where` begins with a bool */
    bool real = DTYPES[operand].class == CLASS_FLOAT;
    RowFn row = real ? ROWS[n->op].real : ROWS[n->op].whole;
    if (!row)
        return base_fail(n->graph->cx, SGL_EDTYPE, "%s: does not take %s", ir_op(n)->name,
                         DTYPES[operand].name);
    for (int i = 1; i < n->nin; i++) at[i] = in[i]->at;
    row(n->dtype, out->count, at, out->at);
    return 0;
}
