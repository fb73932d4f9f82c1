/* pending.c: the recorder outside steps: operations wait in one trace until a value is read.
 *
 * Bounds: PENDING_NODES nodes not run are run; a trace is compacted when it doubled and weighs
 *         over its limit, and run when WAITING_NODES of it then wait; what then still has
 *         HISTORY_NODES nodes, or HISTORY_BYTES of values that nothing else holds, is cut: all its
 *         tensors become leaves, but for those that cannot run. All this waits a while for a good
 *         moment.
 */
#include "tensor/break.h"
#include "tensor/gradient.h"
#include "tensor/rng.h"
#include "tensor/room.h"

enum { PENDING_NODES = 4096, WAITING_NODES = 512, HISTORY_NODES = 1 << 18, GARBAGE_NODES = 8192 };
static const int64_t HISTORY_BYTES = INT64_C(1) << 31;

/* ---- the trace and its bounds */

void tensor_pending_drop(Host *h)
{
    Recorder *r = &room_of(h)->pending;
    if (!r->trace) return;
    tensor_trace_end(r->trace);
    base_mem_free(r->trace);
    r->trace = NULL;
}

void tensor_pending_idle(Host *h)
{
    const Trace *tr = room_of(h)->pending.trace;
    if (tr && !tr->pins && tr->handles.next == &tr->handles) tensor_pending_drop(h);
}

/* A new trace takes the place of the old one only when all was moved; without `history` what has a
 * value is where gradients end. */
static void compact(Host *h, bool history)
{
    TensorRoom *room = room_of(h);
    Recorder *r = &room->pending;
    tensor_job_free(room->job); /* scratch as long as the trace was */
    room->job = NULL;
    if (!r->trace || r->trace->pins) return;
    Trace *new = base_mem_zero(1, sizeof *new);
    bool moved =
        new &&tensor_trace_init(new, h->cx) == SGL_OK &&tensor_trace_move(r->trace, new, history);
    base_err_clear(&h->cx->err);
    if (moved) {
        tensor_pending_drop(h);
        r->trace = new;
    } else if (new) {
        tensor_trace_end(new);
        base_mem_free(new);
    }
}

void tensor_pending_compact(Host *h) { compact(h, true); }

static bool is_final(int status) { return status == SGL_ENOMEM || status == SGL_EINTR; }

/* Each by itself: what fails, such as a position outside, is nobody's error until it is read. How
 * many there are, or the error that is no one's. */
static int realize_each(Host *h, int n, Tensor *const *list)
{
    int failed = 0;
    for (int i = 0; i < n; i++) {
        int status = tensor_realize(h, 1, &list[i]);
        if (is_final(status)) return status;
        failed += status < 0;
        base_err_clear(&h->cx->err);
    }
    return failed;
}

/* Runs all that waits. How many of the handles stay without a value, or a negative status. */
static int realize_all(Host *h, Trace *tr)
{
    VEC(Tensor *) all = {0};
    int status = SGL_OK;
    for (Tensor *t = tr->handles.next; t != &tr->handles && status == SGL_OK; t = t->next)
        if (!vec_push(&all, t)) status = base_fail(h->cx, SGL_ENOMEM, "out of memory");
    if (status == SGL_OK) status = tensor_realize(h, all.n, all.at);
    if (status < 0 && !is_final(status)) {
        base_err_clear(&h->cx->err);
        status = realize_each(h, all.n, all.at);
        tr->fresh = tr->graph->nodes.n;
    }
    vec_free(&all);
    return status;
}

/* All tensors of the trace become leaves. Those that fail to run have no value: they stay, over the
 * values that they would read. */
static int cut(Host *h, Trace *tr)
{
    int failing = realize_all(h, tr);
    if (failing < 0) return failing;
    for (Tensor *t = tr->handles.next, *next; t != &tr->handles; t = next) {
        next = t->next;
        if (!t->storage) continue;
        t->cut = !t->leaf;
        tensor_detach(t);
    }
    room_of(h)->last_cut = tensor_id();
    if (failing) compact(h, false);
    else tensor_pending_drop(h);
    return SGL_OK;
}

/* Where there is no memory to find the tensors that are gone, none are forgotten. */
static void prune(Host *h, Trace *tr)
{
    Map live = {0};
    bool known = tensor_ids(h, &live);
    tensor_trace_prune(tr, known ? &live : NULL);
    base_map_free(&live);
}

/* The lines and ops of the last nodes, and the line that is about to record one. */
static uint64_t seam_here(lua_State *L, Host *h, const Graph *g, bool *within)
{
    enum { LAST = 16 };
    Src next = bind_src(L, h, NULL), last = 0;
    uint64_t hash = base_hash(0, &next, sizeof next);
    for (int i = g->nodes.n > LAST ? g->nodes.n - LAST : 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        uint64_t word = (uint64_t)n->src << 16 | n->op;
        hash = base_hash(hash, &word, sizeof word);
        last = n->src;
    }
    *within = base_src_pos(h->cx, last).line == base_src_pos(h->cx, next).line;
    return hash | 1;
}

/* Whether what waits is to be run: it is much, and the user's loop is where it was when it was run
 * before. Parts that begin and end at one place are one program; were they cut where the count is
 * reached, there would be one for each place, and for a loop that reads nothing ever new ones. A
 * place is best between two lines. A loop that does not come back there gets another. */
static bool is_due(lua_State *L, Host *h, const Trace *tr)
{
    int waiting = tr->graph->nodes.n - tr->fresh;
    if (waiting <= PENDING_NODES) return false;
    uint64_t *seam = &room_of(h)->seam;
    bool within, patient = waiting <= 2 * PENDING_NODES;
    uint64_t here = seam_here(L, h, tr->graph, &within);
    if (here != *seam && patient && (*seam || within)) return false;
    *seam = here;
    return true;
}

/* Whether the trace is to be compacted: it is long, and nothing waits, so that the parts that run
 * stay the same. */
static bool is_heavy(const Trace *tr)
{
    int64_t weight = tensor_trace_weight(tr);
    return weight >= tr->limit && (tr->graph->nodes.n == tr->fresh || weight >= 2 * tr->limit);
}

/* Keeps the trace inside its bounds. Unreachable handles count until Lua collects them, so it
 * collects before many are run. */
static int tidy(lua_State *L, Recorder *r)
{
    Host *h = r->host;
    if (is_due(L, h, r->trace)) {
        lua_gc(L, LUA_GCCOLLECT);
        tensor_pending_idle(h);
        int status = r->trace ? realize_all(h, r->trace) : SGL_OK;
        if (status < 0) return status;
    }
    /* Each run looks at all handles without a value, those that nobody can reach too. */
    if (r->trace && r->trace->graph->nodes.n - r->trace->swept > GARBAGE_NODES) {
        r->trace->swept = r->trace->graph->nodes.n;
        lua_gc(L, LUA_GCCOLLECT);
    }
    if (r->trace && r->trace->behind > r->trace->most_behind) {
        lua_gc(L, LUA_GCCOLLECT);
        if (r->trace) prune(h, r->trace);
    }
    if (!r->trace || !is_heavy(r->trace)) return SGL_OK;
    tensor_pending_compact(h);
    Trace *tr = r->trace;
    /* Sums that go on beside what is read would wait, and grow, for ever. */
    if (tr->waiting > WAITING_NODES && realize_all(h, tr) < 0) return h->cx->err.code;
    bool long_history = tr->graph->nodes.n > HISTORY_NODES || tr->held > HISTORY_BYTES;
    return long_history ? cut(h, tr) : SGL_OK;
}

/* The one place in which the trace may be another afterwards: no node is held across it. */
static int ready(lua_State *L, Recorder *r)
{
    Host *h = r->host;
    tensor_pending_idle(h);
    if (r->trace && !r->trace->pins && tidy(L, r) < 0) return h->cx->err.code;
    if (r->trace) return SGL_OK;
    Trace *tr = base_mem_zero(1, sizeof *tr);
    if (!tr) return base_no_memory(h->cx, "a graph");
    if (tensor_trace_init(tr, h->cx) < 0) {
        base_mem_free(tr);
        return h->cx->err.code;
    }
    r->trace = tr;
    return SGL_OK;
}

/* ---- recording */

static Node *node(lua_State *L, Recorder *r, int arg, Tensor *t)
{
    (void)L, (void)arg;
    return t->trace ? t->node : tensor_trace_leaf(r->trace, t);
}

/* A leaf whose value is known has no node; any other stays on the node, with its history. */
static int assign(lua_State *L, Recorder *r, int arg, Tensor *t, Node *value, bool leaf)
{
    (void)L, (void)arg;
    Storage *known = leaf ? tensor_trace_value(r->trace, value) : NULL;
    if (known) {
        tensor_set(t, dev_storage_ref(known));
        return SGL_OK;
    }
    bool waits = t->trace && !t->storage;
    if (waits && tensor_trace_replace(r->trace, t->node) < 0) return r->host->cx->err.code;
    tensor_bind(t, r->trace, value);
    t->id = tensor_id();
    t->leaf = leaf;
    t->cut = false;
    return SGL_OK;
}

Storage *tensor_pending_read(lua_State *L, Host *h, Tensor *t, const char *what)
{
    if (t->storage) return t->storage;
    tensor_break_note(L, h, t, what);
    base_err_clear(&h->cx->err);
    if (tensor_realize(h, 1, &t) < 0) bind_throw(L, h);
    tensor_hint_memory(L, h);
    return t->storage;
}

static Storage *read(lua_State *L, Recorder *r, int arg, Tensor *t, const char *what)
{
    (void)arg;
    return tensor_pending_read(L, r->host, t, what);
}

/* A new leaf with a state of its own. */
static Node *draw(Recorder *r, int *number)
{
    Storage *s = tensor_rng_next(r->host, 1);
    Node *n = s ? ir_input(r->trace->graph, INPUT_STATE, NULL, DT_i64, 1, s->dims) : NULL;
    if (n && tensor_trace_store(r->trace, n, s) < 0) n = NULL;
    dev_storage_unref(s);
    *number = 0;
    return n;
}

static bool made(const Recorder *r, const Tensor *t) { return (void)r, (void)t, true; }

/* Outside steps a number is a number of Lua, which was checked as such. */
static void require(lua_State *L, Recorder *r, int arg, Node *n, int fits, const NumberCheck *must)
{
    (void)L, (void)r, (void)arg, (void)n, (void)fits, (void)must;
}

static Recorder *grad_home(lua_State *L, Recorder *r) { return (void)L, r; }

static Node *grad_before(const Recorder *home, const Node *n, Node **set)
{
    return (void)home, (void)n, (void)set, NULL;
}

/* ---- breaks: outside steps they are errors like others */

static void break_begin(lua_State *L, Recorder *r) { (void)L, (void)r; }
static void break_end(lua_State *L, Recorder *r) { (void)L, (void)r; }

static void break_path(lua_State *L, Recorder *r, int row, const Node *to)
{
    (void)L, (void)r, (void)row, (void)to;
}

static const RecorderOps OPERATIONS = {
    .ready = ready,
    .node = node,
    .assign = assign,
    .read = read,
    .draw = draw,
    .made = made,
    .require = require,
    .grad_home = grad_home,
    .grad_before = grad_before,
    .grad_check = tensor_grad_check,
    .break_begin = break_begin,
    .break_end = break_end,
    .break_path = break_path,
};

void tensor_pending_open(Host *h)
{
    TensorRoom *room = room_of(h);
    if (room->recorder) return;
    room->pending = (Recorder){.ops = &OPERATIONS, .host = h};
    room->recorder = &room->pending;
}
