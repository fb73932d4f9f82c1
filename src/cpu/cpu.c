/* cpu.c: the CPU backend: plans kernels with the tile interpreter, and runs steps on the pool.
 *
 * In:   the steps of a program; for a run the addresses of its buffers.
 * Out:  the buffers written.
 * Holds: a run allocates nothing. The workspace is shared by all steps, which run one after the
 *        other: partial results, widened operands, scratch for each thread. Steps below WORK_MIN
 *        stay on the caller's thread.
 */
#include "cpu/cpu.h"
#include <string.h>
#include "dev/backend.h"

enum { WORK_MIN = 40 * 1024 }; /* elements × instructions that pay for waking a thread */

/* How the kinds run that have views; the others are done here. */
#define RUN_VIEWS(kind) extern const CpuOp cpu_op_##kind;
#define RUN_KERNEL(kind)
#define RUN_PAIR(kind)
#define RUN_NODE(kind)
#define RUN_NONE(kind)
#define STEP(kind, name, views, uses, op, axis, flag, fails, doc) RUN_##uses(kind)
#include "kern/step.def"
#undef STEP
#undef RUN_VIEWS
#define RUN_VIEWS(kind) [STEP_##kind] = &cpu_op_##kind,

static const CpuOp *const CPU_OPS[STEP_KINDS] = {
#define STEP(kind, name, views, uses, op, axis, flag, fails, doc) RUN_##uses(kind)
#include "kern/step.def"
#undef STEP
};

typedef struct CpuStep {
    TilePlan *plan; /* of a kernel */
    CpuCustom *custom;
    bool shared; /* the plan is that of a step before */
    bool parallel;
} CpuStep;

typedef struct CpuState {
    const Isa *isa;
    int nsteps;
    bool parallel; /* is any step? */
    size_t scratch_bytes, partial_bytes, wide_bytes;
    void *partials;
    char *wide;    /* widened operands of one step */
    char *scratch; /* scratch_bytes for each thread */
    Map plans;     /* while preparing: address of a kernel to that of its plan */
    void **args;   /* addresses of one kernel's buffers */
    int nargs;
    CpuStep step[];
} CpuState;

static void need(size_t *most, size_t bytes)
{
    if (base_mem_align(bytes) > *most) *most = base_mem_align(bytes);
}

static bool is_half(const View *v) { return v->dtype == DT_f16 || v->dtype == DT_bf16; }

static size_t wide_size(const View *v)
{
    return is_half(v) ? base_mem_align((size_t)cpu_view_count(v) * sizeof(float)) : 0;
}

static int64_t work_of(const Step *s)
{
    const CpuOp *op = CPU_OPS[s->kind];
    int64_t most = cpu_view_count(&s->out);
    for (int i = 0; i < STEPS[s->kind].views; i++) {
        int64_t n = cpu_view_count(&s->view[i]);
        if (n > most) most = n;
    }
    if (s->kind == STEP_DOT) /* 0.1 MFLOP pay for a thread */
        return cpu_view_count(&s->out) * s->view[0].extent[s->view[0].rank - 1];
    return most * op->weight;
}

/* The plan of the step's kernel, made at its first step. */
static int find_plan(Ctx *cx, CpuState *st, const Step *s, CpuStep *to)
{
    uint64_t key = (uintptr_t)s->kernel, known;
    to->shared = base_map_get(&st->plans, key, &known);
    to->plan = to->shared ? (TilePlan *)(uintptr_t)known : cpu_tile_plan(s->kernel, st->isa->tile);
    if (to->plan && (to->shared || base_map_set(&st->plans, key, (uintptr_t)to->plan)))
        return SGL_OK;
    return base_fail(cx, SGL_ENOMEM, "no memory for kernel %s", s->kernel->name);
}

/* Asks for a step's share of the workspace, which all steps use one after the other. */
static void claim(CpuState *st, const Step *s, CpuStep *to)
{
    if (s->kind == STEP_KERNEL) {
        to->parallel = cpu_tile_chunks(to->plan) > 1 && cpu_tile_cost(to->plan) >= WORK_MIN;
        need(&st->scratch_bytes, cpu_tile_scratch(to->plan));
        need(&st->partial_bytes, cpu_tile_partials(to->plan));
        if (s->nargs > st->nargs) st->nargs = s->nargs;
        return;
    }
    if (s->kind == STEP_CUSTOM) {
        cpu_custom_fit(to->custom);
        to->parallel = cpu_custom_work(to->custom) >= WORK_MIN;
        need(&st->wide_bytes, cpu_custom_spare(to->custom));
        return;
    }
    if (!STEPS[s->kind].views) return; /* a copy, or no step of a backend */
    const CpuOp *op = CPU_OPS[s->kind];
    size_t wide = op->adds ? wide_size(&s->out) : 0;
    for (int i = 0; op->adds && i < STEPS[s->kind].views; i++) wide += wide_size(&s->view[i]);
    need(&st->wide_bytes, wide);
    if (op->scratch) need(&st->scratch_bytes, op->scratch(s));
    to->parallel = work_of(s) >= WORK_MIN;
}

/* What all steps need of the workspace, and whether any of them pays for threads. */
static void claim_all(CpuState *st, const StepVec *steps)
{
    st->scratch_bytes = st->partial_bytes = st->wide_bytes = 0;
    st->parallel = false;
    for (int i = 0; i < steps->n; i++) {
        claim(st, &steps->at[i], &st->step[i]);
        st->parallel |= st->step[i].parallel;
    }
}

static size_t workspace(Device *d, void *state)
{
    const CpuState *st = state;
    Pool *pool = st->parallel ? base_ctx_pool(d->cx) : NULL;
    if (st->parallel && !pool) {
        base_fail(d->cx, SGL_ENOMEM, "no memory for threads");
        return SIZE_MAX;
    }
    size_t workers = pool ? (size_t)base_pool_threads(pool) : 1;
    return st->partial_bytes + st->wide_bytes + workers * st->scratch_bytes;
}

/* Scratch comes last: what is before it does not depend on the number of threads. */
static void place(void *state, void *at)
{
    CpuState *st = state;
    st->partials = at;
    st->wide = (char *)at + st->partial_bytes;
    st->scratch = st->wide + st->wide_bytes;
}

static void release(void *state)
{
    CpuState *st = state;
    for (int i = 0; i < st->nsteps; i++)
        if (!st->step[i].shared) cpu_tile_free(st->step[i].plan);
    for (int i = 0; i < st->nsteps; i++) base_mem_free(st->step[i].custom);
    base_map_free(&st->plans);
    base_mem_free(st->args);
    base_mem_free(st);
}

/* Plans all steps of a program, so that a run allocates nothing. */
static int prepare(Device *d, const StepVec *steps, void **state)
{
    Ctx *cx = d->cx;
    CpuState *st = base_mem_zero(1, sizeof *st + (size_t)steps->n * sizeof st->step[0]);
    if (!st) return base_fail(cx, SGL_ENOMEM, "no memory for a plan of %d steps", steps->n);
    st->nsteps = steps->n;
    st->isa = cpu_isa(cx);
    int code = st->isa ? SGL_OK : SGL_EUNSUP;
    for (int i = 0; i < steps->n && code == SGL_OK; i++) {
        CpuStep *to = &st->step[i];
        if (steps->at[i].kind == STEP_KERNEL) code = find_plan(cx, st, &steps->at[i], to);
        if (steps->at[i].kind == STEP_CUSTOM)
            code = cpu_custom_plan(cx, &steps->at[i], &to->custom);
    }
    base_map_free(&st->plans);
    if (code == SGL_OK) {
        claim_all(st, steps);
        st->args = base_mem_zero((size_t)st->nargs + 1, sizeof *st->args);
        if (!st->args) code = base_fail(cx, SGL_ENOMEM, "no memory for a plan of kernels");
    }
    if (code < 0) {
        release(st);
        st = NULL;
    }
    *state = st;
    return code;
}

/* Other numbers in some steps: the plans of those are made anew, the others stay. */
static int resize(Device *d, const StepVec *steps, const uint8_t *moved, void *state)
{
    CpuState *st = state;
    for (int i = 0; i < steps->n; i++) {
        const CpuStep *cs = &st->step[i];
        if (!cs->plan || cs->shared || !moved[i]) continue;
        if (cpu_tile_replan(cs->plan) != SGL_OK)
            return base_fail(d->cx, SGL_ENOMEM, "no memory for kernel %s",
                             steps->at[i].kernel->name);
    }
    claim_all(st, steps);
    return SGL_OK;
}

typedef struct KernelRun {
    const CpuState *st;
    const TilePlan *plan;
    void *const *args;
} KernelRun;

static void run_chunk(void *arg, int chunk, int worker)
{
    const KernelRun *r = arg;
    char *scratch = r->st->scratch + (size_t)worker * r->st->scratch_bytes;
    cpu_tile_run(r->plan, r->args, chunk, scratch, r->st->partials);
}

static int run_kernel(CpuState *st, const Step *s, const CpuStep *cs, Pool *pool,
                      void *const *buffers)
{
    for (int i = 0; i < s->nargs; i++) st->args[i] = buffers[s->args[i]];
    KernelRun r = {st, cs->plan, st->args};
    CpuJob j = {.pool = pool};
    cpu_split(&j, cpu_tile_chunks(cs->plan), run_chunk, &r);
    cpu_tile_finish(cs->plan, st->args, st->scratch, st->partials);
    return SGL_OK;
}

/* Replaces a half-precision view by a packed one of f32 at *wide. */
static void *widened(View *v, char **wide)
{
    void *at = *wide;
    *wide += wide_size(v);
    v->dtype = DT_f32;
    cpu_view_pack(v);
    return at;
}

/* Runs a step that is no kernel, on widened copies of halves where the step adds. */
static int run_op(Ctx *cx, CpuState *st, const Step *s, Pool *pool, void *const *buffers)
{
    const CpuOp *op = CPU_OPS[s->kind];
    char *wide = st->wide;
    CpuJob j = {.cx = cx,
                .step = s,
                .out = s->out,
                .isa = st->isa,
                .pool = pool,
                .scratch = st->scratch,
                .scratch_bytes = st->scratch_bytes};
    for (int i = 0; i < STEPS[s->kind].views; i++) {
        const View *v = &s->view[i];
        j.x[i] = *v;
        j.in[i] = (char *)buffers[v->buffer] + (size_t)v->offset * DTYPES[v->dtype].bytes;
        if (!op->adds || !is_half(v)) continue;
        float *copy = widened(&j.x[i], &wide);
        cpu_widen(st->isa->tile, v, j.in[i], copy);
        j.in[i] = copy;
    }
    void *to = (char *)buffers[s->out.buffer] + (size_t)s->out.offset * DTYPES[s->out.dtype].bytes;
    bool half = op->adds && is_half(&s->out);
    j.to = half ? widened(&j.out, &wide) : to;
    int code = op->run(&j);
    if (code == SGL_OK && half) cpu_narrow(st->isa->tile, &s->out, j.to, to);
    return code;
}

/* Runs step i, on the pool only if its work pays for waking threads. */
static int run(Device *d, void *state, const DevRun *r, int i)
{
    CpuState *st = state;
    const Step *s = &r->steps->at[i];
    void *const *buffers = r->buffers;
    Pool *pool = NULL;
    if (s->kind == STEP_COPY) {
        memcpy(buffers[s->args[1]], buffers[s->args[0]], (size_t)s->bytes);
        return SGL_OK;
    }
    if (st->step[i].parallel) {
        pool = base_ctx_pool(d->cx);
        if (!pool) return base_fail(d->cx, SGL_ENOMEM, "no memory for threads");
    }
    if (s->kind == STEP_CUSTOM)
        return cpu_custom_run(st->step[i].custom, d->cx, pool, buffers, st->wide);
    if (s->kind == STEP_KERNEL) return run_kernel(st, s, &st->step[i], pool, buffers);
    return run_op(d->cx, st, s, pool, buffers);
}

static int start(Device *d) { return cpu_isa(d->cx) ? SGL_OK : d->cx->err.code; }

const Backend CPU_BACKEND = {
    .name = "cpu",
    .computes = true,
    .start = start,
    .prepare = prepare,
    .resize = resize,
    .release = release,
    .workspace = workspace,
    .place = place,
    .run = run,
};
