/* trace.c: the trace that operations outside captures are recorded in.
 *
 * Holds: a value beside a node is the node's value for good: leaves in a trace are never updated
 *        in place, because the trace's reference makes their storage a shared one.
 * Bounds: PENDING_NODES nodes not run are run; a trace is compacted when it doubled and weighs
 *         over LIMIT_BYTES; what then still has HISTORY_NODES nodes, or HISTORY_BYTES of values
 *         that nothing else holds, is cut: all its tensors become leaves.
 */
#include "capture/capture.h"
#include "tensor/origin.h"
#include "tensor/trace.h"
#include "tensor/walk.h"

enum { PENDING_NODES = 4096, HISTORY_NODES = 1 << 18, NODE_WEIGHT = 4096, LIMIT_BYTES = 1 << 25 };
static const int64_t HISTORY_BYTES = INT64_C(1) << 31;
static const size_t LEAST_BEHIND = 1 << 23;

int tensor_trace_init(Trace *tr, Ctx *cx)
{
    *tr = (Trace){.limit = LIMIT_BYTES, .most_behind = LEAST_BEHIND};
    tr->handles.prev = tr->handles.next = &tr->handles;
    tr->graph = ir_graph_new(cx);
    return tr->graph ? SGL_OK : cx->err.code;
}

void tensor_trace_end(Trace *tr)
{
    if (!tr->graph) return;
    while (tr->handles.next != &tr->handles) tensor_detach(tr->handles.next);
    for (int i = 0; i < tr->value.n; i++) dev_storage_unref(tr->value.at[i]);
    vec_free(&tr->value);
    for (int i = 0; i < tr->leaves.n; i++) tensor_origin_unref(tr->leaves.at[i].origin);
    vec_free(&tr->leaves);
    tensor_walk_forget(tr);
    base_map_free(&tr->leaf);
    base_map_free(&tr->past);
    ir_graph_free(tr->graph);
    tr->graph = NULL;
}

void tensor_trace_drop(Host *h)
{
    if (!h->pending) return;
    tensor_trace_end(h->pending);
    base_mem_free(h->pending);
    h->pending = NULL;
}

void tensor_trace_idle(Host *h)
{
    const Trace *tr = h->pending;
    if (tr && !tr->pins && tr->handles.next == &tr->handles) tensor_trace_drop(h);
}

Storage *tensor_trace_value(const Trace *tr, const Node *n)
{
    return (int)n->id < tr->value.n ? tr->value.at[n->id] : NULL;
}

int tensor_trace_store(Trace *tr, const Node *n, Storage *s)
{
    int need = (int)n->id + 1;
    if (!vec_reserve(&tr->value, need))
        return base_fail(tr->graph->cx, SGL_ENOMEM, "out of memory for a value");
    while (tr->value.n < need) tr->value.at[tr->value.n++] = NULL;
    tr->value.at[n->id] = dev_storage_ref(s);
    tr->held += (int64_t)s->bytes;
    return SGL_OK;
}

Node *tensor_trace_past(const Trace *tr, const Tensor *t)
{
    uint64_t id;
    return !t->trace && base_map_get(&tr->past, t->id, &id) ? tr->graph->nodes.at[id] : NULL;
}

static int64_t weight(const Trace *tr)
{
    return tr->held + (int64_t)tr->graph->nodes.n * NODE_WEIGHT;
}

/* Is the value of node id worth keeping? Leaves cannot be computed again; a handle or a pending
 * operation reads the others, or, if none does, only gradients could: they compute it again. */
static bool value_kept(const Trace *tr, int id, const uint8_t *pending)
{
    const Storage *s = tr->value.at[id];
    return s && (s->refs > 1 || pending[id] == COPY_INPUT || !tr->graph->nodes.at[id]->nin);
}

/* Node ids by tensor, as they are in the copy. */
static bool move_nodes(const Map *old, Map *new, Node *const *made)
{
    for (uint32_t i = 0; i < old->cap; i++) {
        const Node *n = old->used[i] ? made[old->slot[i].value] : NULL;
        if (n && !base_map_set(new, old->slot[i].key, n->id)) return false;
    }
    return true;
}

static bool add_leaf(Trace *tr, const Node *input, const Leaf *leaf)
{
    int number = (int)ir_attr_int(input, 0);
    if (!vec_reserve(&tr->leaves, number + 1)) return false;
    while (tr->leaves.n <= number) tr->leaves.at[tr->leaves.n++] = (Leaf){0};
    tr->leaves.at[number] = (Leaf){leaf->id, tensor_origin_ref(leaf->origin), leaf->result};
    tr->origins += leaf->origin != NULL;
    tr->behind += tensor_origin_bytes(leaf->origin);
    return true;
}

static bool move_leaves(const Trace *old, Trace *new, Node *const *made)
{
    for (int i = 0; i < old->leaves.n; i++) {
        const Node *n = made[old->graph->inputs.at[i].node->id];
        if (n && !add_leaf(new, n, &old->leaves.at[i])) return false;
    }
    return true;
}

/* Moves values, leaves and handles of `old` to their nodes in `new`. All memory that is needed
 * was found before the first handle moves. */
static int trace_move(Trace *old, Trace *new, Node *const *made, const uint8_t *pending)
{
    for (int id = 0; id < old->value.n; id++)
        if (made[id] && value_kept(old, id, pending) &&
            tensor_trace_store(new, made[id], old->value.at[id]) < 0)
            return SGL_ENOMEM;
    if (!move_nodes(&old->leaf, &new->leaf, made) || !move_nodes(&old->past, &new->past, made) ||
        !move_leaves(old, new, made))
        return SGL_ENOMEM;
    while (old->handles.next != &old->handles) {
        Tensor *t = old->handles.next;
        tensor_bind(t, new, made[t->node->id]);
    }
    return SGL_OK;
}

/* Bytes that would be free without the trace. */
static int64_t own_bytes(const Trace *tr)
{
    int64_t bytes = 0;
    for (int id = 0; id < tr->value.n; id++)
        if (tr->value.at[id] && tr->value.at[id]->refs == 1)
            bytes += (int64_t)tr->value.at[id]->bytes;
    return bytes;
}

/* Marks what the handles need, and beside it what the pending ones among them will read. */
static void mark_needed(const Trace *tr, uint8_t *needed, uint8_t *pending)
{
    for (const Tensor *t = tr->handles.next; t != &tr->handles; t = t->next) {
        needed[t->node->id] = COPY_NODE;
        if (!t->storage) pending[t->node->id] = COPY_NODE;
    }
    tensor_copy_mark(tr->graph, NULL, needed);
    tensor_copy_mark(tr->graph, tr, pending);
}

void tensor_trace_compact(Host *h)
{
    if (!h->pending || h->pending->pins) return;
    Trace *old = h->pending, *new = base_mem_zero(1, sizeof *new);
    int n = old->graph->nodes.n;
    uint8_t *needed = base_mem_zero(n + 1, 1), *pending = base_mem_zero(n + 1, 1);
    Node **made = base_mem_zero(n + 1, sizeof *made);
    bool moved = false;
    if (new &&needed && pending &&made &&tensor_trace_init(new, h->cx) == SGL_OK) {
        mark_needed(old, needed, pending);
        moved = tensor_copy(old->graph, needed, new->graph, made) == SGL_OK &&
                trace_move(old, new, made, pending) == SGL_OK;
    }
    base_mem_free(needed);
    base_mem_free(pending);
    base_mem_free(made);
    base_err_clear(&h->cx->err);
    if (moved) {
        tensor_trace_drop(h);
        h->pending = new;
        new->fresh = new->graph->nodes.n;
        new->held = own_bytes(new);
    } else if (new) {
        tensor_trace_end(new);
        base_mem_free(new);
    }
    h->pending->limit = 2 * weight(h->pending) + LIMIT_BYTES;
}

static int realise_all(Host *h)
{
    Trace *tr = h->pending;
    VEC(Tensor *) all = {0};
    int status = SGL_OK;
    for (Tensor *t = tr->handles.next; t != &tr->handles && status == SGL_OK; t = t->next)
        if (!vec_push(&all, t)) status = base_fail(h->cx, SGL_ENOMEM, "out of memory");
    if (status == SGL_OK) status = tensor_realize(h, all.n, all.at);
    vec_free(&all);
    return status;
}

static int trace_cut(Host *h)
{
    int status = realise_all(h);
    if (status < 0) return status;
    for (Tensor *t = h->pending->handles.next; t != &h->pending->handles; t = t->next)
        t->cut = !t->leaf;
    h->last_cut = tensor_id();
    tensor_trace_drop(h);
    return SGL_OK;
}

/* The leaves' origins forget tensors that are gone; where there is no memory for that, they do not.
 */
static void prune_leaves(Host *h, Trace *tr)
{
    Map live = {0};
    bool ok = tensor_ids(h, &live);
    tr->behind = 0;
    for (int i = 0; i < tr->leaves.n; i++) {
        Leaf *leaf = &tr->leaves.at[i];
        Origin *less =
            ok && leaf->origin ? tensor_origin_pruned(leaf->origin, leaf->result, &live) : NULL;
        if (less) tensor_origin_unref(leaf->origin);
        if (less) leaf->origin = less;
        tr->behind += tensor_origin_bytes(leaf->origin);
    }
    base_map_free(&live);
    tr->most_behind = 2 * tr->behind + LEAST_BEHIND;
}

/* Keeps the pending trace inside its bounds. Unreachable handles count until Lua collects them,
 * so it collects before many are run. */
static int trace_tidy(lua_State *L, Host *h)
{
    if (h->pending->graph->nodes.n - h->pending->fresh > PENDING_NODES) {
        lua_gc(L, LUA_GCCOLLECT);
        tensor_trace_idle(h);
        int status = h->pending ? realise_all(h) : SGL_OK;
        if (status < 0) return status;
    }
    if (h->pending && h->pending->behind > h->pending->most_behind) {
        lua_gc(L, LUA_GCCOLLECT);
        if (h->pending) prune_leaves(h, h->pending);
    }
    if (!h->pending || weight(h->pending) < h->pending->limit) return SGL_OK;
    tensor_trace_compact(h);
    const Trace *tr = h->pending;
    bool long_history = tr->graph->nodes.n > HISTORY_NODES || tr->held > HISTORY_BYTES;
    return long_history ? trace_cut(h) : SGL_OK;
}

static int trace_ready(lua_State *L, Host *h)
{
    tensor_trace_idle(h);
    if (h->pending && !h->pending->pins && trace_tidy(L, h) < 0) return h->cx->err.code;
    if (h->pending) return SGL_OK;
    Trace *tr = base_mem_zero(1, sizeof *tr);
    if (!tr) return base_fail(h->cx, SGL_ENOMEM, "out of memory for a graph");
    if (tensor_trace_init(tr, h->cx) < 0) {
        base_mem_free(tr);
        return h->cx->err.code;
    }
    h->pending = tr;
    return SGL_OK;
}

Trace *tensor_trace(lua_State *L, Host *h)
{
    bind_interrupt_check(L, h);
    base_err_clear(&h->cx->err);
    if (!h->capture && trace_ready(L, h) < 0) bind_throw(L, h);
    Trace *tr = h->capture ? &h->capture->trace : h->pending;
    tr->graph->src = bind_src(L, h);
    return tr;
}

static Node *leaf_node(Trace *tr, Tensor *t)
{
    uint64_t id;
    if (base_map_get(&tr->leaf, t->id, &id)) return tr->graph->nodes.at[id];
    const Storage *s = t->storage;
    Node *n =
        ir_input(tr->graph, INPUT_STATE, t->cut ? TRACE_CUT : NULL, s->dtype, s->rank, s->dims);
    if (!n || tensor_trace_store(tr, n, t->storage) < 0) return NULL;
    Leaf leaf = {t->id, t->origin, t->result};
    if (add_leaf(tr, n, &leaf) && base_map_set(&tr->leaf, t->id, n->id)) return n;
    base_fail(tr->graph->cx, SGL_ENOMEM, "out of memory for a graph");
    return NULL;
}

Node *tensor_node(lua_State *L, Host *h, int arg, const char *what)
{
    Tensor *t = tensor_or_number(L, h, arg, what);
    Node *n = h->capture ? capture_node(L, h, arg, t)
              : t->trace ? t->node
                         : leaf_node(h->pending, t);
    if (!n) bind_throw(L, h);
    return n;
}
