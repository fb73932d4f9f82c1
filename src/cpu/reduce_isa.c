/* reduce_isa.c: the loops of reductions, compiled once for each instruction set.
 *
 * Out:  kern_reduce_table_<ISA>, by operation and type of register.
 * Holds: the orders of rules N2 and N3 (kernel.h): `lanes` and `column` combine upwards, `fold`
 *        halves 32 lanes five times. A sum starts from -0, the one number that adding changes no
 *        other by, so the sum of one element is that element. The combining expressions are those
 *        of the binary ops, so a NaN wins in max and min and stays.
 */
/* Nobody reads the flags of floating-point exceptions. Results stay the same, but loops with
 * conditions become vectors. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif
#include <math.h>
#include "cpu/tile_ops.h"

#define ADD(a, v) ((a) + (v))
#define MUL(a, v) ((a) * (v))
#define MAX(a, v) ((v) > (a) || (v) != (v) ? (v) : (a))
#define MIN(a, v) ((v) < (a) || (v) != (v) ? (v) : (a))

#define HALVE(half, COMBINE)                                                                       \
    for (int l = 0; l < half; l++) a[l] = COMBINE(a[l], a[l + half]);
_Static_assert((int)IR_LANES == 32, "fold halves them five times");

/* A: accumulator, V: value, by C type; `name` ends in the type of register reduced. */
#define REDUCE(name, A, V, identity, COMBINE)                                                      \
    static void init_##name(void *acc, int64_t n)                                                  \
    {                                                                                              \
        A *a = acc;                                                                                \
        for (int64_t i = 0; i < n; i++) a[i] = identity;                                           \
    }                                                                                              \
    static void lanes_##name(void *acc32, const void *values, int64_t n)                           \
    {                                                                                              \
        A *acc = acc32, a[IR_LANES];                                                               \
        const V *v = values;                                                                       \
        for (int l = 0; l < IR_LANES; l++) a[l] = acc[l];                                          \
        for (; n >= IR_LANES; n -= IR_LANES, v += IR_LANES)                                        \
            for (int l = 0; l < IR_LANES; l++) a[l] = COMBINE(a[l], v[l]);                         \
        for (int l = 0; l < IR_LANES; l++) acc[l] = a[l];                                          \
        for (int64_t l = 0; l < n; l++) acc[l] = COMBINE(acc[l], v[l]);                            \
    }                                                                                              \
    static void fold_##name(void *acc32, void *out)                                                \
    {                                                                                              \
        A *a = acc32;                                                                              \
        HALVE(16, COMBINE)                                                                         \
        HALVE(8, COMBINE)                                                                          \
        HALVE(4, COMBINE)                                                                          \
        HALVE(2, COMBINE)                                                                          \
        HALVE(1, COMBINE)                                                                          \
        *(A *)out = a[0];                                                                          \
    }                                                                                              \
    static void row_##name(void *out, const void *values, int64_t n)                               \
    {                                                                                              \
        A a[IR_LANES];                                                                             \
        const V *v = values;                                                                       \
        for (int l = 0; l < IR_LANES; l++) a[l] = identity;                                        \
        for (; n >= IR_LANES; n -= IR_LANES, v += IR_LANES)                                        \
            for (int l = 0; l < IR_LANES; l++) a[l] = COMBINE(a[l], v[l]);                         \
        for (int64_t l = 0; l < n; l++) a[l] = COMBINE(a[l], v[l]);                                \
        fold_##name(a, out);                                                                       \
    }                                                                                              \
    static void column_##name(void *acc, const void *values, int64_t points, int64_t n)            \
    {                                                                                              \
        A *a = acc;                                                                                \
        const V *v = values;                                                                       \
        for (int64_t p = 0; p < points; p++, v += n)                                               \
            for (int64_t i = 0; i < n; i++) a[i] = COMBINE(a[i], v[i]);                            \
    }                                                                                              \
    static void rows_##name(void *out, const void *values, int64_t rows, int64_t n)                \
    {                                                                                              \
        A *o = out;                                                                                \
        const V *v = values;                                                                       \
        for (int64_t r = 0; r < rows; r++, v += n) {                                               \
            A a = identity;                                                                        \
            for (int64_t i = 0; i < n; i++) a = COMBINE(a, v[i]);                                  \
            o[r] = a;                                                                              \
        }                                                                                          \
    }

#define REDUCE_TYPE(type, T, A, nothing, lowest, highest)                                          \
    REDUCE(sum_##type, A, T, nothing, ADD)                                                         \
    REDUCE(prod_##type, A, T, 1, MUL)                                                              \
    REDUCE(max_##type, T, T, lowest, MAX)                                                          \
    REDUCE(min_##type, T, T, highest, MIN)
REDUCE_TYPE(f32, float, float, -0.0f, -INFINITY, INFINITY)
REDUCE_TYPE(f64, double, double, -0.0, -INFINITY, INFINITY)
REDUCE_TYPE(i32, int32_t, int32_t, 0, INT32_MIN, INT32_MAX)
REDUCE_TYPE(i64, int64_t, int64_t, 0, INT64_MIN, INT64_MAX)
REDUCE_TYPE(u8, uint8_t, int32_t, 0, 0, UINT8_MAX)
#undef REDUCE_TYPE
#undef REDUCE

/* BETTER: strictly, so that the first of equals stays; a NaN beats all but a NaN. */
#define ABOVE(v, best) ((v) > (best) || ((v) != (v) && (best) == (best)))
#define BELOW(v, best) ((v) < (best) || ((v) != (v) && (best) == (best)))
#define ARG(name, T, identity, BETTER)                                                             \
    static void arg_init_##name(void *best, int32_t *at, int32_t first, int64_t n)                 \
    {                                                                                              \
        T *b = best;                                                                               \
        for (int64_t i = 0; i < n; i++) b[i] = identity, at[i] = first;                            \
    }                                                                                              \
    static void arg_row_##name(void *best, int32_t *at, const void *values, int32_t first,         \
                               int64_t n)                                                          \
    {                                                                                              \
        T b = *(T *)best;                                                                          \
        const T *v = values;                                                                       \
        for (int64_t i = 0; i < n; i++)                                                            \
            if (BETTER(v[i], b)) b = v[i], *at = first + (int32_t)i;                               \
        *(T *)best = b;                                                                            \
    }                                                                                              \
    static void arg_column_##name(void *best, int32_t *at, const void *values, int32_t first,      \
                                  int64_t points, int64_t n)                                       \
    {                                                                                              \
        T *b = best;                                                                               \
        const T *v = values;                                                                       \
        for (int64_t p = 0; p < points; p++, v += n, first++)                                      \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const int better = BETTER(v[i], b[i]);                                             \
                at[i] = better ? first : at[i];                                                    \
                b[i] = better ? v[i] : b[i];                                                       \
            }                                                                                      \
    }                                                                                              \
    static void arg_merge_##name(void *best, int32_t *at, const void *values, const int32_t *v_at, \
                                 int64_t n)                                                        \
    {                                                                                              \
        T *b = best;                                                                               \
        const T *v = values;                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const int better = BETTER(v[i], b[i]);                                                 \
            at[i] = better ? v_at[i] : at[i];                                                      \
            b[i] = better ? v[i] : b[i];                                                           \
        }                                                                                          \
    }
#define ARG_TYPE(type, T, lowest, highest)                                                         \
    ARG(max_##type, T, lowest, ABOVE)                                                              \
    ARG(min_##type, T, highest, BELOW)
ARG_TYPE(f32, float, -INFINITY, INFINITY)
ARG_TYPE(f64, double, -INFINITY, INFINITY)
ARG_TYPE(i32, int32_t, INT32_MIN, INT32_MAX)
ARG_TYPE(i64, int64_t, INT64_MIN, INT64_MAX)
ARG_TYPE(u8, uint8_t, 0, UINT8_MAX)
#undef ARG_TYPE
#undef ARG

/* clang-format off */
#define FOLD(acc, name)                                                                            \
    {acc, init_##name, lanes_##name, fold_##name, row_##name, column_##name, rows_##name}
#define FOLDS(op, acc_u8)                                                                          \
    {FOLD(REG_f32, op##_f32), FOLD(REG_f64, op##_f64), FOLD(REG_i32, op##_i32),                    \
     FOLD(REG_i64, op##_i64), FOLD(acc_u8, op##_u8)}
#define BEST(name) {arg_init_##name, arg_row_##name, arg_column_##name, arg_merge_##name}
#define BESTS(op) {BEST(op##_f32), BEST(op##_f64), BEST(op##_i32), BEST(op##_i64), BEST(op##_u8)}
/* clang-format on */

const ReduceTable ISA_NAME(kern_reduce_table) = {
    .fold = {FOLDS(sum, REG_i32), FOLDS(prod, REG_i32), FOLDS(max, REG_u8), FOLDS(min, REG_u8)},
    .arg = {BESTS(max), BESTS(min)},
};
