/* origin.c: builds origins, and looks ids up in them.
 *
 * Holds: an origin is flat: it has the ids of the origins of what the run read, so no chain of runs
 *        keeps anything alive. Its entries are sorted. The ids of the states, the longest part and
 *        mostly the same from run to run, are a Base that origins share. Entries of tensors that
 *        are gone are dropped when they have doubled; where even then there are more than MOST_IDS,
 *        all that is older counts as part of it.
 */
#include <string.h>
#include "tensor/origin.h"
#include "tensor/walk.h"

enum { MOST_IDS = 1 << 16 };

/* What a result can come out of. A value that is replaced has no id of its own afterwards, but what
 * it came out of stays. */
typedef enum SourceKind { STATE, ARGUMENT, REPLACED, ASSIGNED, RESULT } SourceKind;
typedef struct Source {
    SourceKind kind;
    int number; /* of the input, or of the result */
} Source;

typedef struct Base {
    int refs, n;
    Entry at[];
} Base;

struct Flow {
    int refs;
    int results;    /* those that become tensors; behind them come the tensors that are updated */
    VEC(int) owner; /* of those, in their order: the input */
    int words;      /* of 64 results */
    VEC(Source) sources; /* in the order in which their new ids are given */
    VEC(uint64_t) reach; /* by source, then word: the results that it reaches */
    uint64_t *any;       /* by word: the results that some source reaches */
    int late;            /* sources whose ids are known after the run only */
    int most;            /* entries above which to look for those that are gone */
    Ids list;            /* while an origin is built */
    Base *base;          /* of the last run; NULL: no states */
    VEC(uint64_t) known; /* ids of the states, in the order of the sources, that base is of */
    bool histories;      /* a state of this run came out of something */
};

struct Origin {
    int refs;
    Flow *flow;
    Base *base;
    uint64_t older; /* all smaller ids are part of it */
    int n;
    Entry at[];
};

/* ---- what can reach a result */

static bool reaches(const Flow *f, uint32_t source, int result)
{
    return f->reach.at[source * (uint32_t)f->words + (uint32_t)(result / 64)] >> (result % 64) & 1;
}

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
        for (int i = 0; i < n->nin; i++) mask[n->in[i]->id] |= mask[id];
    }
}

typedef struct Candidate {
    Source source;
    const Node *node;
} Candidate;

/* All that may be a source. A value that the step did not compute is one as what it was before.
 * Arguments come after what was there before them: in the order of ids, mostly. */
static int candidates(const Graph *g, int results, Node *const *assigned, Candidate *list)
{
    static const InputKind ORDER[] = {INPUT_STATE, INPUT_ARG};
    static const SourceKind KINDS[] = {STATE, ARGUMENT};
    int n = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < g->inputs.n; i++)
            if (g->inputs.at[i].kind == ORDER[k])
                list[n++] =
                    (Candidate){{assigned[i] ? REPLACED : KINDS[k], i}, g->inputs.at[i].node};
    for (int i = 0; i < g->inputs.n; i++)
        if (assigned[i] && assigned[i]->nin) list[n++] = (Candidate){{ASSIGNED, i}, assigned[i]};
    for (int k = 0; k < results; k++) list[n++] = (Candidate){{RESULT, k}, g->outputs.at[k].node};
    return n;
}

/* Keeps the candidates that reach a result. */
static bool keep_sources(Flow *f, int n, const Candidate *list, const uint64_t *reach)
{
    for (int c = 0; c < n; c++) {
        uint64_t some = 0;
        for (int w = 0; w < f->words; w++) some |= reach[c * f->words + w];
        if (!some) continue;
        if (!vec_push(&f->sources, list[c].source)) return false;
        f->late += list[c].source.kind == ASSIGNED || list[c].source.kind == RESULT;
        for (int w = 0; w < f->words; w++) {
            if (!vec_push(&f->reach, reach[c * f->words + w])) return false;
            f->any[w] |= reach[c * f->words + w];
        }
    }
    return true;
}

/* The number of the result that the source is itself; -1: none. */
static int own_result(const Flow *f, Source s)
{
    if (s.kind == RESULT) return s.number;
    for (int k = 0; s.kind == ASSIGNED && k < f->owner.n; k++)
        if (f->owner.at[k] == s.number) return f->results + k;
    return -1;
}

static bool find_sources(Flow *f, const Graph *g, int results, Node *const *assigned)
{
    size_t most = 2 * (size_t)g->inputs.n + (size_t)results;
    uint64_t *mask = base_mem_zero((size_t)g->nodes.n + 1, sizeof *mask);
    Candidate *list = base_mem_zero(most + 1, sizeof *list);
    uint64_t *reach = base_mem_zero((most + 1) * (size_t)f->words, sizeof *reach);
    bool ok = mask && list && reach;
    int n = ok ? candidates(g, results, assigned, list) : 0;
    for (int w = 0; w < f->words && ok; w++) {
        spread(f, g, assigned, w, mask);
        for (int c = 0; c < n; c++) {
            int own = own_result(f, list[c].source);
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

Flow *tensor_flow_new(const Graph *g, int results, Node *const *assigned)
{
    Flow *f = base_mem_zero(1, sizeof *f);
    if (!f) return NULL;
    *f = (Flow){.refs = 1, .results = results};
    for (int i = 0; i < g->inputs.n; i++)
        if (assigned[i] && assigned[i]->nin && !vec_push(&f->owner, i)) {
            tensor_flow_unref(f);
            return NULL;
        }
    f->words = (results + f->owner.n + 63) / 64;
    f->any = base_mem_zero((size_t)f->words + 1, sizeof *f->any);
    if (f->any && find_sources(f, g, results, assigned)) return f;
    tensor_flow_unref(f);
    return NULL;
}

static void base_unref(Base *b)
{
    if (b && !--b->refs) base_mem_free(b);
}

void tensor_flow_unref(Flow *f)
{
    if (!f || --f->refs) return;
    base_unref(f->base);
    vec_free(&f->known);
    vec_free(&f->sources);
    vec_free(&f->owner);
    vec_free(&f->reach);
    vec_free(&f->list);
    base_mem_free(f->any);
    base_mem_free(f);
}

Origin *tensor_origin_ref(Origin *o)
{
    if (o) o->refs++;
    return o;
}

void tensor_origin_unref(Origin *o)
{
    if (!o || --o->refs) return;
    base_unref(o->base);
    tensor_flow_unref(o->flow);
    base_mem_free(o);
}

/* ---- the ids of a run */

/* The entries at `at` that are in a result of `from` are also what source s of f comes out of. */
static bool inherit_entries(Flow *f, uint32_t s, const Flow *from, const Entry *at, int n,
                            int result)
{
    for (int i = 0; i < n; i++)
        if (reaches(from, at[i].source, result) && !vec_push(&f->list, ((Entry){at[i].id, s})))
            return false;
    return true;
}

/* What t came out of before is also what source s comes out of. */
static bool inherit(Host *h, Flow *f, const Tensor *t, uint32_t s, uint64_t *older)
{
    const Origin *o = t->origin;
    if (o && !inherit_entries(f, s, o->flow, o->at, o->n, t->result)) return false;
    if (o && o->base && !inherit_entries(f, s, o->flow, o->base->at, o->base->n, t->result))
        return false;
    if (o && o->older > *older) *older = o->older;
    if (t->cut && h->last_cut > *older) *older = h->last_cut;
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

/* The base of this run, of which the last one's is most often the same. */
static bool renew_base(Flow *f, Tensor *const *tensor)
{
    if (!vec_reserve(&f->known, f->sources.n)) return false;
    while (f->known.n < f->sources.n) f->known.at[f->known.n++] = 0;
    if (same_states(f, tensor)) return true;
    base_unref(f->base);
    f->base = NULL;
    f->list.n = 0;
    for (int s = 0; s < f->sources.n; s++) {
        Source from = f->sources.at[s];
        if (from.kind != STATE) continue;
        if (!vec_push(&f->list, ((Entry){tensor[from.number]->id, (uint32_t)s}))) return false;
    }
    if (!tensor_ids_sort(&f->list)) return false;
    size_t bytes = (size_t)f->list.n * sizeof *f->list.at;
    f->base = base_mem_alloc(sizeof *f->base + bytes);
    if (!f->base) return false;
    *f->base = (Base){1, f->list.n};
    memcpy(f->base->at, f->list.at, bytes);
    return true;
}

/* The ids of the last run are not known. */
static int no_memory(Host *h, Flow *f)
{
    f->known.n = 0;
    return base_fail(h->cx, SGL_ENOMEM, "out of memory for a step");
}

int tensor_origin_begin(Host *h, Flow *f, Tensor *const *tensor, Origin **out)
{
    uint64_t older = 0;
    *out = NULL;
    if (!f->sources.n) return SGL_OK;
    if (!renew_base(f, tensor) || !gather(h, f, tensor, &older)) return no_memory(h, f);
    if (!settle(h, f, &older)) return no_memory(h, f);
    if (!f->base && !f->list.n && !older && !f->late) return SGL_OK;
    Origin *o = base_mem_alloc(sizeof *o + (size_t)(f->list.n + f->late) * sizeof *o->at);
    if (!o) return no_memory(h, f);
    *o = (Origin){.refs = 1, .flow = f, .base = f->base, .older = older, .n = f->list.n};
    if (o->n) memcpy(o->at, f->list.at, (size_t)o->n * sizeof *o->at);
    f->refs++;
    if (f->base) f->base->refs++;
    *out = o;
    return SGL_OK;
}

void tensor_origin_end(Origin *o, Tensor *const *tensor, Tensor *const *result)
{
    const Flow *f = o ? o->flow : NULL;
    for (int s = 0; o && s < f->sources.n; s++) {
        Source from = f->sources.at[s];
        if (from.kind < ASSIGNED) continue;
        const Tensor *t = from.kind == RESULT ? result[from.number] : tensor[from.number];
        if (t) o->at[o->n++] = (Entry){t->id, (uint32_t)s};
    }
    for (int w = 0; o && w < f->words; w++) {
        uint64_t any = f->any[w];
        for (int k = w * 64; any; k++, any >>= 1) {
            if (!(any & 1)) continue;
            Tensor *t = k < f->results ? result[k] : tensor[f->owner.at[k - f->results]];
            if (!t) continue;
            t->origin = tensor_origin_ref(o);
            t->result = k;
        }
    }
}

static bool has_entry(const Flow *f, const Entry *at, int n, int result, uint64_t id)
{
    if (!n || id > at[n - 1].id) return false;
    for (int i = tensor_ids_find(at, n, id); i < n && at[i].id == id; i++)
        if (reaches(f, at[i].source, result)) return true;
    return false;
}

bool tensor_origin_has(const Origin *o, int result, uint64_t id)
{
    const Base *b = o->base;
    return id < o->older || has_entry(o->flow, o->at, o->n, result, id) ||
           (b && has_entry(o->flow, b->at, b->n, result, id));
}

static bool add_ids(const Flow *f, const Entry *at, int n, int result, Ids *ids)
{
    for (int i = 0; i < n; i++)
        if (reaches(f, at[i].source, result) && !vec_push(ids, ((Entry){at[i].id, 0})))
            return false;
    return true;
}

bool tensor_origin_ids(const Origin *o, int result, Ids *ids)
{
    return add_ids(o->flow, o->at, o->n, result, ids) &&
           (!o->base || add_ids(o->flow, o->base->at, o->base->n, result, ids));
}

uint64_t tensor_origin_older(const Origin *o) { return o->older; }

Origin *tensor_origin_pruned(Origin *o, int result, const Map *live)
{
    int n = 0;
    uint64_t seen;
    Origin *made = base_mem_alloc(tensor_origin_bytes(o));
    if (!made) return NULL;
    for (int i = 0; i < o->n; i++)
        if (reaches(o->flow, o->at[i].source, result) && base_map_get(live, o->at[i].id, &seen))
            made->at[n++] = o->at[i];
    *made = (Origin){.refs = 1, .flow = o->flow, .base = o->base, .older = o->older, .n = n};
    o->flow->refs++;
    if (o->base) o->base->refs++;
    return base_mem_resize(made, tensor_origin_bytes(made));
}

size_t tensor_origin_bytes(const Origin *o)
{
    return o ? sizeof *o + (size_t)o->n * sizeof *o->at : 0;
}
