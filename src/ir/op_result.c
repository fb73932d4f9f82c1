/* op_result.c: `result`, and which results a node has (result.h).
 */
#include "ir/attr.h"
#include "ir/check.h"
#include "ir/control.h"
#include "ir/custom.h"
#include "ir/result.h"
#include "ir/rules.h"

bool ir_has_results(const Node *n) { return n->op == OP_custom || ir_is_control(n); }

bool ir_has_value(const Node *n) { return !ir_has_results(n) || ir_result_count(n) == 1; }

int ir_result_count(const Node *n)
{
    const sgl_op *op = ir_custom_op(n);
    return op ? op->outputs : ir_is_control(n) ? ir_control(n).nout : 1;
}

Node *ir_result_find(const Node *n, int k)
{
    Node *of = n->graph->nodes.at[n->id];
    int64_t out = k;
    if (ir_result_count(n) == 1) return of;
    return ir_node_find(n->graph, OP_result, 1, &of, &out, 1);
}

Node *ir_result(Node *n, int k)
{
    AttrBuf b = {0};
    ir_attr_put(&b, k);
    return ir_result_count(n) == 1 ? n : ir_attr_node(n->graph, OP_result, 1, &n, &b);
}

int ir_shape_result(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    Shape types[SGL_OP_OUTPUTS];
    int n = ir_result_count(in[0]), k = (int)attr[0];
    if (n == 1)
        return ir_check_fail(&c, SGL_EARG, "the node has one result, its value", NULL, NULL);
    if (attr[0] < 0 || attr[0] >= n)
        return ir_check_fail(&c, SGL_EARG, "there is no such result", NULL, "%lld outside 0 to %d",
                             (long long)attr[0], n - 1);
    if (ir_is_control(in[0])) return ir_control_type(in[0], k, out);
    int rc = ir_custom_types(in[0], types);
    if (!rc) *out = types[k];
    return rc;
}

RESULTS_TOGETHER(result)
