/* tile_math.h: the m_<f> that rows of op.def name, for each register type: m_exp(x) becomes
 * math_exp_<TYPE>(x).
 *
 * f32 comes from math.h; f64 is libm's; integers have abs, floordiv and mod only.
 */
#ifndef SGL_CPU_TILE_MATH_H
#define SGL_CPU_TILE_MATH_H
#include <math.h>
#include <stdint.h>
#include "kern/math.h"

#define TYPED_(f, type) math_##f##_##type
#define TYPED__(f, type) TYPED_(f, type)
#define TYPED(f) TYPED__(f, TYPE)
#define m_abs TYPED(abs)
#define m_exp TYPED(exp)
#define m_exp2 TYPED(exp2)
#define m_expm1 TYPED(expm1)
#define m_log TYPED(log)
#define m_log2 TYPED(log2)
#define m_log1p TYPED(log1p)
#define m_sqrt TYPED(sqrt)
#define m_sin TYPED(sin)
#define m_cos TYPED(cos)
#define m_tan TYPED(tan)
#define m_asin TYPED(asin)
#define m_acos TYPED(acos)
#define m_atan TYPED(atan)
#define m_sinh TYPED(sinh)
#define m_cosh TYPED(cosh)
#define m_tanh TYPED(tanh)
#define m_erf TYPED(erf)
#define m_floor TYPED(floor)
#define m_ceil TYPED(ceil)
#define m_rint TYPED(rint)
#define m_floordiv TYPED(floordiv)
#define m_mod TYPED(mod)
#define m_pow TYPED(pow)
#define m_atan2 TYPED(atan2)

#define F64(f) \
    static inline double math_##f##_f64(double x) { return f(x); }
F64(exp)
F64(exp2)
F64(expm1)
F64(log)
F64(log2)
F64(log1p)
F64(sqrt)
F64(sin)
F64(cos)
F64(tan)
F64(asin)
F64(acos)
F64(atan)
F64(sinh)
F64(cosh)
F64(tanh)
F64(erf)
F64(floor)
F64(ceil)
F64(rint)
#undef F64
static inline double math_abs_f64(double x) { return fabs(x); }
/* As Lua's ^, which squares by a product. */
static inline double math_pow_f64(double x, double y) { return y == 2 ? x * x : pow(x, y); }
static inline double math_atan2_f64(double x, double y) { return atan2(x, y); }
static inline double math_floordiv_f64(double x, double y) { return floor(x / y); }
/* As Lua's %: fmod, moved by y when the signs differ. */
static inline double math_mod_f64(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/* Rounded down, so that the remainder has the sign of y. By 0 gives 0; by -1 is negation, which
 * wraps where the machine's division would trap. */
#define SIGNED(T, type)                                                                        \
    static inline T math_abs_##type(T x) { return x < 0 ? -x : x; }                            \
    static inline T math_floordiv_##type(T x, T y)                                             \
    {                                                                                          \
        T d = y == 0 || y == -1 ? 1 : y;                                                       \
        T q = x / d, r = x % d;                                                                \
        q -= r != 0 && (r < 0) != (d < 0);                                                     \
        return y == 0 ? 0 : y == -1 ? -x : q;                                                  \
    }                                                                                          \
    static inline T math_mod_##type(T x, T y)                                                  \
    {                                                                                          \
        T d = y == 0 || y == -1 ? 1 : y;                                                       \
        T r = x % d;                                                                           \
        return r != 0 && (r < 0) != (d < 0) ? r + d : r;                                       \
    }
SIGNED(int32_t, i32)
SIGNED(int64_t, i64)
#undef SIGNED
static inline uint8_t math_abs_u8(uint8_t x) { return x; }
static inline uint8_t math_floordiv_u8(uint8_t x, uint8_t y) { return y ? x / y : 0; }
static inline uint8_t math_mod_u8(uint8_t x, uint8_t y) { return y ? x % y : 0; }
#endif
