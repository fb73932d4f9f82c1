/* program.c: compiling a graph to steps, and running them.
 *
 * In:   a static graph; for a run the storages of its inputs.
 * Out:  a program; for a run the storages of the outputs.
 * Holds: a run allocates only outputs, and those only while the caller still holds the ones of the
 *        run before, and the shared workspace where that is too small by now. Assigns that are not
 *        in place are copied after the last step, all from the values before any of these copies.
 */
#include <string.h>
#include "base/clock.h"
#include "exec/flight.h"
#include "exec/program_type.h"
#include "exec/context.h"
#include "exec/report.h"
#include "exec/stored.h"
#include "exec/workspace.h"
#include "ir/control.h"
#include "ir/result.h"

int exec_print_set(Ctx *cx, ExecPrint print)
{
    ExecContext *slot = exec_context(cx);
    if (!slot) return SGL_ENOMEM;
    slot->print = print;
    return SGL_OK;
}

int exec_print(Ctx *cx, const Node *n, const char *text, void *const *values)
{
    const ExecContext *slot = cx->slot[CTX_EXEC];
    if (!slot || !slot->print.fn) return SGL_OK;
    return slot->print.fn(slot->print.arg, n, text, values);
}

static ExecHooks hooks_of(const Ctx *cx)
{
    const ExecContext *slot = cx->slot[CTX_EXEC];
    return slot ? slot->hooks : (ExecHooks){0};
}

static int out_of_memory(Program *p)
{
    return base_fail(p->cx, SGL_ENOMEM, "no memory for a program of %d steps", p->steps.n);
}

static int add_copy(Program *p, int from, int to, const Node *n)
{
    const Schedule *s = p->schedule;
    Num bytes = ir_num_mul(p->cx, pass_count(n), (Num)DTYPES[n->dtype].bytes);
    if (from == to || pass_is_empty(s->sizes, n)) return SGL_OK;
    int *args = base_arena_alloc(&p->arena, 2 * sizeof *args);
    if (!args) return out_of_memory(p);
    args[0] = from, args[1] = to;
    Step copy = {.kind = STEP_COPY, .nargs = 2, .args = args, .bytes = bytes, .node = n};
    size_t now = (size_t)pass_size_guess(s->sizes, bytes);
    if (s->buffers.at[from].bytes < now || s->buffers.at[to].bytes < now)
        return base_fail(p->cx, SGL_EINTERN, "copy of %zu bytes between smaller buffers", now);
    return vec_push(&p->steps, copy) ? SGL_OK : out_of_memory(p);
}

/* Where the copies find the value of node n: buffers that save an old state come first. */
static int source_of(const Schedule *s, const Node *n)
{
    int b = s->buffer_of[n->id];
    for (int i = s->graph->inputs.n + s->graph->outputs.n; i < s->buffers.n; i++)
        if (s->buffers.at[i].node == s->buffers.at[b].node && s->buffers.at[b].place == BUF_INPUT &&
            s->buffers.at[i].place == BUF_ARENA)
            return i;
    return b;
}

/* Outputs that live elsewhere, old states to save, assigns not in place: in this order. */
static int add_copies(Program *p)
{
    const Schedule *s = p->schedule;
    const Graph *g = s->graph;
    int code = SGL_OK;
    for (int k = 0; k < g->outputs.n && code == SGL_OK; k++) {
        const Node *n = g->outputs.at[k].node;
        code = add_copy(p, s->buffer_of[n->id], g->inputs.n + k, n);
    }
    for (int b = g->inputs.n + g->outputs.n; b < s->buffers.n && code == SGL_OK; b++) {
        const Node *n = s->buffers.at[b].node;
        if (n->op == OP_input) code = add_copy(p, s->buffer_of[n->id], b, n);
    }
    for (int a = 0; a < g->assigns.n && code == SGL_OK; a++) {
        const GraphAssign *assign = &g->assigns.at[a];
        if (!s->in_place[a])
            code = add_copy(p, source_of(s, assign->value), assign->input, assign->value);
    }
    return code;
}

/* The steps of all groups in their order, with waits for what was started beside them; equal
 * kernels become one at the end. */
static int lower(Program *p)
{
    const Schedule *s = p->schedule;
    int code = SGL_OK;
    for (int i = 0; i < s->groups.n && code == SGL_OK; i++) {
        int first = p->steps.n;
        code = exec_flight_wait(s, i, &p->steps);
        if (code == SGL_OK) code = exec_flight_begin(s, i, &p->steps);
        if (code == SGL_OK) code = kern_lower(s, i, &p->arena, &p->steps);
        if (code == SGL_OK) code = exec_flight_end(s, i, first, &p->steps);
        if (code == SGL_OK) exec_report_group(p, i, first);
    }
    if (code == SGL_OK) code = exec_flight_wait(s, s->groups.n, &p->steps);
    if (code == SGL_ENOMEM) code = out_of_memory(p);
    if (code == SGL_OK) code = add_copies(p);
    return code == SGL_OK ? kern_dedupe(p->cx, &p->steps, &p->info.bodies) : code;
}

static int allocate(Program *p)
{
    const Schedule *s = p->schedule;
    p->buffers = base_mem_zero((size_t)s->buffers.n + 1, sizeof *p->buffers);
    p->kept = base_mem_zero((size_t)s->graph->outputs.n + 1, sizeof(Storage *));
    return p->buffers && p->kept ? SGL_OK : out_of_memory(p);
}

/* Bytes that a loop keeps for its gradient: what is stacked of each of its `max` steps. */
static int64_t kept_bytes(const Node *n)
{
    const Node *by = ir_result_of(n);
    if (n == by || by->op != OP_loop || n->attr[0] < ir_control(by).saved) return 0;
    int64_t count = ir_count(n);
    return count < 0 ? 0 : count * (int64_t)DTYPES[n->dtype].bytes;
}

/* Where memory ran out and a loop keeps its steps: that one, and what to do. */
static int blame_loop(const Program *p)
{
    const Graph *g = p->schedule->graph;
    const Node *most = NULL;
    for (int i = 0; i < g->nodes.n; i++)
        if (kept_bytes(g->nodes.at[i]) > (most ? kept_bytes(most) : 0)) most = g->nodes.at[i];
    if (!most) return SGL_ENOMEM;
    SrcPos at = base_src_pos(p->cx, most->src);
    base_err_hint(&p->cx->err,
                  "the gradient of the loop at %s:%d keeps each of `max` = %lld steps: give a "
                  "smaller max",
                  at.file, at.line, (long long)ir_control(ir_result_of(most)).length);
    return SGL_ENOMEM;
}

/* Takes the workspace: the arena, behind it what the backend needs. exec_workspace_give ends it. */
static int enter(Program *p)
{
    const Schedule *s = p->schedule;
    const Backend *backend = p->device->backend;
    size_t own = backend->workspace ? backend->workspace(p->device, p->state) : 0;
    if (own == SIZE_MAX) return p->cx->err.code;
    p->needs = s->arena_bytes + own;
    char *at = exec_workspace_take(p->device, p->needs);
    if (!at) return blame_loop(p);
    if (at == p->memory) return SGL_OK;
    p->memory = at;
    for (int b = 0; b < s->buffers.n; b++)
        if (s->buffers.at[b].place == BUF_ARENA) p->buffers[b] = at + s->buffers.at[b].offset;
    if (backend->place) backend->place(p->state, at + s->arena_bytes);
    return SGL_OK;
}

/* Peak memory of a run, with that of blocks. */
static void count_arena(Program *p)
{
    p->info.arena_bytes = p->schedule->arena_bytes + exec_calls_bytes(p->calls);
    for (int i = 0; i < exec_calls_count(p->calls); i++)
        p->info.arena_bytes += exec_program_info(exec_calls_at(p->calls, i))->arena_bytes;
}

/* Adds what the programs of blocks hold and do, so that the figures are those of the whole. */
static void count_blocks(Program *p)
{
    ProgramInfo *info = &p->info;
    info->bytes += exec_calls_bytes(p->calls);
    for (int i = 0; i < exec_calls_count(p->calls); i++) {
        const ProgramInfo *block = exec_program_info(exec_calls_at(p->calls, i));
        info->nodes += block->nodes;
        info->groups += block->groups;
        info->kernels += block->kernels;
        info->bodies += block->bodies;
        info->steps += block->steps;
        info->dots += block->dots;
        info->ops += block->ops;
        info->fused += block->fused;
        info->bytes += block->bytes;
        info->blocks += block->blocks + 1;
    }
}

/* Figures of a program, taken once when it is made. */
static void count(Program *p, double start)
{
    const Schedule *s = p->schedule;
    ProgramInfo *info = &p->info;
    for (int i = 0; i < s->graph->nodes.n; i++) info->nodes += s->group_of[i] >= 0;
    exec_fusion_count(s, &info->ops, &info->fused);
    for (int i = 0; i < s->groups.n; i++) info->groups += s->groups.at[i].kind != GROUP_ALIAS;
    for (int i = 0; i < p->steps.n; i++) {
        info->kernels += p->steps.at[i].kind == STEP_KERNEL;
        info->dots += p->steps.at[i].kind == STEP_DOT;
        p->fails |= STEPS[p->steps.at[i].kind].fails;
    }
    info->steps = p->steps.n;
    count_arena(p);
    info->bytes = sizeof *p + p->arena.bytes + s->graph->arena.bytes +
                  (size_t)p->steps.cap * sizeof *p->steps.at;
    count_blocks(p);
    info->compile_seconds = base_clock() - start;
}

/* By the passes, or from the disk what they gave before; `key` is then this graph's. Takes g. */
static Schedule *schedule(Graph *g, const char *text, const SizeValues *values, ProgramInfo *info,
                          Str *key)
{
    ExecHooks hooks = hooks_of(g->cx);
    bool wanted = !values && exec_stored_wanted(g) && exec_stored_key(g, text, key);
    Schedule *s = wanted ? exec_stored_load(g, key, &hooks, &info->passes) : NULL;
    info->cache = s ? "disk" : "none";
    if (s || !wanted) base_str_free(key);
    return s ? s : pass_run(g, values, NULL, &info->passes, hooks.pass, hooks.arg);
}

/* The backend's part, and the blocks. The workspace is taken here, so that a job that does not fit
 * into memory is refused before it runs; blocks take theirs one depth below. */
static int prepare(Program *p)
{
    const Backend *b = p->device->backend;
    int code = b->prepare ? b->prepare(p->device, &p->steps, &p->state) : SGL_OK;
    if (code >= 0) code = enter(p);
    if (code < 0) return code;
    code = exec_calls_make(p->device, &p->steps, p->schedule->sizes, &p->calls);
    exec_workspace_give(p->device);
    return code;
}

/* The numbers that depend on sizes become those of the sizes at hand. */
static int fill(Program *p)
{
    if (p->cx->err.code) return p->cx->err.code; /* a Num failed on the way */
    int code = exec_sizes_find(p->cx, &p->steps, &p->sizes);
    if (code >= 0) exec_sizes_fill(&p->sizes, p->schedule->sizes, true);
    p->sized = true;
    return code;
}

Program *exec_compile_part(Graph *g, const char *text, const SizeValues *values)
{
    double start = base_clock();
    Ctx *cx = g->cx;
    Str key = {0};
    Program *p = NULL;
    Device *device = exec_device(cx, exec_backend_chosen(cx));
    if (device && !(p = base_mem_zero(1, sizeof *p)))
        base_fail(cx, SGL_ENOMEM, "no memory for a program");
    if (!p) {
        ir_graph_free(g);
        return NULL;
    }
    p->cx = cx;
    p->device = device;
    p->where = dev_memory(device);
    cx->streams = device->backend->streams;
    p->schedule = schedule(g, text, values, &p->info, &key);
    if (!p->schedule || lower(p) < 0 || fill(p) < 0 || allocate(p) < 0 || prepare(p) < 0) {
        exec_program_free(p);
        p = NULL;
    }
    if (p && key.n) exec_stored_store(p->schedule, &key);
    base_str_free(&key);
    if (p) count(p, start);
    return p;
}

static void has_compiled(Ctx *cx, int backend)
{
    if (exec_lifecycle_state(cx, backend) != BACKEND_COMPILED)
        exec_lifecycle_move(cx, backend, BACKEND_COMPILED);
}

Program *exec_compile(Graph *g, const char *text, const SizeValues *values)
{
    if (!g) return NULL;
    Ctx *cx = g->cx;
    int backend = exec_backend_chosen(cx);
    if (exec_lifecycle_ready(cx, backend) < 0) {
        ir_graph_free(g);
        return NULL;
    }
    ir_dim_budget(cx, DIM_STEPS_COMPILE);
    ObsSpan span = obs_span_begin(cx);
    obs_event(cx, OBS_compile_start, -1, OBS_TEXT("backend", exec_backend(cx)->name),
              OBS_INT("nodes", g->nodes.n));
    Program *p = exec_compile_part(g, text, values);
    ir_dim_budget(cx, DIM_STEPS);
    exec_report_compile(cx, p, false, obs_span_ms(&span));
    if (p) has_compiled(cx, backend);
    obs_span_end(cx, &span);
    return p;
}

void exec_compile_found(Program *p, double ms)
{
    exec_report_compile(p->cx, p, true, ms);
    has_compiled(p->cx, exec_backend_chosen(p->cx));
}

void exec_program_free(Program *p)
{
    if (!p) return;
    dev_drain(p->device);
    exec_workspace_trim(p->device, p->needs);
    if (p->device->backend->release && p->state) p->device->backend->release(p->state);
    exec_calls_free(p->calls);
    if (p->kept)
        for (int k = 0; k < p->schedule->graph->outputs.n; k++) dev_storage_unref(p->kept[k]);
    base_mem_free(p->kept);
    base_mem_free(p->buffers);
    vec_free(&p->steps);
    exec_sizes_free(&p->sizes);
    base_arena_free(&p->arena);
    pass_schedule_free(p->schedule);
    base_mem_free(p);
}

const ProgramInfo *exec_program_info(const Program *p) { return &p->info; }

const Graph *exec_program_graph(const Program *p) { return p->schedule->graph; }

Graph *exec_program_take_source(Program *p)
{
    Graph **link = &p->schedule->graph->from, *source;
    while (*link && (*link)->from) link = &(*link)->from;
    source = *link;
    *link = NULL;
    return source;
}

bool exec_program_fits(const Program *p, const SizeValues *values)
{
    return pass_sizes_fit(p->schedule->sizes, values) && exec_calls_fit(p->calls, values);
}

/* Numbers in the steps, offsets in the arena, then what backend and blocks make of them. */
static int resize(Program *p)
{
    const Backend *b = p->device->backend;
    int code = SGL_OK;
    dev_drain(p->device);
    exec_sizes_fill(&p->sizes, p->schedule->sizes, !p->sized);
    pass_plan_sizes(p->schedule);
    p->memory = NULL;
    if (code >= 0 && b->resize) code = b->resize(p->device, &p->steps, p->sizes.moved, p->state);
    if (code >= 0 && !b->resize && b->prepare) {
        if (b->release && p->state) b->release(p->state);
        p->state = NULL;
        code = b->prepare(p->device, &p->steps, &p->state);
    }
    if (code >= 0) code = exec_calls_resize(p->calls);
    count_arena(p);
    return code;
}

int exec_program_resize(Program *p, const SizeValues *values)
{
    if (!pass_sizes_set(p->schedule->sizes, values) && p->sized) return SGL_OK;
    int code = resize(p);
    p->sized = code >= 0;
    return code;
}

/* The dims of n for the sizes at hand. */
static void dims_now(const Program *p, const Node *n, Dim *dims)
{
    for (int i = 0; i < n->rank; i++)
        dims[i] = pass_size_guess(p->schedule->sizes, ir_num_of(n->dims[i]));
}

static bool same_dims(const Program *p, const Storage *s, const Node *n)
{
    Dim dims[OP_MAX_RANK];
    bool same = s->rank == n->rank;
    dims_now(p, n, dims);
    for (int i = 0; same && i < s->rank; i++) same = s->dims[i] == dims[i];
    return same;
}

static void storage_text(const Storage *s, Str *out)
{
    base_str_fmt(out, "%s[", DTYPES[s->dtype].name);
    for (int i = 0; i < s->rank; i++)
        base_str_fmt(out, "%s%lld", i ? ", " : "", (long long)s->dims[i]);
    base_str_put(out, "]");
}

/* Does a storage fit the input? The error says which input and both types. */
static int check_input(const Program *p, int i, const Storage *s)
{
    const GraphInput *in = &exec_program_graph(p)->inputs.at[i];
    const char *name = in->name ? in->name : "";
    if (!s) return base_fail(p->cx, SGL_EARG, "input %d '%s' is missing", i + 1, name);
    if (s->dtype == in->node->dtype && same_dims(p, s, in->node)) return SGL_OK;

    int code = s->dtype != in->node->dtype ? SGL_EDTYPE : SGL_ESHAPE;
    Str want = {0}, got = {0};
    ir_type_text(in->node, &want);
    storage_text(s, &got);
    if (want.failed || got.failed)
        base_fail(p->cx, code, "input %d '%s' does not fit the program", i + 1, name);
    else
        base_fail(p->cx, code, "input %d '%s' is %s, the program was compiled for %s", i + 1, name,
                  got.at, want.at);
    base_str_free(&want);
    base_str_free(&got);
    return code;
}

/* Makes sure p->kept[k] is a storage that only the program holds: the one of the run before, unless
 * a caller still has it. */
static int take_output(Program *p, int k)
{
    const Node *n = exec_program_graph(p)->outputs.at[k].node;
    Dim dims[OP_MAX_RANK];
    if (p->kept[k] && p->kept[k]->refs == 1 && same_dims(p, p->kept[k], n)) return SGL_OK;
    dims_now(p, n, dims);
    dev_storage_unref(p->kept[k]);
    Storage *s = p->kept[k] = dev_storage_new_on(p->where, p->cx, (Dtype)n->dtype, n->rank, dims);
    if (!s) return SGL_ENOMEM;
    return p->device->backend->computes ? SGL_OK : dev_storage_zero(s);
}

/* Buffer b is the storage, which comes to where the program runs. */
static int bind_at(Program *p, int b, Storage *s, bool writes)
{
    p->buffers[b] = dev_storage_use(s, p->where, writes);
    return p->buffers[b] ? SGL_OK : p->cx->err.code;
}

/* Sets the addresses of a run: inputs, states, which are bound again for writing where they are
 * assigned, and outputs. */
static int bind(Program *p, Storage *const *in)
{
    const Graph *g = exec_program_graph(p);
    int code = SGL_OK;
    for (int i = 0; i < g->inputs.n && code == SGL_OK; i++) {
        code = check_input(p, i, in[i]);
        if (code == SGL_OK) code = bind_at(p, i, in[i], false);
    }
    for (int a = 0; p->where && a < g->assigns.n && code == SGL_OK; a++)
        code = bind_at(p, g->assigns.at[a].input, in[g->assigns.at[a].input], true);
    for (int k = 0; k < g->outputs.n && code == SGL_OK; k++) {
        code = take_output(p, k);
        if (code == SGL_OK) code = bind_at(p, g->inputs.n + k, p->kept[k], true);
    }
    return code;
}

int exec_interrupted(Ctx *cx, const Node *n)
{
    if (!cx->interrupted) return SGL_OK;
    cx->interrupted = 0;
    base_fail(cx, SGL_EINTR, "interrupted at %s: the step did not end, so its state may be torn",
              n ? ir_op(n)->name : "a copy");
    dev_blame(cx, n);
    return SGL_EINTR;
}

typedef struct Watched {
    Program *p;
    DevRun run;
    ExecHooks hooks;
    bool told; /* somebody wants to hear of steps */
} Watched;

static int give_call(Program *p, const Step *step)
{
    return exec_calls_run(p->calls, (int)(step - p->steps.at), p->buffers);
}

static int give_record(Program *p, const Step *step)
{
    return p->device->backend->record(p->device, step->stream, step->event);
}

static int give_wait(Program *p, const Step *step)
{
    return p->device->backend->wait(p->device, step->stream, step->event);
}

/* An error inside a block has its position already. */
static int give_step(const Watched *w, int i)
{
    static int (*const OWN[STEP_KINDS])(Program * p, const Step *step) = {
        [STEP_CALL] = give_call,
        [STEP_RECORD] = give_record,
        [STEP_WAIT] = give_wait,
    };
    Program *p = w->p;
    const Step *step = &p->steps.at[i];
    if (exec_interrupted(p->cx, step->node) < 0) return SGL_EINTR;
    int code = OWN[step->kind] ? OWN[step->kind](p, step)
                               : p->device->backend->run(p->device, p->state, &w->run, i);
    if (code < 0) dev_blame(p->cx, step->node);
    return code;
}

static int run_step(void *arg, int i)
{
    const Watched *w = arg;
    bool tell = w->told && obs_sample(w->p->cx, OBS_step_end);
    double start = w->hooks.step || tell ? base_clock() : 0;
    int code = give_step(w, i);
    if (w->hooks.step && code >= 0) w->hooks.step(w->hooks.arg, w->p, i, base_clock() - start);
    if (tell) exec_report_step(w->p, i, base_clock() - start);
    return code;
}

/* All steps, in the backend's way or one after the other. When something failed, everything is
 * waited for: nothing then uses what the caller may free. */
static int run_all(Program *p)
{
    const Backend *backend = p->device->backend;
    Watched w = {.p = p, .hooks = hooks_of(p->cx), .told = obs_wanted(p->cx, OBS_step_end)};
    int code = SGL_OK;
    w.run = (DevRun){&p->steps, p->schedule, p->buffers, run_step, &w};
    if (backend->run_program) code = backend->run_program(p->device, p->state, &w.run);
    else
        for (int i = 0; i < p->steps.n && code >= 0; i++) code = run_step(&w, i);
    if (code < 0) dev_drain(p->device);
    return code;
}

static int run_steps(Program *p)
{
    int code = enter(p);
    if (code < 0) return code;
    code = run_all(p);
    exec_workspace_give(p->device);
    return code;
}

int exec_run(Program *p, Storage *const *in, Storage **out)
{
    bool told = obs_sample(p->cx, OBS_run_end), watched = told || obs_wanted(p->cx, OBS_step_end);
    ObsSpan span = {0};
    if (watched) span = obs_span_begin(p->cx);
    int code = bind(p, in);
    if (code >= 0) code = run_steps(p);
    if (code >= 0 && p->fails) code = dev_sync(p->device);
    for (int k = 0; k < exec_program_graph(p)->outputs.n && code >= 0; k++)
        out[k] = dev_storage_ref(p->kept[k]);
    if (told && code >= 0) exec_report_run(p, obs_span_ms(&span));
    if (watched) obs_span_end(p->cx, &span);
    return code < 0 ? code : SGL_OK;
}

bool exec_program_needs_host(const Program *p)
{
    for (int i = 0; i < p->steps.n; i++)
        if (p->steps.at[i].kind == STEP_CALL && !ir_is_control(p->steps.at[i].node)) return true;
    for (int i = 0; i < exec_calls_count(p->calls); i++)
        if (exec_program_needs_host(exec_calls_at(p->calls, i))) return true;
    return false;
}

int exec_program_call(Program *p, void *const *in, void *const *out)
{
    const Graph *g = exec_program_graph(p);
    for (int i = 0; i < g->inputs.n; i++) p->buffers[i] = in[i];
    for (int k = 0; k < g->outputs.n; k++) p->buffers[g->inputs.n + k] = out[k];
    return run_steps(p);
}
