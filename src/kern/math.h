/* math.h: functions of f32 for the kernels, from one source for every instruction set.
 *
 * Branch-free C that a compiler vectorises: both sides of a condition are computed and one is
 * selected. Fused multiply-add only where written, so all builds give the same bits. NaN gives
 * NaN, infinities and denormals are right. Each comment states the largest error found against
 * long double, over every seventh float and the edges. Polynomials are minimax fits (Remez) with
 * coefficients rounded to f32 one by one, the others fitted anew.
 */
#ifndef SGL_KERN_MATH_H
#define SGL_KERN_MATH_H
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

static inline float math_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float math_power2(int32_t n)                        /* for -126 <= n <= 127 */
{
    return math_float((int32_t)((uint32_t)(n + 127) << 23));
}

static inline float math_clamp(float x, float lo, float hi)       /* NaN stays */
{
    x = x > hi ? hi : x;
    return x < lo ? lo : x;
}

/* ---- the exponential family ---- */

/* Added to |x| < 2^22 it leaves the nearest integer in the last bits of the sum. */
static const float MATH_ROUNDER = 0x1.8p23f;
static const float MATH_LOG2_E = 0x1.715476p+0f, MATH_LN2 = 0x1.62e43p-1f;
static const float MATH_LN2_REST = -0x1.05c61p-29f;               /* ln 2 = MATH_LN2 + this */

/* x = n ln 2 + r, |r| <= ln 2 / 2, for |x| < 128. The first product has 32 bits, so the fused
 * difference is exact. */
static inline float math_exp_reduce(float x, int32_t *n)
{
    float sum = math_fma(x, MATH_LOG2_E, MATH_ROUNDER), whole = sum - MATH_ROUNDER;
    *n = math_bits(sum) - math_bits(MATH_ROUNDER);
    return math_fma(whole, -MATH_LN2_REST, math_fma(whole, -MATH_LN2, x));
}

/* exp(r) - 1 for |r| <= 0.347: r + r^2 Q(r), relative error 2^-30.9 before rounding. */
static inline float math_exp_core(float r)
{
    float q = 0x1.9c58p-13f;
    q = math_fma(q, r, 0x1.6d4c8p-10f);
    q = math_fma(q, r, 0x1.1113acp-7f);
    q = math_fma(q, r, 0x1.5554eap-5f);
    q = math_fma(q, r, 0x1.555554p-3f);
    q = math_fma(q, r, 0.5f);
    return math_fma(q, r * r, r);
}

/* x 2^n for -252 <= n <= 254, rounded once also where the result is denormal. */
static inline float math_scale(float x, int32_t n)
{
    int32_t half = n >> 1;
    return x * math_power2(half) * math_power2(n - half);
}

/* 0.97 ulp. */
static inline float math_exp_f32(float x)
{
    int32_t n;
    float r = math_exp_reduce(math_clamp(x, -104, 89), &n);
    return math_scale(1 + math_exp_core(r), n);
}

/* 0.99 ulp. */
static inline float math_exp2_f32(float x)
{
    x = math_clamp(x, -151, 129);
    float sum = x + MATH_ROUNDER, whole = sum - MATH_ROUNDER;
    float r = (x - whole) * MATH_LN2;
    return math_scale(1 + math_exp_core(r), math_bits(sum) - math_bits(MATH_ROUNDER));
}

/* 1.44 ulp. Half of the result first: 2^n may overflow where the result does not. */
static inline float math_expm1_f32(float x)
{
    int32_t n;
    float r = math_exp_reduce(math_clamp(x, -20, 89), &n);
    float core = math_exp_core(r), scale = math_power2(n - 1);
    float half = math_fma(scale, core, scale - 0.5f);
    return __builtin_copysignf(n == 0 ? core : half + half, x);
}

/* 1.94 ulp. e / (e + 2) with e = exp(2|x|) - 1; where e is small, what the sum rounds away is half
 * as large a part of it as `lost`. */
static inline float math_tanh_f32(float x)
{
    float e = math_expm1_f32(2 * math_clamp(__builtin_fabsf(x), 0, 10));
    float sum = e + 2, lost = e - (sum - 2), y = e / sum;
    y = math_fma(y, lost * -0.5f, y);
    return __builtin_copysignf(e < 1 ? y : e / sum, x);
}

/* 1.60 ulp. Below 0.92 x + x P(x^2); above, 1 - exp(R(|x|)) with R near the logarithm of the
 * complement, whose error shrinks with the complement. */
static inline float math_erf_f32(float x)
{
    float size = math_clamp(__builtin_fabsf(x), 0, 4), square = size * size;
    float p = 0x1.4fa924p-14f;
    p = math_fma(p, square, -0x1.a6181p-11f);
    p = math_fma(p, square, 0x1.544b08p-8f);
    p = math_fma(p, square, -0x1.b80124p-6f);
    p = math_fma(p, square, 0x1.ce2d64p-4f);
    p = math_fma(p, square, -0x1.812744p-2f);
    p = math_fma(p, square, 0x1.06eba8p-3f);
    float near = math_fma(p, size, size);
    float q = -0x1.5d7d2ep-16f;
    q = math_fma(q, size, 0x1.c4608cp-12f);
    q = math_fma(q, size, -0x1.106476p-8f);
    q = math_fma(q, size, 0x1.9aecf4p-6f);
    q = math_fma(q, size, -0x1.bb45aep-4f);
    q = math_fma(q, size, -0x1.444d16p-1f);
    q = math_fma(q, size, -0x1.212628p+0f);
    q = math_fma(q, size, 0x1.62da5ap-13f);
    int32_t n;
    float r = math_exp_reduce(q, &n), scale = math_power2(n);
    float far = (1 - scale) - scale * math_exp_core(r);
    return __builtin_copysignf(size < 0.92f ? near : far, x);
}

/* ---- logarithms ---- */

/* x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), for x positive and finite; f is exact. */
static inline float math_log_reduce(float x, int32_t *k)
{
    const int32_t root = 0x3f3504f3;                               /* sqrt(1/2) */
    int32_t tiny = x < 0x1p-126f, i = math_bits(tiny ? x * 0x1p23f : x) - root;
    *k = (i >> 23) - (tiny ? 23 : 0);
    return math_float((i & 0x7fffff) + root) - 1;
}

/* log(1 + f) - f: -f^2/2 + f^3 P(f); relative error of the whole 2^-28.9 before rounding. */
static inline float math_log_core(float f)
{
    float p = 0x1.b332e6p-5f;
    p = math_fma(p, f, -0x1.be957ep-4f);
    p = math_fma(p, f, 0x1.f01e28p-4f);
    p = math_fma(p, f, -0x1.0110f8p-3f);
    p = math_fma(p, f, 0x1.230262p-3f);
    p = math_fma(p, f, -0x1.552e42p-3f);
    p = math_fma(p, f, 0x1.99a544p-3f);
    p = math_fma(p, f, -0x1.000072p-2f);
    p = math_fma(p, f, 0x1.555548p-2f);
    return math_fma(p, f, -0.5f) * (f * f);
}

static inline float math_log_sum(float f, int32_t k)
{
    float whole = (float)k, rest = math_fma(whole, MATH_LN2_REST, math_log_core(f));
    return math_fma(whole, MATH_LN2, f + rest);
}

/* What a logarithm of x is outside the positive finite numbers, and `inside` there. */
static inline float math_log_domain(float x, float inside)
{
    float edge = x == 0 ? -INFINITY : x < 0 ? NAN : x;
    inside = x > 0 ? inside : edge;
    return x < INFINITY ? inside : x;
}

/* 0.90 ulp. */
static inline float math_log_f32(float x)
{
    int32_t k;
    float f = math_log_reduce(x, &k);
    return math_log_domain(x, math_log_sum(f, k));
}

/* 1.03 ulp. */
static inline float math_log2_f32(float x)
{
    const float rest = 0x1.4ae0cp-26f;                             /* of MATH_LOG2_E */
    int32_t k;
    float f = math_log_reduce(x, &k);
    float small = math_fma(f, rest, math_log_core(f) * MATH_LOG2_E);
    return math_log_domain(x, (float)k + math_fma(f, MATH_LOG2_E, small));
}

/* 1.48 ulp. What 1 + x rounds away is added to f, which has its scale; it is exact. */
static inline float math_log1p_f32(float x)
{
    float sum = 1 + x;
    float lost = x < 1 ? x - (sum - 1) : 1 - (sum - x);
    int32_t k;
    float f = math_log_reduce(sum, &k);
    f += x < 0x1p24f ? lost * math_power2(-k) : 0;
    float y = math_log_domain(sum, math_log_sum(f, k));
    return x == 0 ? x : y;
}

/* ---- sine and cosine ---- */

/* |x| = n pi/2 + r with |r| <= pi/4, for every float (Payne and Hanek, Radian Reduction for
 * Trigonometric Functions, 1983): the 24-bit significand times 96 bits of 2/pi, taken where whole
 * turns drop out. Two bits before the point are n, 62 behind it the fraction of a quarter turn. */
static inline float math_sin_reduce(float x, uint32_t *n)
{
    static const uint32_t two_over_pi[11] = {                      /* behind 32 bits of 0 */
        0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
        0x3c439041, 0xfe5163ab,                                    /* the rest is read for */
    };                                                             /* |x| < pi/4 and not used */
    uint32_t bits = (uint32_t)math_bits(x) & 0x7fffffff, exponent = bits >> 23;
    uint64_t significand = (bits & 0x7fffff) | 0x800000;
    uint32_t skip = (exponent - 120) & 255;
    uint32_t word = skip >> 5, shift = skip & 31;
    uint32_t w0 = two_over_pi[word], w1 = two_over_pi[word + 1], w2 = two_over_pi[word + 2];
    uint32_t w3 = two_over_pi[word + 3], back = (31 - shift) & 31;
    uint32_t high = w0 << shift | w1 >> 1 >> back, middle = w1 << shift | w2 >> 1 >> back;
    uint32_t low = w2 << shift | w3 >> 1 >> back;
    uint64_t turn = (significand * high << 32) + significand * middle + (significand * low >> 32);
    turn += (uint64_t)1 << 61;                                     /* to nearest */
    int32_t top = (int32_t)(turn >> 30 & 0xffffffff) ^ INT32_MIN;
    int32_t rest = (int32_t)(turn & 0x3fffffff);
    double fraction = (double)top * 0x1p-32 + (double)rest * 0x1p-62;
    float r = (float)(fraction * 0x1.921fb54442d18p0);
    int32_t small = bits < 0x3f490fdb;                             /* pi/4 */
    *n = small ? 0 : (uint32_t)(turn >> 62);
    return small ? math_float((int32_t)bits) : r;
}

/* Sine of |x| turned `quarter` quarter turns on, by the polynomials of sine and cosine on
 * |r| <= pi/4 (relative errors 2^-27.9 and 2^-33 before rounding). */
static inline float math_sin_turned(float x, uint32_t quarter)
{
    uint32_t n;
    float r = math_sin_reduce(x, &n), z = r * r;
    n += quarter;
    float s = math_fma(-0x1.9953fep-13f, z, 0x1.110778p-7f);
    s = math_fma(math_fma(s, z, -0x1.555546p-3f), r * z, r);
    float c = math_fma(0x1.99e80cp-16f, z, -0x1.6c0c28p-10f);
    c = math_fma(math_fma(c, z, 0x1.55554ap-5f), z * z, math_fma(-0.5f, z, 1));
    float y = n & 1 ? c : s;
    y = n & 2 ? -y : y;
    return y + (x - x);                                            /* NaN where x is not finite */
}

/* 1.58 ulp. */
static inline float math_sin_f32(float x)
{
    float y = math_sin_turned(x, 0);
    return math_bits(x) < 0 ? -y : y;
}

/* 1.58 ulp. */
static inline float math_cos_f32(float x)
{
    return math_sin_turned(x, 1);
}

/* ---- powers ---- */

/* Base-2 logarithm of a positive finite f32, in double: the series of artanh in f / (2 + f),
 * relative error 2^-52. */
static inline double math_log2_wide(float x)
{
    int32_t k;
    double f = math_log_reduce(x, &k), s = f / (2 + f), z = s * s;
    double p = 0x1.f1823c36b825dp-3;
    p = p * z + 0x1.0bb8091eb3a47p-2;
    p = p * z + 0x1.484fa7bbe88d1p-2;
    p = p * z + 0x1.a617569250af8p-2;
    p = p * z + 0x1.2776c516835ffp-1;
    p = p * z + 0x1.ec709dc39cc98p-1;
    p = p * z + 0x1.71547652b82ffp+1;
    return k + s * p;
}

/* 2 to the power x for |x| <= 1000, in double, relative error 2^-52. */
static inline double math_exp2_wide(double x)
{
    const double rounder = 0x1.8p52;
    double sum = x + rounder, r = x - (sum - rounder);
    double p = 0x1.e3a8e6e5b496p-28;
    p = p * r + 0x1.b671d4b51e18ep-24;
    p = p * r + 0x1.62c147e04ead0p-20;
    p = p * r + 0x1.ffcb58a906d5ap-17;
    p = p * r + 0x1.4309126bd5dbdp-13;
    p = p * r + 0x1.5d87fe9b99958p-10;
    p = p * r + 0x1.3b2ab6fbd6e4ap-7;
    p = p * r + 0x1.c6b08d703e12dp-5;
    p = p * r + 0x1.ebfbdff82c431p-3;
    p = p * r + 0x1.62e42fefa3a12p-1;
    p = p * r + 1;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bits = ((bits & 0xfff) + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* 0.51 ulp: computed in double, rounded once. The cases of C's pow: 1 for y = 0 and for x = 1;
 * a negative x needs a whole y, an odd one keeps its sign. A square is the product, as where the
 * exponent is known. */
static inline float math_pow_f32(float x, float y)
{
    float size = __builtin_fabsf(x);
    double l = size > 0 ? math_log2_wide(size) : -INFINITY;
    double power = y * (size < INFINITY ? l : (double)size);
    power = power > 200 ? 200 : power;
    power = power < -200 ? -200 : power;
    float z = (float)math_exp2_wide(power);
    z = size == 1 ? (y == y ? 1 : y) : z;
    int32_t whole = __builtin_rintf(y) == y;
    int32_t odd = whole & (int32_t)(__builtin_fabsf(y) < 0x1p24f ? y : 0);
    z = ((math_bits(x) < 0) & odd & 1) != 0 ? -z : z;
    z = ((x < 0) & (size < INFINITY) & !whole) != 0 ? NAN : z;
    z = x != x ? x : z;
    z = y == 2 ? x * x : z;
    return ((x == 1) | (y == 0)) != 0 ? 1 : z;
}

/* ---- rounding, remainders, and rare functions by libm ---- */

static inline float math_abs_f32(float x) { return __builtin_fabsf(x); }
static inline float math_sqrt_f32(float x) { return __builtin_sqrtf(x); }
static inline float math_floor_f32(float x) { return __builtin_floorf(x); }
static inline float math_ceil_f32(float x) { return __builtin_ceilf(x); }
static inline float math_rint_f32(float x) { return __builtin_rintf(x); }
static inline float math_floordiv_f32(float x, float y) { return __builtin_floorf(x / y); }
/* As Lua's %: the exact remainder, moved by y when the signs differ. */
static inline float math_mod_f32(float x, float y)
{
    float r = fmodf(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/* Through double: 0.51 ulp, and the same bits whatever calls it. */
static inline float math_tan_f32(float x) { return (float)tan((double)x); }
static inline float math_asin_f32(float x) { return (float)asin((double)x); }
static inline float math_acos_f32(float x) { return (float)acos((double)x); }
static inline float math_atan_f32(float x) { return (float)atan((double)x); }
static inline float math_sinh_f32(float x) { return (float)sinh((double)x); }
static inline float math_cosh_f32(float x) { return (float)cosh((double)x); }
static inline float math_atan2_f32(float y, float x) { return (float)atan2((double)y, (double)x); }
#endif
