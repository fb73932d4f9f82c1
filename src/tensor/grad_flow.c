/* grad_flow.c: what can reach the results of a program, and the origin of each of its runs.
 *
 * In:   the graph as it was captured; at each run, the tensors that it reads.
 * Out:  an origin, which the results share.
 * Holds: entries of tensors that are gone are dropped when they have doubled; where even then there
 *        are more than MOST_IDS, all that is older counts as part of the origin.
 */
#include <string.h>
#include "ir/control.h"
#include "ir/result.h"
#include "tensor/grad_flow.h"
#include "tensor/grad_walk.h"
#include "tensor/room.h"

enum { MOST_IDS = 1 << 16 };

/* What a result can come out of. A value that is replaced has no id of its own afterwards, but what
 * it came out of stays. */
typedef enum SourceKind { STATE, ARGUMENT, REPLACED, ASSIGNED, RESULT } SourceKind;
typedef struct Source {
    SourceKind kind;
    int number; /* of the input, or of the result */
} Source;

struct Flow {
    int results;    /* those that become tensors; behind them come the tensors that are updated */
    VEC(int) owner; /* of those, in their order: the input */
    int words;      /* of 64 results */
    VEC(Source) sources; /* in the order in which their new ids are given */
    Reach *reach;
    uint64_t *any;       /* by word: the results that some source reaches */
    int late;            /* sources whose ids are known after the run only */
    int most;            /* entries above which to look for those that are gone */
    Ids list;            /* while an origin is built */
    SharedIds *states;   /* of the last run; NULL: none */
    VEC(uint64_t) known; /* their ids, in the order of the sources */
    bool histories;      /* a state of this run came out of something */
};

/* ---- what can reach a result */

/* The results of one word that the value of each node reaches, by its id. */
static void spread(const Flow *f, const Graph *g, Node *const *assigned, int word, uint64_t *mask)
{
    memset(mask, 0, (size_t)g->nodes.n * sizeof *mask);
    for (int k = word * 64; k < f->results + f->owner.n && k < word * 64 + 64; k++) {
        const Node *n =
            k < f->results ? g->outputs.at[k].node : assigned[f->owner.at[k - f->results]];
        mask[n->id] |= UINT64_C(1) << (k % 64);
    }
    for (int id = g->nodes.n - 1; id >= 0; id--) {
        const Node *n = g->nodes.at[id];
        if (DTYPES[n->dtype].class != CLASS_FLOAT) mask[id] = 0;
        if (!ir_op(n)->flows) continue;
        const Node *by = ir_result_of(n);
        for (int i = 0; i < by->nin && mask[id]; i++)
            if (ir_flows(n, i)) mask[by->in[i]->id] |= mask[id];
    }
}

typedef struct Candidate {
    Source source;
    int own; /* the number of the result that it is itself; -1: none */
    const Node *node;
} Candidate;

/* All that may be a source. A value that the step did not compute is one as what it was before; an
 * input that gets another value or stays what it is does not come out of itself.
 * Arguments come after what was there before them: in the order of ids, mostly. */
static int candidates(const Flow *f, const Graph *g, Node *const *assigned, const bool *may_stay,
                      Candidate *list)
{
    static const InputKind ORDER[] = {INPUT_STATE, INPUT_ARG};
    static const SourceKind KINDS[] = {STATE, ARGUMENT};
    int n = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0, o = 0; i < g->inputs.n; i++) {
            bool owner = o < f->owner.n && f->owner.at[o] == i;
            SourceKind kind = assigned[i] && !may_stay[i] ? REPLACED : KINDS[k];
            int own = owner && may_stay[i] ? f->results + o : -1;
            o += owner;
            if (g->inputs.at[i].kind == ORDER[k])
                list[n++] = (Candidate){{kind, i}, own, g->inputs.at[i].node};
        }
    for (int k = 0; k < f->owner.n; k++) {
        int i = f->owner.at[k];
        list[n++] = (Candidate){{ASSIGNED, i}, f->results + k, assigned[i]};
    }
    for (int k = 0; k < f->results; k++)
        list[n++] = (Candidate){{RESULT, k}, k, g->outputs.at[k].node};
    return n;
}

/* Keeps the candidates that reach a result. */
static bool keep_sources(Flow *f, int n, const Candidate *list, const uint64_t *reach)
{
    size_t words = (size_t)f->words;
    f->reach = base_mem_alloc(sizeof *f->reach + (size_t)n * words * sizeof *f->reach->bits);
    if (!f->reach) return false;
    f->reach->refs = 1;
    f->reach->words = f->words;
    for (int c = 0; c < n; c++) {
        const uint64_t *row = reach + (size_t)c * words;
        uint64_t some = 0;
        for (size_t w = 0; w < words; w++) some |= row[w];
        if (!some) continue;
        for (size_t w = 0; w < words; w++) f->any[w] |= row[w];
        memcpy(f->reach->bits + (size_t)f->sources.n * words, row, words * sizeof *row);
        if (!vec_push(&f->sources, list[c].source)) return false;
        f->late += list[c].source.kind == ASSIGNED || list[c].source.kind == RESULT;
    }
    return true;
}

/* 64 results at a time. A source that is a result itself does not count as coming out of itself. */
static bool find_sources(Flow *f, const Graph *g, Node *const *assigned, const bool *may_stay)
{
    size_t most = 2 * (size_t)g->inputs.n + (size_t)f->results;
    uint64_t *mask = base_mem_zero((size_t)g->nodes.n + 1, sizeof *mask);
    Candidate *list = base_mem_zero(most + 1, sizeof *list);
    uint64_t *reach = base_mem_zero((most + 1) * (size_t)f->words, sizeof *reach);
    bool ok = mask && list && reach;
    int n = ok ? candidates(f, g, assigned, may_stay, list) : 0;
    for (int w = 0; w < f->words && ok; w++) {
        spread(f, g, assigned, w, mask);
        for (int c = 0; c < n; c++) {
            int own = list[c].own;
            bool here = own >= 0 && own / 64 == w;
            reach[c * f->words + w] =
                mask[list[c].node->id] & ~(here ? UINT64_C(1) << (own % 64) : 0);
        }
    }
    ok = ok && keep_sources(f, n, list, reach);
    base_mem_free(mask);
    base_mem_free(list);
    base_mem_free(reach);
    return ok;
}

/* Results are the outputs that become tensors, then the tensors that get another value. */
Flow *tensor_flow_new(const Graph *g, int results, Node *const *assigned, const bool *may_stay)
{
    Flow *f = base_mem_zero(1, sizeof *f);
    if (!f) return NULL;
    f->results = results;
    for (int i = 0; i < g->inputs.n; i++)
        if (assigned[i] && assigned[i]->nin && !vec_push(&f->owner, i)) {
            tensor_flow_free(f);
            return NULL;
        }
    f->words = (results + f->owner.n + 63) / 64;
    f->any = base_mem_zero((size_t)f->words + 1, sizeof *f->any);
    if (f->any && find_sources(f, g, assigned, may_stay)) return f;
    tensor_flow_free(f);
    return NULL;
}

/* Origins of its runs live on: they have references of their own. */
void tensor_flow_free(Flow *f)
{
    if (!f) return;
    tensor_shared_unref(f->states);
    tensor_reach_unref(f->reach);
    vec_free(&f->known);
    vec_free(&f->sources);
    vec_free(&f->owner);
    vec_free(&f->list);
    base_mem_free(f->any);
    base_mem_free(f);
}

/* ---- the ids of a run */

/* What t came out of before is also what source s comes out of. */
static bool inherit(Host *h, Flow *f, const Tensor *t, uint32_t s, uint64_t *older)
{
    const Origin *o = t->origin;
    if (o && !tensor_origin_ids(o, t->result, s, &f->list)) return false;
    if (o && tensor_origin_older(o) > *older) *older = tensor_origin_older(o);
    if (t->cut && room_of(h)->last_cut > *older) *older = room_of(h)->last_cut;
    if (!t->trace) return true;
    const TraceIds *past = tensor_walk_ids(h, t->node);
    if (!past) return false;
    for (int i = 0; i < past->n; i++)
        if (past->at[i].id != t->id && !vec_push(&f->list, ((Entry){past->at[i].id, s})))
            return false;
    if (past->older > *older) *older = past->older;
    return true;
}

static bool has_history(const Tensor *t) { return t->origin || t->cut || t->trace; }

/* The ids of the arguments, and what arguments and states came out of; those of the states stand in
 * what runs share. */
static bool gather(Host *h, Flow *f, Tensor *const *tensor, uint64_t *older)
{
    f->list.n = 0;
    if (!vec_reserve(&f->list, f->sources.n)) return false;
    for (int s = 0; s < f->sources.n; s++) {
        Source from = f->sources.at[s];
        if (from.kind > REPLACED) return true;
        const Tensor *t = from.kind == STATE && !f->histories ? NULL : tensor[from.number];
        if (!t) continue;
        if (has_history(t) && !inherit(h, f, t, (uint32_t)s, older)) return false;
        if (from.kind == ARGUMENT && !vec_push(&f->list, ((Entry){t->id, (uint32_t)s})))
            return false;
    }
    return true;
}

/* The list in order, and bounded. */
static bool settle(Host *h, Flow *f, uint64_t *older)
{
    if (!tensor_ids_sort(&f->list) || !tensor_ids_bound(h, &f->list, &f->most)) return false;
    if (f->list.n > MOST_IDS) {
        f->list.n = 0;
        *older = tensor_id();
    }
    return true;
}

/* Are the ids of the states those of the last run? Notes them, and whether one has a history. */
static bool same_states(Flow *f, Tensor *const *tensor)
{
    bool same = true;
    int k = 0;
    f->histories = false;
    for (int s = 0; s < f->sources.n; s++) {
        Source from = f->sources.at[s];
        if (from.kind != STATE) continue;
        const Tensor *t = tensor[from.number];
        same &= f->known.at[k] == t->id;
        f->known.at[k++] = t->id;
        f->histories |= has_history(t);
    }
    return same;
}

/* The ids of the states of this run; those of the last one are most often the same. */
static bool renew_states(Flow *f, Tensor *const *tensor)
{
    if (!vec_reserve(&f->known, f->sources.n)) return false;
    while (f->known.n < f->sources.n) f->known.at[f->known.n++] = 0;
    if (same_states(f, tensor)) return true;
    tensor_shared_unref(f->states);
    f->states = NULL;
    f->list.n = 0;
    for (int s = 0; s < f->sources.n; s++) {
        Source from = f->sources.at[s];
        if (from.kind != STATE) continue;
        if (!vec_push(&f->list, ((Entry){tensor[from.number]->id, (uint32_t)s}))) return false;
    }
    if (!tensor_ids_sort(&f->list)) return false;
    size_t bytes = (size_t)f->list.n * sizeof *f->list.at;
    f->states = base_mem_alloc(sizeof *f->states + bytes);
    if (!f->states) return false;
    *f->states = (SharedIds){1, f->list.n};
    memcpy(f->states->at, f->list.at, bytes);
    return true;
}

/* The ids of the last run are not known. */
static int no_memory(Host *h, Flow *f)
{
    f->known.n = 0;
    return base_no_memory(h->cx, "a step");
}

int tensor_flow_begin(Host *h, Flow *f, Tensor *const *tensor, Origin **out)
{
    uint64_t older = 0;
    *out = NULL;
    if (!f->sources.n) return SGL_OK;
    if (!renew_states(f, tensor) || !gather(h, f, tensor, &older)) return no_memory(h, f);
    if (!settle(h, f, &older)) return no_memory(h, f);
    if (!f->states && !f->list.n && !older && !f->late) return SGL_OK;
    *out = tensor_origin_new(f->reach, f->states, older, &f->list, f->late);
    return *out ? SGL_OK : no_memory(h, f);
}

/* Results and updated tensors have new ids only now. All that some source reaches share the
 * origin. */
void tensor_flow_end(const Flow *f, Origin *o, Tensor *const *tensor, const bool *kept,
                     Tensor *const *result)
{
    for (int s = 0; o && s < f->sources.n; s++) {
        Source from = f->sources.at[s];
        if (from.kind < ASSIGNED) continue;
        const Tensor *t = from.kind == RESULT ? result[from.number] : tensor[from.number];
        if (t) tensor_origin_add(o, t->id, (uint32_t)s);
    }
    for (int w = 0; o && w < f->words; w++) {
        uint64_t any = f->any[w];
        for (int k = w * 64; any; k++, any >>= 1) {
            if (!(any & 1)) continue;
            int owner = k < f->results ? -1 : f->owner.at[k - f->results];
            Tensor *t = owner < 0 ? result[k] : tensor[owner];
            if (!t || (owner >= 0 && kept[owner])) continue;
            t->origin = tensor_origin_ref(o);
            t->result = k;
        }
    }
}
