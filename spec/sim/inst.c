/* inst.c: what each instruction of PTX does to the lanes of a warp.
 *
 * In:   a warp, an instruction, the lanes for which it counts.
 * Holds: floats are those of this machine: one rounding an instruction, FMA by fma(). Registers
 *        have 64 bits; what is narrower stands in the low ones, signed types extended. A function
 *        for each name and type, found once, when the module is read.
 */
#include "sim.h"
#include <math.h>
#include <string.h>

typedef uint8_t c_u8;
typedef int8_t c_s8;
typedef uint16_t c_u16;
typedef int16_t c_s16;
typedef uint32_t c_u32;
typedef int32_t c_s32;
typedef uint64_t c_u64;
typedef int64_t c_s64;
typedef float c_f32;
typedef double c_f64;
typedef uint8_t c_pred;

const int TYPE_BYTES[TYPES] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1};

#define INTEGER(T)                                                                                 \
    static inline c_##T get_##T(uint64_t v) { return (c_##T)v; }                                   \
    static inline uint64_t put_##T(c_##T v) { return (uint64_t)(int64_t)v; }
#define NATURAL(T)                                                                                 \
    static inline c_##T get_##T(uint64_t v) { return (c_##T)v; }                                   \
    static inline uint64_t put_##T(c_##T v) { return v; }
NATURAL(u8)
NATURAL(u16)
NATURAL(u32)
NATURAL(u64) NATURAL(pred) INTEGER(s8) INTEGER(s16) INTEGER(s32)
    INTEGER(s64) static inline float get_f32(uint64_t v)
{
    uint32_t b = (uint32_t)v;
    float x;
    memcpy(&x, &b, 4);
    return x;
}
static inline uint64_t put_f32(float x)
{
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}
static inline double get_f64(uint64_t v)
{
    double x;
    memcpy(&x, &v, 8);
    return x;
}
static inline uint64_t put_f64(double x)
{
    uint64_t v;
    memcpy(&v, &x, 8);
    return v;
}

#define LANES(mask, ...)                                                                           \
    for (int l = 0; l < WARP; l++)                                                                 \
        if ((mask) >> l & 1) {                                                                     \
            __VA_ARGS__                                                                            \
        }

/* d = expr over a, b, c, of one type. */
#define OP3(name, T, R, expr)                                                                      \
    static void name##_##T(Warp *w, const Inst *i, uint32_t mask)                                  \
    {                                                                                              \
        uint64_t *d = w->r[i->r[0]];                                                               \
        const uint64_t *x = w->r[i->r[1]], *y = w->r[i->r[i->n > 2 ? 2 : 1]];                      \
        const uint64_t *z = w->r[i->r[i->n > 3 ? 3 : 1]];                                          \
        LANES(mask, const c_##T a = get_##T(x[l]); const c_##T b = get_##T(y[l]);                  \
              const c_##T c = get_##T(z[l]); (void)a, (void)b, (void)c;                            \
              d[l] = put_##R((c_##R)(expr));)                                                      \
    }
#define FLOATS(name, ef, ed) OP3(name, f32, f32, ef) OP3(name, f64, f64, ed)
#define INTS(name, e)                                                                              \
    OP3(name, u16, u16, e)                                                                         \
    OP3(name, s16, s16, e)                                                                         \
    OP3(name, u32, u32, e) OP3(name, s32, s32, e) OP3(name, u64, u64, e) OP3(name, s64, s64, e)
/* Wrapping: in the unsigned type of the width. */
#define WRAPS(name, e) OP3(name, u16, u16, e) OP3(name, u32, u32, e) OP3(name, u64, u64, e)
#define BITS(name, e) WRAPS(name, e) OP3(name, pred, pred, (e)&1)

/* clang-format off */
WRAPS(add, a + b) FLOATS(add, a + b, a + b)
WRAPS(sub, a - b) FLOATS(sub, a - b, a - b)
WRAPS(mul, a * b) FLOATS(mul, a * b, a * b)
WRAPS(mad, a * b + c) FLOATS(fma, fmaf(a, b, c), fma(a, b, c))
FLOATS(div, a / b, a / b)
OP3(div, u16, u16, b ? a / b : -1)
OP3(div, u32, u32, b ? a / b : ~0u)
OP3(div, u64, u64, b ? a / b : ~UINT64_C(0))
OP3(div, s16, s16, b == -1 ? -a : b ? a / b : -1)
OP3(div, s32, s32, b == -1 ? 0u - (uint32_t)a : b ? (uint32_t)(a / b) : ~0u)
OP3(div, s64, s64, b == -1 ? 0u - (uint64_t)a : b ? (uint64_t)(a / b) : ~UINT64_C(0))
OP3(rem, u16, u16, b ? a % b : a)
OP3(rem, u32, u32, b ? a % b : a)
OP3(rem, u64, u64, b ? a % b : a)
OP3(rem, s16, s16, b == -1 ? 0 : b ? a % b : a)
OP3(rem, s32, s32, b == -1 ? 0 : b ? a % b : a)
OP3(rem, s64, s64, b == -1 ? 0 : b ? a % b : a)
#define LEAST isnan(a) ? b : isnan(b) ? a : a < b || (a == b && signbit(a)) ? a : b
#define MOST isnan(a) ? b : isnan(b) ? a : a > b || (a == b && !signbit(a)) ? a : b
INTS(min, a < b ? a : b) FLOATS(min, LEAST, LEAST)
INTS(max, a > b ? a : b) FLOATS(max, MOST, MOST)
OP3(neg, s16, s16, 0u - (uint16_t)a)
OP3(neg, s32, s32, 0u - (uint32_t)a)
OP3(neg, s64, s64, 0u - (uint64_t)a)
FLOATS(neg, -a, -a)
OP3(abs, s16, s16, a < 0 ? -a : a)
OP3(abs, s32, s32, a < 0 ? 0u - (uint32_t)a : (uint32_t)a)
OP3(abs, s64, s64, a < 0 ? 0u - (uint64_t)a : (uint64_t)a)
FLOATS(abs, fabsf(a), fabs(a))
FLOATS(copysign, copysignf(b, a), copysign(b, a))
FLOATS(sqrt, sqrtf(a), sqrt(a))
FLOATS(rsqrt, 1 / sqrtf(a), 1 / sqrt(a))
FLOATS(rcp, 1 / a, 1 / a)
OP3(ex2, f32, f32, exp2f(a))
OP3(lg2, f32, f32, log2f(a))
OP3(sin, f32, f32, sinf(a))
OP3(cos, f32, f32, cosf(a))
OP3(tanh, f32, f32, tanhf(a))
BITS(and, a & b) BITS(or, a | b) BITS(xor, a ^ b) BITS(not, ~a)
WRAPS(mov, a) OP3(mov, pred, pred, a)
OP3(cnot, u32, u32, a == 0)
OP3(popc, u32, u32, __builtin_popcount(a))
OP3(popc, u64, u32, __builtin_popcountll(a))
OP3(clz, u32, u32, a ? __builtin_clz(a) : 32)
OP3(clz, u64, u32, a ? __builtin_clzll(a) : 64)
    /* clang-format on */

    static uint32_t reverse(uint32_t a)
{
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) r |= (a >> i & 1) << (31 - i);
    return r;
}
OP3(brev, u32, u32, reverse(a))

/* The amount of a shift is a u32 and stops at the width. */
#define SHIFT(name, T, past, e)                                                                    \
    static void name##_##T(Warp *w, const Inst *i, uint32_t mask)                                  \
    {                                                                                              \
        LANES(mask, const c_##T a = get_##T(w->r[i->r[1]][l]);                                     \
              const uint32_t b = (uint32_t)w->r[i->r[2]][l];                                       \
              w->r[i->r[0]][l] = put_##T((c_##T)(b >= sizeof a * 8 ? (past) : (e)));)              \
    }
SHIFT(shl, u16, 0, a << b)
SHIFT(shl, u32, 0, a << b)
SHIFT(shl, u64, 0, a << b)
SHIFT(shr, u16, 0, a >> b) SHIFT(shr, u32, 0, a >> b) SHIFT(shr, u64, 0, a >> b)
    SHIFT(shr, s16, a < 0 ? -1 : 0, a >> b) SHIFT(shr, s32, a < 0 ? -1 : 0, a >> b)
        SHIFT(shr, s64, a < 0 ? -1 : 0, a >> b)

/* Double the width of the operands; and the upper half of the product. */
#define WIDE(T, W)                                                                                 \
    static void wide_##T(Warp *w, const Inst *i, uint32_t mask)                                    \
    {                                                                                              \
        LANES(mask, uint64_t p = (uint64_t)((c_##W)get_##T(w->r[i->r[1]][l]) *                     \
                                            (c_##W)get_##T(w->r[i->r[2]][l]));                     \
              if (i->n > 3) p += w->r[i->r[3]][l]; w->r[i->r[0]][l] = put_##W((c_##W)p);)          \
    }
            WIDE(u16, u32) WIDE(s16, s32) WIDE(u32, u64) WIDE(s32, s64)
                OP3(hi, u32, u32, (uint64_t)a *b >> 32)
                    OP3(hi, s32, s32, (int64_t)a *b >> 32) __extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;
OP3(hi, u64, u64, (u128)a *b >> 64)
OP3(hi, s64, s64, (s128)a *b >> 64)

/* n bits from `at` on, of a register of so many. */
static uint64_t bits_from(uint32_t at, uint32_t n, uint32_t width)
{
    at &= 255, n &= 255;
    if (at >= width || n == 0) return 0;
    return (n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << at;
}
#define FIELDS(T)                                                                                  \
    static void bfi_##T(Warp *w, const Inst *i, uint32_t mask)                                     \
    {                                                                                              \
        LANES(mask, const uint64_t a = w->r[i->r[1]][l]; const uint64_t b = w->r[i->r[2]][l];      \
              const uint32_t at = (uint32_t)w->r[i->r[3]][l];                                      \
              const uint64_t m = bits_from(at, (uint32_t)w->r[i->r[4]][l], sizeof(c_##T) * 8);     \
              w->r[i->r[0]][l] = put_##T((c_##T)((b & ~m) | (m ? a << (at & 255) & m : 0)));)      \
    }                                                                                              \
    static void bfe_##T(Warp *w, const Inst *i, uint32_t mask)                                     \
    {                                                                                              \
        LANES(mask, const uint64_t a = get_##T(w->r[i->r[1]][l]);                                  \
              const uint32_t at = (uint32_t)w->r[i->r[2]][l];                                      \
              const uint64_t m = bits_from(at, (uint32_t)w->r[i->r[3]][l], sizeof(c_##T) * 8);     \
              w->r[i->r[0]][l] = m ? (a & m) >> (at & 255) : 0;)                                   \
    }
FIELDS(u32)
FIELDS(u64)

static uint32_t permute(uint32_t a, uint32_t b, uint32_t s)
{
    uint64_t v = a | (uint64_t)b << 32;
    uint32_t r = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t pick = s >> k * 4 & 15, x = v >> (pick & 7) * 8 & 255;
        if (pick & 8) x = x & 128 ? 255 : 0;
        r |= x << k * 8;
    }
    return r;
}
OP3(prmt, u32, u32, permute(a, b, c))

static void lop3_u32(Warp *w, const Inst *i, uint32_t mask)
{
    LANES(mask, const uint32_t a = (uint32_t)w->r[i->r[1]][l];
          const uint32_t b = (uint32_t)w->r[i->r[2]][l];
          const uint32_t c = (uint32_t)w->r[i->r[3]][l];
          const uint32_t t = (uint32_t)w->r[i->r[4]][l]; uint32_t r = 0;
          for (int k = 0; k < 8; k++) if (t >> k & 1) r |=
          (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
          w->r[i->r[0]][l] = r;)
}

/* shf: the pair b:a shifted, one word of it. */
static void shf_u32(Warp *w, const Inst *i, uint32_t mask)
{
    LANES(mask, const uint64_t v = (w->r[i->r[2]][l] << 32) | (uint32_t)w->r[i->r[1]][l];
          const uint32_t n = (uint32_t)w->r[i->r[3]][l] & 31;
          w->r[i->r[0]][l] = i->mods & MOD_RIGHT ? (uint32_t)(v >> n) : (uint32_t)(v << n >> 32);)
}

static void selp(Warp *w, const Inst *i, uint32_t mask)
{
    LANES(mask, w->r[i->r[0]][l] = w->r[i->r[3]][l] & 1 ? w->r[i->r[1]][l] : w->r[i->r[2]][l];)
}

/* Sums of words of long numbers: a + b, or half of a b, + c, with a carry in or out. */
#define CARRIES(T, W)                                                                              \
    static void carry_##T(Warp *w, const Inst *i, uint32_t mask)                                   \
    {                                                                                              \
        LANES(mask, const c_##T a = get_##T(w->r[i->r[1]][l]);                                     \
              const c_##T b = get_##T(w->r[i->r[2]][l]); const W p = (W)a * b;                     \
              const c_##T x = i->n < 4           ? a                                               \
                              : i->mods & MOD_HI ? (c_##T)(p >> (sizeof a * 8))                    \
                                                 : (c_##T)p;                                       \
              const c_##T y = i->n < 4 ? b : get_##T(w->r[i->r[3]][l]);                            \
              const W in = i->carry & CARRY_IN ? w->carry[l] : 0;                                  \
              const W sum = i->carry & CARRY_LESS ? (W)x - y - in : (W)x + y + in;                 \
              if (i->carry & CARRY_OUT) w->carry[l] = sum >> (sizeof a * 8) & 1;                   \
              w->r[i->r[0]][l] = (c_##T)sum;)                                                      \
    }
CARRIES(u32, uint64_t)
CARRIES(u64, u128)

/* ---- comparisons */

#define SETP(name, T, expr)                                                                        \
    static void setp_##name##_##T(Warp *w, const Inst *i, uint32_t mask)                           \
    {                                                                                              \
        LANES(                                                                                     \
            mask, const c_##T a = get_##T(w->r[i->r[1]][l]);                                       \
            const c_##T b = get_##T(w->r[i->r[2]][l]); bool v = (expr); if (i->n > 3) {            \
                const bool c = w->r[i->r[3]][l] & 1;                                               \
                v = i->mods & MOD_AND ? v && c : i->mods & MOD_OR ? v || c : v != c;               \
            } w->r[i->r[0]][l] = v;)                                                               \
    }
#define SETP_INTS(name, e)                                                                         \
    SETP(name, u16, e)                                                                             \
    SETP(name, s16, e) SETP(name, u32, e) SETP(name, s32, e) SETP(name, u64, e) SETP(name, s64, e)
#define SETP_FLOATS(name, e) SETP(name, f32, e) SETP(name, f64, e)
SETP_INTS(eq, a == b)
SETP_INTS(ne, a != b)
SETP_INTS(lt, a < b)
SETP_INTS(le, a <= b) SETP_INTS(gt, a > b) SETP_INTS(ge, a >= b) SETP_FLOATS(eq, a == b)
    SETP_FLOATS(ne, a<b || a> b) SETP_FLOATS(lt, a < b) SETP_FLOATS(le, a <= b)
        SETP_FLOATS(gt, a > b) SETP_FLOATS(ge, a >= b) SETP_FLOATS(equ, !(a < b || a > b))
            SETP_FLOATS(neu, !(a == b)) SETP_FLOATS(ltu, !(a >= b)) SETP_FLOATS(leu, !(a > b))
                SETP_FLOATS(gtu, !(a <= b)) SETP_FLOATS(geu, !(a < b))
                    SETP_FLOATS(num, a == a && b == b) SETP_FLOATS(nan, a != a || b != b)

    /* ---- conversions */

    static float from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
    if (e == 31) return get_f32(sign | 0x7f800000 | m << 13);
    float v = e ? ldexpf((float)(m | 1024), (int)e - 25) : ldexpf((float)m, -24);
    return sign ? -v : v;
}

static uint16_t to_half(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double a = fabs(x);
    if (a != a) return 0x7fff;
    if (a >= 65520) return sign | 0x7c00;
    int e = a < 0x1p-14 ? -14 : ilogb(a);
    double m = nearbyint(ldexp(a, 10 - e));
    return (uint16_t)(sign | (e == -14 ? (uint32_t)m : ((uint32_t)(e + 14) << 10) + (uint32_t)m));
}

static uint16_t to_bfloat(float x)
{
    uint32_t u = (uint32_t)put_f32(x);
    return x != x ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static double rounded(double x, uint32_t mods)
{
    return mods & MOD_RNI   ? nearbyint(x)
           : mods & MOD_RMI ? floor(x)
           : mods & MOD_RPI ? ceil(x)
           : mods & MOD_RZI ? trunc(x)
                            : x;
}

/* A float to an integer: towards the nearest that there is; NaN to 0. */
static uint64_t to_integer(double x, Type to)
{
    static const double lo[] = {0, -128, 0, -32768, 0, -0x1p31, 0, -0x1p63};
    static const double hi[] = {0x1p8, 0x1p7, 0x1p16, 0x1p15, 0x1p32, 0x1p31, 0x1p64, 0x1p63};
    bool is_signed = to & 1;
    int bits = TYPE_BYTES[to] * 8;
    uint64_t most = is_signed    ? (UINT64_C(1) << (bits - 1)) - 1
                    : bits == 64 ? UINT64_MAX
                                 : (UINT64_C(1) << bits) - 1;
    if (x != x) return 0;
    if (x <= lo[to]) return is_signed ? (uint64_t)(-(int64_t)most - 1) : 0;
    if (x >= hi[to]) return most;
    return is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static uint64_t narrowed(uint64_t v, Type t)
{
    switch (t) {
    case T_u8:
        return (uint8_t)v;
    case T_s8:
        return (uint64_t)(int8_t)v;
    case T_u16:
        return (uint16_t)v;
    case T_s16:
        return (uint64_t)(int16_t)v;
    case T_u32:
        return (uint32_t)v;
    case T_s32:
        return (uint64_t)(int32_t)v;
    default:
        return v;
    }
}

static bool is_float(Type t) { return t >= T_f16 && t <= T_f64; }

static double float_of(uint64_t v, Type t)
{
    return t == T_f32   ? (double)get_f32(v)
           : t == T_f64 ? get_f64(v)
           : t == T_f16 ? (double)from_half((uint16_t)v)
                        : (double)get_f32(v << 16);
}

static uint64_t float_from_int(uint64_t v, Type from, Type to)
{
    bool is_signed = from & 1;
    v = narrowed(v, from);
    if (to == T_f64) return put_f64(is_signed ? (double)(int64_t)v : (double)v);
    float x = is_signed ? (float)(int64_t)v : (float)v;
    return to == T_f32 ? put_f32(x) : to == T_f16 ? to_half(x) : to_bfloat(x);
}

static uint64_t float_to(double x, Type to)
{
    return to == T_f64   ? put_f64(x)
           : to == T_f32 ? put_f32((float)x)
           : to == T_f16 ? to_half(x)
                         : to_bfloat((float)x);
}

static void cvt(Warp *w, const Inst *i, uint32_t mask)
{
    const Type to = (Type)i->type, from = (Type)i->from;
    LANES(mask, const uint64_t v = w->r[i->r[1]][l]; uint64_t out;
          if (!is_float(from) && !is_float(to)) out = narrowed(narrowed(v, from), to);
          else if (!is_float(from)) out = float_from_int(v, from, to);
          else if (!is_float(to)) out = to_integer(rounded(float_of(v, from), i->mods), to);
          else if (from == to) out = float_to(rounded(float_of(v, from), i->mods), to);
          else out = float_to(float_of(v, from), to); w->r[i->r[0]][l] = out;)
}

/* Two floats to a pair of halves: the second operand is the lower. */
static void cvt_pair(Warp *w, const Inst *i, uint32_t mask)
{
    LANES(mask, const float a = get_f32(w->r[i->r[1]][l]);
          const float b = get_f32(w->r[i->r[2]][l]); const bool bf = i->mods & MOD_BF16;
          w->r[i->r[0]][l] = (uint32_t)(bf ? to_bfloat(b) : to_half(b)) |
                             (uint32_t)(bf ? to_bfloat(a) : to_half(a)) << 16;)
}

/* ---- memory */

static uint64_t load_bytes(const void *p, Type t)
{
    uint64_t v = 0;
    memcpy(&v, p, (size_t)TYPE_BYTES[t]);
    return narrowed(v, t);
}

/* Where lane l finds element k; NULL after a report. */
static void *place(const Warp *w, const Inst *i, int l, int k, bool write, bool atomic)
{
    const Block *b = w->block;
    int at_reg = i->r[i->width];
    size_t bytes = (size_t)TYPE_BYTES[i->type];
    uint64_t at = (at_reg >= 0 ? w->r[at_reg][l] : 0) + (uint64_t)i->offset + (uint64_t)k * bytes;
    Space space = (Space)i->space;
    sim_now.thread = (sim_now.thread & ~1023u) | (uint32_t)(w->first + l);
    if (space == SPACE_GENERIC && at >= SIM_LOCAL_WINDOW && at < SIM_LOCAL_WINDOW + (1 << 30))
        space = SPACE_LOCAL, at -= SIM_LOCAL_WINDOW;
    if (space == SPACE_GENERIC && at >= SIM_SHARED_WINDOW && at < SIM_SHARED_WINDOW + (1 << 30))
        space = SPACE_SHARED, at -= SIM_SHARED_WINDOW;
    if (space == SPACE_GENERIC && at >= SIM_PARAM_WINDOW && at < SIM_PARAM_WINDOW + (1 << 30))
        space = SPACE_PARAM, at -= SIM_PARAM_WINDOW;
    if (space == SPACE_SHARED)
        return sim_shared(b->shared, b->shared_bytes, at, bytes, write, atomic);
    if (space == SPACE_PARAM) return (void *)(uintptr_t)(b->params + at);
    if (space != SPACE_LOCAL) return sim_global(at, bytes, write, atomic);
    if (at + bytes <= b->kernel->local) return w->local + (size_t)l * b->kernel->local + at;
    sim_report("out of bounds", "local memory at %llu", (unsigned long long)at);
    return NULL;
}

static void ld(Warp *w, const Inst *i, uint32_t mask)
{
    LANES(
        mask, uint64_t v[4]; for (int k = 0; k < i->width; k++) {
            const void *p = place(w, i, l, k, false, false);
            if (!p) return;
            v[k] = load_bytes(p, (Type)i->type);
        } for (int k = 0; k < i->width; k++) w->r[i->r[k]][l] = v[k];)
}

static void st(Warp *w, const Inst *i, uint32_t mask)
{
    LANES(
        mask, for (int k = 0; k < i->width; k++) {
            void *p = place(w, i, l, k, true, false);
            if (!p) return;
            memcpy(p, &w->r[i->r[k]][l], (size_t)TYPE_BYTES[i->type]);
        })
}

static uint64_t combined(const Inst *i, uint64_t old, uint64_t b, uint64_t c)
{
    Type t = (Type)i->type;
    uint32_t m = i->mods;
    if (m & MOD_EXCH) return b;
    if (m & MOD_CAS) return narrowed(old, t) == narrowed(b, t) ? c : old;
    if (m & MOD_AND) return old & b;
    if (m & MOD_OR) return old | b;
    if (m & MOD_ADD && t == T_f32) return put_f32(get_f32(old) + get_f32(b));
    if (m & MOD_ADD && t == T_f64) return put_f64(get_f64(old) + get_f64(b));
    if (m & MOD_ADD) return old + b;
    uint64_t x = narrowed(old, t), y = narrowed(b, t);
    bool less = t & 1 ? (int64_t)x < (int64_t)y : x < y;
    return (m & MOD_MIN) != 0 ? less ? x : y : less ? y : x;
}

/* atom: result, address, operands; red lacks the result. */
static void atom(Warp *w, const Inst *i, uint32_t mask)
{
    LANES(mask, void *p = place(w, i, l, 0, true, true); if (!p) return;
          const uint64_t old = load_bytes(p, (Type)i->type);
          const uint64_t v = combined(i, old, w->r[i->r[2]][l], w->r[i->r[i->n > 3 ? 3 : 2]][l]);
          memcpy(p, &v, (size_t)TYPE_BYTES[i->type]); if (i->r[0] >= 0) w->r[i->r[0]][l] = old;)
}

/* Between addresses of a space and generic ones. */
static void cvta(Warp *w, const Inst *i, uint32_t mask)
{
    const uint64_t window = i->space == SPACE_SHARED  ? SIM_SHARED_WINDOW
                            : i->space == SPACE_LOCAL ? SIM_LOCAL_WINDOW
                            : i->space == SPACE_PARAM ? SIM_PARAM_WINDOW
                                                      : 0;
    LANES(mask, w->r[i->r[0]][l] = w->r[i->r[1]][l] + (i->mods & MOD_TO ? 0 - window : window);)
}

/* mov of a vector: to parts, or from them. r: the whole, then the parts. */
static void unpack(Warp *w, const Inst *i, uint32_t mask)
{
    int bits = TYPE_BYTES[i->type] * 8 / (i->n - 1);
    LANES(mask, const uint64_t v = w->r[i->r[0]][l];
          for (int k = 1; k < i->n; k++) w->r[i->r[k]][l] =
              v >> (k - 1) * bits & ((UINT64_C(1) << bits) - 1);)
}

static void pack(Warp *w, const Inst *i, uint32_t mask)
{
    int bits = TYPE_BYTES[i->type] * 8 / (i->n - 1);
    LANES(mask, uint64_t v = 0; for (int k = 1; k < i->n; k++) v |=
                                (w->r[i->r[k]][l] & ((UINT64_C(1) << bits) - 1)) << (k - 1) * bits;
          w->r[i->r[0]][l] = v;)
}

/* ---- operations of the warp: the last operand is the mask */

/* r: result, whether the source was inside, value, lane, clamp, mask. */
static void shfl(Warp *w, const Inst *i, uint32_t mask)
{
    uint64_t v[WARP];
    memcpy(v, w->r[i->r[2]], sizeof v);
    LANES(mask, const int c = (int)w->r[i->r[4]][l]; const int b = (int)w->r[i->r[3]][l] & 31;
          const int segment = c >> 8 & 31; const int most = (l & segment) | (c & 31 & ~segment);
          int j = i->mods & MOD_UP     ? l - b
                  : i->mods & MOD_DOWN ? l + b
                  : i->mods & MOD_BFLY ? l ^ b
                                       : (l & segment) | (b & ~segment);
          const bool inside = i->mods & MOD_UP ? j >= most : j <= most; if (!inside) j = l;
          if (!(mask >> j & 1))
              sim_report("warp operation", "shfl reads lane %d, which is not in it", j);
          w->r[i->r[0]][l] = (uint32_t)v[j]; if (i->r[1] >= 0) w->r[i->r[1]][l] = inside;)
}

static void vote(Warp *w, const Inst *i, uint32_t mask)
{
    uint32_t all = 0;
    LANES(mask, all |= (uint32_t)(w->r[i->r[1]][l] & 1) << l;)
    const uint32_t v = i->mods & MOD_BALLOT ? all : i->mods & MOD_ANY ? all != 0 : all == mask;
    LANES(mask, w->r[i->r[0]][l] = v;)
}

static void activemask(Warp *w, const Inst *i, uint32_t mask)
{
    LANES(mask, w->r[i->r[0]][l] = mask;)
}

static void nothing(Warp *w, const Inst *i, uint32_t mask) { (void)w, (void)i, (void)mask; }

/* ---- the table */

typedef struct Row {
    const char *name;
    InstFn fn[TYPES];
} Row;
#define INTS_OF(n)                                                                                 \
    [T_u16] = n##_u16, [T_s16] = n##_s16, [T_u32] = n##_u32, [T_s32] = n##_s32, [T_u64] = n##_u64, \
    [T_s64] = n##_s64
#define WRAPS_OF(n)                                                                                \
    [T_u16] = n##_u16, [T_s16] = n##_u16, [T_u32] = n##_u32, [T_s32] = n##_u32, [T_u64] = n##_u64, \
    [T_s64] = n##_u64
#define SIGNED_OF(n) [T_s16] = n##_s16, [T_s32] = n##_s32, [T_s64] = n##_s64
#define FLOATS_OF(n) [T_f32] = n##_f32, [T_f64] = n##_f64
#define BITS_OF(n) WRAPS_OF(n), [T_pred] = n##_pred
#define ALL_OF(fn)                                                                                 \
    {                                                                                              \
        fn, fn, fn, fn, fn, fn, fn, fn, fn, fn, fn, fn, fn                                         \
    }
#define SETP_ROW(n)                                                                                \
    {                                                                                              \
        "setp." #n, { INTS_OF(setp_##n), FLOATS_OF(setp_##n) }                                     \
    }

static const Row ROWS[] = {
    {"add", {WRAPS_OF(add), FLOATS_OF(add)}},
    {"sub", {WRAPS_OF(sub), FLOATS_OF(sub)}},
    {"mul", {FLOATS_OF(mul)}},
    {"mul.lo", {WRAPS_OF(mul)}},
    {"mad.lo", {WRAPS_OF(mad)}},
    {"mul.wide", {[T_u16] = wide_u16, [T_s16] = wide_s16, [T_u32] = wide_u32, [T_s32] = wide_s32}},
    {"mad.wide", {[T_u16] = wide_u16, [T_s16] = wide_s16, [T_u32] = wide_u32, [T_s32] = wide_s32}},
    {"mul.hi", {[T_u32] = hi_u32, [T_s32] = hi_s32, [T_u64] = hi_u64, [T_s64] = hi_s64}},
    {"carry", {[T_u32] = carry_u32, [T_s32] = carry_u32, [T_u64] = carry_u64, [T_s64] = carry_u64}},
    {"fma", {FLOATS_OF(fma)}},
    {"mad", {FLOATS_OF(fma)}},
    {"div", {INTS_OF(div), FLOATS_OF(div)}},
    {"rem", {INTS_OF(rem)}},
    {"min", {INTS_OF(min), FLOATS_OF(min)}},
    {"max", {INTS_OF(max), FLOATS_OF(max)}},
    {"neg", {SIGNED_OF(neg), FLOATS_OF(neg)}},
    {"abs", {SIGNED_OF(abs), FLOATS_OF(abs)}},
    {"copysign", {FLOATS_OF(copysign)}},
    {"sqrt", {FLOATS_OF(sqrt)}},
    {"rsqrt", {FLOATS_OF(rsqrt)}},
    {"rcp", {FLOATS_OF(rcp)}},
    {"ex2", {[T_f32] = ex2_f32}},
    {"lg2", {[T_f32] = lg2_f32}},
    {"sin", {[T_f32] = sin_f32}},
    {"cos", {[T_f32] = cos_f32}},
    {"tanh", {[T_f32] = tanh_f32}},
    {"and", {BITS_OF(and)}},
    {"or", {BITS_OF(or)}},
    {"xor", {BITS_OF(xor)}},
    {"not", {BITS_OF(not )}},
    {"cnot", {[T_u32] = cnot_u32}},
    {"mov", {BITS_OF(mov), [T_f32] = mov_u32, [T_f64] = mov_u64}},
    {"shl", {WRAPS_OF(shl)}},
    {"shr", {INTS_OF(shr)}},
    {"shf", {[T_u32] = shf_u32}},
    {"popc", {[T_u32] = popc_u32, [T_u64] = popc_u64}},
    {"clz", {[T_u32] = clz_u32, [T_u64] = clz_u64}},
    {"brev", {[T_u32] = brev_u32}},
    {"bfe", {[T_u32] = bfe_u32, [T_u64] = bfe_u64}},
    {"bfi", {[T_u32] = bfi_u32, [T_u64] = bfi_u64}},
    {"prmt", {[T_u32] = prmt_u32}},
    {"lop3", {[T_u32] = lop3_u32}},
    {"selp", ALL_OF(selp)},
    SETP_ROW(eq),
    SETP_ROW(ne),
    SETP_ROW(lt),
    SETP_ROW(le),
    SETP_ROW(gt),
    SETP_ROW(ge),
    {"setp.lo", {[T_u16] = setp_lt_u16, [T_u32] = setp_lt_u32, [T_u64] = setp_lt_u64}},
    {"setp.ls", {[T_u16] = setp_le_u16, [T_u32] = setp_le_u32, [T_u64] = setp_le_u64}},
    {"setp.hi", {[T_u16] = setp_gt_u16, [T_u32] = setp_gt_u32, [T_u64] = setp_gt_u64}},
    {"setp.hs", {[T_u16] = setp_ge_u16, [T_u32] = setp_ge_u32, [T_u64] = setp_ge_u64}},
    {"setp.equ", {FLOATS_OF(setp_equ)}},
    {"setp.neu", {FLOATS_OF(setp_neu)}},
    {"setp.ltu", {FLOATS_OF(setp_ltu)}},
    {"setp.leu", {FLOATS_OF(setp_leu)}},
    {"setp.gtu", {FLOATS_OF(setp_gtu)}},
    {"setp.geu", {FLOATS_OF(setp_geu)}},
    {"setp.num", {FLOATS_OF(setp_num)}},
    {"setp.nan", {FLOATS_OF(setp_nan)}},
    {"cvt", ALL_OF(cvt)},
    {"cvt.pair", ALL_OF(cvt_pair)},
    {"ld", ALL_OF(ld)},
    {"st", ALL_OF(st)},
    {"atom", ALL_OF(atom)},
    {"red", ALL_OF(atom)},
    {"cvta", ALL_OF(cvta)},
    {"unpack", ALL_OF(unpack)},
    {"pack", ALL_OF(pack)},
    {"shfl", ALL_OF(shfl)},
    {"vote", ALL_OF(vote)},
    {"activemask", ALL_OF(activemask)},
    {"bar.warp", ALL_OF(nothing)},
    {"membar", ALL_OF(nothing)},
    {"fence", ALL_OF(nothing)},
};

InstFn sim_inst_find(const char *name, Type type, Type from, uint32_t mods)
{
    (void)from, (void)mods;
    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++)
        if (strcmp(ROWS[k].name, name) == 0) return ROWS[k].fn[type];
    return NULL;
}
