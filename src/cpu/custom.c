/* custom.c: steps of registered ops: calls of the functions that their rows have for the CPU.
 *
 * In:   a step with a view for each input and result, contiguous; for a run the buffers.
 * Out:  the results written, those that nobody needs into spare memory.
 * Holds: a run allocates nothing. Where the row says that rows or elements do not depend on each
 *        other, and there is work for it, the pool's threads get some of them each; the row's word
 *        is that this changes no bit.
 */
#include <stdatomic.h>
#include <string.h>
#include "cpu/cpu.h"
#include "ir/custom.h"

enum { CHUNK_ELEMENTS = 16 * 1024, CHUNKS_MAX = 1024 };

struct CpuCustom {
    const Step *step;
    CustomRun run;
    sgl_attr attr[SGL_OP_ATTRS];
    sgl_call whole; /* without data */
    int64_t rows;   /* what can be cut: rows or elements; 0: nothing */
    size_t spare;
    sgl_array array[]; /* of the inputs and then the results */
};

static bool is_each(const CpuCustom *c) { return c->whole.op->flags & SGL_OP_ELEMENTWISE; }

/* Is argument i cut, or handed to each call whole? */
static bool is_cut(const CpuCustom *c, int i)
{
    return is_each(c) || i >= c->whole.nin || c->whole.op->rows >> i & 1;
}

static size_t bytes_of(const View *v)
{
    return base_mem_align((size_t)cpu_view_count(v) * DTYPES[v->dtype].bytes);
}

static void put_array(const View *v, sgl_array *to)
{
    *to = (sgl_array){.dtype = (sgl_dtype)v->dtype, .rank = v->rank};
    for (int d = 0; d < v->rank; d++) to->dims[d] = v->extent[d];
}

int cpu_custom_plan(Ctx *cx, const Step *s, CpuCustom **out)
{
    const sgl_op *op = ir_custom_op(s->node);
    CustomRun run = ir_custom_run(op, "cpu");
    if (!run) {
        base_fail(cx, SGL_EUNSUP, "%s: the op has no function for the backend cpu", op->name);
        base_err_hint(&cx->err, "its row names the backends that it runs on");
        return SGL_EUNSUP;
    }
    CpuCustom *c = base_mem_zero(1, sizeof *c + (size_t)s->nargs * sizeof c->array[0]);
    if (!c) return base_no_memory(cx, "a step of a registered op");
    int nin = s->node->nin;
    c->step = s;
    c->run = run;
    ir_custom_attrs(s->node, c->attr);
    c->whole = (sgl_call){.op = op, .attr = c->attr, .nin = nin, .nout = s->nargs - nin};
    *out = c;
    return SGL_OK;
}

void cpu_custom_fit(CpuCustom *c)
{
    const Step *s = c->step;
    c->spare = 0;
    c->rows = 0;
    for (int i = 0; i < s->nargs; i++) {
        const View *v = &s->each[i];
        put_array(v, &c->array[i]);
        if (s->args[i] < 0) c->spare += bytes_of(v);
        if (is_each(c)) c->rows = cpu_view_count(v);
        else if (c->whole.op->rows && i >= c->whole.nin) c->rows = v->extent[0];
    }
}

size_t cpu_custom_spare(const CpuCustom *c) { return c->spare; }

int64_t cpu_custom_work(const CpuCustom *c)
{
    int64_t most = 0;
    for (int i = 0; i < c->whole.nin + c->whole.nout; i++) {
        int64_t n = cpu_view_count(&c->step->each[i]);
        if (n > most) most = n;
    }
    return c->rows > 1 ? most : 0;
}

/* One run, cut into chunks of rows; the first that fails says why. */
typedef struct CustomJob {
    const CpuCustom *c;
    sgl_array *array; /* with data */
    int64_t each;     /* rows a chunk */
    _Atomic int code;
    char error[sizeof((sgl_call *)0)->error];
} CustomJob;

/* Rows [from, to) of array i. */
static sgl_array part_of(const CustomJob *j, int i, int64_t from, int64_t to)
{
    sgl_array a = j->array[i];
    if (!is_cut(j->c, i)) return a;
    size_t row = DTYPES[(int)a.dtype].bytes;
    for (int d = 1; d < a.rank && !is_each(j->c); d++) row *= (size_t)a.dims[d];
    if (is_each(j->c)) a.rank = 1;
    a.dims[0] = to - from;
    a.data = (char *)a.data + (size_t)from * row;
    return a;
}

static void call(CustomJob *j, const sgl_array *in, sgl_array *out)
{
    sgl_call c = j->c->whole;
    int none = 0;
    c.in = in;
    c.out = out;
    int code = j->c->run(&c);
    if (code == SGL_OK || !atomic_compare_exchange_strong(&j->code, &none, code)) return;
    memcpy(j->error, c.error, sizeof j->error);
    j->error[sizeof j->error - 1] = 0;
}

static void run_chunk(void *arg, int chunk, int worker)
{
    CustomJob *j = arg;
    (void)worker;
    sgl_array part[SGL_OP_INPUTS + SGL_OP_OUTPUTS];
    int64_t from = chunk * j->each, to = from + j->each;
    if (to > j->c->rows) to = j->c->rows;
    for (int i = 0; i < j->c->whole.nin + j->c->whole.nout; i++) part[i] = part_of(j, i, from, to);
    call(j, part, part + j->c->whole.nin);
}

int cpu_custom_run(const CpuCustom *c, Ctx *cx, Pool *pool, void *const *buffers, char *spare)
{
    const Step *s = c->step;
    sgl_array array[SGL_OP_INPUTS + SGL_OP_OUTPUTS];
    CustomJob j = {.c = c, .array = array, .each = c->rows};
    for (int i = 0; i < s->nargs; i++) {
        array[i] = c->array[i];
        array[i].data = s->args[i] < 0 ? spare : buffers[s->args[i]];
        if (s->args[i] < 0) spare += bytes_of(&s->each[i]);
    }
    CpuJob cut = {.cx = cx, .pool = pool};
    int64_t chunks = pool ? cpu_custom_work(c) / CHUNK_ELEMENTS : 1;
    if (chunks > CHUNKS_MAX) chunks = CHUNKS_MAX;
    if (chunks > c->rows) chunks = c->rows;
    if (chunks > 1) {
        j.each = (c->rows + chunks - 1) / chunks;
        cpu_split(&cut, (int)((c->rows + j.each - 1) / j.each), run_chunk, &j);
    } else {
        call(&j, array, array + c->whole.nin);
    }
    return ir_custom_failed(s->node, j.code, j.error);
}
