/* tile_block.c: MAP kernels that read something across its memory: a transposed operand.
 *
 * In:   a kernel whose last variable strides through a buffer in which the one before it is
 *       contiguous.
 * Out:  tiles in another order: blocks of BLOCK_ROWS rows (of the variable before the last) times
 *       a tile of columns. At the first row of a block the whole block of the operand is turned
 *       into a cache, so each of its cache lines is read once instead of once a row.
 * Holds: elements of a MAP do not depend on each other, so their order cannot change a bit.
 */
#include "cpu/tile_plan.h"

enum { COLUMNS_LEAST = 64, ROWS_LEAST = 4, CACHE_PAD = 16, CACHES_BYTES = 256 << 10 };

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static bool turns(const Kernel *k, const Access *a)
{
    int64_t across = a->at.coef[k->nvar - 1];
    return a->nguard == 0 && a->at.coef[k->nvar - 2] == 1 && (across > 1 || across < -1);
}

void cpu_block_size(TilePlan *p)
{
    const Kernel *k = p->kernel;
    int64_t turned = 0;
    if (k->nvar < 2 || k->extent[k->nvar - 1] < COLUMNS_LEAST ||
        k->extent[k->nvar - 2] < ROWS_LEAST)
        return;
    for (int i = 0; i < k->ninst; i++)
        turned += k->inst[i].code == KI_LOAD && turns(k, &k->access[k->inst[i].access]);
    if (turned == 0 || p->lanes == 0) return;
    p->rows = k->extent[k->nvar - 2];
    p->columns = k->extent[k->nvar - 1];
    int64_t fits = CACHES_BYTES / (turned * BLOCK_ROWS * (int64_t)sizeof(float));
    fits = fits < COLUMNS_LEAST ? COLUMNS_LEAST : fits / COLUMNS_LEAST * COLUMNS_LEAST;
    p->pre.width = min64(min64(p->columns, TILE_LANES), fits);
    p->blocks = p->lanes / (p->rows * p->columns) * ceil_div(p->rows, BLOCK_ROWS) *
                ceil_div(p->columns, p->pre.width);
}

void cpu_block_walks(TilePlan *p)
{
    for (int i = 0; i < p->pre.n && p->rows > 0; i++) {
        const TileInst *t = &p->pre.inst[i];
        Walk *w = t->walk < 0 ? NULL : &p->walk[t->walk];
        if (t->code != TI_LOAD || w->nform > 1 || w->ndim < 2 || p->ops->widen[w->dtype] ||
            w->step[0][0] == 1 || w->step[0][1] != 1 || w->extent[0] != p->columns)
            continue;
        w->turned = true;
        w->cache = p->scratch;
        p->scratch += (size_t)(BLOCK_ROWS * (p->pre.width + CACHE_PAD)) << w->size;
    }
}

/* Blocks are numbered column tile by column tile, then row block by row block. */
void cpu_block_run(Frame *f, int chunk)
{
    const TilePlan *p = f->plan;
    int64_t across = ceil_div(p->columns, p->pre.width), down = ceil_div(p->rows, BLOCK_ROWS);
    int64_t block = chunk * p->chunk_size, end = min64(block + p->chunk_size, p->blocks);
    for (; block < end; block++) {
        int64_t column = block % across * p->pre.width, row = block / across % down * BLOCK_ROWS;
        int64_t first = (block / across / down * p->rows + row) * p->columns + column;
        int64_t width = min64(p->pre.width, p->columns - column);
        f->block_rows = min64(BLOCK_ROWS, p->rows - row);
        for (f->block_row = 0; f->block_row < f->block_rows; f->block_row++)
            cpu_frame_tile(f, 0, 1, first + f->block_row * p->columns, width);
    }
}

/* The tile's n elements of a turned walk, from the cache. */
void *cpu_block_load(const Frame *f, const Walk *w, int64_t start, int64_t n)
{
    const int64_t stride = f->plan->pre.width + CACHE_PAD;
    char *cache = f->scratch + w->cache;
    if (f->block_row == 0) {
        const char *from =
            (const char *)f->args[w->arg] + cpu_walk_offset(w, start) * ((int64_t)1 << w->size);
        f->plan->ops->turn[w->size](cache, stride, from, w->step[0][0], f->block_rows, n);
    }
    return cache + ((size_t)(f->block_row * stride) << w->size);
}
