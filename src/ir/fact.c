/* fact.c: what can be asked of a node without changing anything.
 */
#include <string.h>
#include "ir/attr.h"

bool ir_has_dims(const Node *n, int rank, const Dim *dims)
{
    return n->rank == rank && (!rank || !memcmp(n->dims, dims, (size_t)rank * sizeof *dims));
}

bool ir_same_dims(const Node *a, const Node *b) { return ir_has_dims(a, b->rank, b->dims); }

bool ir_is_static(const Node *n)
{
    for (int d = 0; d < n->rank; d++)
        if (!ir_dim_is_const(n->dims[d])) return false;
    return true;
}

int ir_node_dims(const Node *n, Dim *out)
{
    const char *schema = ir_schema(n);
    const int64_t *at = n->attr;
    int count = n->rank;
    if (count) memcpy(out, n->dims, (size_t)count * sizeof *out);
    for (AttrField f; n->nattr && ir_attr_next(&schema, &f);) {
        int words = ir_attr_words(&f, at, (int)(n->attr + n->nattr - at));
        for (int i = 1; f.kind->item == ITEM_dim && i < words; i++) out[count++] = at[i];
        at += words;
    }
    return count;
}

const Node *ir_graph_symbolic(const Graph *g)
{
    for (int id = 0; id < g->nodes.n; id++) {
        Dim dims[IR_NODE_DIMS];
        int n = ir_node_dims(g->nodes.at[id], dims);
        for (int d = 0; d < n; d++)
            if (!ir_dim_is_const(dims[d])) return g->nodes.at[id];
    }
    return NULL;
}

int64_t ir_count(const Node *n)
{
    int64_t count = 1;
    if (!ir_is_static(n)) return -1;
    for (int d = 0; d < n->rank; d++) count *= n->dims[d];
    return count;
}

bool ir_const_value(const Node *n, double *value)
{
    while (n->op == OP_broadcast || n->op == OP_reshape) n = n->in[0];
    if (n->op != OP_const) return false;
    *value = ir_attr_float(n, 0);
    return true;
}

void ir_type_text(const Node *n, Str *out)
{
    base_str_put(out, DTYPES[n->dtype].name);
    base_str_put(out, "[");
    for (int d = 0; d < n->rank; d++) {
        if (d) base_str_put(out, ", ");
        ir_dim_text(n->graph->cx, n->dims[d], out);
    }
    base_str_put(out, "]");
}

int ir_reachable(const Graph *g, int nroots, Node *const *roots, uint8_t *mark_by_id)
{
    int count = 0;
    if (g->nodes.n) memset(mark_by_id, 0, g->nodes.n);
    for (int i = 0; i < nroots; i++) mark_by_id[roots[i]->id] = 1;
    for (int id = g->nodes.n - 1; id >= 0; id--) {
        if (!mark_by_id[id]) continue;
        const Node *n = g->nodes.at[id];
        count++;
        for (int i = 0; i < n->nin; i++) mark_by_id[n->in[i]->id] = 1;
    }
    return count;
}
