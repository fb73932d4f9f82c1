/* program.c: programs on the device: what is launched for each step, and a whole run as one graph.
 *
 * In:   the steps of a program; for a run the addresses of its buffers.
 * Out:  kernels and copies on the streams, or one replay of what was captured of them before.
 * Holds: a graph has the addresses that it was captured with. What lies elsewhere in each run, a
 *        batch or a result that is still held, is copied to and from memory of the graph's own; for
 *        other addresses there is another graph, and none where a step is the host's. Everything is
 *        loaded before a capture begins. When one fails, the program runs without from then on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cuda/cuda.h"

enum { CAPTURE_THREAD = 1, MOST_BLOCKS = 65535 * 16, FAULT_BYTES = 24, OWN_MOST = 4 << 20 };

typedef struct CudaGraph {
    uint64_t key; /* hash of the addresses */
    void *graph, *exec;
} CudaGraph;

struct CudaState {
    Cuda *c;
    CudaPlans plans;
    int *first; /* by step: its first plan; one more at the end */
    int nsteps;
    char *params; /* of one launch */
    size_t work;  /* bytes of the workspace */
    void *at;     /* the workspace */
    bool fails;   /* a step may be refused by its values */
    bool hosts;   /* a step is the host's */
    bool late;    /* stands in the list of those */
    CudaState *next;
    void *fault;    /* device memory: a Fault */
    int64_t *found; /* where it is copied to */
    const StepVec *steps;
    VEC(CudaGraph) graphs;
    uint64_t last; /* the key of the last run */
    int nbuffers;
    void **before; /* by buffer: its address in the last run */
    void **own;    /* by buffer: memory that graphs use in its place; NULL: none */
    bool *written; /* by buffer: a step writes it */
    void **bound;  /* addresses of the run that is captured; NULL: as the run says */
    bool captures; /* so far it could be captured */
    uint64_t turn; /* the graph that goes next when there are too many */
};

static void drop_graphs(CudaState *st)
{
    for (int i = 0; i < st->graphs.n; i++) {
        st->c->driver.graph_end(st->graphs.at[i].exec);
        st->c->driver.graph_free(st->graphs.at[i].graph);
    }
    st->graphs.n = 0;
    st->last = 0;
}

/* Graphs use the caller's memory again. */
static void drop_own(CudaState *st)
{
    for (int i = 0; i < st->nbuffers; i++) {
        if (st->own[i]) st->c->driver.free((uint64_t)(uintptr_t)st->own[i], st->c->stream[0]);
        st->own[i] = st->before[i] = NULL;
    }
}

static void drop_plans(CudaState *st)
{
    for (int i = 0; i < st->plans.n; i++) cuda_plan_free(&st->plans.at[i]);
    vec_free(&st->plans);
}

static void unlist(CudaState *st)
{
    for (CudaState **s = &st->c->late; *s; s = &(*s)->next)
        if (*s == st) {
            *s = st->next;
            break;
        }
    st->late = false;
}

void cuda_release(void *state)
{
    CudaState *st = state;
    Cuda *c = st->c;
    unlist(st);
    drop_graphs(st);
    vec_free(&st->graphs);
    drop_own(st);
    base_mem_free(st->own);
    base_mem_free(st->before);
    base_mem_free(st->written);
    drop_plans(st);
    if (st->fault) c->driver.free((uint64_t)(uintptr_t)st->fault, c->stream[0]);
    if (st->found) c->driver.free_host(st->found);
    base_mem_free(st->first);
    base_mem_free(st->params);
    base_mem_free(st);
}

/* Memory for what a refused step leaves: cleared, and on the host where it is read. */
static int make_fault(CudaState *st)
{
    Cuda *c = st->c;
    uint64_t at = 0;
    void *found = NULL;
    int code = c->driver.alloc(&at, FAULT_BYTES, c->stream[0]);
    if (code == 0) st->fault = (void *)(uintptr_t)at;
    if (code == 0) code = c->driver.set_bytes(at, 0, FAULT_BYTES, c->stream[0]);
    if (code == 0) code = c->driver.alloc_host(&found, FAULT_BYTES);
    st->found = found;
    return cuda_check(c, code, "memory for errors of kernels");
}

/* ---- plans */

/* Appends what the step launches. `guarded`: only while no step was refused. */
static int plan_step(CudaState *st, const Step *s, int i, bool guarded)
{
    Ctx *cx = st->c->device->cx;
    int from = st->plans.n, code;
    if (s->kind == STEP_KERNEL) {
        if (!vec_push(&st->plans, (CudaPlan){0})) return base_no_memory(cx, "a CUDA program");
        code = cuda_plan_kernel(cx, s, &vec_last(&st->plans));
    } else if (s->kind == STEP_COPY && !guarded) {
        return SGL_OK;
    } else {
        code = cuda_plan_op(cx, s, i, &st->plans, &st->work);
    }
    for (int k = from; k < st->plans.n && code >= 0 && guarded; k++) {
        CudaPlan *p = &st->plans.at[k];
        p->guarded = true;
        if (!vec_push(&p->buffers, CUDA_FAULT)) code = base_no_memory(cx, "a CUDA program");
    }
    return code;
}

static size_t param_bytes(const CudaPlan *p)
{
    size_t buffers = p->buffers.n ? (size_t)p->buffers.n : 1;
    return (buffers + (p->numbers.n ? (size_t)p->numbers.n : 1)) * 8;
}

/* Plans of all steps, and room for the parameters of the largest. */
static int plan_all(CudaState *st, const StepVec *steps)
{
    Ctx *cx = st->c->device->cx;
    size_t most = 8;
    int code = SGL_OK;
    st->work = 0;
    for (int i = 0; i < steps->n && code >= 0; i++) {
        st->first[i] = st->plans.n;
        code = plan_step(st, &steps->at[i], i, st->fails);
    }
    st->first[steps->n] = st->plans.n;
    for (int i = 0; i < st->plans.n && code >= 0; i++) {
        size_t bytes = param_bytes(&st->plans.at[i]);
        if (bytes > most) most = bytes;
        if (bytes > CUDA_MOST_PARAMS)
            code = base_fail(cx, SGL_EUNSUP,
                             "cuda: the kernel %s has %zu bytes of parameters, "
                             "%d are possible",
                             st->plans.at[i].name, bytes, CUDA_MOST_PARAMS);
    }
    if (code >= 0) code = cuda_compile(st->c, st->plans.at, st->plans.n);
    if (code < 0) return code;
    base_mem_free(st->params);
    st->params = base_mem_zero(most, 1);
    return st->params ? SGL_OK : base_no_memory(cx, "a CUDA program");
}

int cuda_prepare(Device *d, const StepVec *steps, void **state)
{
    Cuda *c = d->self;
    CudaState *st = base_mem_zero(1, sizeof *st);
    *state = NULL;
    if (!st) return base_no_memory(d->cx, "a CUDA program");
    st->c = c;
    st->steps = steps;
    st->nsteps = steps->n;
    st->captures = true;
    st->first = base_mem_zero((size_t)steps->n + 1, sizeof *st->first);
    for (int i = 0; i < steps->n; i++) {
        st->fails |= STEPS[steps->at[i].kind].fails && steps->at[i].kind != STEP_CALL;
        st->hosts |= steps->at[i].kind == STEP_CALL;
    }
    int code = st->first ? SGL_OK : base_no_memory(d->cx, "a CUDA program");
    if (code >= 0 && st->fails) code = make_fault(st);
    if (code >= 0) code = plan_all(st, steps);
    if (code < 0) {
        const Err why = d->cx->err;
        cuda_release(st);
        d->cx->err = why;
        return code;
    }
    *state = st;
    return SGL_OK;
}

int cuda_resize(Device *d, const StepVec *steps, const uint8_t *moved, void *state)
{
    CudaState *st = state;
    (void)d, (void)moved;
    drop_graphs(st);
    drop_own(st);
    drop_plans(st);
    return plan_all(st, steps);
}

size_t cuda_workspace(Device *d, void *state)
{
    (void)d;
    return base_mem_align(((const CudaState *)state)->work);
}

void cuda_place(void *state, void *at) { ((CudaState *)state)->at = at; }

/* ---- running */

static void *address_of(const CudaState *st, const DevRun *r, int buffer)
{
    void *const *buffers = st->bound ? st->bound : r->buffers;
    return buffer == CUDA_FAULT ? st->fault : buffer == CUDA_WORK ? st->at : buffers[buffer];
}

/* Gives one kernel to the stream of its step, with the addresses of this run. */
static int launch(CudaState *st, const DevRun *r, const CudaPlan *p, const Step *s)
{
    void **a = (void **)(void *)st->params;
    const int arrays = p->buffers.n ? p->buffers.n : 1;
    void *params[] = {st->params};
    int64_t blocks = (p->threads + p->block - 1) / p->block;
    if (p->threads == 0) return SGL_OK;
    if (blocks > MOST_BLOCKS && strcmp(p->name, "dot") != 0) blocks = MOST_BLOCKS;
    if (blocks > INT32_MAX)
        return base_fail(st->c->device->cx, SGL_EUNSUP, "cuda: %s needs %" PRId64 " blocks",
                         p->name, blocks);
    for (int i = 0; i < p->buffers.n; i++) a[i] = address_of(st, r, p->buffers.at[i]);
    if (p->numbers.n) memcpy(a + arrays, p->numbers.at, (size_t)p->numbers.n * 8);
    int code = st->c->driver.launch(p->function, (unsigned)blocks, 1, 1, (unsigned)p->block, 1, 1,
                                    0, st->c->stream[s->stream], params, NULL);
    return cuda_check(st->c, code, p->name);
}

/* "map_add (train.lua:12)", for profilers. */
static void push_range(const CudaState *st, const Step *s)
{
    char text[160];
    SrcPos at = base_src_pos(st->c->device->cx, s->node ? s->node->src : 0);
    snprintf(text, sizeof text, "%s (%s:%d)", kern_step_name(s), at.file, at.line);
    st->c->nvtx.push(text);
}

static int give_step(CudaState *st, const DevRun *r, int i)
{
    const Device *d = st->c->device;
    const Step *s = &r->steps->at[i];
    int code = SGL_OK;
    if (s->kind == STEP_COPY && st->first[i] == st->first[i + 1])
        return d->backend->copy(st->c->device, s->stream, address_of(st, r, s->args[1]),
                                address_of(st, r, s->args[0]), (size_t)s->bytes);
    for (int k = st->first[i]; k < st->first[i + 1] && code >= 0; k++)
        code = launch(st, r, &st->plans.at[k], s);
    return code;
}

int cuda_run(Device *d, void *state, const DevRun *r, int i)
{
    CudaState *st = state;
    (void)d;
    if (!st->c->nvtx.push) return give_step(st, r, i);
    push_range(st, &r->steps->at[i]);
    int code = give_step(st, r, i);
    st->c->nvtx.pop();
    return code;
}

static int give_all(const DevRun *r)
{
    int code = SGL_OK;
    for (int i = 0; i < r->steps->n && code >= 0; i++) code = r->step(r->arg, i);
    return code;
}

/* What the streams are given becomes a graph. SGL_OK with *out empty: the driver could not. */
static int capture(CudaState *st, const DevRun *r, CudaGraph *out)
{
    Cuda *c = st->c;
    int begun = c->driver.capture_begin(c->stream[0], CAPTURE_THREAD);
    if (begun) return SGL_OK;
    c->capturing = true;
    int code = give_all(r);
    c->capturing = false;
    int ended = c->driver.capture_end(c->stream[0], &out->graph);
    if (code >= 0 && ended == 0 && out->graph &&
        c->driver.graph_make(&out->exec, out->graph, 0) == 0)
        return SGL_OK;
    if (out->graph) c->driver.graph_free(out->graph);
    *out = (CudaGraph){0};
    if (code == SGL_EINTR) return code;
    base_err_clear(&c->device->cx->err);
    return SGL_OK;
}

/* Room for one more graph: the oldest goes where there are as many as the setting allows. */
static CudaGraph *place_graph(CudaState *st)
{
    int64_t most = st->c->device->cx->knobs.value[KNOB_cuda_graphs];
    if (st->graphs.n < most && vec_push(&st->graphs, (CudaGraph){0})) return &vec_last(&st->graphs);
    if (st->graphs.n == 0) return NULL;
    CudaGraph *old = &st->graphs.at[st->turn++ % (uint64_t)st->graphs.n];
    st->c->driver.stream_sync(st->c->stream[0]);
    st->c->driver.graph_end(old->exec);
    st->c->driver.graph_free(old->graph);
    *old = (CudaGraph){0};
    return old;
}

/* ---- what varies from run to run: a graph has memory of its own for it */

/* Room for the addresses of the buffers, at the first run. */
static bool know_buffers(CudaState *st, const DevRun *r)
{
    StepUse use;
    if (st->own) return true;
    size_t n = (size_t)r->plan->buffers.n + 1;
    st->before = base_mem_zero(n, sizeof *st->before);
    st->written = base_mem_zero(n, sizeof *st->written);
    st->own = base_mem_zero(n, 2 * sizeof *st->own); /* and room for `bound` */
    if (!st->before || !st->written || !st->own) return false;
    st->nbuffers = r->plan->buffers.n;
    for (int i = 0; i < r->steps->n; i++)
        for (int k = 0; kern_step_use(&r->steps->at[i], k, &use); k++)
            if (use.buffer >= 0 && use.writes) st->written[use.buffer] = true;
    return true;
}

static size_t bytes_of(const DevRun *r, int b)
{
    const Node *n = r->plan->buffers.at[b].node;
    return (size_t)pass_count_now(r->plan->sizes, n) * DTYPES[n->dtype].bytes;
}

/* May buffer b be copied from and to the caller's memory? */
static bool may_own(const DevRun *r, int b)
{
    return r->plan->buffers.at[b].place != BUF_ARENA && bytes_of(r, b) > 0 &&
           bytes_of(r, b) <= OWN_MOST;
}

/* Buffers that lie elsewhere than in the run before get memory of their own. */
static void settle(CudaState *st, const DevRun *r)
{
    for (int b = 0; b < st->nbuffers; b++) {
        uint64_t at = 0;
        bool moved = st->before[b] && st->before[b] != r->buffers[b];
        st->before[b] = r->buffers[b];
        if (!moved || st->own[b] || !may_own(r, b)) continue;
        if (st->c->driver.alloc(&at, bytes_of(r, b), st->c->stream[0]) == 0)
            st->own[b] = (void *)(uintptr_t)at;
    }
}

/* Copies inputs to the graph's memory, or results and state out of it. */
static int exchange(CudaState *st, const DevRun *r, bool in)
{
    const Device *d = st->c->device;
    int code = SGL_OK;
    for (int b = 0; b < st->nbuffers && code >= 0; b++) {
        bool takes = in ? r->plan->buffers.at[b].place == BUF_INPUT : st->written[b];
        if (!st->own[b] || !takes) continue;
        void *to = in ? st->own[b] : r->buffers[b], *from = in ? r->buffers[b] : st->own[b];
        code = d->backend->copy(st->c->device, 0, to, from, bytes_of(r, b));
    }
    return code;
}

/* The addresses that a graph would have. */
static uint64_t bind(CudaState *st, const DevRun *r)
{
    void **bound = st->own + st->nbuffers + 1;
    for (int b = 0; b < st->nbuffers; b++) bound[b] = st->own[b] ? st->own[b] : r->buffers[b];
    uint64_t h = base_hash(1, bound, (size_t)st->nbuffers * sizeof *bound);
    return base_hash(h, &st->at, sizeof st->at) | 1;
}

static const CudaGraph *find_graph(const CudaState *st, uint64_t key)
{
    for (int i = 0; i < st->graphs.n; i++)
        if (st->graphs.at[i].key == key) return &st->graphs.at[i];
    return NULL;
}

/* The graph of these addresses, once they are met for the second time in sequence; NULL in *out:
 * there is none. */
static int graph_for(CudaState *st, const DevRun *r, const CudaGraph **out)
{
    if (!know_buffers(st, r)) return SGL_OK;
    settle(st, r);
    uint64_t key = bind(st, r);
    CudaGraph made = {.key = key}, *place;
    *out = find_graph(st, key);
    bool again = st->last == key;
    st->last = key;
    if (*out || !again) return SGL_OK;
    st->bound = st->own + st->nbuffers + 1;
    int code = capture(st, r, &made);
    st->bound = NULL;
    st->captures = made.exec != NULL;
    if (!made.exec) return code;
    place = place_graph(st);
    if (!place) {
        st->c->driver.graph_end(made.exec);
        st->c->driver.graph_free(made.graph);
        return SGL_OK;
    }
    *place = made;
    *out = place;
    return SGL_OK;
}

/* One replay, between the copies of what is not where the graph has it. */
static int replay(CudaState *st, const DevRun *r, const CudaGraph *g)
{
    Cuda *c = st->c;
    int code = exchange(st, r, true);
    if (code >= 0)
        code = cuda_check(c, c->driver.graph_launch(g->exec, c->stream[0]), "replaying a graph");
    return code < 0 ? code : exchange(st, r, false);
}

int cuda_run_program(Device *d, void *state, const DevRun *r)
{
    CudaState *st = state;
    Cuda *c = st->c;
    const CudaGraph *g = NULL;
    int code = SGL_OK;
    if (st->fails && !st->late) {
        st->next = c->late;
        c->late = st;
        st->late = true;
    }
    if (st->captures && !st->hosts && !c->capturing && st->plans.n &&
        d->cx->knobs.value[KNOB_cuda_graphs] > 0)
        code = graph_for(st, r, &g);
    if (code < 0) return code;
    return g ? replay(st, r, g) : give_all(r);
}

/* ---- errors that come late */

/* "[2, 5]": where linear position i lies in the index, counted from 1. */
static void place_text(const View *index, int64_t i, Str *out)
{
    int64_t at[VIEW_MAX_RANK];
    for (int d = index->rank; d-- > 0; i /= index->extent[d]) at[d] = i % index->extent[d] + 1;
    base_str_put(out, "[");
    for (int d = 0; d < index->rank; d++) base_str_fmt(out, "%s%" PRId64, d ? ", " : "", at[d]);
    base_str_put(out, "]");
}

/* Says which step was refused; the place is cleared for the next run. */
static int tell(CudaState *st)
{
    Cuda *c = st->c;
    Ctx *cx = c->device->cx;
    Str place = {0};
    const Step *s = &st->steps->at[st->found[0] - 1];
    place_text(&s->view[1], st->found[1], &place);
    base_fail(cx, SGL_EINDEX,
              "%s: index %" PRId64 " is outside [0, %" PRId64 ") at position %s of the index",
              ir_op(s->node)->name, st->found[2], s->view[0].extent[s->axis],
              place.failed ? "?" : place.at);
    base_err_hint(&cx->err, "indices stored in tensors count from 0");
    base_str_free(&place);
    dev_blame(cx, s->node);
    c->driver.set_bytes((uint64_t)(uintptr_t)st->fault, 0, FAULT_BYTES, c->stream[0]);
    return SGL_EINDEX;
}

int cuda_late_error(Cuda *c)
{
    int result = SGL_OK;
    if (c->capturing) return SGL_OK;
    while (c->late) {
        CudaState *st = c->late;
        c->late = st->next;
        st->late = false;
        int code = c->driver.copy_out(st->found, (uint64_t)(uintptr_t)st->fault, FAULT_BYTES,
                                      c->stream[0]);
        if (code == 0) code = c->driver.stream_sync(c->stream[0]);
        code = cuda_check(c, code, "reading what failed");
        if (code >= 0 && st->found[0]) code = tell(st);
        if (code < 0) result = code;
    }
    return result;
}
