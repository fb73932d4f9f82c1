/* trace.c: traces: what they hold, and moving it to a smaller one.
 *
 * Holds: a value beside a node is the node's value for good: leaves in a trace are never updated
 *        in place, because the trace's reference makes their storage a shared one.
 */
#include "tensor/grad_origin.h"
#include "tensor/trace.h"

enum { NODE_WEIGHT = 4096, LIMIT_BYTES = 1 << 25 };
static const size_t LEAST_BEHIND = 1 << 23;

int tensor_trace_init(Trace *tr, Ctx *cx)
{
    *tr = (Trace){.limit = LIMIT_BYTES, .most_behind = LEAST_BEHIND};
    tr->handles.prev = tr->handles.next = &tr->handles;
    tr->graph = ir_graph_new(cx);
    return tr->graph ? SGL_OK : cx->err.code;
}

/* Handles that are still on it go without a node; what they have of values stays. */
void tensor_trace_end(Trace *tr)
{
    if (!tr->graph) return;
    while (tr->handles.next != &tr->handles) tensor_detach(tr->handles.next);
    for (int i = 0; i < tr->value.n; i++) dev_storage_unref(tr->value.at[i]);
    vec_free(&tr->value);
    for (int i = 0; i < tr->leaves.n; i++) tensor_origin_unref(tr->leaves.at[i].origin);
    vec_free(&tr->leaves);
    tensor_trace_forget(tr);
    base_map_free(&tr->leaf);
    base_map_free(&tr->past);
    base_map_free(&tr->replaced);
    ir_graph_free(tr->graph);
    tr->graph = NULL;
}

int tensor_trace_store(Trace *tr, const Node *n, Storage *s)
{
    int need = (int)n->id + 1;
    if (!vec_reserve(&tr->value, need)) return base_no_memory(tr->graph->cx, "a value");
    while (tr->value.n < need) tr->value.at[tr->value.n++] = NULL;
    tr->value.at[n->id] = dev_storage_ref(s);
    tr->held += (int64_t)s->bytes;
    return SGL_OK;
}

int tensor_trace_replace(Trace *tr, const Node *n)
{
    if (base_map_set(&tr->replaced, n->id, n->id)) return SGL_OK;
    return base_fail(tr->graph->cx, SGL_ENOMEM, "out of memory for a value");
}

int64_t tensor_trace_weight(const Trace *tr)
{
    return tr->held + (int64_t)tr->graph->nodes.n * NODE_WEIGHT;
}

/* What a move needs to know of each node: is it copied, and will a pending operation read it? */
typedef struct Needs {
    uint8_t *copied, *pending;
} Needs;

/* Is the value of node id worth keeping? Leaves, and what becomes one, cannot be computed again; a
 * handle or a pending operation reads the others, or, if none does, only gradients could: they
 * compute it again. */
static bool value_kept(const Trace *tr, int id, const Needs *needs)
{
    const Storage *s = tr->value.at[id];
    return s && (s->refs > 1 || needs->pending[id] == COPY_INPUT ||
                 needs->copied[id] == COPY_INPUT || !tr->graph->nodes.at[id]->nin);
}

/* Those that were replaced and still have not run. */
static bool move_replaced(const Trace *old, Trace *new, Node *const *made)
{
    for (uint32_t i = 0; i < old->replaced.cap; i++) {
        int id = old->replaced.used[i] ? (int)old->replaced.slot[i].key : -1;
        bool waits = id >= 0 && made[id] && !(id < old->value.n && old->value.at[id]);
        if (waits && !base_map_set(&new->replaced, made[id]->id, made[id]->id)) return false;
    }
    return true;
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
static int move_all(Trace *old, Trace *new, Node *const *made, const Needs *needs)
{
    for (int id = 0; id < old->value.n; id++)
        if (made[id] && value_kept(old, id, needs) &&
            tensor_trace_store(new, made[id], old->value.at[id]) < 0)
            return SGL_ENOMEM;
    if (!move_nodes(&old->leaf, &new->leaf, made) || !move_nodes(&old->past, &new->past, made) ||
        !move_leaves(old, new, made) || !move_replaced(old, new, made))
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

/* Marks what the handles need, and beside it what the pending ones among them will read. A value
 * that was assigned is needed as a value alone: no gradient goes behind it. */
static void mark_needed(const Trace *tr, const Needs *needs, bool history)
{
    for (const Tensor *t = tr->handles.next; t != &tr->handles; t = t->next) {
        needs->copied[t->node->id] = COPY_NODE;
        if (!t->storage) needs->pending[t->node->id] = COPY_NODE;
    }
    tensor_copy_mark(tr->graph, tr, history, needs->copied);
    tensor_copy_mark(tr->graph, tr, false, needs->pending);
}

/* Without a history the inputs that stand for computed values say so: no gradient goes behind. */
static bool name_cut(const Trace *old, Trace *new, Node *const *made, const Needs *needs)
{
    bool ok = true;
    for (int id = 0; ok && id < old->graph->nodes.n; id++) {
        int op = old->graph->nodes.at[id]->op;
        if (needs->copied[id] == COPY_INPUT && op != OP_input && op != OP_detach)
            ok = ir_input_name(new->graph, made[id], TRACE_CUT) == SGL_OK;
    }
    return ok;
}

/* What handles need is copied; the values worth keeping, leaves and handles move when that is
 * done. */
bool tensor_trace_move(Trace *old, Trace *new, bool history)
{
    int n = old->graph->nodes.n;
    Needs needs = {base_mem_zero(n + 1, 1), base_mem_zero(n + 1, 1)};
    Node **made = base_mem_zero(n + 1, sizeof *made);
    bool moved = false;
    if (needs.copied && needs.pending && made) {
        mark_needed(old, &needs, history);
        moved = tensor_copy(old->graph, needs.copied, new->graph, made) == SGL_OK &&
                (history || name_cut(old, new, made, &needs)) &&
                move_all(old, new, made, &needs) == SGL_OK;
        for (int id = 0; id < n; id++) new->waiting += needs.pending[id] == COPY_NODE;
    }
    base_mem_free(needs.copied);
    base_mem_free(needs.pending);
    base_mem_free(made);
    if (moved) new->fresh = new->swept = new->graph->nodes.n;
    if (moved) new->held = own_bytes(new);
    Trace *left = moved ? new : old;
    left->limit = 2 * tensor_trace_weight(left) + LIMIT_BYTES;
    return moved;
}

/* A tensor is one input, however often it is read, and keeps what it came out of. */
Node *tensor_trace_leaf(Trace *tr, const Tensor *t)
{
    uint64_t id;
    if (base_map_get(&tr->leaf, t->id, &id)) return tr->graph->nodes.at[id];
    const Storage *s = t->storage;
    Node *n =
        ir_input(tr->graph, INPUT_STATE, t->cut ? TRACE_CUT : NULL, s->dtype, s->rank, s->dims);
    if (!n || tensor_trace_store(tr, n, t->storage) < 0) return NULL;
    Leaf leaf = {t->id, t->origin, t->result};
    if (add_leaf(tr, n, &leaf) && base_map_set(&tr->leaf, t->id, n->id)) return n;
    base_no_memory(tr->graph->cx, "a graph");
    return NULL;
}

/* Origins are shared; each becomes one of its own without the ids of tensors that are gone. */
void tensor_trace_prune(Trace *tr, const Map *live)
{
    tr->behind = 0;
    for (int i = 0; i < tr->leaves.n; i++) {
        Leaf *leaf = &tr->leaves.at[i];
        Origin *less =
            live && leaf->origin ? tensor_origin_pruned(leaf->origin, leaf->result, live) : NULL;
        if (less) tensor_origin_unref(leaf->origin);
        if (less) leaf->origin = less;
        tr->behind += tensor_origin_bytes(leaf->origin);
    }
    tr->most_behind = 2 * tr->behind + LEAST_BEHIND;
}

void tensor_trace_forget(Trace *tr)
{
    for (uint32_t i = 0; i < tr->ids.cap; i++)
        if (tr->ids.used[i]) base_mem_free((void *)(uintptr_t)tr->ids.slot[i].value);
    base_map_free(&tr->ids);
    tr->kept = 0;
}
