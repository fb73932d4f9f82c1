/* dtype.c: the table of element types, promotion, and conversion through double.
 *
 * Holds: each store rounds once, straight from the double (no detour through f32), so the
 *        reference and every folded constant agree with a correctly rounded kernel.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "ir/dtype.h"

const DtypeInfo DTYPES[DT_COUNT] = {
#define DTYPE(name, bytes, class, ctype, st, onnx) {#name, bytes, CLASS_##class, st, onnx},
#include "ir/dtype.def"
#undef DTYPE
};

int ir_dtype_find(const char *name)
{
    for (int t = 0; t < DT_COUNT; t++)
        if (strcmp(DTYPES[t].name, name) == 0) return t;
    return -1;
}

/* dtype.def is ordered by class and then by width, so the wider type is the later row; only
 * f16 and bf16 have no order: neither holds the other's values. */
Dtype ir_dtype_promote(Dtype a, Dtype b)
{
    Dtype wide = a > b ? a : b, narrow = a > b ? b : a;
    return wide == DT_bf16 && narrow == DT_f16 ? DT_f32 : wide;
}

Dtype ir_dtype_weak(Dtype tensor, int class)
{
    if (class <= DTYPES[tensor].class) return tensor;
    return class == CLASS_FLOAT ? DT_f32 : DT_i32;
}

/* The 16-bit float formats differ only in how many bits the fraction has and in the bias. */
typedef struct HalfFormat {
    int fraction, bias;
} HalfFormat;
static const HalfFormat F16 = {10, 15}, BF16 = {7, 127};

/* Rounds to nearest, ties to even, once from the double: through f32 it would be twice. */
static uint16_t half_from(HalfFormat f, double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t inf = (uint16_t)(0x7fff >> f.fraction << f.fraction);
    if (isnan(value)) return (uint16_t)(sign | inf | 1u << (f.fraction - 1));
    if (isinf(value)) return sign | inf;
    int exponent;
    double size = fabs(value);
    frexp(size, &exponent);
    exponent--; /* size is in [2^exponent, 2^(exponent+1)) */
    if (exponent > f.bias) return sign | inf;
    bool normal = size != 0 && exponent >= 1 - f.bias;
    if (!normal) exponent = 1 - f.bias;
    /* The fraction as an integer; a carry out of it moves into the exponent by itself. */
    uint32_t bits = (uint32_t)rint(ldexp(size, f.fraction - exponent));
    if (normal) bits += (uint32_t)(exponent + f.bias - 1) << f.fraction;
    return (uint16_t)(sign | (bits < inf ? bits : inf));
}

static double half_to(HalfFormat f, uint16_t bits)
{
    int fraction = bits & ((1 << f.fraction) - 1);
    int exponent = (bits & 0x7fff) >> f.fraction;
    double size;
    if (exponent == 0x7fff >> f.fraction) size = fraction ? NAN : INFINITY;
    else if (exponent == 0) size = ldexp(fraction, 1 - f.bias - f.fraction);
    else size = ldexp(fraction + (1 << f.fraction), exponent - f.bias - f.fraction);
    return bits & 0x8000 ? -size : size;
}

/* `above` is the smallest double past the largest value. */
static int64_t saturate(double value, double above, int64_t lo, int64_t hi)
{
    if (isnan(value)) return 0;
    if (value >= above) return hi;
    return value <= (double)lo ? lo : (int64_t)value;
}

static uint8_t bool_from(double v) { return v != 0; }
static uint8_t u8_from(double v) { return (uint8_t)saturate(v, 0x1p8, 0, UINT8_MAX); }
static int32_t i32_from(double v) { return (int32_t)saturate(v, 0x1p31, INT32_MIN, INT32_MAX); }
static int64_t i64_from(double v) { return saturate(v, 0x1p63, INT64_MIN, INT64_MAX); }
static uint16_t f16_from(double v) { return half_from(F16, v); }
static uint16_t bf16_from(double v) { return half_from(BF16, v); }
static float f32_from(double v) { return (float)v; }
static double f64_from(double v) { return v; }

static double bool_to(uint8_t v) { return v; }
static double u8_to(uint8_t v) { return v; }
static double i32_to(int32_t v) { return v; }
static double i64_to(int64_t v) { return (double)v; }
static double f16_to(uint16_t v) { return half_to(F16, v); }
static double bf16_to(uint16_t v) { return half_to(BF16, v); }
static double f32_to(float v) { return v; }
static double f64_to(double v) { return v; }

#define DTYPE(name, bytes, class, ctype, st, onnx)                                                 \
    static double load_##name(const void *from, int64_t i)                                         \
    {                                                                                              \
        return name##_to(((const ctype *)from)[i]);                                                \
    }                                                                                              \
    static void store_##name(void *to, int64_t i, double value)                                    \
    {                                                                                              \
        ((ctype *)to)[i] = name##_from(value);                                                     \
    }
#include "ir/dtype.def"
#undef DTYPE

static const struct {
    double (*load)(const void *from, int64_t i);
    void (*store)(void *to, int64_t i, double value);
} CONVERT[DT_COUNT] = {
#define DTYPE(name, bytes, class, ctype, st, onnx) {load_##name, store_##name},
#include "ir/dtype.def"
#undef DTYPE
};

double ir_dtype_load(Dtype t, const void *from, int64_t i) { return CONVERT[t].load(from, i); }

void ir_dtype_store(Dtype t, void *to, int64_t i, double value) { CONVERT[t].store(to, i, value); }

double ir_dtype_round(Dtype t, double value)
{
    union {
        uint8_t b;
        uint16_t h;
        int32_t i;
        int64_t l;
        float f;
        double d;
    } cell;
    ir_dtype_store(t, &cell, 0, value);
    return ir_dtype_load(t, &cell, 0);
}
