/* tile_isa.c: the loops of the tile interpreter, compiled once for each instruction set.
 *
 * In:   op.def and cast.def (through tile_type.h), math.def (through tile_math.h).
 * Out:  kern_tile_ops_<ISA>.
 * Holds: plain C that the compiler vectorises, so every instruction set computes the same
 *        expressions in the same order, with fused multiply-add only where written.
 */
/* Nobody reads the flags of floating-point exceptions. Results stay the same, but loops with
 * conditions become vectors. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif
#include <string.h>
#include "cpu/tile_math.h"
#include "cpu/tile_ops.h"
#include "cpu/tile_pair.h"
#include "cpu/vec_transpose.h"

#define KEEP(...) __VA_ARGS__
#define DROP(...)

#define TYPE f32
#define T float
#define IF_FLOAT KEEP
#define IF_INT DROP
#define IF_BOOL DROP
#define IF_NUM KEEP
#define IF_ANY KEEP
#include "cpu/tile_type.h"

#define TYPE f64
#define T double
#define IF_FLOAT KEEP
#define IF_INT DROP
#define IF_BOOL DROP
#define IF_NUM KEEP
#define IF_ANY KEEP
#include "cpu/tile_type.h"

#define TYPE i32
#define T int32_t
#define IF_FLOAT DROP
#define IF_INT KEEP
#define IF_BOOL DROP
#define IF_NUM KEEP
#define IF_ANY KEEP
#include "cpu/tile_type.h"

#define TYPE i64
#define T int64_t
#define IF_FLOAT DROP
#define IF_INT KEEP
#define IF_BOOL DROP
#define IF_NUM KEEP
#define IF_ANY KEEP
#include "cpu/tile_type.h"

/* Rows compare with 0, which an unsigned type is never below. */
#pragma GCC diagnostic ignored "-Wtype-limits"
#define TYPE u8
#define T uint8_t
#define IF_FLOAT DROP
#define IF_INT KEEP
#define IF_BOOL KEEP
#define IF_NUM KEEP
#define IF_ANY KEEP
#include "cpu/tile_type.h"

#define LOOP(name, R, T, value)                                                                    \
    static void name(void *out, const void *a, const void *b, const void *c, int64_t n)            \
    {                                                                                              \
        R *o = out;                                                                                \
        const T *in = a;                                                                           \
        (void)b, (void)c;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const T x = in[i];                                                                     \
            o[i] = value;                                                                          \
        }                                                                                          \
    }
LOOP(round_f16, float, float, math_widen_f16(math_to_f16_f32(x)))
LOOP(round_bf16, float, float, math_widen_bf16(math_to_bf16_f32(x)))
LOOP(widen_f16, float, uint16_t, math_widen_f16(x))
LOOP(widen_bf16, float, uint16_t, math_widen_bf16(x))
LOOP(narrow_f16, uint16_t, float, math_to_f16_f32(x))
LOOP(narrow_bf16, uint16_t, float, math_to_bf16_f32(x))
#undef LOOP

#define MOVES(bits)                                                                                \
    static void gather_##bits(void *out, const void *from, int64_t stride, int64_t n)              \
    {                                                                                              \
        uint##bits##_t *restrict o = out;                                                          \
        const uint##bits##_t *f = from;                                                            \
        for (int64_t i = 0; i < n; i++) o[i] = f[i * stride];                                      \
    }                                                                                              \
    static void scatter_##bits(void *to, const void *v, int64_t stride, int64_t n)                 \
    {                                                                                              \
        uint##bits##_t *restrict t = to;                                                           \
        const uint##bits##_t *f = v;                                                               \
        for (int64_t i = 0; i < n; i++) t[i * stride] = f[i];                                      \
    }                                                                                              \
    static void fill_##bits(void *out, const void *value, int64_t n)                               \
    {                                                                                              \
        uint##bits##_t *o = out, v;                                                                \
        memcpy(&v, value, sizeof v);                                                               \
        for (int64_t i = 0; i < n; i++) o[i] = v;                                                  \
    }                                                                                              \
    static void lookup_##bits(void *out, const void *from, const int32_t *table, int64_t n)        \
    {                                                                                              \
        uint##bits##_t *restrict o = out;                                                          \
        const uint##bits##_t *f = from;                                                            \
        for (int64_t i = 0; i < n; i++) o[i] = f[table[i]];                                        \
    }
MOVES(8)
MOVES(16)
MOVES(32)
MOVES(64)
#undef MOVES

#define TURN(name, T)                                                                              \
    static void name(void *out, int64_t out_stride, const void *from, int64_t stride,              \
                     int64_t rows, int64_t columns)                                                \
    {                                                                                              \
        T *restrict o = out;                                                                       \
        const T *f = from;                                                                         \
        for (int64_t c = 0; c < columns; c++, f += stride)                                         \
            for (int64_t r = 0; r < rows; r++) o[r * out_stride + c] = f[r];                       \
    }
TURN(turn_8, uint8_t)
TURN(turn_16, uint16_t)
TURN(turn_32_edge, uint32_t)
TURN(turn_64, uint64_t)
#undef TURN

/* Squares of 8; what is left below and beside them one by one. */
static void turn_32(void *out, int64_t out_stride, const void *from, int64_t stride, int64_t rows,
                    int64_t columns)
{
    float *o = out;
    const float *f = from;
    int64_t down = rows / 8 * 8, across = columns / 8 * 8;
    for (int64_t c = 0; c < across; c += 8)
        for (int64_t r = 0; r < down; r += 8)
            vec_transpose8(f + c * stride + r, stride, o + r * out_stride + c, out_stride);
    turn_32_edge(o + down * out_stride, out_stride, f + down, stride, rows - down, across);
    turn_32_edge(o + across, out_stride, f + across * stride, stride, rows, columns - across);
}

/* Floats convert each position by itself, so large ones round once. */
#define INDEX(type, T)                                                                             \
    static void index_##type(void *out, int64_t first, int64_t step, int64_t n)                    \
    {                                                                                              \
        T *o = out;                                                                                \
        for (int64_t i = 0; i < n; i++) o[i] = (T)(first + step * i);                              \
    }
INDEX(f32, float)
INDEX(f64, double)
INDEX(i32, int32_t)
INDEX(i64, int64_t)
INDEX(u8, uint8_t)

static void rand_tile(float *out, const int64_t *state, int draw, int word, int64_t first,
                      int64_t step, int64_t n)
{
    const int64_t seed = state[0], time = state[1] + draw;
    for (int64_t i = 0; i < n; i++)
        out[i] = math_uniform(math_rand_word(seed, time, 0, first + step * i, word));
}

const struct TileOps ISA_NAME(kern_tile_ops) = {
    .op = {tile_rows_f32, tile_rows_f64, tile_rows_i32, tile_rows_i64, tile_rows_u8},
    .pair = &tile_pairs,
    .cast = {tile_casts_f32, tile_casts_f64, tile_casts_i32, tile_casts_i64, tile_casts_u8},
    .round = {[DT_f16] = round_f16, [DT_bf16] = round_bf16},
    .widen = {[DT_f16] = widen_f16, [DT_bf16] = widen_bf16},
    .narrow = {[DT_f16] = narrow_f16, [DT_bf16] = narrow_bf16},
    .gather = {gather_8, gather_16, gather_32, gather_64},
    .scatter = {scatter_8, scatter_16, scatter_32, scatter_64},
    .fill = {fill_8, fill_16, fill_32, fill_64},
    .lookup = {lookup_8, lookup_16, lookup_32, lookup_64},
    .turn = {turn_8, turn_16, turn_32, turn_64},
    .index = {index_f32, index_f64, index_i32, index_i64, index_u8},
    .rand = rand_tile,
    .reduce = &ISA_NAME(kern_reduce_table),
};
