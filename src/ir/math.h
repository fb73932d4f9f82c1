/* math.h: the functions of math.def as C inlines, for every instruction set from one source.
 *
 * Branch-free C that a compiler vectorises: both sides of a condition are computed and one is
 * selected. Compile with -ffp-contract=off, so that all builds give the same bits.
 * math_fma, math_bits and their like are what math.def builds on; expr.h has a micro-op for each.
 */
#ifndef SGL_IR_MATH_H
#define SGL_IR_MATH_H
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline int32_t math_bits(float x)
{
    int32_t i;
    memcpy(&i, &x, sizeof i);
    return i;
}

static inline float math_float(int32_t i)
{
    float x;
    memcpy(&x, &i, sizeof x);
    return x;
}

static inline uint64_t math_bits64(double x)
{
    uint64_t i;
    memcpy(&i, &x, sizeof i);
    return i;
}

static inline double math_float64(uint64_t i)
{
    double x;
    memcpy(&x, &i, sizeof x);
    return x;
}

static inline float math_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

#define CONST(type, name, value) static const type name = value;
#define TABLE(type, name, ...) static const type name[] = {__VA_ARGS__};
#define FN(type, name, params, ...) static inline type name params { __VA_ARGS__ }
#define FN_ULP(error, type, name, params, ...) static inline type name params { __VA_ARGS__ }
#define LIBM(f) static inline double math_##f##_f64(double x) { return f(x); }
#include "ir/math.def"
#include "ir/math_undef.h"
#endif
