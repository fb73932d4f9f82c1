/* realize.c: runs pending operations.
 *
 * In:   handles whose values are wanted.
 * Out:  they have them, and so has every handle on an operation that had to run for them.
 * The part of the trace that runs is described by a key: ops, attributes and edges by number,
 * types of the inputs, which nodes are outputs, the settings that matter. Equal keys are equal
 * programs, so a part met before runs without building a graph. Ops that can fail while running
 * put their position into the key, so that messages name the right line.
 */
#include "base/clock.h"
#include "exec/cache.h"
#include "tensor/break.h"
#include "capture/capture.h"
#include "tensor/debug.h"
#include "tensor/trace.h"

typedef VEC(int64_t) Words;

typedef struct Job {
    Trace *trace;
    Graph *graph;
    uint8_t *mark;   /* by node id: COPY_* */
    bool *wanted;    /* by node id */
    int32_t *number; /* by node id: position in the part */
    Words key;
    VEC(Storage *) in; /* borrowed from the trace */
    VEC(Node *) outs;
    Storage **out;
} Job;

static int no_memory(Ctx *cx)
{
    return base_fail(cx, SGL_ENOMEM, "out of memory for running %s", "pending operations");
}

static int job_init(Job *j, Trace *tr)
{
    size_t n = (size_t)tr->graph->nodes.n;
    *j = (Job){.trace = tr, .graph = tr->graph};
    j->mark = base_mem_zero(n, sizeof *j->mark);
    j->wanted = base_mem_zero(n, sizeof *j->wanted);
    j->number = base_mem_zero(n, sizeof *j->number);
    return j->mark && j->wanted && j->number ? SGL_OK : no_memory(tr->graph->cx);
}

static void job_free(Job *j)
{
    base_mem_free(j->mark);
    base_mem_free(j->wanted);
    base_mem_free(j->number);
    vec_free(&j->key);
    vec_free(&j->in);
    vec_free(&j->outs);
    base_mem_free(j->out);
}

/* Marks what the handles need. Their values are wanted, and the values of other handles on nodes
 * that will run, but for those that cost nothing to make again: constants. */
static void job_mark(Job *j, int n, Tensor *const *list)
{
    for (int i = 0; i < n; i++) {
        if (!list[i]->node || list[i]->storage) continue;
        j->mark[list[i]->node->id] = COPY_NODE;
        j->wanted[list[i]->node->id] = true;
    }
    tensor_copy_mark(j->graph, j->trace, j->mark);
    const Tensor *ring = &j->trace->handles;
    for (const Tensor *t = ring->next; t != ring; t = t->next)
        if (j->mark[t->node->id] == COPY_NODE && t->node->nin) j->wanted[t->node->id] = true;
}

static bool key_words(Words *key, int n, const int64_t *words)
{
    for (int i = 0; i < n; i++)
        if (!vec_push(key, words[i])) return false;
    return true;
}

static bool key_node(Job *j, const Node *n)
{
    if (j->mark[n->id] == COPY_INPUT) {
        int64_t head[] = {-1, n->dtype, n->rank};
        return key_words(&j->key, 3, head) && key_words(&j->key, n->rank, n->dims) &&
               vec_push(&j->in, tensor_trace_value(j->trace, n));
    }
    int64_t head[] = {n->op, j->wanted[n->id], n->nin, n->nattr,
                      ir_op(n)->family == FAM_index ? n->src : 0};
    if (!key_words(&j->key, 5, head) || !key_words(&j->key, n->nattr, n->attr)) return false;
    for (int i = 0; i < n->nin; i++)
        if (!vec_push(&j->key, j->number[n->in[i]->id])) return false;
    return !j->wanted[n->id] || vec_push(&j->outs, j->graph->nodes.at[n->id]);
}

static int job_key(Job *j, Ctx *cx)
{
    for (int k = 0; k < KNOB_COUNT; k++)
        if (KNOBS[k].key && !vec_push(&j->key, cx->knobs.value[k])) return no_memory(cx);
    int32_t number = 0;
    for (int id = 0; id < j->graph->nodes.n; id++) {
        if (!j->mark[id]) continue;
        j->number[id] = number++;
        if (!key_node(j, j->graph->nodes.at[id])) return no_memory(cx);
    }
    j->out = base_mem_zero(j->outs.n, sizeof *j->out);
    return j->out ? SGL_OK : no_memory(cx);
}

static Graph *job_graph(Job *j, Ctx *cx)
{
    Graph *g = ir_graph_new(cx);
    Node **made = base_mem_zero(j->graph->nodes.n, sizeof *made);
    int status = !g ? cx->err.code : made ? tensor_copy(j->graph, j->mark, g, made) : no_memory(cx);
    for (int i = 0; i < j->outs.n && status == SGL_OK; i++)
        status = ir_output(g, made[j->outs.at[i]->id], NULL);
    base_mem_free(made);
    if (status == SGL_OK || !g) return g;
    ir_graph_free(g);
    return NULL;
}

static Program *job_program(Job *j, Host *h)
{
    size_t size = (size_t)j->key.n * sizeof *j->key.at;
    Program *p = exec_cache_find(h->cache, j->key.at, size);
    if (p) return p;
    double start = base_clock();
    int64_t before = base_mem_stats().live;
    Graph *g = job_graph(j, h->cx);
    p = g ? tensor_compile(h, g, NULL) : NULL;
    int64_t bytes = base_mem_stats().live - before;
    double seconds = base_clock() - start;
    if (!p || exec_cache_add(h->cache, j->key.at, size, p, bytes, seconds) < 0) return NULL;
    return p;
}

/* Takes the references in out. */
static int job_store(Job *j)
{
    int status = SGL_OK;
    for (int i = 0; i < j->outs.n; i++) {
        if (status == SGL_OK) status = tensor_trace_store(j->trace, j->outs.at[i], j->out[i]);
        dev_storage_unref(j->out[i]);
    }
    if (status < 0) return status;
    Tensor *ring = &j->trace->handles;
    for (Tensor *t = ring->next, *next; t != ring; t = next) {
        next = t->next;
        if (t->storage) continue;
        Storage *s = tensor_trace_value(j->trace, t->node);
        if (!s) continue;
        if (!t->leaf) {
            t->storage = dev_storage_ref(s);
            continue;
        }
        uint64_t node = t->node->id;
        tensor_set(t, dev_storage_ref(s));
        if (!base_map_set(&j->trace->past, t->id, node)) status = no_memory(j->graph->cx);
    }
    if (status < 0) return status;
    j->trace->fresh = j->graph->nodes.n;
    return SGL_OK;
}

static int job_run(Job *j, Host *h, int n, Tensor *const *list)
{
    job_mark(j, n, list);
    int status = job_key(j, h->cx);
    if (status < 0 || !j->outs.n) return status;
    Program *p = job_program(j, h);
    if (!p) return h->cx->err.code;
    h->segments++;
    exec_cache_run_begin(h->cache);
    status = exec_run(p, j->in.at, j->out);
    exec_cache_run_end(h->cache);
    return status < 0 ? status : job_store(j);
}

int tensor_realize(Host *h, int n, Tensor *const *list)
{
    bool needed = false;
    for (int i = 0; i < n; i++) needed |= list[i]->node && !list[i]->storage;
    if (!needed) return SGL_OK;
    Job j;
    int status = job_init(&j, h->pending);
    if (status == SGL_OK) status = job_run(&j, h, n, list);
    job_free(&j);
    return status;
}

Storage *tensor_value(lua_State *L, Host *h, int arg, const char *what)
{
    Tensor *t = tensor_check(L, h, arg, what);
    if (h->capture && capture_changed(h->capture, t))
        tensor_break(L, h, BREAK_READ, t, "%s", what);
    if (!t->storage) {
        if (h->capture && t->trace != h->pending) tensor_break(L, h, BREAK_READ, t, "%s", what);
        tensor_break_note(L, h, t, what);
        base_err_clear(&h->cx->err);
        if (tensor_realize(h, 1, &t) < 0) bind_throw(L, h);
        tensor_hint_memory(L, h);
    }
    if (h->capture) capture_read(L, h->capture, arg, t);
    return t->storage;
}
