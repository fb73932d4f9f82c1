/* blocks.c: exact mode: which sums have a fixed tree, so that ranks can share them bit for bit.
 *
 * In:    a graph; how many blocks; whether all float sums get them.
 * Out:   the graph in which sums over several dims are sums over the last, then the one before, and
 *        in which these reductions have blocks: over a class that a dim of samples is in, those
 *        that end as one number (norms), or all.
 * Holds: it depends on nothing but the graph and these two settings, so a run on one rank has the
 *        same sums as one on many.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/build.h"
#include "ir/rebuild.h"
#include "shard/classes.h"

int shard_batch_dim(const Graph *g, int input)
{
    const GraphInput *in = &g->inputs.at[input];
    if (in->kind != INPUT_ARG) return -1;
    for (int i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i].batch) return in->batch - 1;
    return in->node->rank ? 0 : -1;
}

/* A float sum or product over several dims, as one over each. */
static Node *split(Rebuild *rb, const Node *n, Node **in)
{
    int count = 0;
    const int64_t *dims = NULL;
    if (n->op == OP_sum || n->op == OP_prod) dims = ir_attr_list(n, 0, &count);
    if (count < 2 || !ir_is_float(n)) return ir_rebuild_same(rb, n, in);
    Node *x = in[0];
    for (int i = count - 1; i >= 0 && x; i--) {
        int axis = (int)dims[i];
        x = ir_reduce(x, (Op)n->op, 1, &axis);
    }
    return x;
}

/* ---- which of them */

/* How often each node is read, up to 2, and whether it is the graph's own result. */
static uint8_t *find_uses(const Graph *g)
{
    uint8_t *uses = base_mem_zero((size_t)g->nodes.n + 1, 1);
    for (int id = 0; uses && id < g->nodes.n; id++) {
        const Node *n = g->nodes.at[id];
        for (int i = 0; i < n->nin; i++)
            if (uses[n->in[i]->id] < 2) uses[n->in[i]->id]++;
    }
    return uses;
}

/* Marks the sums of a chain that ends as one number, each link read by the next alone. */
static void mark_norms(const Graph *g, const uint8_t *uses, uint8_t *norm)
{
    for (int id = g->nodes.n - 1; id >= 0; id--) {
        const Node *n = g->nodes.at[id];
        if (n->op != OP_sum) continue;
        if (n->rank == 0) norm[id] = 1;
        if (norm[id] && n->in[0]->op == OP_sum && uses[n->in[0]->id] == 1) norm[n->in[0]->id] = 1;
    }
}

typedef struct Marker {
    Sharding s;
    int blocks;
    bool all;
    uint8_t *norm;   /* by id */
    uint8_t *sample; /* by dim that stands for a class */
} Marker;

static bool wants_blocks(const Marker *m, const Node *n)
{
    const ShardNode *v = &m->s.node[n->id];
    bool wants = m->all || m->norm[n->id];
    for (int k = 0; k < v->f.n && !wants; k++) {
        int input, dim;
        if (v->f.kind[k] != FACTOR_sum && v->f.kind[k] != FACTOR_prod) continue;
        shard_factor_end(&m->s, n, k, &input, &dim);
        wants = input >= 0 && m->sample[shard_class(&m->s, n->in[input], dim)];
    }
    return wants;
}

/* The same reduction in blocks, where it wants them and has more than one element to reduce. */
static Node *put_blocks(Rebuild *rb, const Node *n, Node **in)
{
    const Marker *m = rb->arg;
    int input = -1, dim = -1, at = ir_attr_place(n, "blocks");
    AttrBuf b = {.n = n->nattr};
    if (ir_is_float(n) && at >= 0 && wants_blocks(m, n))
        shard_factor_end(&m->s, n, shard_reduced(&m->s, n), &input, &dim);
    if (input < 0 || n->in[input]->dims[dim] < 2) return ir_rebuild_same(rb, n, in);
    memcpy(b.word, n->attr, n->nattr * sizeof *b.word);
    b.word[at] = m->blocks;
    b.word[at + 1] = shard_units(&m->s, n->in[input], dim);
    return ir_attr_node(rb->to, (Op)n->op, n->nin, in, &b);
}

static bool find_samples(Marker *m)
{
    const Graph *g = m->s.g;
    const Node *last = g->nodes.n ? g->nodes.at[g->nodes.n - 1] : NULL;
    int dims = last ? m->s.node[last->id].dim + last->rank : 0;
    m->sample = base_mem_zero((size_t)dims + 1, 1);
    for (int i = 0; m->sample && i < g->inputs.n; i++) {
        int d = shard_batch_dim(g, i);
        if (d >= 0) m->sample[shard_class(&m->s, g->inputs.at[i].node, d)] = 1;
    }
    return m->sample;
}

/* Of a graph whose sums are split. */
static Graph *mark(const Graph *g, int blocks, bool all)
{
    Marker m = {.blocks = blocks, .all = all};
    uint8_t *uses = find_uses(g);
    Graph *made = NULL;
    m.norm = base_mem_zero((size_t)g->nodes.n + 1, 1);
    int code = uses && m.norm ? shard_classes(&m.s, g) : base_no_memory(g->cx, "blocks of sums");
    if (code >= 0 && !find_samples(&m)) code = base_no_memory(g->cx, "blocks of sums");
    if (code >= 0) {
        mark_norms(g, uses, m.norm);
        made = ir_rebuild_live(g, put_blocks, ORIGIN_SAME, &m);
    }
    shard_classes_free(&m.s);
    base_mem_free(uses);
    base_mem_free(m.norm);
    base_mem_free(m.sample);
    return made;
}

Graph *shard_blocks(const Graph *g, int blocks, bool all)
{
    Graph *apart = ir_rebuild_live(g, split, ORIGIN_SAME, NULL);
    Graph *made = apart ? mark(apart, blocks, all) : NULL;
    if (apart) ir_graph_free(apart);
    return made;
}
