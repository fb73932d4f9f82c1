/* kernel.h: kernel IR: one loop nest with a straight list of instructions over tiles of lanes.
 *
 * The index space is `nvar` variables. The first `nouter` are walked point by point in row-major
 * order; the others, linearised row-major, are the lanes and are cut into tiles. Every memory
 * access is affine in the variables, with guards for padding. Extents and accesses are Nums: those
 * that a run decides are filled in before it (exec/sizes.h), so executors meet plain numbers.
 *
 *   mode   outer       lanes      instructions before `post`       from `post` on
 *   MAP    none        all        once a tile                      (none)
 *   ROW    kept dims   reduced    once a row: the whole row (at most KERN_ROW_MAX lanes) is one
 *                                 tile, any number of reductions in sequence; post = ninst
 *   LONG   kept dims   reduced    once a tile; may not use reduced  once a row, scalars only
 *   COL    reduced     kept       once an outer point and tile      once a tile
 *
 * Numerics contract (all executors, tiers, thread counts give these bits; its numbers stand in
 * ir/numerics.h):
 *  N1 each instruction's result has its dtype: f16 and bf16 compute in f32 and round to nearest
 *     even after each instruction; integers wrap; no contraction, FMA only inside the stated
 *     polynomials of ir/math.def and in the dot.
 *  N2 a reduction over n elements (row-major over the reduced dims) whose last input dim is
 *     reduced (dims of size 1 do not count) and n >= 32 is in row order: chunks of 16384 elements;
 *     inside a chunk element j goes to lane j % 32 and each lane combines upwards from the
 *     identity; lanes l and l+16, l+8, l+4, l+2, l+1 fold; chunk results are reduced by the same
 *     rule as a new row.
 *  N3 any other reduction is in column order: blocks of 128 elements combined upwards from the
 *     identity; block results are reduced by the same rule.
 *     The identity of a float sum is -0; a sum of no elements is 0.
 *  N4 sums of f16, bf16 accumulate in f32 and round once; min and max let NaN win; argmax and
 *     argmin take the first of equals, NaN counting as extreme.
 *  N5 dot: k in pieces of 384, FMA upwards inside from 0, their results added upwards.
 *  N6 a reduction in blocks (ir/blocks.h): each block by the rules above for the longest block's
 *     length, their results by the tree.
 */
#ifndef SGL_KERN_KERNEL_H
#define SGL_KERN_KERNEL_H
#include "ir/blocks.h"
#include "pass/index_map.h"

enum { KERN_ROW_MAX = LOOP_ROW_MAX };

typedef enum KernMode {
    KERN_MAP = LOOP_MAP, KERN_ROW = LOOP_ROW, KERN_LONG = LOOP_LONG, KERN_COL = LOOP_COL
} KernMode;
typedef enum KernCode {
    KI_LOAD,     /* access; elements outside its guards read `value` */
    KI_CONST,    /* value */
    KI_INDEX,    /* the affine access itself (no memory), converted to dtype: op iota */
    KI_RAND,     /* op rand: access gives the element index, its buffer is the state i64[2];
                    b is the draw, c the word */
    KI_MASK,     /* bool: do the access's guards hold? */
    KI_OP,       /* elementwise `op` of a, b, c; operands have dtype `from` (where: b, c do) */
    KI_CAST,     /* a, of dtype `from`, to dtype */
    KI_REDUCE,   /* `op` (OP_sum … OP_argmin) of a, of dtype `from`, over the reduced variables; in
                    b blocks of c units; -1: in one. LONG and COL: the same for all of a kernel */
    KI_STORE     /* a to access */
} KernCode;

typedef struct KernInst {
    uint8_t code, dtype, from;
    bool scalar;              /* ROW, LONG: one value a row, not one a lane */
    uint16_t op;
    int32_t a, b, c;          /* earlier instructions, or -1 */
    int32_t access;
    double value;
} KernInst;

typedef struct Access {
    int arg;                  /* which of the kernel's buffers; -1: none */
    Dtype dtype;
    Affine at;                /* element offset */
    int nguard;
    const Guard *guard;
} Access;

typedef struct Kernel {
    KernMode mode;
    int nvar, nouter;
    Num extent[LOOP_MAX_VARS];
    int ninst, post;
    const KernInst *inst;
    int naccess;
    const Access *access;
    int nargs;                /* buffers; which is written: those of a KI_STORE */
    const char *name;         /* for pictures and dumps: "map_add_gelu" */
} Kernel;

/* The blocks of a KI_REDUCE: its b and c where it has more than one. */
static inline Blocks kern_blocks(const KernInst *i)
{
    return i->b > 1 ? (Blocks){i->b, i->c} : (Blocks){1, 1};
}

/* For people: the loop nest, accesses and instructions. */
void kern_print(const Kernel *k, Str *out);
#endif
