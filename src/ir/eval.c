/* eval.c: the reference interpreter.
 *
 * In:    a static graph and an array for each of its inputs.
 * Out:   arrays of the nodes asked for.
 * Holds: one node after the other in id order; an array is freed after its last reader; integers
 *        and bool hold values of their dtype in both modes, floats only in REF_ROUND.
 */
#include <string.h>
#include "ir/control.h"
#include "ir/custom.h"
#include "ir/eval.h"
#include "ir/result.h"

struct Evaluation {
    const Graph *g;
    RefMode mode;
    const RefArray *in;
    int nroots;
    Node *const *roots;
    int next;              /* id of the node that comes next */
    uint8_t *needed;       /* by id */
    int *readers;          /* by id: readers still to come, a root being one */
    RefArray *value;       /* by id; borrowed from `in` where the node is an input */
    const RefArray **args; /* of the node at hand */
};

int ir_ref_alloc(RefArray *a, Dtype dtype, int rank, const int64_t *dims)
{
    memset(a, 0, sizeof *a);
    a->dtype = dtype;
    a->rank = rank;
    a->count = 1;
    for (int i = 0; i < rank; i++) {
        a->dims[i] = dims[i];
        a->count *= dims[i];
    }
    a->at = base_mem_alloc((size_t)(a->count ? a->count : 1) * sizeof *a->at);
    return a->at ? 0 : SGL_ENOMEM;
}

void ir_ref_free(RefArray *a)
{
    base_mem_free(a->at);
    memset(a, 0, sizeof *a);
}

static int out_of_memory(const Graph *g)
{
    return base_fail(g->cx, SGL_ENOMEM, "eval: out of memory.");
}

/* Binds an input node to the caller's array. */
static int bind_input(Evaluation *e, const Node *n)
{
    const RefArray *a = &e->in[ir_attr_int(n, 0)];
    bool same = a->rank == n->rank;
    for (int i = 0; same && i < n->rank; i++) same = a->dims[i] == n->dims[i];
    if (!same)
        return base_fail(e->g->cx, SGL_ESHAPE, "eval: input %d does not have the dims of its node.",
                         (int)ir_attr_int(n, 0) + 1);
    e->value[n->id] = *a;
    e->value[n->id].dtype = n->dtype;
    return 0;
}

/* As the dtype has them: floats in REF_ROUND alone, others always. */
static void round_values(const Evaluation *e, RefArray *a)
{
    if (e->mode != REF_ROUND && DTYPES[a->dtype].class == CLASS_FLOAT) return;
    for (int64_t i = 0; i < a->count; i++) a->at[i] = ir_dtype_round(a->dtype, a->at[i]);
}

/* All results of a registered op; those of `wants` are kept. */
static int compute_custom(const Evaluation *e, const Node *n, const uint8_t *wants, RefArray *out)
{
    int rc = ir_custom_eval(n, e->args, out);
    for (int k = 0; k < ir_result_count(n) && !rc; k++) {
        if (wants[k]) round_values(e, &out[k]);
        else ir_ref_free(&out[k]);
    }
    return rc;
}

/* The values of n and of all results beside it that are needed, at the first of them. */
static int compute_results(Evaluation *e, const Node *n)
{
    int nout = ir_result_count(n), rc = 0;
    RefArray *out = base_mem_zero((size_t)nout, sizeof *out);
    uint8_t *wants = base_mem_zero((size_t)nout, 1);
    if (out && wants) {
        for (int k = 0; k < nout; k++) {
            const Node *result = ir_result_find(n, k);
            wants[k] = result && e->needed[result->id];
        }
        rc = ir_is_control(n) ? ir_control_eval(n, e->mode, e->args, wants, out)
                              : compute_custom(e, n, wants, out);
        for (int k = 0; k < nout && !rc; k++)
            if (wants[k]) e->value[ir_result_find(n, k)->id] = out[k];
    } else {
        rc = out_of_memory(e->g);
    }
    base_mem_free(out);
    base_mem_free(wants);
    return rc;
}

/* The value of one node whose inputs have theirs. Results of one node come together, so it may be
 * there already. */
static int compute(Evaluation *e, const Node *n)
{
    RefArray *out = &e->value[n->id];
    if (out->at) return 0;
    if (!ir_is_static(n)) {
        Str s = {0};
        ir_type_text(n, &s);
        base_fail(e->g->cx, SGL_ESHAPE, "eval: %s has a size that is not a number: %s.",
                  ir_op(n)->name, s.failed || !s.at ? "?" : s.at);
        base_str_free(&s);
        return SGL_ESHAPE;
    }
    if (n->op == OP_input) return bind_input(e, n);
    for (int i = 0; i < n->nin; i++) e->args[i] = &e->value[n->in[i]->id];
    if (ir_has_results(n)) return compute_results(e, n);
    if (ir_ref_alloc(out, n->dtype, n->rank, n->dims) < 0) return out_of_memory(e->g);
    int rc = ir_rules(e->g->cx, n->op)->eval(n, e->args, out);
    if (!rc) round_values(e, out);
    return rc;
}

static void release(Evaluation *e, const Node *n)
{
    if (--e->readers[n->id] == 0 && n->op != OP_input) ir_ref_free(&e->value[n->id]);
}

/* Goes through needed nodes in the order of ids and frees each value after its last reader. */
int ir_eval_go(Evaluation *e, bool together, const Node **stop, const RefArray **in)
{
    int rc = 0;
    for (*stop = NULL; !rc && e->next < e->g->nodes.n; e->next++) {
        const Node *node = e->g->nodes.at[e->next];
        if (!e->needed[node->id]) continue;
        if (together && ir_op(node)->family == FAM_comm && !e->value[node->id].at) {
            *stop = node;
            *in = &e->value[node->in[0]->id];
            return 0;
        }
        rc = compute(e, node);
        for (int i = 0; !rc && i < node->nin; i++) release(e, node->in[i]);
    }
    return rc;
}

RefArray *ir_eval_give(Evaluation *e, const Node *n)
{
    RefArray *out = &e->value[n->id];
    if (ir_ref_alloc(out, n->dtype, n->rank, n->dims) == 0) return out;
    out_of_memory(e->g);
    return NULL;
}

/* Roots are copied out, since one may be asked for twice. */
int ir_eval_take(const Evaluation *e, RefArray *out)
{
    int rc = 0;
    for (int i = 0; !rc && i < e->nroots; i++) {
        const RefArray *v = &e->value[e->roots[i]->id];
        if (ir_ref_alloc(&out[i], v->dtype, v->rank, v->dims) < 0) rc = out_of_memory(e->g);
        else if (v->count) memcpy(out[i].at, v->at, (size_t)v->count * sizeof *v->at);
    }
    for (int i = 0; rc && i < e->nroots; i++) ir_ref_free(&out[i]);
    return rc;
}

/* Marks what is needed, counts readers and makes room for the widest node. */
static int prepare(Evaluation *e)
{
    int n = e->nroots;
    Node *const *roots = e->roots;
    size_t nodes = (size_t)e->g->nodes.n, widest = 1;
    e->needed = base_mem_zero(nodes + 1, sizeof *e->needed);
    e->readers = base_mem_zero(nodes + 1, sizeof *e->readers);
    e->value = base_mem_zero(nodes + 1, sizeof *e->value);
    if (!e->needed || !e->readers || !e->value) return out_of_memory(e->g);
    ir_reachable(e->g, n, roots, e->needed);
    for (size_t id = 0; id < nodes; id++) {
        const Node *node = e->g->nodes.at[id];
        for (int i = 0; e->needed[id] && i < node->nin; i++) e->readers[node->in[i]->id]++;
        if (node->nin > widest) widest = node->nin;
    }
    for (int i = 0; i < n; i++) e->readers[roots[i]->id]++;
    e->args = base_mem_zero(widest, sizeof *e->args);
    return e->args ? 0 : out_of_memory(e->g);
}

Evaluation *ir_eval_begin(const Graph *g, RefMode mode, const RefArray *in, int n,
                          Node *const *nodes)
{
    Evaluation *e = base_mem_zero(1, sizeof *e);
    if (!e) {
        out_of_memory(g);
        return NULL;
    }
    *e = (Evaluation){.g = g, .mode = mode, .in = in, .nroots = n, .roots = nodes};
    if (!prepare(e)) return e;
    ir_eval_end(e);
    return NULL;
}

void ir_eval_end(Evaluation *e)
{
    if (!e) return;
    for (int id = 0; e->value && id < e->g->nodes.n; id++)
        if (e->g->nodes.at[id]->op != OP_input) ir_ref_free(&e->value[id]);
    base_mem_free(e->needed);
    base_mem_free(e->readers);
    base_mem_free(e->value);
    base_mem_free(e->args);
    base_mem_free(e);
}

int ir_eval_nodes(const Graph *g, RefMode mode, const RefArray *in, int n, Node *const *nodes,
                  RefArray *out)
{
    const Node *stop;
    const RefArray *at;
    for (int i = 0; i < n; i++) out[i] = (RefArray){0};
    Evaluation *e = ir_eval_begin(g, mode, in, n, nodes);
    if (!e) return g->cx->err.code;
    int rc = ir_eval_go(e, false, &stop, &at);
    if (!rc) rc = ir_eval_take(e, out);
    ir_eval_end(e);
    return rc;
}
