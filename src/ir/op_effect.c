/* op_effect.c: print and assert: nodes that run for what they do, in the order of their chain.
 *
 * Holds: the first input is the effect before and the result one more than it, so no pass can
 *        merge two effects or change their order. The reference prints nothing.
 */
#include "ir/attr.h"
#include "ir/check.h"
#include "ir/ref.h"
#include "ir/rules.h"

static int shape_effect(const Check *c, Shape *out)
{
    if (c->in[0]->dtype != DT_i32 || c->in[0]->rank)
        return ir_check_fail(c, SGL_EARG, "the first input is no effect", NULL, NULL);
    *out = (Shape){.dtype = DT_i32};
    return 0;
}

int ir_shape_print(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    (void)attr;
    return shape_effect(&(const Check){cx, op, nin, in}, out);
}

int ir_shape_assert(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    (void)attr;
    if (in[1]->dtype != DT_bool || in[1]->rank)
        return ir_check_fail(&c, SGL_EDTYPE, "the condition must be a single bool",
                             "x:all() is true where all elements are", NULL);
    return shape_effect(&c, out);
}

NO_GRADIENT(print)
NO_GRADIENT(assert)

int ir_eval_print(const Node *n, const RefArray *const *in, RefArray *out)
{
    (void)n;
    out->at[0] = in[0]->at[0] + 1;
    return 0;
}

int ir_eval_assert(const Node *n, const RefArray *const *in, RefArray *out)
{
    if (!in[1]->at[0])
        return base_fail(n->graph->cx, SGL_EASSERT, "%s", ir_attr_text(ir_attr_int(n, 0)));
    return ir_eval_print(n, in, out);
}
