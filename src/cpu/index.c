/* index.c: gather and scatter_add.
 *
 * In:   x[outer, n, inner], an integer index of any dims, for scatter updates[outer, index, inner].
 * Out:  gather: out[outer, index, inner]; scatter: x plus the updates, in the order of the index.
 * Holds: all positions are checked before anything is written. Chunks of scatter are ranges of
 *        outer and inner elements, so updates of one element meet in the order of the index on one
 *        thread. In blocks (ir/blocks.h) they are sorted by row first, so that the tree of a row is
 *        made in one pass and in cache.
 */
#include <string.h>
#include "cpu/cpu.h"

enum { GATHER_CHUNK = 64 * 1024, SCATTER_BLOCK = 64, CHUNKS_MAX = 4096 };

typedef struct IndexJob {
    const CpuJob *j;
    AxisSplit x;
    int64_t positions; /* in the index */
    int64_t run;       /* gather: rows a chunk; scatter: elements of inner a chunk */
    int64_t runs;      /* scatter: chunks an outer element */
    size_t size;       /* of an element */
} IndexJob;

static int64_t position_at(Dtype t, const void *index, int64_t i)
{
    if (t == DT_i32) return ((const int32_t *)index)[i];
    if (t == DT_i64) return ((const int64_t *)index)[i];
    return ((const uint8_t *)index)[i];
}

/* "[2, 5]": where linear position i lies in the index, counted from 1. */
static void place_text(const View *index, int64_t i, Str *out)
{
    int64_t at[VIEW_MAX_RANK];
    for (int d = index->rank; d-- > 0; i /= index->extent[d]) at[d] = i % index->extent[d] + 1;
    base_str_put(out, "[");
    for (int d = 0; d < index->rank; d++)
        base_str_fmt(out, "%s%lld", d ? ", " : "", (long long)at[d]);
    base_str_put(out, "]");
}

static int fail_at(const IndexJob *g, int64_t i, int64_t value)
{
    Str place = {0};
    place_text(&g->j->x[1], i, &place);
    base_fail(g->j->cx, SGL_EINDEX,
              "%s: index %lld is outside [0, %lld) at position %s of the index",
              ir_op(g->j->step->node)->name, (long long)value, (long long)g->x.n,
              place.failed ? "?" : place.at);
    base_err_hint(&g->j->cx->err, "indices stored in tensors count from 0");
    base_str_free(&place);
    return SGL_EINDEX;
}

static int check(const IndexJob *g)
{
    Dtype t = g->j->x[1].dtype;
    for (int64_t i = 0; i < g->positions; i++) {
        int64_t at = position_at(t, g->j->in[1], i);
        if (at < 0 || at >= g->x.n) return fail_at(g, i, at);
    }
    return SGL_OK;
}

static IndexJob index_job(const CpuJob *j)
{
    return (IndexJob){.j = j,
                      .x = cpu_view_axis(&j->x[0], j->step->axis),
                      .positions = cpu_view_count(&j->x[1]),
                      .run = 1,
                      .runs = 1,
                      .size = DTYPES[j->out.dtype].bytes};
}

static void gather_chunk(void *arg, int chunk, int worker)
{
    (void)worker;
    const IndexJob *g = arg;
    Dtype t = g->j->x[1].dtype;
    size_t bytes = (size_t)g->x.inner * g->size;
    int64_t rows = g->x.outer * g->positions, row = chunk * g->run;
    int64_t end = row + g->run < rows ? row + g->run : rows;
    const char *x = g->j->in[0];
    char *to = (char *)g->j->to + (size_t)row * bytes;
    for (; row < end; row++, to += bytes) {
        int64_t at = position_at(t, g->j->in[1], row % g->positions);
        memcpy(to, x + (size_t)(row / g->positions * g->x.n + at) * bytes, bytes);
    }
}

static int cpu_gather(const CpuJob *j)
{
    IndexJob g = index_job(j);
    int code = check(&g);
    if (code < 0 || cpu_view_count(&j->out) == 0) return code;
    int64_t rows = g.x.outer * g.positions, row_bytes = g.x.inner * (int64_t)g.size;
    g.run = GATHER_CHUNK / row_bytes + 1;
    if (g.run < rows / CHUNKS_MAX + 1) g.run = rows / CHUNKS_MAX + 1;
    cpu_split(j, (int)((rows + g.run - 1) / g.run), gather_chunk, &g);
    return SGL_OK;
}

static void scatter_chunk(void *arg, int chunk, int worker)
{
    (void)worker;
    const IndexJob *g = arg;
    const CpuAddFn add = cpu_add(g->j->out.dtype);
    Dtype t = g->j->x[1].dtype;
    int64_t outer = chunk / g->runs, from = chunk % g->runs * g->run;
    int64_t n = from + g->run < g->x.inner ? g->run : g->x.inner - from;
    size_t row = (size_t)g->x.inner * g->size, bytes = (size_t)n * g->size;
    size_t base = (size_t)(outer * g->x.n) * row + (size_t)from * g->size;
    const char *x = (const char *)g->j->in[0] + base;
    const char *updates =
        (const char *)g->j->in[2] + (size_t)(outer * g->positions) * row + (size_t)from * g->size;
    char *to = (char *)g->j->to + base;
    for (int64_t i = 0; i < g->x.n; i++) memcpy(to + (size_t)i * row, x + (size_t)i * row, bytes);
    for (int64_t i = 0; i < g->positions; i++)
        add(to + (size_t)position_at(t, g->j->in[1], i) * row, 1, updates + (size_t)i * row, 1, n);
}

/* ---- scatter in blocks ---- */

/* The positions of the index by row: those of row r are order[first[r]] to before
 * order[first[r + 1]], upwards. */
typedef struct ByRow {
    const IndexJob *g;
    int64_t *first, *order;
    Blocks blocks;
    BlockTree tree;
    int64_t units, each; /* of the index: size of its first dim, positions of one of it */
} ByRow;

static bool has_blocks(const Step *s)
{
    return ir_blocks(s->node).n > 1 && DTYPES[s->out.dtype].class == CLASS_FLOAT;
}

static size_t cpu_scatter_scratch(const Step *s)
{
    if (!has_blocks(s)) return 0;
    AxisSplit x = cpu_view_axis(&s->view[0], s->axis);
    return (size_t)(x.n + 2 + cpu_view_count(&s->view[1])) * sizeof(int64_t);
}

/* A counting sort in the first worker's scratch. first[r + 1] counts up from the row's begin. */
static ByRow by_row(const IndexJob *g)
{
    const View *index = &g->j->x[1];
    ByRow s = {.g = g, .blocks = ir_blocks(g->j->step->node)};
    s.first = (int64_t *)(void *)g->j->scratch;
    s.order = s.first + g->x.n + 2;
    s.units = index->rank ? index->extent[0] : 1;
    s.each = s.units ? g->positions / s.units : 1;
    ir_block_tree(s.blocks.n, &s.tree);
    memset(s.first, 0, (size_t)(g->x.n + 2) * sizeof *s.first);
    for (int64_t i = 0; i < g->positions; i++)
        s.first[position_at(index->dtype, g->j->in[1], i) + 2]++;
    for (int64_t r = 1; r <= g->x.n; r++) s.first[r + 1] += s.first[r];
    for (int64_t i = 0; i < g->positions; i++)
        s.order[s.first[position_at(index->dtype, g->j->in[1], i) + 1]++] = i;
    return s;
}

/* Adds to n elements of one row what the index has for it. A block without any is neutral, so it
 * is not there. */
static void add_row(const ByRow *s, int64_t row, const char *updates, size_t stride, char *to,
                    int64_t n)
{
    _Alignas(64) char waiting[IR_BLOCKS_LEVELS][SCATTER_BLOCK * 8];
    bool there[IR_BLOCKS_LEVELS];
    const CpuAddFn add = cpu_add(s->g->j->out.dtype);
    const size_t bytes = (size_t)n * s->g->size;
    int64_t at = s->first[row], end = s->first[row + 1];
    if (at == end) return;
    for (int64_t b = 0; b < s->blocks.n; b++) {
        int64_t last = ir_block_start(s->blocks, s->units, b + 1) * s->each;
        int top = s->tree.waiting[b];
        there[top] = at < end && s->order[at] < last;
        if (there[top]) memcpy(waiting[top], updates + (size_t)s->order[at++] * stride, bytes);
        for (; at < end && s->order[at] < last; at++)
            add(waiting[top], 1, updates + (size_t)s->order[at] * stride, 1, n);
        for (int j = 0; j < s->tree.joins[b]; j++, top--) {
            if (there[top] && there[top - 1]) add(waiting[top - 1], 1, waiting[top], 1, n);
            else if (there[top]) memcpy(waiting[top - 1], waiting[top], bytes);
            there[top - 1] |= there[top];
        }
    }
    add(to, 1, waiting[0], 1, n);
}

static void rows_chunk(void *arg, int chunk, int worker)
{
    (void)worker;
    const ByRow *s = arg;
    const IndexJob *g = s->g;
    int64_t outer = chunk / g->runs, from = chunk % g->runs * g->run;
    int64_t end = from + g->run < g->x.inner ? from + g->run : g->x.inner;
    size_t stride = (size_t)g->x.inner * g->size;
    const char *x = (const char *)g->j->in[0] + (size_t)(outer * g->x.n) * stride;
    const char *updates = (const char *)g->j->in[2] + (size_t)(outer * g->positions) * stride;
    char *to = (char *)g->j->to + (size_t)(outer * g->x.n) * stride;
    for (; from < end; from += SCATTER_BLOCK) {
        int64_t n = end - from < SCATTER_BLOCK ? end - from : SCATTER_BLOCK;
        size_t at = (size_t)from * g->size;
        for (int64_t r = 0; r < g->x.n; r++, at += stride) {
            memcpy(to + at, x + at, (size_t)n * g->size);
            add_row(s, r, updates + (size_t)from * g->size, stride, to + at, n);
        }
    }
}

static int cpu_scatter(const CpuJob *j)
{
    IndexJob g = index_job(j);
    int code = check(&g);
    if (code < 0 || cpu_view_count(&j->out) == 0) return code;
    g.run = SCATTER_BLOCK;
    while (g.x.outer * ((g.x.inner + g.run - 1) / g.run) > CHUNKS_MAX && g.run < g.x.inner)
        g.run *= 2;
    g.runs = (g.x.inner + g.run - 1) / g.run;
    int chunks = (int)(g.x.outer * g.runs);
    if (has_blocks(j->step)) {
        ByRow s = by_row(&g);
        cpu_split(j, chunks, rows_chunk, &s);
        return SGL_OK;
    }
    cpu_split(j, chunks, scatter_chunk, &g);
    return SGL_OK;
}

const CpuOp cpu_op_gather = {cpu_gather, NULL, false, 1};

const CpuOp cpu_op_scatter_add = {cpu_scatter, cpu_scatter_scratch, true, 1};
