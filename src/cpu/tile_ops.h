/* tile_ops.h: what one instruction set brings to the tile interpreter: a table of loops over
 * registers, filled by tile_isa.c and reduce_isa.c.
 *
 * A register is an array of lanes of one of five types; f16 and bf16 live in f32 registers and
 * are rounded after each instruction, bool lives in u8 as 0 or 1.
 * Holds: a loop may write where it reads, element over the same element; loops of all
 *        instruction sets give the same bits; n >= 1 unless said otherwise.
 */
#ifndef SGL_CPU_TILE_OPS_H
#define SGL_CPU_TILE_OPS_H
#include <stdint.h>
#include "ir/op.h"
#include "kern/kernel.h"
#include "cpu/tile.h"

typedef enum Reg { REG_f32, REG_f64, REG_i32, REG_i64, REG_u8, REG_COUNT } Reg;

/* Operand b or c of a loop may be one value for all lanes: form FORM_B, FORM_C or both. The
 * operand of a unary op is a, those of a binary one are b and c, those of `where` a, b, c. No row:
 * NULL. */
enum { FORM_B = 1, FORM_C = 2, FORM_COUNT = 4 };
typedef void TileFn(void *out, const void *a, const void *b, const void *c, int64_t n);
typedef TileFn *const TileRow[FORM_COUNT];

/* A reduction: `from` a register type into accumulators of type `acc`. */
typedef struct ReduceFns {
    Reg acc;
    void (*init)(void *acc, int64_t n);                            /* the identity */
    void (*lanes)(void *acc32, const void *v, int64_t n);          /* element j into lane j % 32 */
    void (*fold)(void *acc32, void *out);                          /* 32 lanes into one value */
    void (*row)(void *out, const void *v, int64_t n);              /* both, from the identity */
    /* acc[i] with v[p][i], for each point p; and each row upwards. */
    void (*column)(void *acc, const void *v, int64_t points, int64_t n);
    void (*rows)(void *out, const void *v, int64_t rows, int64_t n);
} ReduceFns;

/* argmax and argmin: the value wins over `best` as the rule N4 says. Index of lane 0 is `first`;
 * `column` counts `first` up by one for each point. */
typedef struct ArgFns {
    void (*init)(void *best, int32_t *at, int32_t first, int64_t n);
    void (*row)(void *best, int32_t *at, const void *v, int32_t first, int64_t n);
    void (*column)(void *best, int32_t *at, const void *v, int32_t first, int64_t points,
                   int64_t n);
    /* Merges other results behind those in best, at. */
    void (*merge)(void *best, int32_t *at, const void *v, const int32_t *v_at, int64_t n);
} ArgFns;

enum { REDUCE_OPS = OP_reduce_min - OP_sum + 1, ARG_OPS = 2 };
typedef struct ReduceTable {
    ReduceFns fold[REDUCE_OPS][REG_COUNT];                         /* by op - OP_sum */
    ArgFns arg[ARG_OPS][REG_COUNT];                                /* by op - OP_argmax */
} ReduceTable;

/* Two operations in one loop (tile_pair.h). A first one is also a second one. */
enum { PAIR_add, PAIR_sub, PAIR_mul, PAIR_FIRSTS, PAIR_rsub = PAIR_FIRSTS, PAIR_div, PAIR_max,
       PAIR_SECONDS };
typedef TileFn *const PairTable[PAIR_FIRSTS][PAIR_SECONDS][FORM_COUNT - 1][2];

struct TileOps {
    const TileRow *op[REG_COUNT];                                  /* [type of operands][op] */
    const PairTable *pair;
    TileFn *const *cast[REG_COUNT];                                 /* [from][dtype] */
    TileFn *round[DT_COUNT];                 /* f32 register to the nearest of dtype, in place */
    TileFn *widen[DT_COUNT], *narrow[DT_COUNT];                    /* memory f16, bf16 and f32 */
    /* Elements of 1 << size bytes; strides in elements. */
    void (*gather[4])(void *out, const void *from, int64_t stride, int64_t n);
    void (*scatter[4])(void *to, const void *v, int64_t stride, int64_t n);
    void (*fill[4])(void *out, const void *value, int64_t n);      /* n may be 0 */
    void (*lookup[4])(void *out, const void *from, const int32_t *table, int64_t n);
    /* out[r][c] = from[c][r]; strides are those of the first index. */
    void (*turn[4])(void *out, int64_t out_stride, const void *from, int64_t stride, int64_t rows,
                    int64_t columns);
    void (*index[REG_COUNT])(void *out, int64_t first, int64_t step, int64_t n);
    void (*rand)(float *out, const int64_t *state, int draw, int word, int64_t first,
                 int64_t step, int64_t n);
    const ReduceTable *reduce;
};

/* Before a loop over lanes: they do not depend on each other, also where it writes in place. */
#if defined(__clang__)
#define LANES_FREE _Pragma("clang loop vectorize(assume_safety)")
#else
#define LANES_FREE _Pragma("GCC ivdep")
#endif

/* Names of *_isa.c: ISA_NAME(kern_tile_ops) is kern_tile_ops_avx2 and so on. */
#define ISA_PASTE_(name, isa) name##_##isa
#define ISA_PASTE(name, isa) ISA_PASTE_(name, isa)
#define ISA_NAME(name) ISA_PASTE(name, ISA)
#define ISA_DECLARE(isa)                                \
    extern const struct TileOps kern_tile_ops_##isa;    \
    extern const ReduceTable kern_reduce_table_##isa
ISA_DECLARE(portable);
ISA_DECLARE(avx2);
ISA_DECLARE(avx512);
#undef ISA_DECLARE
#endif
