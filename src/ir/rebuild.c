/* rebuild.c: see rebuild.h.
 *
 * Holds: a graph that is added to is left with the source, composite and origin it had.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/control.h"
#include "ir/mark.h"
#include "ir/print.h"
#include "ir/rebuild.h"
#include "ir/side.h"

/* A builder returns NULL only after it recorded why. */
static int failure(const Rebuild *rb)
{
    int code = rb->from->cx->err.code;
    return code ? code : SGL_EINTERN;
}

/* ---- nodes */

Node *ir_node_over(Graph *g, const Node *n, Node *const *in)
{
    const char *schema = ir_schema(n);
    int64_t attr[ATTR_MAX_WORDS];
    int at = 0;
    AttrField f;
    if (n->graph == g || !ir_is_control(n)) return ir_node(g, n->op, n->nin, in, n->attr, n->nattr);
    memcpy(attr, n->attr, n->nattr * sizeof *attr);
    for (; ir_attr_next(&schema, &f); at += ir_attr_words(&f, attr + at, n->nattr - at)) {
        if (f.kind->item != ITEM_block) continue;
        attr[at] = ir_block_add(g, n->graph->blocks.at[attr[at]]);
        if (attr[at] < 0) return NULL;
    }
    return ir_node(g, n->op, n->nin, in, attr, n->nattr);
}

Node *ir_rebuild_input(Rebuild *rb, const Node *n, const Dim *dims)
{
    const GraphInput *input = &rb->from->inputs.at[n->attr[0]];
    return ir_input(rb->to, input->kind, input->name, (Dtype)n->dtype, n->rank, dims);
}

Node *ir_rebuild_same(Rebuild *rb, const Node *n, Node **in)
{
    return n->op == OP_input ? ir_rebuild_input(rb, n, n->dims) : ir_node_over(rb->to, n, in);
}

/* Where the new node stands, and what it came from. */
static void stand(const Rebuild *rb, const Node *n)
{
    rb->to->src = n->src;
    rb->to->composite = rb->composite[n->composite];
    if (rb->origin != ORIGIN_GIVEN) rb->to->origin = rb->origin == ORIGIN_NODE ? n : n->origin;
}

static int most_inputs(const Graph *g)
{
    int most = 1;
    for (int id = 0; id < g->nodes.n; id++)
        if (g->nodes.at[id]->nin > most) most = g->nodes.at[id]->nin;
    for (int r = 0; r < g->composites.n; r++)
        if (g->composites.at[r].nin > most) most = g->composites.at[r].nin;
    return most;
}

static int make_nodes(Rebuild *rb, bool inputs_only, Node **in)
{
    Remake remake = rb->remake ? rb->remake : ir_rebuild_same;
    for (int id = 0; id < rb->from->nodes.n; id++) {
        const Node *n = rb->from->nodes.at[id];
        if ((rb->nodes && !rb->nodes[id]) || rb->made[id]) continue;
        if (inputs_only && n->op != OP_input) continue;
        for (int i = 0; i < n->nin; i++) in[i] = rb->made[n->in[i]->id];
        stand(rb, n);
        rb->made[id] = remake(rb, n, in);
        if (!rb->made[id]) return failure(rb);
    }
    return SGL_OK;
}

/* ---- composites */

static bool stays(const Rebuild *rb, int r) { return !rb->composites || rb->composites[r]; }

/* Opens the composites that stay before any node is made, since a node needs the number of its own;
 * a composite's parent has a smaller number. */
static int begin_composites(Rebuild *rb)
{
    Graph *to = rb->to;
    rb->composite[0] = to->composite;
    for (int r = 1; r < rb->from->composites.n; r++) {
        const Composite *old = &rb->from->composites.at[r];
        rb->composite[r] = rb->composite[old->parent];
        if (!stays(rb, r)) continue;
        to->src = old->src;
        to->composite = rb->composite[old->parent];
        to->module = old->module;
        rb->composite[r] = ir_composite_begin(to, old->name, 0, NULL);
        if (!rb->composite[r]) return failure(rb);
    }
    return SGL_OK;
}

/* What composites were called on and gave, as far as it was made. */
static int fill_composites(Rebuild *rb, Node **in)
{
    int status = SGL_OK;
    for (int r = 1; r < rb->from->composites.n && status == SGL_OK; r++) {
        const Composite *old = &rb->from->composites.at[r];
        int n = 0;
        if (!stays(rb, r)) continue;
        for (int i = 0; i < old->nin; i++)
            if (old->in[i] && rb->made[old->in[i]->id]) in[n++] = rb->made[old->in[i]->id];
        Node *out = old->out ? rb->made[old->out->id] : NULL;
        status = ir_composite_fill(rb->to, rb->composite[r], n, in, out);
    }
    return status;
}

/* In a whole graph the inputs come first, as in its text. */
static int rebuild(Rebuild *rb, bool inputs_first)
{
    Graph *to = rb->to;
    Src src = to->src;
    uint32_t composite = to->composite;
    const char *module = to->module;
    const Node *origin = to->origin;
    Node **in = base_mem_alloc((size_t)most_inputs(rb->from) * sizeof *in);
    rb->made = base_mem_zero((size_t)rb->from->nodes.n + 1, sizeof *rb->made);
    rb->composite = base_mem_zero((size_t)rb->from->composites.n, sizeof *rb->composite);
    int status = in && rb->made && rb->composite ? begin_composites(rb)
                                                 : base_no_memory(rb->from->cx, "a graph");
    if (status == SGL_OK && inputs_first) status = make_nodes(rb, true, in);
    if (status == SGL_OK) status = make_nodes(rb, false, in);
    if (status == SGL_OK) status = fill_composites(rb, in);
    to->src = src;
    to->composite = composite;
    to->module = module;
    to->origin = origin;
    base_mem_free(in);
    return status;
}

int ir_rebuild_nodes(Rebuild *rb) { return rebuild(rb, false); }

void ir_rebuild_end(Rebuild *rb)
{
    base_mem_free(rb->made);
    base_mem_free(rb->composite);
    rb->made = NULL;
    rb->composite = NULL;
}

/* ---- whole graphs */

/* Outputs, assigns and effects, which close a whole graph. */
static int make_ends(const Rebuild *rb)
{
    const Graph *from = rb->from;
    int status = SGL_OK;
    for (int i = 0; i < from->outputs.n && status == SGL_OK; i++) {
        const GraphOutput *out = &from->outputs.at[i];
        status = ir_output(rb->to, rb->made[out->node->id], out->name);
    }
    for (int i = 0; i < from->assigns.n && status == SGL_OK; i++) {
        const GraphAssign *a = &from->assigns.at[i];
        Node *input = rb->made[from->inputs.at[a->input].node->id];
        status = ir_assign(rb->to, input, rb->made[a->value->id]);
    }
    for (int i = 0; i < from->effects.n && status == SGL_OK; i++) {
        const GraphEffect *e = &from->effects.at[i];
        status = ir_effect(rb->to, e->channel, rb->made[e->last->id]);
    }
    if (status == SGL_OK) status = ir_marks_carry(rb->to, from, rb->made);
    return status == SGL_OK ? ir_side_carry(rb->to, from, rb->made) : status;
}

Graph *ir_rebuild_graph(Rebuild *rb)
{
    int status = rb->to ? rebuild(rb, true) : failure(rb);
    if (rb->to) rb->to->part = rb->from->part;
    if (status == SGL_OK) status = make_ends(rb);
    ir_rebuild_end(rb);
    if (status == SGL_OK) return rb->to;
    ir_graph_free(rb->to);
    rb->to = NULL;
    return NULL;
}

Graph *ir_rebuild_live(const Graph *from, Remake remake, RebuildOrigin origin, void *arg)
{
    Graph *to = ir_graph_new(from->cx), *made = NULL;
    Live live = {0};
    if (to && ir_live_find(from, &live)) {
        to->shares = true;
        made = ir_rebuild_graph(&(Rebuild){.from = from,
                                           .to = to,
                                           .nodes = live.node,
                                           .composites = live.composite,
                                           .remake = remake,
                                           .origin = origin,
                                           .arg = arg});
    } else {
        base_no_memory(from->cx, "a graph");
        ir_graph_free(to);
    }
    ir_live_free(&live);
    return made;
}

/* ---- blocks */

/* For a block's input what it is called on. */
static Node *splice_node(Rebuild *rb, const Node *n, Node **in)
{
    Node *const *outer = rb->arg;
    return n->op == OP_input ? outer[n->attr[0]] : ir_node_over(rb->to, n, in);
}

int ir_block_splice(Graph *to, const Graph *block, Node *const *in, const uint8_t *wanted,
                    Node **out)
{
    int nout = block->outputs.n, n = 0;
    Node **roots = base_mem_alloc(((size_t)nout + 1) * sizeof *roots);
    uint8_t *mark = base_mem_zero((size_t)block->nodes.n + 1, 1);
    uint8_t *none = base_mem_zero((size_t)block->composites.n, 1);
    Rebuild rb = {.from = block, .to = to, .nodes = mark, .composites = none, .arg = (void *)in};
    rb.remake = splice_node;
    int status = roots && mark && none ? SGL_OK : base_no_memory(to->cx, "a graph");
    for (int k = 0; k < nout && status == SGL_OK; k++)
        if (!wanted || wanted[k]) roots[n++] = block->outputs.at[k].node;
    if (status == SGL_OK) ir_reachable(block, n, roots, mark);
    if (status == SGL_OK) status = ir_rebuild_nodes(&rb);
    for (int k = 0; k < nout && status == SGL_OK; k++)
        if (!wanted || wanted[k]) out[k] = rb.made[block->outputs.at[k].node->id];
    ir_rebuild_end(&rb);
    base_mem_free(roots);
    base_mem_free(mark);
    base_mem_free(none);
    return status;
}
