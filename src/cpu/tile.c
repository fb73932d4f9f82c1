/* tile.c: the plan of a kernel for the tile interpreter, and its chunks of work.
 *
 * In:   a kernel; the loops of an instruction set.
 * Out:  see tile.h.
 * Holds: tile and chunk sizes come from the kernel alone. A chunk has about CHUNK_WORK elements
 *        times instructions, unless one tile, one row chunk or one block has more.
 */
#include "base/mem.h"
#include "cpu/tile_plan.h"

enum { CHUNK_WORK = 64 << 10, ROW_ALONE = 128, COLUMN_PIECES = 16, CACHE_BYTES = 16 << 20 };

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t product(const Kernel *k, int first, int last)
{
    int64_t n = 1;
    for (int v = first; v < last; v++) n *= k->extent[v];
    return n;
}

/* Elements of the index space that make a chunk, at least one. */
static int64_t chunk_elements(const TilePlan *p)
{
    return max64(CHUNK_WORK / max64(p->kernel->ninst, 1), 1);
}

static void size_map(TilePlan *p)
{
    p->pre.points = 1;
    p->pre.width = TILE_LANES;
    p->streams = p->lanes * p->kernel->naccess * (int64_t)sizeof(float) >= CACHE_BYTES;
    cpu_block_size(p);
    if (p->rows > 0) {
        p->chunk_size = max64(chunk_elements(p) / (BLOCK_ROWS * p->pre.width), 1);
        p->chunks = (int)ceil_div(p->blocks, p->chunk_size);
        return;
    }
    p->chunk_size = ceil_div(chunk_elements(p), TILE_LANES) * TILE_LANES;
    p->chunks = (int)ceil_div(p->lanes, p->chunk_size);
}

/* Rows of ROW_ALONE lanes or more have a tile each, shorter ones share one. */
static void size_row(TilePlan *p)
{
    int64_t lanes = max64(p->lanes, 1);
    int64_t rows = lanes < ROW_ALONE ? TILE_LANES / lanes : 1;
    p->pre.points = max64(min64(rows, p->outer), 1);
    p->pre.width = p->lanes;
    p->chunk_size = ceil_div(max64(chunk_elements(p) / lanes, 1), p->pre.points) * p->pre.points;
    p->chunks = (int)ceil_div(p->outer, p->chunk_size);
}

/* Blocks of a row or column of n elements: each leaf has as many as the longest needs. */
static void size_leaves(TilePlan *p, int64_t n, int64_t block)
{
    p->longest = ir_block_longest(p->leaves, n);
    p->leaf_blocks = max64(ceil_div(p->longest, block), 1);
    p->blocks = p->leaves.n * p->leaf_blocks;
    while (INT64_C(1) << p->depth < p->leaves.n) p->depth++;
    p->depth += p->leaves.n > 1;
}

static void size_long(TilePlan *p)
{
    p->pre.points = 1;
    p->pre.width = TILE_LANES;
    p->post.points = max64(min64(p->outer, TILE_LANES), 1);
    size_leaves(p, p->lanes, IR_ROW_CHUNK);
    p->chunk_size =
        p->leaf_blocks > 1 ? 1 : min64(IR_ROW_CHUNK / max64(p->longest, 1) + 1, p->blocks);
    p->pieces = ceil_div(p->blocks, p->chunk_size);
    p->chunks = (int)(p->outer * p->pieces);
    p->split = true;
}

/* Few lanes: a tile takes several outer points. The blocks are split over chunks where the lanes
 * alone would not keep threads busy. */
static void size_column(TilePlan *p)
{
    p->pre.width = min64(max64(p->lanes, 1), TILE_LANES);
    int64_t points = p->lanes == p->pre.width ? TILE_LANES / p->pre.width : 1;
    p->pre.points = max64(min64(min64(points, IR_COLUMN_BLOCK), p->outer), 1);
    p->post.points = 1;
    p->post.width = p->pre.width;
    p->pieces = ceil_div(p->lanes, p->pre.width);
    size_leaves(p, p->outer, IR_COLUMN_BLOCK);
    for (int64_t n = p->leaf_blocks; n > 1; n = ceil_div(n, IR_COLUMN_BLOCK)) p->levels++;
    int64_t work = chunk_elements(p);
    int64_t block = max64(min64(IR_COLUMN_BLOCK, p->longest), 1) * p->pre.width;
    p->chunk_size = p->blocks;
    if (p->blocks > 1 && p->pieces < COLUMN_PIECES && p->outer * p->pre.width >= 2 * work) {
        p->chunk_size = max64(work / block, 1);
        p->split = true;
    }
    p->chunks = (int)(p->pieces * ceil_div(p->blocks, p->chunk_size));
}

/* Each access has a walk in either stage at most. A walk is large, so none is made in vain. */
static size_t walks_most(const Kernel *k)
{
    size_t n = 0;
    for (int i = 0; i < k->ninst; i++) n += k->inst[i].access >= 0;
    return 2 * n;
}

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* All reductions of a LONG or COL kernel have the same leaves. */
static Blocks leaves_of(const Kernel *k)
{
    for (int i = 0; i < k->ninst; i++)
        if (k->inst[i].code == KI_REDUCE) return kern_blocks(&k->inst[i]);
    return (Blocks){1, 1};
}

/* Sizes the tiles for the kernel's mode, then makes its walks, reductions and code. */
static int make_plan(TilePlan *p)
{
    static void (*const size[])(TilePlan *) = {[KERN_MAP] = size_map,
                                               [KERN_ROW] = size_row,
                                               [KERN_LONG] = size_long,
                                               [KERN_COL] = size_column};
    const Kernel *k = p->kernel;
    p->outer = product(k, 0, k->nouter);
    p->lanes = product(k, k->nouter, k->nvar);
    p->leaves = leaves_of(k);
    size[k->mode](p);
    p->walk = base_mem_alloc((walks_most(k) + 1) * sizeof *p->walk);
    if (!p->walk || cpu_tile_reductions(p) != SGL_OK || cpu_tile_code(p) != SGL_OK)
        return SGL_ENOMEM;
    for (int i = 0; i < p->nwalk; i++)
        if (cpu_walk_tabulate(&p->walk[i]) != SGL_OK) return SGL_ENOMEM;
    cpu_block_walks(p);
    cpu_tile_accumulators(p);
    int values = p->pre.nvalue > p->post.nvalue ? p->pre.nvalue : p->post.nvalue;
    int insts = p->pre.n > p->post.n ? p->pre.n : p->post.n;
    p->frame = aligned(p->scratch);
    p->scratch = aligned(p->frame + (size_t)values * sizeof(void *) + (size_t)insts);
    return SGL_OK;
}

/* Frees what the plan has made. */
static void clear(TilePlan *p)
{
    base_mem_free(p->pre.inst);
    base_mem_free(p->pre.value);
    base_mem_free(p->post.inst);
    base_mem_free(p->post.value);
    for (int i = 0; i < p->nwalk; i++) base_mem_free(p->walk[i].table);
    base_mem_free(p->walk);
    for (int i = 0; i < p->nreduce; i++) base_mem_free(p->reduce[i].leaves);
    base_mem_free(p->reduce);
    *p = (TilePlan){.kernel = p->kernel, .ops = p->ops};
}

TilePlan *cpu_tile_plan(const Kernel *k, const TileOps *ops)
{
    TilePlan *p = base_mem_zero(1, sizeof *p);
    if (!p) return NULL;
    p->kernel = k;
    p->ops = ops;
    if (make_plan(p) == SGL_OK) return p;
    cpu_tile_free(p);
    return NULL;
}

int cpu_tile_replan(TilePlan *p)
{
    clear(p);
    return make_plan(p);
}

void cpu_tile_free(TilePlan *p)
{
    if (!p) return;
    clear(p);
    base_mem_free(p);
}

int cpu_tile_chunks(const TilePlan *p) { return p->chunks; }
size_t cpu_tile_scratch(const TilePlan *p) { return p->scratch; }
size_t cpu_tile_partials(const TilePlan *p) { return p->partials; }

int64_t cpu_tile_cost(const TilePlan *p) { return p->outer * p->lanes * p->kernel->ninst; }

static void run_map(Frame *f, int chunk, char *partials)
{
    const TilePlan *p = f->plan;
    int64_t lane = chunk * p->chunk_size, end = min64(lane + p->chunk_size, p->lanes);
    (void)partials;
    cpu_frame_begin(f, &p->pre);
    if (p->rows > 0) {
        cpu_block_run(f, chunk);
        return;
    }
    for (; lane < end; lane += p->pre.width)
        cpu_frame_tile(f, 0, 1, lane, min64(p->pre.width, end - lane));
}

static void run_row(Frame *f, int chunk, char *partials)
{
    const TilePlan *p = f->plan;
    int64_t row = chunk * p->chunk_size, end = min64(row + p->chunk_size, p->outer);
    (void)partials;
    f->reduce = cpu_reduce_row;
    cpu_frame_begin(f, &p->pre);
    for (; row < end; row += p->pre.points)
        cpu_frame_tile(f, row, min64(p->pre.points, end - row), 0, p->lanes);
}

void cpu_tile_run(const TilePlan *p, void *const *args, int chunk, void *scratch, void *partials)
{
    static void (*const run[])(Frame *, int, char *) = {
        [KERN_MAP] = run_map,
        [KERN_ROW] = run_row,
        [KERN_LONG] = cpu_long_run,
        [KERN_COL] = cpu_column_run,
    };
    Frame f = {.plan = p, .args = args, .scratch = scratch};
    run[p->kernel->mode](&f, chunk, partials);
}

void cpu_tile_finish(const TilePlan *p, void *const *args, void *scratch, void *partials)
{
    if (!p->split) return;
    Frame f = {.plan = p, .args = args, .scratch = scratch};
    if (p->kernel->mode == KERN_LONG) cpu_long_finish(&f, partials);
    else cpu_column_finish(&f, partials);
}
