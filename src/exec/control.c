/* control.c: cond, scan and loop run their blocks; print and assert act; ranks meet
 * (exec/control.h).
 *
 * In:    the steps of a program; for a run the addresses of its buffers.
 * Out:   results written where the buffers say.
 * Holds: a carry lives in the buffer of its last value, or in the call's own memory when nobody
 *        needs that value. The body has it as state, so the planner updates it in place. Slices
 *        of xs are read, and those of ys written, where they lie.
 */
#include "exec/control.h"
#include "exec/collective.h"
#include <string.h>
#include "ir/attr.h"
#include "ir/control.h"
#include "ir/rebuild.h"

typedef struct Block {
    const Graph *graph; /* borrowed from the steps' graph */
    int ncarry;
    Program *program;
} Block;

typedef struct Call {
    const Step *step; /* NULL: no call */
    Control c;
    int block[2];  /* numbers, -1: none */
    size_t *bytes; /* by result of the block: what one has */
    size_t *slice; /* scan: by input, what one step takes of it */
    size_t room;   /* bytes in `memory`, or in `stage` */
    Num length;    /* for the sizes at hand: steps, or at most */
    void **own;    /* by result of the block: memory of the call, NULL: a buffer's */
    void **in, **out;
    void *memory; /* for them, in the device's memory */
    void *stage;  /* an effect's: what it reads, in the host's; NULL: it is there */
} Call;

struct Calls {
    Ctx *cx;
    Device *device;
    const Sizes *sizes; /* borrowed */
    Device *where;      /* the memory that all addresses are in; NULL: the host's */
    bool computes;
    size_t bytes; /* memory of all calls */
    VEC(Block) blocks;
    int ncall;
    Call *call; /* by number of the step */
};

static int out_of_memory(Ctx *cx)
{
    return base_fail(cx, SGL_ENOMEM, "out of memory for the blocks of a program");
}

/* For the sizes at hand. */
static size_t bytes_of(const Calls *c, const Node *n)
{
    return (size_t)pass_count_now(c->sizes, n) * DTYPES[n->dtype].bytes;
}

/* The body with its carries as state. */
static Graph *body_graph(const Graph *body, int ncarry)
{
    Graph *g = ir_graph_new(body->cx);
    int nin = body->inputs.n, nout = body->outputs.n, status = SGL_OK;
    Node **in = base_mem_zero((size_t)(nin + nout) + 1, sizeof *in);
    Node **out = in ? in + nin : NULL;
    if (g) g->part = true;
    if (!in) out_of_memory(body->cx);
    for (int i = 0; g && in && i < nin && status == SGL_OK; i++) {
        const GraphInput *from = &body->inputs.at[i];
        const Node *n = from->node;
        InputKind kind = i < ncarry ? INPUT_STATE : INPUT_ARG;
        in[i] = ir_input(g, kind, from->name, n->dtype, n->rank, n->dims);
        if (!in[i]) status = g->cx->err.code;
    }
    if (g && in && status == SGL_OK) status = ir_block_splice(g, body, in, NULL, out);
    for (int k = 0; g && in && k < nout && status == SGL_OK; k++)
        status = k < ncarry ? ir_assign(g, in[k], out[k]) : ir_output(g, out[k], NULL);
    bool made = g && in && status == SGL_OK;
    base_mem_free(in);
    if (made) return g;
    if (g) ir_graph_free(g);
    return NULL;
}

/* The number of the compiled block, or a negative code. */
static int block_find(Calls *c, const Graph *graph, int ncarry)
{
    for (int i = 0; i < c->blocks.n; i++)
        if (c->blocks.at[i].graph == graph && c->blocks.at[i].ncarry == ncarry) return i;
    Graph *g = ncarry ? body_graph(graph, ncarry) : ir_graph_ref((Graph *)graph);
    Block b = {graph, ncarry, g ? exec_compile_part(g, NULL, &c->sizes->values) : NULL};
    if (!b.program) return c->cx->err.code;
    if (vec_push(&c->blocks, b)) return c->blocks.n - 1;
    exec_program_free(b.program);
    return out_of_memory(c->cx);
}

static int call_arg(const Call *call, int out)
{
    return call->step->args[call->step->node->nin + out];
}

/* Memory for the results of the block that no buffer takes. */
static int call_memory(Calls *c, Call *call)
{
    const Graph *block = call->c.block[0];
    int n = block->outputs.n;
    size_t total = 0;
    call->length = pass_size_guess(c->sizes, ir_num_of(call->c.length));
    for (int i = 0; i < call->c.nxs; i++)
        call->slice[i] = bytes_of(c, block->inputs.at[call->c.ncarry + i].node);
    for (int k = 0; k < n; k++) {
        call->bytes[k] = bytes_of(c, block->outputs.at[k].node);
        if (call_arg(call, k) < 0) total += base_mem_align(call->bytes[k]) + 128;
    }
    if (!call->memory || total > call->room) {
        dev_free(c->where, call->memory);
        call->memory = dev_alloc(c->where, total);
        if (!call->memory) return out_of_memory(c->cx);
        c->bytes += total - call->room;
        call->room = total;
    }
    char *at = call->memory;
    for (int k = 0; k < n; k++) {
        if (call_arg(call, k) >= 0) continue;
        call->own[k] = at;
        at += base_mem_align(call->bytes[k]) + 128;
    }
    return SGL_OK;
}

/* Where an effect finds the values of its inputs, and on a device memory for them. */
static int effect_memory(Calls *c, Call *call)
{
    const Node *n = call->step->node;
    size_t total = 0;
    if (!c->where) return SGL_OK;
    if (exec_is_collective(n)) total = base_mem_align(bytes_of(c, n->in[0])) + bytes_of(c, n);
    for (int i = 1; i < n->nin && !exec_is_collective(n); i++)
        total += base_mem_align(bytes_of(c, n->in[i]));
    if (!call->stage || total > call->room) {
        base_mem_free(call->stage);
        call->stage = base_mem_big(total);
        if (!call->stage) return out_of_memory(c->cx);
        call->room = total;
    }
    char *at = call->stage;
    for (int i = 1; i < n->nin && !exec_is_collective(n);
         at += base_mem_align(bytes_of(c, n->in[i++])))
        call->in[i - 1] = at;
    return SGL_OK;
}

static int call_sizes(Calls *c, Call *call)
{
    if (!call->step) return SGL_OK;
    return ir_is_control(call->step->node) ? call_memory(c, call) : effect_memory(c, call);
}

/* Lists as long as the blocks have inputs and outputs. */
static int call_lists(Calls *c, Call *call)
{
    int n = call->c.block[0] ? call->c.block[0]->outputs.n : 0, nin = call->step->node->nin;
    call->bytes = base_mem_zero((size_t)(n + call->c.nxs) + 1, sizeof *call->bytes);
    call->own = base_mem_zero((size_t)(2 * n + nin) + 3, sizeof *call->own);
    if (!call->bytes || !call->own) return out_of_memory(c->cx);
    call->slice = call->bytes + n;
    call->in = call->own + n + 1;
    call->out = call->in + nin + 1;
    return SGL_OK;
}

static int call_make(Calls *c, Call *call, const Step *step)
{
    call->step = step;
    call->block[0] = call->block[1] = -1;
    if (ir_is_control(step->node)) call->c = ir_control(step->node);
    for (int b = 0; b < 2 && call->c.block[b]; b++) {
        call->block[b] = block_find(c, call->c.block[b], call->c.ncarry);
        if (call->block[b] < 0) return call->block[b];
    }
    int code = call_lists(c, call);
    return code < 0 ? code : call_sizes(c, call);
}

int exec_calls_resize(Calls *c)
{
    int status = SGL_OK;
    for (int i = 0; c && i < c->blocks.n && status >= 0; i++)
        status = exec_program_resize(c->blocks.at[i].program, &c->sizes->values);
    for (int i = 0; c && i < c->ncall && status >= 0; i++) status = call_sizes(c, &c->call[i]);
    return status;
}

bool exec_calls_fit(const Calls *c, const SizeValues *values)
{
    for (int i = 0; c && i < c->blocks.n; i++)
        if (!exec_program_fits(c->blocks.at[i].program, values)) return false;
    return true;
}

int exec_calls_make(Device *d, const StepVec *steps, const Sizes *sizes, Calls **out)
{
    Ctx *cx = d->cx;
    int ncall = 0, status = SGL_OK;
    *out = NULL;
    for (int i = 0; i < steps->n; i++) ncall += steps->at[i].kind == STEP_CALL;
    if (!ncall) return SGL_OK;
    Calls *c = base_mem_zero(1, sizeof *c);
    if (!c) return out_of_memory(cx);
    c->cx = cx;
    c->device = d;
    c->sizes = sizes;
    c->where = dev_memory(d);
    c->computes = d->backend->computes;
    c->call = base_mem_zero((size_t)steps->n, sizeof *c->call);
    if (c->call) c->ncall = steps->n;
    else status = out_of_memory(cx);
    for (int i = 0; i < steps->n && status == SGL_OK; i++)
        if (steps->at[i].kind == STEP_CALL) status = call_make(c, &c->call[i], &steps->at[i]);
    if (status == SGL_OK) *out = c;
    else exec_calls_free(c);
    return status;
}

void exec_calls_free(Calls *c)
{
    if (!c) return;
    for (int i = 0; i < c->ncall; i++) {
        base_mem_free(c->call[i].bytes);
        base_mem_free(c->call[i].own);
        dev_free(c->where, c->call[i].memory);
        base_mem_free(c->call[i].stage);
    }
    for (int i = 0; i < c->blocks.n; i++) exec_program_free(c->blocks.at[i].program);
    vec_free(&c->blocks);
    base_mem_free(c->call);
    base_mem_free(c);
}

size_t exec_calls_bytes(const Calls *c) { return c ? c->bytes : 0; }

int exec_calls_count(const Calls *c) { return c ? c->blocks.n : 0; }

const Program *exec_calls_at(const Calls *c, int i) { return c->blocks.at[i].program; }

int exec_calls_of(const Calls *c, int step, int out[2])
{
    int n = 0;
    for (int b = 0; b < 2; b++)
        if (c->call[step].block[b] >= 0) out[n++] = c->call[step].block[b];
    return n;
}

static void *arg(const Call *call, int i, void *const *buffers)
{
    return buffers[call->step->args[i]];
}

/* Where result k of the block begins. */
static void *result(const Call *call, int k, void *const *buffers)
{
    int b = call_arg(call, k);
    return b < 0 ? call->own[k] : buffers[b];
}

/* A bool of the program's. */
static int truth(const Calls *c, const void *at, bool *is)
{
    uint8_t byte = 0;
    int code = dev_get(c->where, &byte, at, 1);
    *is = byte != 0;
    return code;
}

/* A node in the hands of the device. */
typedef struct Giving {
    Calls *c;
    Call *call;
    void *const *buffers;
} Giving;

typedef int (*ControlFn)(Device *d, const DevControl *k);

/* 1: the device has no say in this node. */
static int leave_to(const Calls *c, const Call *call, ControlFn slot, const DevControl *k)
{
    bool host = !slot;
    for (int b = 0; b < 2 && call->block[b] >= 0; b++)
        host = host || exec_program_needs_host(c->blocks.at[call->block[b]].program);
    return host ? 1 : slot(c->device, k);
}

static int give_branch(void *arg, int which, int64_t row)
{
    const Giving *g = arg;
    (void)row;
    const Block *block = &g->c->blocks.at[g->call->block[which]];
    return exec_program_call(block->program, g->call->in, g->call->out);
}

/* Both branches where nothing is computed. */
static int run_cond(Calls *c, Call *call, void *const *buffers)
{
    Giving g = {c, call, buffers};
    DevControl k = {.taken = arg(call, 0, buffers), .give = give_branch, .arg = &g};
    for (int i = 0; i < call->c.ncapture; i++) call->in[i] = arg(call, i + 1, buffers);
    for (int n = 0; n < call->c.nout; n++) call->out[n] = result(call, n, buffers);
    int status = leave_to(c, call, c->device->backend->cond, &k);
    if (status <= 0) return status;
    bool taken = false;
    status = c->computes ? truth(c, k.taken, &taken) : SGL_OK;
    int first = c->computes ? !taken : 0, last = c->computes ? !taken : 1;
    for (int b = first; b <= last && status >= 0; b++) status = give_branch(&g, b, 0);
    return status;
}

static char *row_at(void *stacked, int64_t row, size_t bytes)
{
    return (char *)stacked + (size_t)row * bytes;
}

/* One step over position `row`. */
static int run_row(Calls *c, Call *call, int64_t row, void *const *buffers)
{
    const Control *k = &call->c;
    int status = SGL_OK;
    for (int i = 0; i < k->nxs; i++) {
        int at = k->ncarry + i;
        call->in[at] = row_at(arg(call, at, buffers), row, call->slice[i]);
    }
    for (int i = 0; i < k->ncarry && status >= 0; i++) {
        int b = call_arg(call, k->saved + i);
        if (b < 0) continue;
        void *to = row_at(buffers[b], row, call->bytes[i]);
        status = dev_copy(c->where, to, call->in[i], call->bytes[i]);
    }
    for (int i = 0; i < k->ny; i++) {
        int at = k->ncarry + i, b = call_arg(call, at);
        call->out[i] = b < 0 ? call->own[at] : row_at(buffers[b], row, call->bytes[at]);
    }
    if (status < 0) return status;
    return exec_program_call(c->blocks.at[call->block[0]].program, call->in, call->out);
}

static int give_row(void *arg, int which, int64_t row)
{
    const Giving *g = arg;
    const Control *k = &g->call->c;
    (void)which;
    int status = exec_interrupted(g->c->cx, g->call->step->node);
    if (status < 0) return status;
    return run_row(g->c, g->call, k->reverse ? g->call->length - 1 - row : row, g->buffers);
}

/* Zeros where carries of the rows from `done` on would stand. */
static int clear_saved(const Calls *c, const Call *call, int64_t done, void *const *buffers)
{
    const Control *k = &call->c;
    int status = SGL_OK;
    for (int i = 0; i < k->ncarry && status >= 0; i++) {
        int b = call_arg(call, k->saved + i);
        size_t left = (size_t)(call->length - done) * call->bytes[i];
        if (b >= 0) status = dev_zero(c->where, row_at(buffers[b], done, call->bytes[i]), left);
    }
    return status;
}

/* How many rows were done, and zeros behind them. */
static int finish_loop(const Calls *c, Call *call, int64_t done, void *const *buffers)
{
    const int32_t rows = (int32_t)done;
    int count = call_arg(call, call->c.count), status = SGL_OK;
    if (count >= 0) status = dev_put(c->where, buffers[count], &rows, sizeof rows);
    return status < 0 ? status : clear_saved(c, call, done, buffers);
}

/* The rows by the device; 1: it leaves them to us. */
static int leave_rows(Calls *c, Call *call, void *const *buffers)
{
    const Control *k = &call->c;
    const Backend *backend = c->device->backend;
    Giving g = {c, call, buffers};
    DevControl all = {.rows = call->length, .give = give_row, .arg = &g};
    if (k->op == OP_scan) return leave_to(c, call, backend->scan, &all);
    int count = call_arg(call, k->count);
    all.taken = call->in[0];
    all.count = count < 0 ? NULL : buffers[count];
    int status = backend->loop ? clear_saved(c, call, 0, buffers) : SGL_OK;
    return status < 0 ? status : leave_to(c, call, backend->loop, &all);
}

/* Runs the body of a scan or loop once for each step. The carries live in the call's results,
 * where the body, which has them as state, updates them in place. */
static int run_steps(Calls *c, Call *call, void *const *buffers)
{
    const Control *k = &call->c;
    Giving g = {c, call, buffers};
    int64_t done = 0, most = call->length;
    int status = SGL_OK;
    for (int i = 0; i < k->ncarry && status >= 0; i++) {
        call->in[i] = result(call, i, buffers);
        status = dev_copy(c->where, call->in[i], arg(call, i, buffers), call->bytes[i]);
    }
    for (int i = k->ncarry + k->nxs; i < call->step->node->nin; i++)
        call->in[i] = arg(call, i, buffers);
    if (status >= 0) status = leave_rows(c, call, buffers);
    if (status <= 0) return status;
    if (!c->computes && k->op == OP_loop && most > 1) most = 1;
    for (; done < most && status >= 0; done++) {
        bool more = true;
        if (k->op == OP_loop && c->computes) status = truth(c, call->in[0], &more);
        if (status < 0 || !more) break;
        status = give_row(&g, 0, done);
    }
    return status >= 0 && k->op == OP_loop ? finish_loop(c, call, done, buffers) : status;
}

/* The values that a print shows, where the host can read them. */
static int fetch_values(const Calls *c, Call *call, void *const *buffers)
{
    const Node *n = call->step->node;
    int status = SGL_OK;
    for (int i = 1; i < n->nin && status >= 0; i++) {
        void *from = arg(call, i, buffers);
        if (c->where) status = dev_get(c->where, call->in[i - 1], from, bytes_of(c, n->in[i]));
        else call->in[i - 1] = from;
    }
    return status;
}

/* The token behind an effect is the one before it and 1. */
static int count_effect(const Calls *c, const Call *call, void *const *buffers)
{
    int32_t token;
    int status = dev_get(c->where, &token, arg(call, 0, buffers), sizeof token);
    token++;
    return status < 0 ? status
                      : dev_put(c->where, buffers[call_arg(call, 0)], &token, sizeof token);
}

/* Prints or asserts, on the host, then passes the token on. Nothing happens on a backend that
 * computes no values. */
static int run_effect(Calls *c, Call *call, void *const *buffers)
{
    const Node *n = call->step->node;
    const char *text = ir_attr_text(ir_attr_int(n, 0));
    bool holds = true;
    int status = SGL_OK;
    if (!c->computes) return SGL_OK;
    if (n->op == OP_assert) status = truth(c, arg(call, 1, buffers), &holds);
    if (!holds) return base_fail(c->cx, SGL_EASSERT, "%s", text);
    if (n->op == OP_print) {
        status = fetch_values(c, call, buffers);
        if (status >= 0) status = exec_print(c->cx, n, text, call->in);
    }
    return status < 0 ? status : count_effect(c, call, buffers);
}

/* Ranks meet in the host's memory: values of a device go there and back. Nothing happens on a
 * backend that computes no values. */
static int run_collective(const Calls *c, const Call *call, void *const *buffers)
{
    const Node *n = call->step->node;
    if (!c->computes) return SGL_OK;
    void *in = arg(call, 0, buffers), *out = buffers[call_arg(call, 0)];
    if (!c->where) return exec_collective_run(n, in, out);
    char *result = (char *)call->stage + base_mem_align(bytes_of(c, n->in[0]));
    int status = dev_get(c->where, call->stage, in, bytes_of(c, n->in[0]));
    if (status >= 0) status = exec_collective_run(n, call->stage, result);
    return status < 0 ? status : dev_put(c->where, out, result, bytes_of(c, n));
}

int exec_calls_run(Calls *c, int step, void *const *buffers)
{
    Call *call = &c->call[step];
    if (exec_is_collective(call->step->node)) return run_collective(c, call, buffers);
    if (!ir_is_control(call->step->node)) return run_effect(c, call, buffers);
    return call->c.op == OP_cond ? run_cond(c, call, buffers) : run_steps(c, call, buffers);
}
