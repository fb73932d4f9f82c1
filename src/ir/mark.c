/* mark.c: see mark.h.
 */
#include "ir/mark.h"
#include <string.h>

static int out_of_memory(Graph *g)
{
    return base_fail(g->cx, SGL_ENOMEM, "out of memory for what a graph tells");
}

int ir_mark_batch(Graph *g, const Node *input, int64_t dim)
{
    GraphInput *in = &g->inputs.at[input->attr[0]];
    if (in->kind != INPUT_ARG)
        return base_fail(g->cx, SGL_EARG, "batch: only an argument has samples, '%s' is state",
                         in->name);
    if (dim < 0 || dim >= input->rank)
        return base_fail(g->cx, SGL_EARG, "batch: '%s' has no dim %lld, it has %d", in->name,
                         (long long)dim + 1, input->rank);
    in->batch = (int)dim + 1;
    return SGL_OK;
}

static bool is_loss(const Node *n) { return n->rank == 0 && DTYPES[n->dtype].class == CLASS_FLOAT; }

int ir_mark_loss(Graph *g, Node *loss)
{
    if (!is_loss(loss)) return base_fail(g->cx, SGL_EARG, "loss: it is not a single float");
    for (int i = 0; i < g->losses.n; i++)
        if (g->losses.at[i] == loss) return SGL_OK;
    return vec_push(&g->losses, loss) ? SGL_OK : out_of_memory(g);
}

static bool is_grad(const Node *value, const Node *of)
{
    return value->dtype == of->dtype && ir_same_dims(value, of);
}

int ir_mark_grad(Graph *g, Node *value, Node *of)
{
    GraphGrad grad = {value, of};
    if (!is_grad(value, of))
        return base_fail(g->cx, SGL_EARG, "grad: a gradient has the type of what it is of");
    for (int i = 0; i < g->grads.n; i++)
        if (g->grads.at[i].value == value && g->grads.at[i].of == of) return SGL_OK;
    return vec_push(&g->grads, grad) ? SGL_OK : out_of_memory(g);
}

int ir_mark_module(Graph *g, const char *path)
{
    g->module = path ? base_intern(&g->cx->names, path, strlen(path)) : NULL;
    return g->module || !path ? SGL_OK : out_of_memory(g);
}

int ir_composite_module(Graph *g, uint32_t composite, const char *path)
{
    const char *kept = base_intern(&g->cx->names, path, strlen(path));
    if (!kept) return out_of_memory(g);
    g->composites.at[composite].module = kept;
    return SGL_OK;
}

int ir_marks_carry(Graph *to, const Graph *from, Node *const *made)
{
    int status = SGL_OK;
    for (int i = 0; i < from->inputs.n && status == SGL_OK; i++) {
        const GraphInput *in = &from->inputs.at[i];
        const Node *n = made[in->node->id];
        if (in->batch && n && n->op == OP_input) status = ir_mark_batch(to, n, in->batch - 1);
    }
    for (int i = 0; i < from->losses.n && status == SGL_OK; i++) {
        Node *n = made[from->losses.at[i]->id];
        if (n) status = ir_mark_loss(to, n);
    }
    for (int i = 0; i < from->grads.n && status == SGL_OK; i++) {
        Node *value = made[from->grads.at[i].value->id], *of = made[from->grads.at[i].of->id];
        if (value && of) status = ir_mark_grad(to, value, of);
    }
    return status;
}

static bool belongs(const Graph *g, const Node *n)
{
    return n && n->graph == g && n->id < (uint32_t)g->nodes.n && g->nodes.at[n->id] == n;
}

bool ir_marks_hold(const Graph *g)
{
    for (int i = 0; i < g->inputs.n; i++) {
        const GraphInput *in = &g->inputs.at[i];
        if (in->batch < 0 || in->batch > in->node->rank) return false;
        if (in->batch && in->kind != INPUT_ARG) return false;
    }
    for (int i = 0; i < g->losses.n; i++)
        if (!belongs(g, g->losses.at[i]) || !is_loss(g->losses.at[i])) return false;
    for (int i = 0; i < g->grads.n; i++) {
        const GraphGrad *grad = &g->grads.at[i];
        if (!belongs(g, grad->value) || !belongs(g, grad->of) || !is_grad(grad->value, grad->of))
            return false;
    }
    return true;
}
