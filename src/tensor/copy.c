/* copy.c: copies a part of a graph, or all of it, into another graph.
 *
 * In:   marks by node id. COPY_NODE copies the node over the copies of its inputs, COPY_INPUT
 *       puts an input of the same type in its place, COPY_NUMBER in that of a constant an input of
 *       one element, which is made as large.
 * Out:  made[id], NULL where there is none. Sources stay; a composite stays if a node that was
 *       copied is in it and its result was copied.
 * Ids are a topological order, so one pass down spreads marks and one pass up copies.
 */
#include <string.h>
#include "ir/build.h"
#include "ir/print.h"
#include "ir/rebuild.h"
#include "tensor/trace.h"

void tensor_copy_mark(const Graph *g, const Trace *known, bool history, uint8_t *mark)
{
    for (int id = g->nodes.n - 1; id >= 0; id--) {
        const Node *n = g->nodes.at[id];
        if (!mark[id]) continue;
        bool stops = known && tensor_trace_value(known, n) && (!history || n->op == OP_detach);
        mark[id] = stops ? COPY_INPUT : COPY_NODE;
        for (int i = 0; mark[id] == COPY_NODE && i < n->nin; i++) mark[n->in[i]->id] = COPY_NODE;
    }
}

/* Marks composites in which a node is copied and whose result is copied too: the others melt into
 * the one around them. */
static void mark_composites(const Graph *from, const uint8_t *mark, uint8_t *composites)
{
    for (int id = 0; id < from->nodes.n; id++)
        if (mark[id]) composites[from->nodes.at[id]->composite] = 1;
    for (int r = from->composites.n - 1; r > 0; r--) {
        const Composite *composite = &from->composites.at[r];
        composites[composite->parent] |= composites[r];
        composites[r] &= composite->out && mark[composite->out->id] == COPY_NODE;
    }
}

static Node *copy_node(Rebuild *rb, const Node *n, Node **in)
{
    if (rb->nodes[n->id] == COPY_INPUT && n->op != OP_input)
        return ir_input(rb->to, INPUT_STATE, NULL, n->dtype, n->rank, n->dims);
    if (rb->nodes[n->id] == COPY_NUMBER)
        return ir_broadcast(ir_input(rb->to, INPUT_STATE, NULL, n->dtype, 0, NULL), n->rank,
                            n->dims);
    return ir_rebuild_same(rb, n, in);
}

/* The rewriting of the marked part; `composites` is room for a byte each. */
static Rebuild copying(const Graph *from, const uint8_t *mark, Graph *to, uint8_t *composites)
{
    mark_composites(from, mark, composites);
    return (Rebuild){
        .from = from, .to = to, .nodes = mark, .composites = composites, .remake = copy_node};
}

int tensor_copy(const Graph *from, const uint8_t *mark, Graph *to, Node **made)
{
    uint8_t *composites = base_mem_zero((size_t)from->composites.n, 1);
    if (!composites) return base_no_memory(to->cx, "a graph");
    Rebuild rb = copying(from, mark, to, composites);
    int status = ir_rebuild_nodes(&rb);
    if (status == SGL_OK) memcpy(made, rb.made, (size_t)from->nodes.n * sizeof *made);
    ir_rebuild_end(&rb);
    base_mem_free(composites);
    return status;
}

/* All inputs are kept, used or not: their numbers are the callers' argument numbers. */
Graph *tensor_copy_whole(const Graph *from)
{
    Graph *to = ir_graph_new(from->cx), *made = NULL;
    Live live = {0};
    if (to && ir_live_find(from, &live)) {
        to->bound = from->bound;
        Rebuild rb = copying(from, live.node, to, live.composite);
        made = ir_rebuild_graph(&rb);
    } else {
        base_no_memory(from->cx, "a graph");
        ir_graph_free(to);
    }
    ir_live_free(&live);
    return made;
}
