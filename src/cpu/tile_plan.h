/* tile_plan.h: what cpu_tile_plan makes of a kernel, private to the tile interpreter.
 *
 * A value has one of four spans: one for the whole run, one for each outer point of a tile, one
 * for each lane, or one for each point and lane. A tile is `points` outer points times `width`
 * lanes; where rows are short a tile holds many, else one point and a piece of the lanes. Each
 * span is an interval of its own row-major index space, in which every access is a Walk.
 * Holds: code runs `once` instructions at the start of a chunk, the others for each tile, the
 *        stores last; so what a tile loads is read before it writes over it.
 */
#ifndef SGL_CPU_TILE_PLAN_H
#define SGL_CPU_TILE_PLAN_H
#include "cpu/tile_ops.h"
#include "ir/blocks.h"

enum {
    TILE_LANES = 512,
    BLOCK_ROWS = 16,                      /* MAP in blocks (tile_block.c) */
    TABLE_MOST = 512,                     /* offsets in a walk's table */
    WALK_FORMS = 1 + LOOP_MAX_GUARDS,
    REDUCE_LEVELS = 10,                   /* blocks of blocks: 128^10 elements */
};
typedef enum Span { SPAN_ONE, SPAN_OUTER, SPAN_LANES, SPAN_FULL, SPAN_COUNT } Span;

/* An access over an index space whose variables are merged where the access allows. Form 0 is
 * the element offset, the others are the guards; each advances by its step along each dim. */
typedef struct Walk {
    int arg;                              /* buffer, or -1 */
    Dtype dtype;                          /* in memory */
    int size;                             /* an element has 1 << size bytes */
    int ndim, nform;                      /* both at least 1 */
    bool small;                           /* positions fit 32 bits, whose division is faster */
    int64_t extent[LOOP_MAX_VARS];
    int64_t base[WALK_FORMS], step[WALK_FORMS][LOOP_MAX_VARS];
    int64_t lo[WALK_FORMS], hi[WALK_FORMS];
    uint64_t outside;                     /* bits of the element where a guard fails */
    int inner;                            /* dims the table covers */
    int64_t period;                       /* elements it covers */
    int32_t *table;                       /* offsets of those, or NULL: runs are long enough */
    bool turned;                          /* read in blocks through a cache (tile_block.c) */
    size_t cache;                         /* in the scratch */
} Walk;

typedef enum TileCode {
    TI_LOAD, TI_CONST, TI_INDEX, TI_RAND, TI_MASK, TI_OP, TI_EXPAND, TI_REDUCE, TI_STORE, TI_COUNT
} TileCode;

typedef struct TileInst {
    uint8_t code, span, reg;              /* span and register type of the result (STORE: of a) */
    uint8_t from;                         /* register type of a REDUCE's operand */
    bool copies;                          /* LOAD: into the register even when contiguous */
    int dst, a, b, c;                     /* values, or -1 */
    int walk;                             /* LOAD, INDEX, RAND, MASK, STORE */
    int direct;                           /* walk of the store this result may be computed into */
    int reduce;                           /* REDUCE: number in the plan */
    int draw, word;                     /* RAND */
    uint8_t first, form;                  /* OP: 1 + its number as first of a pair, or 0 */
    uint64_t bits;                        /* CONST */
    TileFn *fn, *round;                   /* round: NULL, or after fn */
} TileInst;

typedef struct TileValue { uint8_t span, reg; int def, last; size_t slot; } TileValue;
typedef struct TileCodeList {
    int64_t points, width;                /* largest tile */
    int n, once, nvalue;                  /* the first `once` instructions run once a chunk */
    TileInst *inst;
    TileValue *value;
} TileCodeList;

/* The blocks that a reduction is cut into (ir/blocks.h). LONG and COL: those of the plan. */
typedef struct TileLeaves {
    int64_t n, longest;                   /* elements of the longest */
    BlockTree tree;
    int64_t start[];                      /* ROW: where each begins; n + 1 */
} TileLeaves;

typedef struct TileReduce {
    uint8_t from, acc;                    /* register types */
    uint8_t dtype;                        /* of the result */
    bool arg;                             /* argmax, argmin: carries an index */
    const ReduceFns *fold, *merge;        /* of the values, and of results among themselves */
    const ArgFns *best;
    struct TileLeaves *leaves;            /* NULL: one */
    int post;                             /* value of the result in `post`, or -1 */
    size_t acc_value, acc_index;          /* accumulators in the scratch: values, indices */
    size_t partial, partial_index;        /* the same of the partial results */
} TileReduce;

struct TilePlan {
    const Kernel *kernel;
    const TileOps *ops;
    int64_t outer, lanes;                 /* sizes of the two halves of the index space */
    int chunks;
    int64_t chunk_size;                   /* MAP: lanes, or blocks; ROW: points; COL: blocks */
    int64_t rows, columns;                /* MAP: the last two variables, if there are blocks */
    Blocks leaves;                        /* LONG, COL: what the reduced elements are cut into, */
    int64_t longest, leaf_blocks;         /* elements of the longest, blocks of each */
    int64_t blocks;                       /* LONG: of a row; COL: of the outer points */
    int64_t pieces;                       /* COL: tiles that cover the lanes; LONG: chunks a row */
    int levels;                           /* COL: times that results of blocks form new blocks */
    int depth;                            /* COL: most results of leaves that wait, 0: one leaf */
    bool streams;                         /* too much data for caches: loads prefetch */
    bool split;                           /* results are partial: cpu_tile_finish goes on */
    TileCodeList pre, post;
    int nwalk, nreduce;
    Walk *walk;
    TileReduce *reduce;
    size_t scratch, frame;                /* bytes; where the frame's arrays begin */
    size_t filled;                        /* COL: where the scratch counts results, by reduction */
    size_t partials;
};

/* What a chunk works with; lives on the stack, with its arrays in the scratch. */
typedef struct Frame {
    const TilePlan *plan;
    void *const *args;
    char *scratch;
    void **at;                            /* where each value now is */
    const TileCodeList *code;
    bool *direct;                         /* may the instruction compute into memory? */
    int64_t start[SPAN_COUNT], count[SPAN_COUNT];
    int64_t points, width;
    int64_t block_row, block_rows;        /* MAP in blocks: where in its block the tile is */
    void (*reduce)(struct Frame *f, const TileInst *t);
} Frame;

/* Bytes of an element in a register, and the register that values of a dtype are computed in. */
size_t cpu_reg_bytes(Reg r);
Reg cpu_reg(Dtype t);

/* tile_walk.c: n elements from position `start` of the walk's space. */
void cpu_walk_make(Walk *w, const Kernel *k, int access, int first, int last, double outside);
int cpu_walk_tabulate(Walk *w);                        /* gives short runs a table */
int64_t cpu_walk_offset(const Walk *w, int64_t start);
bool cpu_walk_direct(const Walk *w, int64_t start, int64_t n, int64_t *offset);
void cpu_walk_load(const Walk *w, const TileOps *ops, const void *buffer, int64_t start,
                    int64_t n, void *out);
void cpu_walk_store(const Walk *w, const TileOps *ops, void *buffer, int64_t start, int64_t n,
                     const void *v);
void cpu_walk_index(const Walk *w, const TileOps *ops, Reg reg, int64_t start, int64_t n,
                     void *out);
void cpu_walk_rand(const Walk *w, const TileOps *ops, const int64_t *state, const TileInst *t,
                    int64_t start, int64_t n, float *out);
void cpu_walk_mask(const Walk *w, const TileOps *ops, int64_t start, int64_t n, uint8_t *out);

/* tile_block.c: MAP where something is read across its memory. */
void cpu_block_size(TilePlan *p);                      /* p->rows > 0: in blocks */
void cpu_block_walks(TilePlan *p);                     /* which walks; their caches */
void cpu_block_run(Frame *f, int chunk);
void *cpu_block_load(const Frame *f, const Walk *w, int64_t start, int64_t n);

/* tile_code.c: instructions of the kernel to code of the plan. */
int cpu_tile_code(TilePlan *p);

/* tile_run.c: the start of a chunk, and the instructions of one tile. */
void cpu_frame_begin(Frame *f, const TileCodeList *code);
void cpu_frame_tile(Frame *f, int64_t point, int64_t points, int64_t lane, int64_t width);

/* tile_reduce.c: reductions of the four modes. */
int cpu_tile_reductions(TilePlan *p);                  /* before cpu_tile_code */
void cpu_tile_accumulators(TilePlan *p);               /* after it: their room */
void cpu_reduce_row(Frame *f, const TileInst *t);      /* as Frame.reduce in ROW */
void cpu_long_run(Frame *f, int chunk, char *partials);
void cpu_long_finish(Frame *f, char *partials);
void cpu_column_run(Frame *f, int chunk, char *partials);
void cpu_column_finish(Frame *f, const char *partials);
#endif
