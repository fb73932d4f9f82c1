/* verify.c: the numbered rules of verify.h, as two tables.
 *
 * A rule is a predicate with the sentence that must hold. Rules run in order for each node, so a
 * later one may rely on the earlier ones: the shape rule is called only on well-formed nodes.
 */
#include <stdio.h>
#include <string.h>
#include "ir/attr.h"
#include "ir/mark.h"
#include "ir/result.h"
#include "ir/verify.h"

static bool id_is_position(const Graph *g, const Node *n)
{
    return n->graph == g && n->id < (uint32_t)g->nodes.n && g->nodes.at[n->id] == n;
}

static bool inputs_come_first(const Graph *g, const Node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (!n->in[i] || n->in[i]->graph != g || n->in[i]->id >= n->id) return false;
    return true;
}

static bool op_known(const Graph *g, const Node *n)
{
    (void)g;
    if (n->op >= OP_COUNT || n->dtype >= DT_COUNT || n->rank > OP_MAX_RANK) return false;
    return OPS[n->op].inputs < 0 ? n->nin >= 1 : n->nin == OPS[n->op].inputs;
}

static bool attributes_fit(const Graph *g, const Node *n)
{
    return ir_attr_check(g->cx, n->op, n->attr, n->nattr) == SGL_OK;
}

static bool dims_known(const Graph *g, const Node *n)
{
    for (int d = 0; d < n->rank; d++) {
        if (!ir_dim_valid(g->cx, n->dims[d]) || ir_dim_least(g->cx, n->dims[d]) < 0) return false;
    }
    return true;
}

static bool input_listed(const Graph *g, const Node *n)
{
    if (n->op != OP_input) return true;
    return n->attr[0] >= 0 && n->attr[0] < g->inputs.n && g->inputs.at[n->attr[0]].node == n;
}

static bool shape_follows(const Graph *g, const Node *n)
{
    Shape s;
    if (n->op == OP_input) return true;
    if (ir_rules(g->cx, n->op)->shape(g->cx, n->op, n->nin, n->in, n->attr, &s) < 0) return false;
    return s.dtype == n->dtype && s.rank == n->rank &&
           (!s.rank || !memcmp(s.dims, n->dims, s.rank * sizeof *s.dims));
}

static bool constant_exact(const Graph *g, const Node *n)
{
    (void)g;
    if (n->op != OP_const) return true;
    double value = ir_attr_float(n, 0), kept = ir_dtype_round(n->dtype, value);
    return value == kept || (value != value && kept != kept);
}

static bool composite_exists(const Graph *g, const Node *n)
{
    return n->composite < (uint32_t)g->composites.n;
}

static const struct {
    bool (*holds)(const Graph *, const Node *);
    const char *sentence;
} NODE_RULES[] = {
    {id_is_position, "a node's id is its place in its graph"},                   /* V1 */
    {inputs_come_first, "inputs belong to the same graph and have smaller ids"}, /* V2 */
    {op_known, "op, dtype and rank exist, and the op has its number of inputs"}, /* V3 */
    {attributes_fit, "attributes follow the op's schema"},                       /* V4 */
    {dims_known, "dims are sizes of this context that are never negative"},      /* V5 */
    {input_listed, "input i is the node of the graph's i-th input"},             /* V6 */
    {shape_follows, "dtype and dims are what the op's shape rule says"},         /* V7 */
    {constant_exact, "a constant is representable in its dtype"},                /* V8 */
    {composite_exists, "the composite of a node exists"},                        /* V9 */
};
enum { NODE_COUNT = sizeof NODE_RULES / sizeof *NODE_RULES };

static bool belongs(const Graph *g, const Node *n) { return n && id_is_position(g, n); }

static bool inputs_are_inputs(const Graph *g)
{
    for (int i = 0; i < g->inputs.n; i++) {
        const Node *n = g->inputs.at[i].node;
        if (!belongs(g, n) || n->op != OP_input || n->attr[0] != i) return false;
    }
    return true;
}

static bool outputs_belong(const Graph *g)
{
    for (int i = 0; i < g->outputs.n; i++)
        if (!belongs(g, g->outputs.at[i].node)) return false;
    return true;
}

static bool assigns_fit(const Graph *g)
{
    for (int i = 0; i < g->assigns.n; i++) {
        const GraphAssign *a = &g->assigns.at[i];
        if (a->input < 0 || a->input >= g->inputs.n || !belongs(g, a->value)) return false;
        const GraphInput *in = &g->inputs.at[a->input];
        if (in->kind != INPUT_STATE || in->node->dtype != a->value->dtype ||
            !ir_same_dims(in->node, a->value))
            return false;
        for (int j = 0; j < i; j++)
            if (g->assigns.at[j].input == a->input) return false;
    }
    return true;
}

static bool composites_nest(const Graph *g)
{
    for (int r = 0; r < g->composites.n; r++) {
        const Composite *composite = &g->composites.at[r];
        if (r > 0 && composite->parent >= (uint32_t)r) return false;
        if (composite->out && !belongs(g, composite->out)) return false;
        for (int i = 0; i < composite->nin; i++)
            if (!belongs(g, composite->in[i])) return false;
    }
    return true;
}

static bool blocks_hold(const Graph *g)
{
    for (int i = 0; i < g->blocks.n; i++)
        if (g->blocks.at[i]->cx != g->cx || ir_verify(g->blocks.at[i]) < 0) return false;
    return true;
}

static bool blocks_are_closed(const Graph *g)
{
    for (int i = 0; i < g->blocks.n; i++) {
        const Graph *block = g->blocks.at[i];
        if (!block->hash || block->assigns.n || block->effects.n) return false;
    }
    return true;
}

/* Does the chain that ends with n have the effect, too? */
static bool chain_has(const Node *n, const Node *effect)
{
    while (n != effect && OPS[n->op].family == FAM_effect) n = n->in[0];
    return n == effect && OPS[n->op].family == FAM_effect;
}

static bool effects_are_chains(const Graph *g)
{
    for (int i = 0; i < g->effects.n; i++) {
        const GraphEffect *e = &g->effects.at[i];
        if (!belongs(g, e->last) || e->last->dtype != DT_i32 || e->last->rank) return false;
        for (int j = 0; j < g->effects.n; j++)
            if (j != i && (!strcmp(g->effects.at[j].channel, e->channel) ||
                           chain_has(g->effects.at[j].last, e->last)))
                return false;
    }
    return true;
}

static bool results_are_read(const Graph *g)
{
    bool held = true;
    for (int id = 0; id < g->nodes.n && held; id++) {
        const Node *n = g->nodes.at[id];
        for (int i = 0; i < n->nin && held; i++)
            held = n->op == OP_result || ir_has_value(n->in[i]);
    }
    for (int i = 0; i < g->outputs.n && held; i++) held = ir_has_value(g->outputs.at[i].node);
    for (int i = 0; i < g->assigns.n && held; i++) held = ir_has_value(g->assigns.at[i].value);
    return held;
}

static const struct {
    bool (*holds)(const Graph *);
    const char *sentence;
} GRAPH_RULES[] = {
    {inputs_are_inputs, "the graph's inputs are its input nodes in order"},        /* V10 */
    {outputs_belong, "outputs are nodes of the graph"},                            /* V11 */
    {assigns_fit, "an assign gives a state, once, a value of its dtype and dims"}, /* V12 */
    {composites_nest, "composites nest, and their ends are nodes of the graph"},   /* V13 */
    {blocks_hold, "blocks obey the rules in the same context"},                    /* V14 */
    {blocks_are_closed, "blocks have no assigns and no effect of their own"},      /* V15 */
    {effects_are_chains,
     "each channel has one effect, an i32 of no other channel's chain"}, /* V16 */
    {ir_marks_hold, "a batch is a dim of its argument, a loss one float, a gradient of its value's "
                    "type"}, /* V17 */
    {results_are_read,
     "a node with several results is read by `result` alone, and is no output"}, /* V18 */
};
enum { GRAPH_COUNT = sizeof GRAPH_RULES / sizeof *GRAPH_RULES };

/* Rules that call shape rules leave an error in the context; it becomes the detail. */
static int broken(const Graph *g, int rule, const char *sentence, const Node *n)
{
    Err *e = &g->cx->err;
    char detail[512] = "", name[64] = "the graph";
    if (e->code == SGL_ENOMEM) return e->code;
    if (e->code) snprintf(detail, sizeof detail, " (%.480s)", e->text);
    if (n)
        snprintf(name, sizeof name, "node %u, %s", n->id, n->op < OP_COUNT ? OPS[n->op].name : "?");
    base_err_clear(e);
    return base_err_set(e, SGL_EVERIFY, "V%d: %s: %s%s", rule, sentence, name, detail);
}

int ir_verify(const Graph *g)
{
    if (g->cx->err.code) return g->cx->err.code;
    for (int id = 0; id < g->nodes.n; id++)
        for (int r = 0; r < NODE_COUNT; r++)
            if (!NODE_RULES[r].holds(g, g->nodes.at[id]))
                return broken(g, r + 1, NODE_RULES[r].sentence, g->nodes.at[id]);
    for (int r = 0; r < GRAPH_COUNT; r++)
        if (!GRAPH_RULES[r].holds(g))
            return broken(g, NODE_COUNT + r + 1, GRAPH_RULES[r].sentence, NULL);
    return SGL_OK;
}
