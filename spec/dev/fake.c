/* fake.c: the vtable of the fake device, and what can be planted in it (fake_fault.def).
 *
 * In:    the calls of the engine, each of which may be done wrong on purpose: left out, done too
 *        early or with another address.
 * Out:   work for the queues, which fake_watch.c has seen before.
 */
#include "fake.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const Backend CPU_BACKEND;

typedef struct FakeState {
    Device *device;
    void *cpu; /* the state of the CPU backend */
    void *at;  /* the workspace */
} FakeState;

static int planted = -1;
static const DevRun *program; /* the one that is being given, */
static int current;           /* and its step */
static struct {
    FakeState *state;
    int step;           /* -1: none */
} held = {NULL, -1};    /* EARLY_EVENT: the step that comes after its event */
static void *freed;     /* STALE_ADDRESS: what is no longer there */
static void *in_flight; /* REUSED: what a started step reads */
static bool hurries;    /* EARLY_READ: the next wait of the host is left out */

static const char *const NAMES[FAKE_FAULTS] = {
#define FAULT(name, text) [FAKE_##name] = #name,
#include "fake_fault.def"
#undef FAULT
};

static bool plants(FakeFault fault) { return planted == (int)fault; }

static int start(Device *d)
{
    const char *name = getenv("FAKE_FAULT");
    d->self = d;
    fake_memory_begin();
    for (int i = 0; name && i < FAKE_FAULTS; i++)
        if (strcmp(name, NAMES[i]) == 0) planted = i;
    return CPU_BACKEND.start(d);
}

/* ---- memory */

static void *address(FakeBlock *b) { return b ? (void *)b->at : NULL; }
static void *alloc(Device *d, size_t bytes)
{
    (void)d;
    return address(fake_block_new(FAKE_MEMORY, bytes));
}

static void *stage(Device *d, size_t bytes)
{
    (void)d;
    return address(fake_block_new(FAKE_STAGE, bytes));
}

static void unstage(Device *d, void *at)
{
    (void)d;
    fake_block_free(fake_block_at(at));
}

static int run_free(FakeOp *op)
{
    FakeBlock *b = fake_block_at(op->to);
    if (fake_queue_uses(b)) fake_report(FAKE_EARLY_FREE, "%p is still in use", op->to);
    fake_block_free(b);
    return SGL_OK;
}

static FakeOp *op_new(Device *d, int (*run)(FakeOp *op), void *to, const void *from, size_t bytes)
{
    FakeOp *op = fake_op(0, run);
    if (!op) abort();
    op->device = d;
    op->to = to;
    op->from = from;
    op->bytes = bytes;
    return op;
}

static void give_free(Device *d, void *at)
{
    FakeBlock *b = fake_block_at(at);
    if (!b || b->kind != FAKE_MEMORY || b->at != (uintptr_t)at || b->dying)
        fake_report(FAKE_DOUBLE_FREE, "%p", at);
    fake_watch_begin(0);
    fake_watch_touch(0, at, b->bytes, true, "free");
    b->dying = true;
    FakeOp *op = op_new(d, run_free, at, NULL, 0);
    op->region = 0; /* whichever branch happens */
    if (!plants(FAKE_EARLY_FREE)) fake_queue_give(0, op);
    else run_free(op);
}

static void free_memory(Device *d, void *at)
{
    give_free(d, at);
    if (plants(FAKE_DOUBLE_FREE)) give_free(d, at);
    freed = at;
}

static void open_block(const void *at)
{
    FakeBlock *b = fake_block_at(at);
    if (b) fake_block_open(b);
}

static int run_copy(FakeOp *op)
{
    open_block(op->from);
    open_block(op->to);
    memcpy(op->to, op->from, op->bytes);
    return SGL_OK;
}

static int run_zero(FakeOp *op)
{
    open_block(op->to);
    memset(op->to, 0, op->bytes);
    return SGL_OK;
}

static int run_in(FakeOp *op)
{
    open_block(op->to);
    memcpy(op->to, op->buffers, op->bytes);
    return SGL_OK;
}

static int copy_in(Device *d, int stream, void *to, const void *from, size_t bytes)
{
    if (plants(FAKE_MISSING_IN)) return SGL_OK;
    FakeOp *op = fake_op(bytes, run_in);
    if (!op) abort();
    op->device = d;
    op->to = to;
    op->bytes = bytes;
    memcpy(op->buffers, from, bytes);
    fake_watch_begin(stream);
    fake_watch_touch(stream, to, bytes, true, "copy in");
    fake_queue_give(stream, op);
    return SGL_OK;
}

static int copy_out(Device *d, int stream, void *to, const void *from, size_t bytes)
{
    FakeBlock *b = fake_block_at(to);
    if (plants(FAKE_MISSING_BACK)) return SGL_OK;
    if (plants(FAKE_HOST_READ) && *(const volatile char *)from) return SGL_OK;
    hurries = plants(FAKE_EARLY_READ);
    if (!b || b->kind != FAKE_STAGE) fake_report(FAKE_WRONG_DEVICE, "copy out to %p", to);
    b->when = fake_watch_begin(stream);
    fake_watch_touch(stream, from, bytes, false, "copy out");
    b->stream = stream;
    b->source = (uintptr_t)from;
    b->copied = bytes;
    b->landed = b->stale = false;
    fake_block_close(b);
    fake_queue_give(stream, op_new(d, run_copy, to, from, bytes));
    return SGL_OK;
}

static int copy(Device *d, int stream, void *to, const void *from, size_t bytes)
{
    fake_watch_begin(stream);
    fake_watch_touch(stream, from, bytes, false, "copy");
    fake_watch_touch(stream, to, bytes, true, "copy");
    fake_queue_give(stream, op_new(d, run_copy, to, from, bytes));
    return SGL_OK;
}

static int zero(Device *d, int stream, void *at, size_t bytes)
{
    fake_watch_begin(stream);
    fake_watch_touch(stream, at, bytes, true, "zero");
    fake_queue_give(stream, op_new(d, run_zero, at, NULL, bytes));
    return SGL_OK;
}

/* ---- programs */

static int prepare(Device *d, const StepVec *steps, void **state)
{
    FakeState *st = base_mem_zero(1, sizeof *st);
    if (!st) return base_fail(d->cx, SGL_ENOMEM, "no memory for a program of the fake device");
    st->device = d;
    *state = st;
    return CPU_BACKEND.prepare(d, steps, &st->cpu);
}

static void release(void *state)
{
    FakeState *st = state;
    if (st->cpu) CPU_BACKEND.release(st->cpu);
    base_mem_free(st);
}

static size_t workspace(Device *d, void *state)
{
    return CPU_BACKEND.workspace(d, ((FakeState *)state)->cpu);
}

static void place(void *state, void *at)
{
    FakeState *st = state;
    st->at = at;
    CPU_BACKEND.place(st->cpu, at);
}

static int run_step(FakeOp *op)
{
    FakeState *st = op->state;
    const Step *s = &op->r.steps->at[op->step];
    StepUse use;
    open_block(st->at);
    for (int k = 0; kern_step_use(s, k, &use); k++)
        if (use.buffer >= 0) open_block(op->buffers[use.buffer]);
    int code = CPU_BACKEND.run(st->device, st->cpu, &op->r, op->step);
    if (code < 0) dev_blame(st->device->cx, s->node);
    return code;
}

/* What this buffer's address becomes by the fault that is planted. */
static void *wrong_address(const Step *s, const StepUse *use, void *right)
{
    static char host[4096];
    if (plants(FAKE_WRONG_DEVICE) && use->reads) return host;
    if (plants(FAKE_STALE_ADDRESS) && use->reads && freed) return freed;
    if (!plants(FAKE_REUSED)) return right;
    if (s->stream && use->reads) in_flight = right;
    return !s->stream && use->writes && in_flight ? in_flight : right;
}

static void describe(Ctx *cx, const Step *s, int i, char *text, size_t size)
{
    SrcPos at = base_src_pos(cx, s->node ? s->node->src : 0);
    snprintf(text, size, "step %d %s (%s:%d)", i, kern_step_name(s), at.file, at.line);
}

static void give_step(FakeState *st, const DevRun *r, int i)
{
    const Step *s = &r->steps->at[i];
    size_t addresses = (size_t)r->plan->buffers.n * sizeof(void *);
    FakeOp *op = fake_op(addresses, run_step);
    StepUse use;
    char what[96];
    if (!op) abort();
    op->device = st->device;
    op->state = st;
    op->step = i;
    op->r = (DevRun){.steps = r->steps, .plan = r->plan, .buffers = op->buffers};
    memcpy(op->buffers, r->buffers, addresses);
    describe(st->device->cx, s, i, what, sizeof what);
    fake_watch_begin(s->stream);
    for (int k = 0; kern_step_use(s, k, &use); k++) {
        if (use.buffer < 0) continue;
        const Node *n = r->plan->buffers.at[use.buffer].node;
        size_t bytes = (size_t)pass_count_now(r->plan->sizes, n) * DTYPES[n->dtype].bytes;
        void *at = op->buffers[use.buffer] = wrong_address(s, &use, r->buffers[use.buffer]);
        if (use.reads) fake_watch_touch(s->stream, at, bytes, false, what);
        if (use.writes) fake_watch_touch(s->stream, at, bytes, true, what);
    }
    fake_queue_give(s->stream, op);
}

static int run(Device *d, void *state, const DevRun *r, int i)
{
    (void)d;
    if (plants(FAKE_EARLY_EVENT) && r->steps->at[i].stream) {
        held.state = state;
        held.step = i;
    } else {
        give_step(state, r, i);
    }
    return SGL_OK;
}

static void log_addresses(const void *state, const DevRun *r)
{
    const char *name = getenv("FAKE_LOG");
    FILE *file = name ? fopen(name, "a") : NULL;
    if (!file) return;
    fprintf(file, "%p", state);
    for (int b = 0; b < r->plan->buffers.n; b++) fprintf(file, " %p", r->buffers[b]);
    fprintf(file, "\n");
    fclose(file);
}

static int run_program(Device *d, void *state, const DevRun *r)
{
    const DevRun *before = program;
    int outer = current, code = SGL_OK;
    (void)d;
    log_addresses(state, r);
    program = r;
    in_flight = NULL;
    for (current = 0; current < r->steps->n && code >= 0; current++)
        code = r->step(r->arg, current);
    program = before;
    current = outer;
    return code;
}

/* ---- control flow */

static bool decides(void) { return getenv("FAKE_CONTROL") != NULL; }

static int cond(Device *d, const DevControl *c)
{
    int code = SGL_OK;
    if (!decides()) return 1;
    for (int which = 0; which < 2 && code >= 0; which++) {
        int before = fake_region_begin(d, c->taken, which == 0, NULL);
        code = c->give(c->arg, which, 0);
        fake_region_end(before);
    }
    return code;
}

static int scan(Device *d, const DevControl *c)
{
    int code = SGL_OK;
    (void)d;
    if (!decides()) return 1;
    for (int64_t row = 0; row < c->rows && code >= 0; row++) code = c->give(c->arg, 0, row);
    return code;
}

/* A row happens if those before it did. */
static int loop(Device *d, const DevControl *c)
{
    int code = SGL_OK, outside = -1;
    if (!decides()) return 1;
    if (c->count) zero(d, 0, c->count, sizeof(int32_t));
    for (int64_t row = 0; row < c->rows && code >= 0; row++) {
        int before = fake_region_begin(d, c->taken, true, c->count);
        if (outside < 0) outside = before;
        code = c->give(c->arg, 0, row);
    }
    if (outside >= 0) fake_region_end(outside);
    return code;
}

/* ---- streams */

static int record(Device *d, int stream, int event)
{
    (void)d;
    fake_watch_record(stream, event);
    fake_queue_record(stream, event);
    if (held.step >= 0 && stream) {
        give_step(held.state, program, held.step);
        held.step = -1;
    }
    return SGL_OK;
}

/* Is a step still to come that could need what is waited for? */
static bool is_needed(void)
{
    for (int i = current + 1; i < program->steps->n; i++) {
        StepKind kind = program->steps->at[i].kind;
        if (kind != STEP_RECORD && kind != STEP_WAIT) return true;
    }
    return false;
}

static int wait(Device *d, int stream, int event)
{
    (void)d;
    if (stream == 0 && plants(is_needed() ? FAKE_MISSING_WAIT : FAKE_EARLY_OUTPUT)) return SGL_OK;
    if (stream == 0) in_flight = NULL;
    fake_watch_wait(stream, event);
    fake_queue_wait(stream, event);
    return SGL_OK;
}

static int sync(Device *d, int stream)
{
    bool skips = hurries;
    hurries = false;
    if (skips) return SGL_OK;
    int code = fake_queue_drain(stream, d->cx);
    fake_watch_sync(stream);
    return code;
}

const Backend FAKE_BACKEND = {
    .name = "fake",
    .computes = true,
    .start = start,
    .alloc = alloc,
    .free = free_memory,
    .stage = stage,
    .unstage = unstage,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .zero = zero,
    .streams = FAKE_STREAMS,
    .record = record,
    .wait = wait,
    .sync = sync,
    .prepare = prepare,
    .release = release,
    .workspace = workspace,
    .place = place,
    .run = run,
    .run_program = run_program,
    .cond = cond,
    .scan = scan,
    .loop = loop,
};
