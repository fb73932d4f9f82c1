/* copy.c: copies a part of a graph, or all of it, into another graph.
 *
 * In:   marks by node id. COPY_NODE copies the node over the copies of its inputs, COPY_INPUT
 *       puts an input of the same type in its place.
 * Out:  made[id], NULL where there is none. Sources stay; a region stays if a node that was
 *       copied is in it and its result was copied.
 * Ids are a topological order, so one pass down spreads marks and one pass up copies.
 */
#include "tensor/trace.h"

void tensor_copy_mark(const Graph *g, const Trace *known, uint8_t *mark)
{
    for (int id = g->nodes.n - 1; id >= 0; id--) {
        const Node *n = g->nodes.at[id];
        if (!mark[id]) continue;
        mark[id] = known && tensor_trace_value(known, n) ? COPY_INPUT : COPY_NODE;
        for (int i = 0; mark[id] == COPY_NODE && i < n->nin; i++) mark[n->in[i]->id] = COPY_NODE;
    }
}

/* Puts region r of `from`, and first the region around it, into `to`; its number there goes to
 * number[r]. A region whose result is not copied melts into the one around it. */
static int copy_region(const Graph *from, uint32_t r, const uint8_t *mark, Graph *to,
                       uint32_t *number)
{
    const Region *region = &from->regions.at[r];
    if (r == 0 || number[r]) return SGL_OK;
    int status = copy_region(from, region->parent, mark, to, number);
    if (status < 0) return status;
    number[r] = number[region->parent];
    if (!region->out || mark[region->out->id] != COPY_NODE) return SGL_OK;
    to->region = number[region->parent];
    to->src = region->src;
    number[r] = ir_region_begin(to, region->name, 0, NULL);
    return number[r] ? SGL_OK : SGL_ENOMEM;
}

/* The inputs and results of the regions, once the nodes are there. */
static int finish_regions(const Graph *from, Graph *to, Node **made, const uint32_t *number)
{
    for (int r = 1; r < from->regions.n; r++) {
        const Region *old = &from->regions.at[r];
        if (!number[r] || number[r] == number[old->parent]) continue;
        Region *new = &to->regions.at[number[r]];
        new->in = base_arena_zero(&to->arena, old->nin + 1, sizeof *new->in);
        if (!new->in) return base_fail(to->cx, SGL_ENOMEM, "out of memory for a graph");
        for (int i = 0; i < old->nin; i++)
            if (old->in[i] && made[old->in[i]->id]) new->in[new->nin++] = made[old->in[i]->id];
        new->out = made[old->out->id];
    }
    return SGL_OK;
}

static Node *copy_node(const Node *n, uint8_t mark, Graph *to, Node **made, Node **in)
{
    to->src = n->src;
    if (n->op == OP_input) {
        const GraphInput *i = &n->graph->inputs.at[ir_attr_int(n, 0)];
        return ir_input(to, i->kind, i->name, n->dtype, n->rank, n->dims);
    }
    if (mark == COPY_INPUT) return ir_input(to, INPUT_STATE, NULL, n->dtype, n->rank, n->dims);
    for (int i = 0; i < n->nin; i++) in[i] = made[n->in[i]->id];
    return ir_node_over(to, n, in);
}

static int copy_nodes(const Graph *from, const uint8_t *mark, Graph *to, Node **made,
                      uint32_t *number)
{
    VEC(Node *) in = {0};
    int status = SGL_OK;
    for (int id = 0; id < from->nodes.n && status == SGL_OK; id++) {
        const Node *n = from->nodes.at[id];
        made[id] = NULL;
        if (!mark[id]) continue;
        if (!vec_reserve(&in, n->nin + 1))
            status = base_fail(to->cx, SGL_ENOMEM, "out of memory for a graph");
        else status = copy_region(from, n->region, mark, to, number);
        if (status < 0) break;
        to->region = number[n->region];
        made[id] = copy_node(n, mark[id], to, made, in.at);
        if (!made[id]) status = to->cx->err.code;
    }
    to->region = 0;
    to->src = 0;
    vec_free(&in);
    return status;
}

int tensor_copy(const Graph *from, const uint8_t *mark, Graph *to, Node **made)
{
    uint32_t *number = base_mem_zero(from->regions.n, sizeof *number);
    if (!number) return base_fail(to->cx, SGL_ENOMEM, "out of memory for a graph");
    int status = copy_nodes(from, mark, to, made, number);
    if (status == SGL_OK) status = finish_regions(from, to, made, number);
    base_mem_free(number);
    return status;
}

/* All inputs are kept, used or not: their numbers are the callers' argument numbers. */
static int copy_all(const Graph *from, Graph *to, uint8_t *mark, Node **made)
{
    for (int i = 0; i < from->inputs.n; i++) mark[from->inputs.at[i].node->id] = COPY_NODE;
    for (int i = 0; i < from->outputs.n; i++) mark[from->outputs.at[i].node->id] = COPY_NODE;
    for (int i = 0; i < from->assigns.n; i++) mark[from->assigns.at[i].value->id] = COPY_NODE;
    if (from->effect) mark[from->effect->id] = COPY_NODE;
    tensor_copy_mark(from, NULL, mark);
    int status = tensor_copy(from, mark, to, made);
    for (int i = 0; i < from->outputs.n && status == SGL_OK; i++)
        status = ir_output(to, made[from->outputs.at[i].node->id], from->outputs.at[i].name);
    for (int i = 0; i < from->assigns.n && status == SGL_OK; i++) {
        const GraphAssign *a = &from->assigns.at[i];
        status = ir_assign(to, made[from->inputs.at[a->input].node->id], made[a->value->id]);
    }
    if (from->effect && status == SGL_OK) status = ir_effect(to, made[from->effect->id]);
    return status;
}

Graph *tensor_copy_whole(const Graph *from)
{
    Graph *to = ir_graph_new(from->cx);
    uint8_t *mark = base_mem_zero(from->nodes.n + 1, 1);
    Node **made = base_mem_zero(from->nodes.n + 1, sizeof *made);
    int status = mark && made ? SGL_OK : SGL_ENOMEM;
    if (to) to->bound = from->bound;
    if (to && status == SGL_OK) status = copy_all(from, to, mark, made);
    base_mem_free(mark);
    base_mem_free(made);
    if (status == SGL_OK || !to) return to;
    base_fail(from->cx, status, "out of memory for a graph");
    ir_graph_free(to);
    return NULL;
}
