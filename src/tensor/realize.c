/* realize.c: runs pending operations.
 *
 * In:   handles whose values are wanted.
 * Out:  they have them, and so has every handle on an operation that had to run for them.
 * The part of the trace that runs is described by a key: ops, attributes and edges by number,
 * types of the inputs, which nodes are outputs, the settings that matter. Equal keys are equal
 * programs, so a part met before runs without building a graph. Ops that can fail while running
 * put their position into the key, so that messages name the right line. Constants that differ from
 * part to part are inputs (varying.h).
 */
#include "base/clock.h"
#include "exec/cache.h"
#include "exec/debug.h"
#include "tensor/piece.h"
#include "tensor/room.h"
#include "tensor/varying.h"

/* A node of the part that runs. */
typedef struct Part {
    Node *node;
    bool input;  /* its value is known: it is read, and what it was made of is not */
    bool wanted; /* its value becomes an output */
    bool varies; /* a constant that is read */
} Part;

/* What a run of pending operations needs, kept for the next one: it costs what the part is worth,
 * however long the trace is. */
struct Job {
    Trace *trace;
    VEC(int32_t) place; /* by node id, may be shorter: position in the part + 1; between jobs 0 */
    VEC(Part) part;
    VEC(int64_t) key;
    VEC(int) constant;     /* places of constants in the key */
    VEC(Storage *) number; /* constants that are read */
    VEC(Storage *) in;     /* borrowed from the trace, or of `number` */
    VEC(Node *) outs;
    VEC(Storage *) out;
    Varying varying;
};

static int no_memory(Ctx *cx)
{
    return base_fail(cx, SGL_ENOMEM, "out of memory for running %s", "pending operations");
}

void tensor_job_free(Job *j)
{
    if (!j) return;
    vec_free(&j->place);
    vec_free(&j->part);
    vec_free(&j->key);
    vec_free(&j->constant);
    vec_free(&j->number);
    vec_free(&j->in);
    vec_free(&j->outs);
    vec_free(&j->out);
    tensor_varying_free(&j->varying);
    base_mem_free(j);
}

static bool part_add(Job *j, Node *n)
{
    if (j->place.at[n->id]) return true;
    if (!tensor_trace_value(j->trace, n) && tensor_piece(j->trace, n) < 0) return false;
    j->place.at[n->id] = 1;
    Part p = {.node = n, .input = tensor_trace_value(j->trace, n) != NULL};
    if (vec_push(&j->part, p)) return true;
    j->place.at[n->id] = 0;
    return false;
}

/* Puts the part into the order of ids. Where it is large, going through the ids is cheaper. */
static void part_sort(Job *j)
{
    enum { FEW = 32 };
    Part *at = j->part.at;
    int n = j->part.n, k = 0;
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < n; i++) {
        Part p = at[i];
        if (p.node->id < least) least = p.node->id;
        for (k = i; n <= FEW && k > 0 && at[k - 1].node->id > p.node->id; k--) at[k] = at[k - 1];
        if (n <= FEW) at[k] = p;
    }
    const Graph *g = j->trace->graph;
    k = n <= FEW ? n : 0;
    for (uint32_t id = least; k < n; id++) {
        Node *node = g->nodes.at[id];
        if (j->place.at[id])
            at[k++] = (Part){.node = node, .input = tensor_trace_value(j->trace, node) != NULL};
    }
    for (int i = 0; i < n; i++) j->place.at[at[i].node->id] = i + 1;
}

/* Collects what the handles need. Their values are wanted, and the values of other handles on nodes
 * that will run, but for those that cost nothing to make again: constants. Values that an assign
 * replaced are wanted too: what is still pending reads them, and without them would run them again,
 * and all that was before them. */
static bool part_collect(Job *j, int n, Tensor *const *list)
{
    int ids = j->trace->graph->nodes.n;
    if (!vec_reserve(&j->place, ids)) return false;
    while (j->place.n < ids) j->place.at[j->place.n++] = 0;
    for (int i = 0; i < n; i++)
        if (list[i]->node && !list[i]->storage && !part_add(j, list[i]->node)) return false;
    for (int i = 0; i < j->part.n; i++) {
        const Part *p = &j->part.at[i];
        Node *node = p->node;
        for (int k = 0; !p->input && k < node->nin; k++) {
            if (!part_add(j, node->in[k])) return false;
            p = &j->part.at[i];
        }
    }
    part_sort(j);
    for (int i = 0; i < n; i++)
        if (list[i]->node && !list[i]->storage)
            j->part.at[j->place.at[list[i]->node->id] - 1].wanted = true;
    const Tensor *ring = &j->trace->handles;
    for (const Tensor *t = ring->prev; t != ring && !t->storage; t = t->prev) {
        int32_t place = j->place.at[t->node->id];
        if (place && t->node->nin) j->part.at[place - 1].wanted = true;
    }
    uint64_t id;
    for (int i = 0; j->trace->replaced.n && i < j->part.n; i++) {
        Part *p = &j->part.at[i];
        p->wanted |= !p->input && base_map_get(&j->trace->replaced, p->node->id, &id);
    }
    return true;
}

/* ---- its key, its graph, its program */

static bool key_words(Job *j, int n, const int64_t *words)
{
    if (!vec_reserve(&j->key, j->key.n + n)) return false;
    for (int i = 0; i < n; i++) j->key.at[j->key.n++] = words[i];
    return true;
}

/* A constant that is read, like a known value of one element. */
static bool key_number(Job *j, Ctx *cx, const Node *n)
{
    int64_t head[] = {-2, n->dtype, n->rank};
    Storage *s = dev_storage_new(cx, n->dtype, 0, NULL);
    if (!s) return false;
    ir_dtype_store(n->dtype, dev_storage_edit(s), 0, ir_attr_float(n, 0));
    if (!vec_push(&j->number, s)) {
        dev_storage_unref(s);
        return false;
    }
    return key_words(j, 3, head) && key_words(j, n->rank, n->dims) && vec_push(&j->in, s);
}

/* Adds to the key all that the program depends on: of known values their type, of operations the
 * op, its attributes and its operands. */
static bool key_node(Job *j, Ctx *cx, const Part *p)
{
    const Node *n = p->node;
    if (p->varies) return key_number(j, cx, n);
    if (p->input) {
        int64_t head[] = {-1, n->dtype, n->rank};
        return key_words(j, 3, head) && key_words(j, n->rank, n->dims) &&
               vec_push(&j->in, tensor_trace_value(j->trace, n));
    }
    int64_t head[] = {n->op, p->wanted, n->nin, n->nattr,
                      ir_op(n)->family == FAM_index ? n->src : 0};
    if (!key_words(j, 5, head)) return false;
    if (n->op == OP_const && !p->wanted && !vec_push(&j->constant, j->key.n)) return false;
    if (!key_words(j, n->nattr, n->attr)) return false;
    for (int i = 0; i < n->nin; i++)
        if (!vec_push(&j->key, j->place.at[n->in[i]->id] - 1)) return false;
    return !p->wanted || vec_push(&j->outs, p->node);
}

static bool key_part(Job *j, Ctx *cx)
{
    j->key.n = j->constant.n = j->in.n = j->outs.n = 0;
    for (int k = 0; k < KNOB_COUNT; k++)
        if (KNOBS[k].key && !vec_push(&j->key, cx->knobs.value[k])) return false;
    for (int i = 0; i < j->part.n; i++)
        if (!key_node(j, cx, &j->part.at[i])) return false;
    return true;
}

/* The key, in which constants that were seen to vary are inputs. */
static bool job_key(Job *j, Ctx *cx)
{
    if (!key_part(j, cx)) return false;
    const uint8_t *varies = j->constant.n ? tensor_varying_note(&j->varying, j->key.at, j->key.n,
                                                                j->constant.at, j->constant.n)
                                          : NULL;
    for (int i = 0, c = 0; varies && i < j->part.n; i++) {
        Part *p = &j->part.at[i];
        if (p->node->op == OP_const && !p->input && !p->wanted) p->varies = varies[c++];
    }
    return (!varies || key_part(j, cx)) && vec_reserve(&j->out, j->outs.n);
}

static uint8_t part_mark(const Part *p)
{
    if (p->varies) return COPY_NUMBER;
    return p->input ? COPY_INPUT : COPY_NODE;
}

/* The part as a graph of its own. */
static Graph *job_graph(Job *j, Ctx *cx)
{
    const Graph *from = j->trace->graph;
    size_t n = (size_t)from->nodes.n;
    Graph *g = ir_graph_new(cx);
    uint8_t *mark = base_mem_zero(n, sizeof *mark);
    Node **made = base_mem_zero(n, sizeof *made);
    int status = g ? SGL_OK : cx->err.code;
    if (g && (!mark || !made)) status = no_memory(cx);
    for (int i = 0; status == SGL_OK && i < j->part.n; i++)
        mark[j->part.at[i].node->id] = part_mark(&j->part.at[i]);
    if (status == SGL_OK) status = tensor_copy(from, mark, g, made);
    for (int i = 0; i < j->outs.n && status == SGL_OK; i++)
        status = ir_output(g, made[j->outs.at[i]->id], NULL);
    base_mem_free(made);
    base_mem_free(mark);
    if (status == SGL_OK) return g;
    ir_graph_free(g);
    return NULL;
}

/* The program of the part that runs, from the cache or made now, with the memory and time that
 * making it took. */
static Program *job_program(Job *j, Host *h)
{
    size_t size = (size_t)j->key.n * sizeof *j->key.at;
    Program *p = exec_cache_find(room_of(h)->cache, j->key.at, size);
    if (p) return p;
    double start = base_clock();
    int64_t before = base_mem_stats().live;
    Graph *g = job_graph(j, h->cx);
    p = g ? exec_debug_compile(g, NULL, NULL) : NULL;
    int64_t bytes = base_mem_stats().live - before;
    double seconds = base_clock() - start;
    if (!p || exec_cache_add(room_of(h)->cache, j->key.at, size, p, bytes, seconds) < 0)
        return NULL;
    return p;
}

/* ---- running it */

/* Handle t, whose node was computed, gets the value: an assigned one becomes a leaf. */
static bool take_value(Trace *tr, Tensor *t, Storage *s)
{
    uint64_t node = t->node->id;
    if (!t->leaf) {
        tensor_computed(t, s);
        return true;
    }
    tensor_set(t, dev_storage_ref(s));
    return base_map_set(&tr->past, t->id, node);
}

/* Takes the references in out. */
static int job_store(Job *j)
{
    Ctx *cx = j->trace->graph->cx;
    int status = SGL_OK;
    for (int i = 0; i < j->outs.n; i++) {
        if (status == SGL_OK) status = tensor_trace_store(j->trace, j->outs.at[i], j->out.at[i]);
        dev_storage_unref(j->out.at[i]);
    }
    if (status < 0) return status;
    Tensor *ring = &j->trace->handles;
    for (Tensor *t = ring->prev, *before; t != ring && !t->storage; t = before) {
        before = t->prev;
        Storage *s = tensor_trace_value(j->trace, t->node);
        if (s && !take_value(j->trace, t, s)) status = no_memory(cx);
    }
    if (status < 0) return status;
    j->trace->fresh = j->trace->graph->nodes.n;
    return SGL_OK;
}

/* Finds the part and its key; the places are cleared for the next job. */
static int job_begin(Job *j, Host *h, int n, Tensor *const *list)
{
    j->trace = room_of(h)->pending.trace;
    j->part.n = 0;
    bool ok = part_collect(j, n, list) && job_key(j, h->cx);
    for (int i = 0; i < j->part.n; i++) j->place.at[j->part.at[i].node->id] = 0;
    return ok ? SGL_OK : no_memory(h->cx);
}

/* Runs the part, if anything of it is left to run, and gives the handles their values. */
static int job_run(Job *j, Host *h)
{
    if (!j->outs.n) return job_store(j);
    Program *p = job_program(j, h);
    if (!p) return h->cx->err.code;
    room_of(h)->segments++;
    exec_cache_run_begin(room_of(h)->cache);
    int status = exec_run(p, j->in.at, j->out.at);
    exec_cache_run_end(room_of(h)->cache);
    return status < 0 ? status : job_store(j);
}

/* What a run calls may come back here: then it finds no job, and makes one. */
int tensor_realize(Host *h, int n, Tensor *const *list)
{
    bool needed = false;
    for (int i = 0; i < n; i++) needed |= list[i]->node && !list[i]->storage;
    if (!needed) return SGL_OK;
    TensorRoom *room = room_of(h);
    Job *j = room->job ? room->job : base_mem_zero(1, sizeof *j);
    if (!j) return no_memory(h->cx);
    room->job = NULL;
    int status = job_begin(j, h, n, list);
    if (status == SGL_OK) status = job_run(j, h);
    while (j->number.n) dev_storage_unref(j->number.at[--j->number.n]);
    tensor_job_free(room->job);
    room->job = j;
    return status;
}
