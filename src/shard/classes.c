/* classes.c: see classes.h.
 */
#include "shard/classes.h"
#include <string.h>

static int no_memory(const Graph *g) { return base_no_memory(g->cx, "the partition of a step"); }

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int root(const Sharding *s, int dim)
{
    while (s->parent[dim] != dim) dim = s->parent[dim] = s->parent[s->parent[dim]];
    return dim;
}

static void join(Sharding *s, int a, int b)
{
    a = root(s, a);
    b = root(s, b);
    if (a == b) return;
    s->parent[a] = b;
    s->units[b] = common_divisor(s->units[a], s->units[b]);
}

/* All ends of each factor are one class. */
static void join_factors(Sharding *s, const Node *n)
{
    const ShardNode *v = &s->node[n->id];
    for (int k = 0; k < v->f.n; k++) {
        int first = -1;
        if (v->f.kind[k] == FACTOR_fix) continue;
        for (int i = 0; i <= n->nin; i++) {
            const Node *end = i < n->nin ? n->in[i] : n;
            const int8_t *row = i < n->nin ? v->in[i] : v->f.out;
            for (int d = 0; d < end->rank && !s->node[end->id].free; d++) {
                if (row[d] != k) continue;
                int dim = s->node[end->id].dim + d;
                if (first >= 0) join(s, first, dim);
                first = dim;
            }
        }
    }
}

/* A number that is repeated in every dim ties none: optimizers share one between all parameters of
 * a shape. */
static bool is_repeated(const ShardNode *v, const Node *n)
{
    bool repeated = n->op == OP_broadcast;
    for (int d = 0; d < n->rank && repeated; d++)
        repeated = n->dims[d] == 1 || v->f.kind[v->f.out[d]] == FACTOR_new;
    return repeated;
}

static bool is_free(const Sharding *s, const Node *n)
{
    Family family = OPS[n->op].family;
    bool plain = n->op == OP_reshape || n->op == OP_broadcast || n->op == OP_permute ||
                 family == FAM_cast || ir_family_elementwise(family);
    if (n->op == OP_const || n->op == OP_iota || is_repeated(&s->node[n->id], n)) return true;
    for (int i = 0; i < n->nin && plain; i++) plain = s->node[n->in[i]->id].free;
    return plain;
}

/* Factors of all nodes, and each dim as a class of its own. */
static int find_factors(Sharding *s)
{
    int dims = 0;
    for (int id = 0; id < s->g->nodes.n; id++) {
        const Node *n = s->g->nodes.at[id];
        ShardNode *v = &s->node[id];
        v->in = base_arena_alloc(&s->arena, ((size_t)n->nin + 1) * sizeof *v->in);
        if (!v->in) return no_memory(s->g);
        ir_factors(n, &v->f, v->in);
        v->free = is_free(s, n);
        v->dim = dims;
        dims += n->rank;
    }
    s->parent = base_arena_alloc(&s->arena, ((size_t)dims + 1) * sizeof *s->parent);
    s->units = base_arena_alloc(&s->arena, ((size_t)dims + 1) * sizeof *s->units);
    if (!s->parent || !s->units) return no_memory(s->g);
    for (int id = 0, dim = 0; id < s->g->nodes.n; id++)
        for (int d = 0; d < s->g->nodes.at[id]->rank; d++, dim++) {
            s->parent[dim] = dim;
            s->units[dim] = s->g->nodes.at[id]->dims[d];
        }
    return SGL_OK;
}

int shard_classes(Sharding *s, const Graph *g)
{
    s->g = g;
    s->node = base_arena_zero(&s->arena, (size_t)g->nodes.n + 1, sizeof *s->node);
    int code = s->node ? find_factors(s) : no_memory(g);
    if (code < 0) return code;
    for (int id = 0; id < g->nodes.n; id++) join_factors(s, g->nodes.at[id]);
    for (int a = 0; a < g->assigns.n; a++) {
        const Node *state = g->inputs.at[g->assigns.at[a].input].node;
        const Node *value = g->assigns.at[a].value;
        for (int d = 0; d < state->rank && !s->node[value->id].free; d++)
            join(s, s->node[state->id].dim + d, s->node[value->id].dim + d);
    }
    return SGL_OK;
}

void shard_classes_free(Sharding *s) { base_arena_free(&s->arena); }

int shard_class(const Sharding *s, const Node *n, int d) { return root(s, s->node[n->id].dim + d); }

int64_t shard_units(const Sharding *s, const Node *n, int d)
{
    int64_t units = s->units[shard_class(s, n, d)];
    return units > 0 ? units : 1;
}

int shard_reduced(const Sharding *s, const Node *n)
{
    const ShardNode *v = &s->node[n->id];
    for (int k = 0; k < v->f.n; k++)
        if (v->f.kind[k] >= FACTOR_sum && v->f.kind[k] <= FACTOR_min) return k;
    return -1;
}

void shard_factor_end(const Sharding *s, const Node *n, int factor, int *input, int *dim)
{
    for (int i = 0; i < n->nin; i++)
        for (int d = 0; d < n->in[i]->rank; d++)
            if (s->node[n->id].in[i][d] == factor) {
                *input = i;
                *dim = d;
                return;
            }
    *input = *dim = -1;
}
