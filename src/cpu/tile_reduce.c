/* tile_reduce.c: the reductions of the tile interpreter, in the orders of rules N2, N3 and N6.
 *
 * ROW reduces whole rows. LONG reduces chunks of rows, each chunk of work some of them, and COL
 * blocks of outer points; their results are partial and reduced again as a new row or column,
 * by cpu_tile_finish where they were spread over chunks of work. What is reduced may be cut into
 * leaves (ir/blocks.h), each of which is such a row or column; their results meet in a tree.
 * Holds: partial results have the type of the accumulator: 16-bit floats are rounded once. What a
 *        leaf lacks of the longest is neutral, so leaving it out changes nothing.
 */
#include <string.h>
#include "base/mem.h"
#include "cpu/tile_plan.h"

enum { LANES_BYTES = IR_LANES * 8 };

/* COL: how many results of blocks each level of new blocks holds; level 0 takes elements. */
typedef int64_t Filled[REDUCE_LEVELS];

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
static size_t acc_bytes(const TileReduce *r) { return cpu_reg_bytes(r->acc); }

static const ReduceFns *fold_of(const TilePlan *p, int op, Reg from)
{
    return &p->ops->reduce->fold[op - OP_sum][from];
}

static int make_leaves(const TilePlan *p, Blocks b, TileLeaves **out)
{
    *out = NULL;
    if (b.n == 1) return SGL_OK;
    TileLeaves *l = *out = base_mem_alloc(sizeof *l + (size_t)(b.n + 1) * sizeof l->start[0]);
    if (!l) return SGL_ENOMEM;
    int64_t size = p->kernel->mode == KERN_COL ? p->outer : p->lanes;
    l->n = b.n;
    l->longest = ir_block_longest(b, size);
    ir_block_tree(b.n, &l->tree);
    for (int64_t i = 0; i <= b.n; i++) l->start[i] = ir_block_start(b, size, i);
    return SGL_OK;
}

int cpu_tile_reductions(TilePlan *p)
{
    const Kernel *k = p->kernel;
    p->reduce = base_mem_zero((size_t)k->ninst + 1, sizeof *p->reduce);
    if (!p->reduce) return SGL_ENOMEM;
    for (int i = 0; i < k->ninst; i++) {
        const KernInst *in = &k->inst[i];
        if (in->code != KI_REDUCE) continue;
        TileReduce *r = &p->reduce[p->nreduce++];
        r->from = (uint8_t)cpu_reg(in->from);
        r->dtype = in->dtype;
        r->post = -1;
        if (make_leaves(p, kern_blocks(in), &r->leaves) < 0) return SGL_ENOMEM;
        r->arg = in->op == OP_argmax || in->op == OP_argmin;
        r->acc = r->from;
        if (r->arg) {
            r->best = &p->ops->reduce->arg[in->op - OP_argmax][r->from];
        } else {
            r->fold = fold_of(p, in->op, r->from);
            r->acc = (uint8_t)r->fold->acc;
            r->merge = fold_of(p, in->op, r->acc);
        }
    }
    return SGL_OK;
}

/* Takes room of `count` results from *top: values first, then the indices of argmax. */
static void take_room(const TileReduce *r, size_t count, size_t *top, size_t *value, size_t *index)
{
    *value = *top;
    *index = *value + aligned(count * acc_bytes(r));
    *top = *index + (r->arg ? aligned(count * sizeof(int32_t)) : 0);
}

void cpu_tile_accumulators(TilePlan *p)
{
    const bool column = p->kernel->mode == KERN_COL;
    size_t count = column ? (size_t)(p->levels + 1 + p->depth) * (size_t)p->pre.width : IR_LANES;
    p->filled = p->scratch;
    p->scratch += aligned((size_t)p->nreduce * sizeof(Filled));
    size_t results = (size_t)p->blocks * (size_t)(column ? p->lanes : p->outer);
    for (int i = 0; i < p->nreduce; i++) {
        TileReduce *r = &p->reduce[i];
        take_room(r, count, &p->scratch, &r->acc_value, &r->acc_index);
        if (p->split) take_room(r, results, &p->partials, &r->partial, &r->partial_index);
    }
}

/* One row of n elements that is no longer than a chunk, as a part of one of `longest`. */
static void reduce_row(const ReduceFns *fns, const void *v, int64_t n, int64_t longest, void *out)
{
    if (longest < IR_LANES) fns->rows(out, v, 1, n);
    else fns->row(out, v, n);
}

/* Takes the result of a leaf into the tree of those before it: a stack, whose bottom has the final
 * one after the last leaf. The result stands behind those that wait. */
static void join_leaf(const TileReduce *r, int64_t leaf, char *stack)
{
    const size_t bytes = acc_bytes(r);
    char *top = stack + r->leaves->tree.waiting[leaf] * bytes;
    for (int j = 0; j < r->leaves->tree.joins[leaf]; j++, top -= bytes)
        r->merge->column(top - bytes, top, 1, 1);
}

static void reduce_leaves(const TileReduce *r, const char *v, void *out)
{
    _Alignas(64) char stack[IR_BLOCKS_LEVELS * 8];
    const TileLeaves *l = r->leaves;
    for (int64_t leaf = 0; leaf < l->n; leaf++) {
        reduce_row(r->fold, v + (size_t)l->start[leaf] * cpu_reg_bytes(r->from),
                   l->start[leaf + 1] - l->start[leaf], l->longest,
                   stack + l->tree.waiting[leaf] * acc_bytes(r));
        join_leaf(r, leaf, stack);
    }
    memcpy(out, stack, acc_bytes(r));
}

void cpu_reduce_row(Frame *f, const TileInst *t)
{
    const TileReduce *r = &f->plan->reduce[t->reduce];
    const size_t row_bytes = (size_t)f->width * cpu_reg_bytes(r->from);
    const size_t out_bytes = cpu_reg_bytes(t->reg);
    const char *v = f->at[t->a];
    char *out = f->at[t->dst];
    if (!r->arg && f->width < IR_LANES && !r->leaves) {
        r->fold->rows(out, v, f->points, f->width);
        return;
    }
    for (int64_t p = 0; p < f->points; p++, v += row_bytes, out += out_bytes) {
        if (r->arg) {
            int64_t best;
            r->best->init(&best, (int32_t *)(void *)out, 0, 1);
            r->best->row(&best, (int32_t *)(void *)out, v, 0, f->width);
        } else if (r->leaves) {
            reduce_leaves(r, v, out);
        } else {
            reduce_row(r->fold, v, f->width, f->width, out);
        }
    }
}

/* ---- leaves of LONG and COL ---- */

/* The elements of block number `block` among n, `most` elements each: [*first, *end), which may be
 * none. Returns its leaf. */
static int64_t block_range(const TilePlan *p, int64_t block, int64_t n, int64_t most,
                           int64_t *first, int64_t *end)
{
    int64_t leaf = block / p->leaf_blocks, last = ir_block_start(p->leaves, n, leaf + 1);
    *first = ir_block_start(p->leaves, n, leaf) + block % p->leaf_blocks * most;
    if (*first > last) *first = last;
    *end = last - *first < most ? last : *first + most;
    return leaf;
}

/* ---- LONG ---- */

static char *acc_value(const Frame *f, const TileReduce *r, int level)
{
    return f->scratch + r->acc_value + (size_t)(level * f->plan->pre.width) * acc_bytes(r);
}

static int32_t *acc_index(const Frame *f, const TileReduce *r, int level)
{
    return (int32_t *)(void *)(f->scratch + r->acc_index) + level * f->plan->pre.width;
}

/* Leaves shorter than the lanes are added up one by one. */
static void long_tile(Frame *f, const TileInst *t)
{
    const TileReduce *r = &f->plan->reduce[t->reduce];
    if (r->arg)
        r->best->row(acc_value(f, r, 0), acc_index(f, r, 0), f->at[t->a],
                     (int32_t)f->start[SPAN_LANES], f->width);
    else if (f->plan->longest < IR_LANES)
        r->fold->column(acc_value(f, r, 0), f->at[t->a], f->width, 1);
    else r->fold->lanes(acc_value(f, r, 0), f->at[t->a], f->width);
}

/* The result of the block just reduced is number `at` of the partial ones. */
static void keep_block(const Frame *f, const TileReduce *r, int64_t at, char *partials)
{
    char *out = partials + r->partial + (size_t)at * acc_bytes(r);
    if (r->arg) {
        memcpy(out, acc_value(f, r, 0), acc_bytes(r));
        ((int32_t *)(void *)(partials + r->partial_index))[at] = *acc_index(f, r, 0);
    } else if (f->plan->longest < IR_LANES) {
        memcpy(out, acc_value(f, r, 0), acc_bytes(r));
    } else {
        r->fold->fold(acc_value(f, r, 0), out);
    }
}

static void long_block(Frame *f, int64_t row, int64_t block, char *partials)
{
    const TilePlan *p = f->plan;
    int64_t first, end;
    block_range(p, block, p->lanes, IR_ROW_CHUNK, &first, &end);
    for (int i = 0; i < p->nreduce; i++) {
        const TileReduce *r = &p->reduce[i];
        if (r->arg) r->best->init(acc_value(f, r, 0), acc_index(f, r, 0), (int32_t)first, 1);
        else r->fold->init(acc_value(f, r, 0), IR_LANES);
    }
    for (int64_t lane = first; lane < end; lane += p->pre.width)
        cpu_frame_tile(f, row, 1, lane, lane + p->pre.width < end ? p->pre.width : end - lane);
    for (int i = 0; i < p->nreduce; i++)
        keep_block(f, &p->reduce[i], row * p->blocks + block, partials);
}

/* Chunk of work number `chunk` is some blocks of one row. */
void cpu_long_run(Frame *f, int chunk, char *partials)
{
    const TilePlan *p = f->plan;
    int64_t row = chunk / p->pieces, block = chunk % p->pieces * p->chunk_size;
    int64_t end = block + p->chunk_size < p->blocks ? block + p->chunk_size : p->blocks;
    f->reduce = long_tile;
    cpu_frame_begin(f, &p->pre);
    for (; block < end; block++) long_block(f, row, block, partials);
}

/* The n results of a row's chunks, as a new row; in place while it is longer than a chunk. */
static void reduce_results(const TileReduce *r, char *v, int64_t n, void *out)
{
    const size_t bytes = acc_bytes(r);
    while (n > IR_ROW_CHUNK) {
        int64_t blocks = 0;
        for (int64_t first = 0; first < n; first += IR_ROW_CHUNK, blocks++) {
            int64_t len = n - first < IR_ROW_CHUNK ? n - first : IR_ROW_CHUNK;
            _Alignas(64) char acc[LANES_BYTES];
            r->merge->init(acc, IR_LANES);
            r->merge->lanes(acc, v + (size_t)first * bytes, len);
            r->merge->fold(acc, v + (size_t)blocks * bytes);
        }
        n = blocks;
    }
    reduce_row(r->merge, v, n, n, out);
}

/* The results of a row, leaf by leaf. */
static void reduce_partials(const TilePlan *p, const TileReduce *r, char *v, void *out)
{
    _Alignas(64) char stack[IR_BLOCKS_LEVELS * 8];
    if (!r->leaves) {
        reduce_results(r, v, p->blocks, out);
        return;
    }
    for (int64_t leaf = 0; leaf < r->leaves->n; leaf++) {
        reduce_results(r, v + (size_t)(leaf * p->leaf_blocks) * acc_bytes(r), p->leaf_blocks,
                       stack + r->leaves->tree.waiting[leaf] * acc_bytes(r));
        join_leaf(r, leaf, stack);
    }
    memcpy(out, stack, acc_bytes(r));
}

static void best_result(const TileReduce *r, char *v, int32_t *index, int64_t n, int32_t *out)
{
    for (int64_t i = 1; i < n; i++)
        r->best->merge(v, index, v + (size_t)i * acc_bytes(r), index + i, 1);
    *out = index[0];
}

void cpu_long_finish(Frame *f, char *partials)
{
    const TilePlan *p = f->plan;
    cpu_frame_begin(f, &p->post);
    for (int64_t row = 0; row < p->outer; row += p->post.points) {
        int64_t rows = p->outer - row < p->post.points ? p->outer - row : p->post.points;
        for (int i = 0; i < p->nreduce; i++) {
            const TileReduce *r = &p->reduce[i];
            if (r->post < 0) continue;
            char *out = f->at[r->post];
            for (int64_t j = 0; j < rows; j++) {
                int64_t first = (row + j) * p->blocks;
                char *v = partials + r->partial + (size_t)first * acc_bytes(r);
                int32_t *index = (int32_t *)(void *)(partials + r->partial_index) + first;
                if (r->arg) best_result(r, v, index, p->blocks, (int32_t *)(void *)out + j);
                else reduce_partials(p, r, v, out + (size_t)j * acc_bytes(r));
            }
            if (p->ops->round[r->dtype]) p->ops->round[r->dtype](out, out, NULL, NULL, rows);
        }
        cpu_frame_tile(f, row, rows, 0, 0);
    }
}

/* ---- COL ---- */

/* Reduces one more result into the level's block; a full block is a result of the next. */
static void push(const Frame *f, const TileReduce *r, Filled filled, int level, const void *v,
                 const int32_t *index)
{
    char *acc = acc_value(f, r, level);
    int32_t *at = acc_index(f, r, level);
    if (r->arg) {
        if (filled[level] == 0) {
            memcpy(acc, v, (size_t)f->width * acc_bytes(r));
            memcpy(at, index, (size_t)f->width * sizeof *at);
        } else {
            r->best->merge(acc, at, v, index, f->width);
        }
    } else {
        if (filled[level] == 0) r->merge->init(acc, f->width);
        r->merge->column(acc, v, 1, f->width);
    }
    filled[level]++;
    if (level < f->plan->levels && filled[level] == IR_COLUMN_BLOCK) {
        filled[level] = 0;
        push(f, r, filled, level + 1, acc, at);
    }
}

/* Blocks left part full are results too. The last level then has the final one. */
static void flush(const Frame *f, const TileReduce *r, Filled filled)
{
    for (int level = 1; level < f->plan->levels; level++)
        if (filled[level] > 0)
            push(f, r, filled, level + 1, acc_value(f, r, level), acc_index(f, r, level));
}

/* Where the tree of leaves begins among the levels, and where the final result is. */
static int tree_level(const TilePlan *p) { return p->levels + (p->depth > 0); }

/* A leaf is done: its result joins the tree. */
static void end_leaf(const Frame *f, const TileReduce *r, Filled filled, int64_t leaf,
                     const void *v)
{
    const TilePlan *p = f->plan;
    if (p->levels > 0) {
        flush(f, r, filled);
        memset(filled, 0, sizeof(Filled));
        v = acc_value(f, r, p->levels);
    }
    if (!r->leaves) return;
    int top = tree_level(p) + r->leaves->tree.waiting[leaf];
    memcpy(acc_value(f, r, top), v, (size_t)f->width * acc_bytes(r));
    for (int j = 0; j < r->leaves->tree.joins[leaf]; j++, top--)
        r->merge->column(acc_value(f, r, top - 1), acc_value(f, r, top), 1, f->width);
}

/* The result of block number `block`: one more of its leaf. */
static void take_block(const Frame *f, const TileReduce *r, Filled filled, int64_t block,
                       const void *v, const int32_t *index)
{
    const TilePlan *p = f->plan;
    if (p->levels > 0) push(f, r, filled, 1, v, index);
    if ((block + 1) % p->leaf_blocks == 0) end_leaf(f, r, filled, block / p->leaf_blocks, v);
}

static void column_tile(Frame *f, const TileInst *t)
{
    const TileReduce *r = &f->plan->reduce[t->reduce];
    if (r->arg)
        r->best->column(acc_value(f, r, 0), acc_index(f, r, 0), f->at[t->a],
                        (int32_t)f->start[SPAN_OUTER], f->points, f->width);
    else r->fold->column(acc_value(f, r, 0), f->at[t->a], f->points, f->width);
}

/* Block number `block` for lanes [lane, lane + width) into level 0. */
static void column_block(Frame *f, int64_t block, int64_t lane, int64_t width)
{
    const TilePlan *p = f->plan;
    int64_t first, end, step = p->pre.points;
    block_range(p, block, p->outer, IR_COLUMN_BLOCK, &first, &end);
    for (int i = 0; i < p->nreduce; i++) {
        const TileReduce *r = &p->reduce[i];
        if (r->arg) r->best->init(acc_value(f, r, 0), acc_index(f, r, 0), (int32_t)first, width);
        else r->fold->init(acc_value(f, r, 0), width);
    }
    for (int64_t point = first; point < end; point += step)
        cpu_frame_tile(f, point, end - point < step ? end - point : step, lane, width);
}

static void keep_partial(const Frame *f, int64_t block, int64_t lane, char *partials)
{
    const TilePlan *p = f->plan;
    for (int i = 0; i < p->nreduce; i++) {
        const TileReduce *r = &p->reduce[i];
        size_t at = (size_t)(block * p->lanes + lane);
        memcpy(partials + r->partial + at * acc_bytes(r), acc_value(f, r, 0),
               (size_t)f->width * acc_bytes(r));
        if (r->arg)
            memcpy(partials + r->partial_index + at * sizeof(int32_t), acc_index(f, r, 0),
                   (size_t)f->width * sizeof(int32_t));
    }
}

/* Runs `post` on lanes whose results stand in the last level. */
static void column_post(Frame *f, int64_t lane, int64_t width)
{
    const TilePlan *p = f->plan;
    cpu_frame_begin(f, &p->post);
    for (int i = 0; i < p->nreduce; i++) {
        const TileReduce *r = &p->reduce[i];
        if (r->post < 0) continue;
        char *v = acc_value(f, r, tree_level(p));
        f->at[r->post] = r->arg ? (void *)acc_index(f, r, tree_level(p)) : v;
        if (p->ops->round[r->dtype]) p->ops->round[r->dtype](v, v, NULL, NULL, width);
    }
    cpu_frame_tile(f, 0, 1, lane, width);
}

/* Chunk of work number `chunk`: a piece of the lanes, and all blocks or some. */
void cpu_column_run(Frame *f, int chunk, char *partials)
{
    const TilePlan *p = f->plan;
    int64_t lane = chunk % p->pieces * p->pre.width, first = chunk / p->pieces * p->chunk_size;
    int64_t width = p->lanes - lane < p->pre.width ? p->lanes - lane : p->pre.width;
    int64_t end = first + p->chunk_size < p->blocks ? first + p->chunk_size : p->blocks;
    Filled *filled = (Filled *)(void *)(f->scratch + p->filled);
    memset(filled, 0, (size_t)p->nreduce * sizeof *filled);
    f->reduce = column_tile;
    cpu_frame_begin(f, &p->pre);
    for (int64_t block = first; block < end; block++) {
        column_block(f, block, lane, width);
        if (p->split) keep_partial(f, block, lane, partials);
        for (int i = 0; i < p->nreduce && !p->split; i++)
            take_block(f, &p->reduce[i], filled[i], block, acc_value(f, &p->reduce[i], 0),
                       acc_index(f, &p->reduce[i], 0));
    }
    if (!p->split) column_post(f, lane, width);
}

void cpu_column_finish(Frame *f, const char *partials)
{
    const TilePlan *p = f->plan;
    for (int64_t lane = 0; lane < p->lanes; lane += p->pre.width) {
        f->width = p->lanes - lane < p->pre.width ? p->lanes - lane : p->pre.width;
        for (int i = 0; i < p->nreduce; i++) {
            const TileReduce *r = &p->reduce[i];
            Filled filled = {0};
            for (int64_t block = 0; block < p->blocks; block++) {
                size_t at = (size_t)(block * p->lanes + lane);
                take_block(f, r, filled, block, partials + r->partial + at * acc_bytes(r),
                           (const int32_t *)(const void *)(partials + r->partial_index) + at);
            }
        }
        column_post(f, lane, f->width);
    }
}
