/* grad_walk.c: walks back through the pending trace.
 *
 * Holds: marks are told from those of walks before by their number, so nothing is cleared. A node
 *        at which one tensor's walk began has the mark `visit`; one that was met on a way, or at
 *        which several began, `visit` + 1.
 */
#include <string.h>
#include "tensor/grad_origin.h"
#include "tensor/room.h"
#include "tensor/grad_walk.h"

enum { FEW_ENDS = 8, MOST_KEPT = 1 << 19 };

typedef struct Behind {
    const Origin *origin;
    int result;
} Behind;

struct Walk {
    Host *h;
    uint32_t visit;
    VEC(uint32_t) mark; /* by node id, may be shorter */
    VEC(Node *) stack;
    VEC(const Node *) ends; /* inputs that were met, some twice */
    VEC(Behind) behind;
    VEC(const TraceIds *) known; /* of nodes that it stopped at */
    int most;                    /* ids above which to look for tensors that are gone */
    uint64_t older;              /* all tensors with smaller ids may have been met */
};

static Trace *pending(const Host *h) { return room_of(h)->pending.trace; }

/* Marks count up by walks; only when they come to their end are they cleared. */
Walk *tensor_walk_begin(Host *h)
{
    TensorRoom *room = room_of(h);
    if (!room->walk) room->walk = base_mem_zero(1, sizeof *room->walk);
    Walk *w = room->walk;
    if (!w) return NULL;
    w->h = h;
    w->visit += 2;
    if (w->visit > UINT32_MAX - 4) {
        memset(w->mark.at, 0, (size_t)w->mark.n * sizeof *w->mark.at);
        w->visit = 2;
    }
    w->stack.n = w->ends.n = w->behind.n = w->known.n = 0;
    w->older = 0;
    return w;
}

void tensor_walk_free(Walk *w)
{
    if (!w) return;
    vec_free(&w->mark);
    vec_free(&w->stack);
    vec_free(&w->ends);
    vec_free(&w->behind);
    vec_free(&w->known);
    base_mem_free(w);
}

static bool make_room(Walk *w)
{
    int n = pending(w->h)->graph->nodes.n;
    if (!vec_reserve(&w->mark, n)) return false;
    while (w->mark.n < n) w->mark.at[w->mark.n++] = 0;
    return true;
}

static uint32_t mark_of(const Walk *w, const Node *n)
{
    return (int)n->id < w->mark.n ? w->mark.at[n->id] : 0;
}

static bool is_met(const Walk *w, const Node *n)
{
    uint32_t mark = mark_of(w, n);
    return mark == w->visit || mark == w->visit + 1;
}

bool tensor_walk_node(Walk *w, Node *n)
{
    if (!make_room(w)) return false;
    w->mark.at[n->id] = is_met(w, n) ? w->visit + 1 : w->visit;
    return vec_push(&w->stack, n);
}

static bool go_behind(Walk *w, const Origin *o, int result)
{
    return !o || vec_push(&w->behind, ((Behind){o, result}));
}

bool tensor_walk_from(Walk *w, const Tensor *t, bool among)
{
    if (t->cut && !among) w->older = room_of(w->h)->last_cut;
    return t->trace ? tensor_walk_node(w, t->node) : go_behind(w, t->origin, t->result);
}

static const Leaf *leaf_of(const Trace *tr, const Node *input)
{
    int64_t number = ir_attr_int(input, 0);
    return number < tr->leaves.n ? &tr->leaves.at[number] : NULL;
}

static bool at_end(Walk *w, const Node *input)
{
    const Leaf *leaf = leaf_of(pending(w->h), input);
    bool cut = !strcmp(input->graph->inputs.at[ir_attr_int(input, 0)].name, TRACE_CUT);
    if (cut) w->older = room_of(w->h)->last_cut;
    return vec_push(&w->ends, input) && (!leaf || go_behind(w, leaf->origin, leaf->result));
}

static const TraceIds *kept_ids(const Trace *tr, const Node *n)
{
    uint64_t known;
    return base_map_get(&tr->ids, n->id, &known) ? (const TraceIds *)(uintptr_t)known : NULL;
}

/* On to node n, by a way. */
static bool go_on(Walk *w, Node *n, bool whole)
{
    if (mark_of(w, n) == w->visit + 1) return true;
    w->mark.at[n->id] = w->visit + 1;
    const TraceIds *known = whole ? NULL : kept_ids(pending(w->h), n);
    return known ? vec_push(&w->known, known) : vec_push(&w->stack, n);
}

/* Depth first, and no further than gradients go: through floats and ops that have one. */
bool tensor_walk_run(Walk *w, bool whole)
{
    while (w->stack.n) {
        const Node *n = vec_pop(&w->stack);
        if (DTYPES[n->dtype].class != CLASS_FLOAT) continue;
        if (n->op == OP_input && !at_end(w, n)) return false;
        if (!ir_op(n)->flows) continue;
        for (int i = 0; i < n->nin; i++)
            if (!go_on(w, n->in[i], whole)) return false;
    }
    return true;
}

/* Among the ids of what it did not go through? */
static bool id_behind(const Walk *w, uint64_t id)
{
    for (int i = 0; i < w->behind.n; i++)
        if (tensor_origin_has(w->behind.at[i].origin, w->behind.at[i].result, id)) return true;
    for (int i = 0; i < w->known.n; i++) {
        const TraceIds *ids = w->known.at[i];
        int at = tensor_ids_find(ids->at, ids->n, id);
        if (id < ids->older || (at < ids->n && ids->at[at].id == id)) return true;
    }
    return false;
}

/* There are the ids of all handles that there were on a node. */
bool tensor_walk_meets_behind(const Walk *w, const Tensor *t)
{
    if (!w->behind.n && !w->known.n) return false;
    if (id_behind(w, t->id)) return true;
    const Tensor *ring = t->trace ? &t->trace->handles : NULL;
    for (const Tensor *other = ring ? ring->next : ring; other != ring; other = other->next)
        if (other->node == t->node && id_behind(w, other->id)) return true;
    return false;
}

/* Is t, a leaf, one of the inputs that were met, or was it computed by what was met? */
static bool meets_leaf(const Walk *w, const Trace *tr, const Tensor *t)
{
    uint64_t node;
    if (w->ends.n > FEW_ENDS) {
        if (base_map_get(&tr->leaf, t->id, &node) && is_met(w, tr->graph->nodes.at[node]))
            return true;
    } else {
        for (int i = 0; i < w->ends.n; i++) {
            const Leaf *leaf = leaf_of(tr, w->ends.at[i]);
            if (leaf && leaf->id == t->id) return true;
        }
    }
    const Node *past = tr->past.n ? tensor_trace_past(tr, t) : NULL;
    return past && is_met(w, past);
}

bool tensor_walk_meets(const Walk *w, const Tensor *t, bool among)
{
    const Trace *tr = pending(w->h);
    if (t->id < w->older) return true;
    uint32_t mark = t->trace ? mark_of(w, t->node) : 0;
    if (mark && (mark == w->visit + 1 || (mark == w->visit && !among))) return true;
    if (!t->trace && tr && meets_leaf(w, tr, t)) return true;
    return tensor_walk_meets_behind(w, t);
}

/* ---- ids */

static bool add_id(Ids *ids, uint64_t id) { return vec_push(ids, ((Entry){id, 0})); }

/* Of the tensors that it met itself. */
static bool add_met(const Walk *w, const Trace *tr, Ids *ids)
{
    for (int i = 0; i < w->ends.n; i++) {
        const Leaf *leaf = leaf_of(tr, w->ends.at[i]);
        if (leaf && leaf->id && !add_id(ids, leaf->id)) return false;
    }
    for (const Tensor *t = tr->handles.next; t != &tr->handles; t = t->next)
        if (is_met(w, t->node) && !add_id(ids, t->id)) return false;
    for (uint32_t i = 0; i < tr->past.cap; i++) {
        bool met = tr->past.used[i] && is_met(w, tr->graph->nodes.at[tr->past.slot[i].value]);
        if (met && !add_id(ids, tr->past.slot[i].key)) return false;
    }
    return true;
}

static bool tidy(Walk *w, Ids *ids)
{
    return tensor_ids_sort(ids) && tensor_ids_bound(w->h, ids, &w->most);
}

/* What is the same in many lists is in memory a few times only. */
static bool tidy_many(Walk *w, Ids *ids) { return ids->n / 4 <= w->most || tidy(w, ids); }

/* From what the walk met itself, from origins behind its ends, and from lists kept at nodes where
 * it stopped. */
static bool collect(Walk *w, const Trace *tr, Ids *ids)
{
    if (!add_met(w, tr, ids)) return false;
    for (int i = 0; i < w->behind.n; i++)
        if (!tensor_origin_ids(w->behind.at[i].origin, w->behind.at[i].result, 0, ids) ||
            !tidy_many(w, ids))
            return false;
    for (int i = 0; i < w->known.n; i++) {
        const TraceIds *known = w->known.at[i];
        for (int k = 0; k < known->n; k++)
            if (!vec_push(ids, known->at[k])) return false;
        if (!tidy_many(w, ids)) return false;
    }
    return tidy(w, ids);
}

static uint64_t oldest(const Walk *w)
{
    uint64_t older = w->older;
    for (int i = 0; i < w->behind.n; i++) {
        uint64_t behind = tensor_origin_older(w->behind.at[i].origin);
        if (behind > older) older = behind;
    }
    for (int i = 0; i < w->known.n; i++)
        if (w->known.at[i]->older > older) older = w->known.at[i]->older;
    return older;
}

/* Keeps them, and no more than MOST_KEPT beside them. */
static const TraceIds *keep(Trace *tr, const Node *n, const Ids *ids, uint64_t older)
{
    size_t bytes = (size_t)ids->n * sizeof *ids->at;
    TraceIds *made = base_mem_alloc(sizeof *made + bytes);
    if (!made) return NULL;
    *made = (TraceIds){.n = ids->n, .older = older};
    if (bytes) memcpy(made->at, ids->at, bytes);
    if (tr->kept > MOST_KEPT) tensor_trace_forget(tr);
    if (!base_map_set(&tr->ids, n->id, (uintptr_t)made)) {
        base_mem_free(made);
        return NULL;
    }
    tr->kept += made->n;
    return made;
}

/* Asked for at each run of a step whose arguments have a history: so the list is kept with the
 * node. */
const TraceIds *tensor_walk_ids(Host *h, Node *n)
{
    const TraceIds *known = kept_ids(pending(h), n);
    if (known) return known;
    Walk *w = tensor_walk_begin(h);
    Ids ids = {0};
    bool ok =
        w && tensor_walk_node(w, n) && tensor_walk_run(w, false) && collect(w, pending(h), &ids);
    if (ok) known = keep(pending(h), n, &ids, oldest(w));
    vec_free(&ids);
    return known;
}
