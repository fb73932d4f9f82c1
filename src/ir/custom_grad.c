/* custom_grad.c: gradients of registered ops: their rows' functions, and what these build with.
 *
 * In:    a node, cotangents of its results.
 * Out:   gradients of its inputs, nodes of any ops of the table.
 * Holds: an input that is no float gets none; a gradient of another type than its input's is
 *        refused.
 */
#include <stdio.h>
#include "ir/attr.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "ir/result.h"
#include "ir/rules.h"
#include "ir/text.h"

/* sgl_gradient.apply: any op by its name, a registered one too. */
static sgl_node *apply(sgl_gradient *g, const char *name, int n, sgl_node *const *in,
                       const char *attrs)
{
    Graph *to = g->engine;
    Node *const *nodes = (Node *const *)in;
    AttrBuf b = {0};
    bool own = ir_custom_find(name) != NULL;
    int op = own ? (int)OP_custom : name ? ir_op_find(name) : -1;
    for (int i = 0; i < n; i++)
        if (!nodes[i]) return NULL;
    bool legal = op >= 0 && n > 0 && OPS[op].family != FAM_control &&
                 OPS[op].family != FAM_effect && (OPS[op].inputs < 0 || OPS[op].inputs == n);
    if (!legal) {
        base_fail(to->cx, SGL_EARG, "%s: its gradient asks for '%s' of %d inputs, which is no op",
                  g->op->name, name ? name : "?", n);
        return NULL;
    }
    if (ir_family_elementwise(OPS[op].family))
        return (sgl_node *)ir_elementwise(to, (Op)op, n, nodes);
    if (own) ir_attr_put(&b, ir_attr_text_word(to->cx, name));
    if (to->cx->err.code || ir_parse_attrs(to, (Op)op, attrs ? attrs : "", &b) < 0) return NULL;
    return (sgl_node *)ir_attr_node(to, (Op)op, n, nodes, &b);
}

static sgl_node *fill(sgl_gradient *g, const sgl_node *like, double value)
{
    (void)g;
    return like ? (sgl_node *)ir_const_like((const Node *)like, value) : NULL;
}

static sgl_array type(sgl_gradient *g, const sgl_node *of)
{
    (void)g;
    const Node *n = (const Node *)of;
    return n ? ir_custom_array((Dtype)n->dtype, n->rank, n->dims) : (sgl_array){.rank = -1};
}

/* A gradient has the type of its input, and only floats have one. */
static int check_gradients(const Node *n, Node **dx)
{
    for (int i = 0; i < n->nin; i++) {
        Node *const pair[] = {n->in[i], dx[i]};
        char what[64];
        if (!ir_is_float(n->in[i])) dx[i] = NULL;
        if (!dx[i] || (dx[i]->graph == n->graph && dx[i]->dtype == n->in[i]->dtype &&
                       ir_same_dims(dx[i], n->in[i])))
            continue;
        snprintf(what, sizeof what, "input %d has a gradient of another type", i + 1);
        return ir_custom_refuse(n->graph->cx, ir_custom_op(n), SGL_ESHAPE, what, 2, pair);
    }
    return SGL_OK;
}

static int no_gradient(const Node *n)
{
    SrcPos at = base_src_pos(n->graph->cx, n->src);
    base_fail(n->graph->cx, SGL_EGRAD, "grad: the op %s has no gradient (%s:%d)", ir_custom_name(n),
              at.file, at.line);
    base_err_hint(&n->graph->cx->err,
                  "give its row a gradient, or its inputs by :detach() if none is to flow");
    return SGL_EGRAD;
}

int ir_custom_grad(Node *n, Node *const *dy, Node **dx)
{
    const sgl_op *op = ir_custom_op(n);
    Node *out[SGL_OP_OUTPUTS];
    sgl_attr values[SGL_OP_ATTRS];
    if (!op) return ir_custom_missing(n->graph->cx, ir_custom_name(n));
    if (!op->gradient) return no_gradient(n);
    ir_custom_attrs(n, values);
    for (int k = 0; k < op->outputs; k++)
        if (!(out[k] = ir_result(n, k))) return n->graph->cx->err.code;
    sgl_gradient g = {.op = op,
                      .attr = values,
                      .nin = n->nin,
                      .nout = op->outputs,
                      .in = (sgl_node *const *)n->in,
                      .out = (sgl_node *const *)out,
                      .dy = (sgl_node *const *)dy,
                      .dx = (sgl_node **)dx,
                      .apply = apply,
                      .fill = fill,
                      .type = type,
                      .engine = n->graph};
    int code = op->gradient(&g);
    g.error[sizeof g.error - 1] = 0;
    code = ir_custom_failed(n, code, g.error);
    return code ? code : check_gradients(n, dx);
}
