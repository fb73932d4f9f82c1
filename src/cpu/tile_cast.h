/* tile_cast.h: conversions of one element between the types of registers and memory.
 *
 * To floats they round to nearest even, once; to integers they truncate, saturate, and NaN gives
 * 0. Branch-free, in integer arithmetic where the 16-bit floats are concerned.
 */
#ifndef SGL_CPU_TILE_CAST_H
#define SGL_CPU_TILE_CAST_H
#include <stdint.h>
#include <string.h>

static inline uint32_t cast_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float cast_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float cast_bf16_to_f32(uint16_t h)
{
    return cast_float((uint32_t)h << 16);
}

/* Adding half of the last place, and one more where the last place is odd, rounds to even. */
static inline uint16_t cast_f32_to_bf16(float x)
{
    uint32_t u = cast_bits(x);
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? (u >> 16 | 0x40) : rounded);
}

/* Denormals: the fraction placed below 2^-14 as a float's, minus that 2^-14, is the value. */
static inline float cast_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, size = h & 0x7fff;
    uint32_t normal = (size << 13) + ((127 - 15) << 23);
    uint32_t special = normal + ((uint32_t)(255 - 31 - (127 - 15)) << 23);
    float tiny = cast_float((size << 13) + (113u << 23)) - 0x1p-14f;
    uint32_t u = size >= 0x7c00 ? special : size < 0x400 ? cast_bits(tiny) : normal;
    return cast_float(u | sign);
}

/* Below the normal numbers, adding 0.5 rounds at the right place: the sum's last place is 2^-24.
 * From 65520 up the carry makes an infinity; what is larger is clamped to there. */
static inline uint16_t cast_f32_to_f16(float x)
{
    uint32_t u = cast_bits(x), sign = u >> 16 & 0x8000, size = u & 0x7fffffff;
    uint32_t tiny = cast_bits(cast_float(size) + 0.5f) - cast_bits(0.5f);
    uint32_t clamped = size < 0x47800000 ? size : 0x47800000;            /* 65536 */
    uint32_t normal = (clamped - (112u << 23) + 0xfff + (clamped >> 13 & 1)) >> 13;
    uint32_t h = size > 0x7f800000 ? 0x7e00 : size < 0x38800000 ? tiny : normal;
    return (uint16_t)(h | sign);
}

/* Rounds to odd: towards 0, and what is lost sets the last bit. A second rounding to fewer bits
 * is then right. */
static inline float cast_f64_to_odd(double x)
{
    float f = (float)x;
    double near = f;
    uint32_t u = cast_bits(f), away = x < 0 ? near < x : near > x;
    return cast_float(near == x || x != x ? u : (u - away) | 1);
}

#define TO_HALF(from, T)                                                                       \
    static inline uint16_t cast_##from##_to_f16(T x)                                           \
    {                                                                                          \
        return cast_f32_to_f16(cast_f64_to_odd((double)x));                                    \
    }                                                                                          \
    static inline uint16_t cast_##from##_to_bf16(T x)                                          \
    {                                                                                          \
        return cast_f32_to_bf16(cast_f64_to_odd((double)x));                                   \
    }
TO_HALF(f64, double)
TO_HALF(i32, int32_t)
TO_HALF(i64, int64_t)
TO_HALF(u8, uint8_t)
#undef TO_HALF

/* `above` is the smallest value of the floating type past the largest integer. */
#define TRUNCATE(from, T, to, R, above, lo, hi)                                                \
    static inline R cast_##from##_to_##to(T x)                                                 \
    {                                                                                          \
        T inside = x > (T)(lo) && x < (T)(above) ? x : 0;                                      \
        return x >= (T)(above) ? (hi) : x <= (T)(lo) ? (lo) : (R)inside;                       \
    }
TRUNCATE(f32, float, u8, uint8_t, 0x1p8, 0, UINT8_MAX)
TRUNCATE(f32, float, i32, int32_t, 0x1p31, INT32_MIN, INT32_MAX)
TRUNCATE(f32, float, i64, int64_t, 0x1p63, INT64_MIN, INT64_MAX)
TRUNCATE(f64, double, u8, uint8_t, 0x1p8, 0, UINT8_MAX)
TRUNCATE(f64, double, i32, int32_t, 0x1p31, INT32_MIN, INT32_MAX)
TRUNCATE(f64, double, i64, int64_t, 0x1p63, INT64_MIN, INT64_MAX)
#undef TRUNCATE

#define CLAMP(from, T, to, R, lo, hi)                                                          \
    static inline R cast_##from##_to_##to(T x)                                                 \
    {                                                                                          \
        return (R)(x > (hi) ? (hi) : x < (lo) ? (lo) : x);                                     \
    }
CLAMP(i32, int32_t, u8, uint8_t, 0, UINT8_MAX)
CLAMP(i64, int64_t, u8, uint8_t, 0, UINT8_MAX)
CLAMP(i64, int64_t, i32, int32_t, INT32_MIN, INT32_MAX)
#undef CLAMP
static inline int32_t cast_i32_to_i32(int32_t x) { return x; }
static inline int64_t cast_i32_to_i64(int32_t x) { return x; }
static inline int64_t cast_i64_to_i64(int64_t x) { return x; }
static inline uint8_t cast_u8_to_u8(uint8_t x) { return x; }
static inline int32_t cast_u8_to_i32(uint8_t x) { return x; }
static inline int64_t cast_u8_to_i64(uint8_t x) { return x; }
#endif
