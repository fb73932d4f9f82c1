#ifndef SGL_KERN_MATH_H
#define SGL_KERN_MATH_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#define TMP(f) static inline float math_##f##_f32(float x) { return (float)f((double)x); }
TMP(exp)
TMP(exp2)
TMP(expm1)
TMP(log)
TMP(log2)
TMP(log1p)
TMP(sin)
TMP(cos)
TMP(tan)
TMP(asin)
TMP(acos)
TMP(atan)
TMP(sinh)
TMP(cosh)
TMP(tanh)
TMP(erf)
static inline float math_abs_f32(float x) { return __builtin_fabsf(x); }
static inline float math_sqrt_f32(float x) { return __builtin_sqrtf(x); }
static inline float math_floor_f32(float x) { return __builtin_floorf(x); }
static inline float math_ceil_f32(float x) { return __builtin_ceilf(x); }
static inline float math_rint_f32(float x) { return __builtin_rintf(x); }
static inline float math_floordiv_f32(float x, float y) { return __builtin_floorf(x / y); }
static inline float math_mod_f32(float x, float y)
{
    float r = fmodf(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static inline float math_pow_f32(float x, float y) { return (float)pow((double)x, (double)y); }
static inline float math_atan2_f32(float x, float y) { return (float)atan2((double)x, (double)y); }
#endif
