/* simplify.c: rebuilds the graph with constants folded, rules applied and dead nodes left out.
 *
 * In:    any verified graph.
 * Out:   a graph with the same inputs (unused ones too), outputs, assigns and live regions; its
 *        `from` is the graph that came in, and origins point there.
 * Holds: the values of outputs and assigns keep their bits. Rounds repeat until no rule fires;
 *        the last round only drops what the rules left behind.
 */
#include "ir/print.h"
#include "pass/pass.h"
#include "pass/simplify.h"

enum { MAX_ROUNDS = 16, MAX_STEPS = 16 };

typedef struct Rebuild {
    const Graph *from;
    Graph *to;
    bool first; /* `from` is the graph that came in */
    bool rules;
    Live live;
    Node **node;      /* old id → new node; NULL: dead */
    uint32_t *region; /* old region → new one */
    int fired;
} Rebuild;

static bool same_type(const Node *a, const Node *b)
{
    return a->dtype == b->dtype && ir_same_dims(a, b);
}

/* The end of the chain of replacements that starts at n. */
static Node *simplest(Rebuild *rb, Node *n)
{
    for (int step = 0; step < MAX_STEPS; step++) {
        Node *next = pass_fold_constant(n);
        if (!next) next = pass_apply_rules(n);
        if (!next || next == n || !same_type(next, n)) break;
        rb->fired++;
        n = next;
    }
    return rb->to->cx->err.code ? NULL : n;
}

static Node *rebuild_control(Rebuild *rb, const Node *n, Node **in)
{
    int rc = pass_trim(n, rb->live.node, rb->to, in, rb->node);
    rb->fired += rc > 0;
    return rc < 0 ? NULL : rb->node[n->id];
}

static Node *rebuild_node(Rebuild *rb, const Node *n, Node **in)
{
    Graph *to = rb->to;
    for (int i = 0; i < n->nin; i++) in[i] = rb->node[n->in[i]->id];
    to->src = n->src;
    to->region = rb->region[n->region];
    to->origin = rb->first ? n : n->origin;
    if (n->op == OP_input) {
        const GraphInput *input = &rb->from->inputs.at[n->attr[0]];
        return ir_input(to, input->kind, input->name, n->dtype, n->rank, n->dims);
    }
    if (ir_is_control(n) && rb->rules) return rebuild_control(rb, n, in);
    Node *made = ir_node_over(to, n, in);
    return made && rb->rules ? simplest(rb, made) : made;
}

static int failure(const Rebuild *rb)
{
    int code = rb->to->cx->err.code;
    return code ? code : SGL_EINTERN;
}

static int rebuild_regions(Rebuild *rb)
{
    Graph *to = rb->to;
    for (int r = 1; r < rb->from->regions.n; r++) {
        const Region *old = &rb->from->regions.at[r];
        if (!rb->live.region[r]) continue;
        to->src = old->src;
        to->region = rb->region[old->parent];
        rb->region[r] = ir_region_begin(to, old->name, 0, NULL);
        if (!rb->region[r]) return failure(rb);
    }
    return SGL_OK;
}

static int most_inputs(const Graph *g)
{
    int most = 1;
    for (int id = 0; id < g->nodes.n; id++)
        if (g->nodes.at[id]->nin > most) most = g->nodes.at[id]->nin;
    for (int r = 0; r < g->regions.n; r++)
        if (g->regions.at[r].nin > most) most = g->regions.at[r].nin;
    return most;
}

/* Inputs first: their order is their index. */
static int rebuild_nodes(Rebuild *rb, Node **in)
{
    const Graph *from = rb->from;
    for (int i = 0; i < from->inputs.n; i++) {
        const Node *n = from->inputs.at[i].node;
        if (!(rb->node[n->id] = rebuild_node(rb, n, in))) return failure(rb);
    }
    for (int id = 0; id < from->nodes.n; id++) {
        const Node *n = from->nodes.at[id];
        if (!rb->live.node[id] || rb->node[id] || n->op == OP_input) continue;
        if (!(rb->node[id] = rebuild_node(rb, n, in))) return failure(rb);
    }
    return SGL_OK;
}

static int rebuild_ends(Rebuild *rb, Node **in)
{
    const Graph *from = rb->from;
    int status = SGL_OK;
    for (int r = 1; r < from->regions.n && status == SGL_OK; r++) {
        const Region *old = &from->regions.at[r];
        int n = 0;
        if (!rb->live.region[r]) continue;
        for (int i = 0; i < old->nin; i++)
            if (rb->node[old->in[i]->id]) in[n++] = rb->node[old->in[i]->id];
        Node *out = old->out ? rb->node[old->out->id] : NULL;
        status = ir_region_fill(rb->to, rb->region[r], n, in, out);
    }
    for (int i = 0; i < from->outputs.n && status == SGL_OK; i++) {
        const GraphOutput *out = &from->outputs.at[i];
        status = ir_output(rb->to, rb->node[out->node->id], out->name);
    }
    for (int i = 0; i < from->assigns.n && status == SGL_OK; i++) {
        const GraphAssign *a = &from->assigns.at[i];
        Node *input = rb->to->inputs.at[a->input].node;
        status = ir_assign(rb->to, input, rb->node[a->value->id]);
    }
    if (from->effect && status == SGL_OK) status = ir_effect(rb->to, rb->node[from->effect->id]);
    rb->to->src = 0;
    rb->to->region = 0;
    rb->to->origin = NULL;
    return status;
}

/* One round; NULL with the error set. *fired is the number of rules applied. */
static Graph *rebuild(const Graph *from, bool first, bool rules, int *fired)
{
    Rebuild rb = {.from = from, .first = first, .rules = rules, .to = ir_graph_new(from->cx)};
    Node **in = base_mem_alloc(most_inputs(from) * sizeof *in);
    if (rb.to) rb.to->shares = true;
    rb.node = base_mem_zero(from->nodes.n + 1, sizeof *rb.node);
    rb.region = base_mem_zero(from->regions.n, sizeof *rb.region);
    int status = SGL_ENOMEM;
    if (in && rb.node && rb.region && ir_live_find(from, &rb.live) && rb.to) {
        status = rebuild_regions(&rb);
        if (status == SGL_OK) status = rebuild_nodes(&rb, in);
        if (status == SGL_OK) status = rebuild_ends(&rb, in);
    }
    if (status < 0) base_fail(from->cx, status, "simplify: %s", base_err_sentence(status));
    if (status < 0 && rb.to) {
        ir_graph_free(rb.to);
        rb.to = NULL;
    }
    base_mem_free(in);
    base_mem_free(rb.node);
    base_mem_free(rb.region);
    ir_live_free(&rb.live);
    *fired = rb.fired;
    return rb.to;
}

int pass_simplify(PassState *st)
{
    Graph *given = st->graph, *now = given;
    int fired = 1;
    for (int round = 0; fired && round < MAX_ROUNDS; round++) {
        bool rules = round < MAX_ROUNDS - 1;
        Graph *next = rebuild(now, now == given, rules, &fired);
        if (now != given) ir_graph_free(now);
        if (!next) return st->cx->err.code;
        now = next;
    }
    now->from = given;
    st->graph = now;
    return SGL_OK;
}
