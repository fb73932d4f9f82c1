/* dot.c: matrix products: batches and panels over the pool, one product in each type.
 *
 * In:   a step: out[b…, m, n] = a[b…, m, k] · b[b…, k, n]; a and b strided, out packed.
 * Holds: an element's bits depend on its row, its column, k and its blocks alone (contract N5), so
 *        panels may be cut as suits the threads. Integers wrap, in any order.
 */
#include "cpu/cpu.h"

enum {
    ROW_UNIT = 84,  /* whole register tiles of every instruction set */
    COL_UNIT = 128, /* a is packed again for each */
    CHUNKS_MAX = 64
};
static const double CHUNK_FLOP = 4e6; /* large enough that packing operands again is cheap */

/* One product of a part of the rows and columns. */
typedef struct Panel {
    int64_t m, n, k;
    const void *a;
    int64_t rsa, csa;
    const void *b;
    int64_t rsb, csb;
    void *c;
    int64_t ldc;
    Blocks blocks;
    const Isa *isa;
    void *work;
} Panel;
typedef void (*PanelFn)(const Panel *p);

static void dot_f32(const Panel *p)
{
    GemmArgs g = {p->m, p->n,   p->k,   p->a, p->rsa, p->csa,
                  p->b, p->rsb, p->csb, p->c, p->ldc, p->blocks};
    p->isa->gemm(&g, p->work);
}

static void dot_f64(const Panel *p)
{
    GemmArgs64 g = {p->m, p->n,   p->k,   p->a, p->rsa, p->csa,
                    p->b, p->rsb, p->csb, p->c, p->ldc, p->blocks};
    cpu_gemm_f64(&g);
}

#define DOT_WRAPPING(name, T)                                                                      \
    static void dot_##name(const Panel *p)                                                         \
    {                                                                                              \
        const T *a = p->a, *b = p->b;                                                              \
        for (int64_t i = 0; i < p->m; i++) {                                                       \
            T *c = (T *)p->c + i * p->ldc;                                                         \
            for (int64_t j = 0; j < p->n; j++) c[j] = 0;                                           \
            for (int64_t l = 0; l < p->k; l++) {                                                   \
                const T x = a[i * p->rsa + l * p->csa], *y = b + l * p->rsb;                       \
                for (int64_t j = 0; j < p->n; j++) c[j] += x * y[j * p->csb];                      \
            }                                                                                      \
        }                                                                                          \
    }
DOT_WRAPPING(i32, uint32_t)
DOT_WRAPPING(i64, uint64_t)

static const PanelFn DOTS[DT_COUNT] = {
    [DT_i32] = dot_i32,
    [DT_i64] = dot_i64,
    [DT_f32] = dot_f32,
    [DT_f64] = dot_f64,
};

static size_t cpu_dot_scratch(const Step *s) { return cpu_gemm_workspace(ir_blocks(s->node)); }

/* The batch is cut in runs of `batch_run`; or, when one product is large, each is cut in panels of
 * `rows` × `cols`. */
typedef struct Cut {
    const CpuJob *j;
    int64_t batch, m, n, k;
    int64_t batch_run, rows, cols;
    int64_t row_panels, col_panels;
    Blocks blocks;
} Cut;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static Cut cut(const CpuJob *j)
{
    int r = j->out.rank;
    Cut c = {.j = j,
             .batch = 1,
             .m = j->out.extent[r - 2],
             .n = j->out.extent[r - 1],
             .k = j->x[0].extent[r - 1],
             .batch_run = 1,
             .row_panels = 1,
             .col_panels = 1,
             .blocks = ir_blocks(j->step->node)};
    for (int i = 0; i < r - 2; i++) c.batch *= j->out.extent[i];
    c.rows = c.m, c.cols = c.n;
    double flop = 2.0 * (double)c.m * (double)c.n * (double)c.k;
    int64_t runs = (int64_t)(flop * (double)c.batch / CHUNK_FLOP) + 2;
    if (!j->pool || base_pool_threads(j->pool) == 1) runs = 1;
    if (runs > CHUNKS_MAX) runs = CHUNKS_MAX;

    if (c.batch >= runs) {
        c.batch_run = ceil_div(c.batch, runs);
        return c;
    }
    int64_t parts = ceil_div(runs, c.batch ? c.batch : 1);
    if (c.m >= c.n) {
        c.rows = ceil_div(ceil_div(c.m, parts), ROW_UNIT) * ROW_UNIT;
        c.row_panels = ceil_div(c.m, c.rows);
    } else {
        c.cols = ceil_div(ceil_div(c.n, parts), COL_UNIT) * COL_UNIT;
        c.col_panels = ceil_div(c.n, c.cols);
    }
    return c;
}

static int64_t batch_offset(const View *v, int64_t b)
{
    int64_t offset = v->offset;
    for (int i = v->rank - 2; i-- > 0;) {
        offset += b % v->extent[i] * v->stride[i];
        b /= v->extent[i];
    }
    return offset - v->offset;
}

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

static void run_panel(const Cut *c, int64_t b, int64_t i, int64_t l, int worker)
{
    const CpuJob *j = c->j;
    const View *va = &j->x[0], *vb = &j->x[1];
    int r = j->out.rank;
    size_t size = DTYPES[j->out.dtype].bytes;
    Panel p = {.m = at_most(c->rows, c->m - i),
               .n = at_most(c->cols, c->n - l),
               .k = c->k,
               .rsa = va->stride[r - 2],
               .csa = va->stride[r - 1],
               .rsb = vb->stride[r - 2],
               .csb = vb->stride[r - 1],
               .ldc = c->n,
               .blocks = c->blocks,
               .isa = j->isa,
               .work = j->scratch + (size_t)worker * j->scratch_bytes};
    p.a = (const char *)j->in[0] + (batch_offset(va, b) + i * p.rsa) * (int64_t)size;
    p.b = (const char *)j->in[1] + (batch_offset(vb, b) + l * p.csb) * (int64_t)size;
    p.c = (char *)j->to + ((b * c->m + i) * c->n + l) * (int64_t)size;
    DOTS[j->out.dtype](&p);
}

static void run_chunk(void *arg, int chunk, int worker)
{
    const Cut *c = arg;
    int64_t l = chunk % c->col_panels * c->cols;
    int64_t i = chunk / c->col_panels % c->row_panels * c->rows;
    int64_t b = chunk / (c->col_panels * c->row_panels) * c->batch_run;
    int64_t end = at_most(b + c->batch_run, c->batch);
    for (; b < end; b++) run_panel(c, b, i, l, worker);
}

static int cpu_dot(const CpuJob *j)
{
    if (cpu_view_count(&j->out) == 0) return SGL_OK;
    Cut c = cut(j);
    int64_t chunks = ceil_div(c.batch, c.batch_run) * c.row_panels * c.col_panels;
    cpu_split(j, (int)chunks, run_chunk, &c);
    return SGL_OK;
}

const CpuOp cpu_op_DOT = {cpu_dot, cpu_dot_scratch, true, 1};
