/* op_control.c: cond, scan and loop: their shape rules, and the slots of their rows.
 *
 * Holds: blocks and inputs fit as control.h says, whatever the attributes were, because a parsed
 *        text is checked here too.
 * Gradients and evaluation go over all results at once (control_grad.c, control_eval.c).
 */
#include <string.h>
#include "ir/check.h"
#include "ir/control.h"
#include "ir/result.h"
#include "ir/rules.h"

/* A value's type as a shape, compared and shown alike wherever it comes from. */
static Shape type_of(const Node *n)
{
    Shape s = {.dtype = (Dtype)n->dtype, .rank = n->rank};
    memcpy(s.dims, n->dims, n->rank * sizeof *n->dims);
    return s;
}

static bool same(const Shape *a, const Shape *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static void shape_text(const Ctx *cx, const Shape *s, Str *out)
{
    base_str_fmt(out, "%s[", DTYPES[s->dtype].name);
    for (int d = 0; d < s->rank; d++) {
        if (d) base_str_put(out, ", ");
        ir_dim_text(cx, s->dims[d], out);
    }
    base_str_put(out, "]");
}

static int differ(Ctx *cx, Op op, const char *what, int number, const Shape *a, const Shape *b)
{
    Str is = {0}, want = {0};
    int code = a->dtype == b->dtype ? SGL_ESHAPE : SGL_EDTYPE;
    if (cx->err.code) return cx->err.code;
    shape_text(cx, a, &is);
    shape_text(cx, b, &want);
    base_fail(cx, code, "%s: %s %d: %s and %s", OPS[op].name, what, number, is.at ? is.at : "?",
              want.at ? want.at : "?");
    base_str_free(&is);
    base_str_free(&want);
    return code;
}

static int refuse(Ctx *cx, Op op, const char *what)
{
    return cx->err.code ? cx->err.code : base_fail(cx, SGL_EARG, "%s: %s", OPS[op].name, what);
}

/* The block of that number, which must take n inputs; NULL with the error set. */
static const Graph *block_at(Ctx *cx, Op op, const Node *in, int64_t number, int n)
{
    const Graph *g = in->graph, *block = number < g->blocks.n ? g->blocks.at[number] : NULL;
    if (block && block->inputs.n == n && !block->assigns.n && !block->effects.n) return block;
    refuse(cx, op, block ? "the block does not take these inputs" : "there is no such block");
    return NULL;
}

static int check_inputs(Ctx *cx, Op op, const Graph *block, int from, int n, Node *const *in)
{
    for (int i = 0; i < n; i++) {
        Shape is = type_of(in[i]), want = type_of(block->inputs.at[from + i].node);
        if (!same(&is, &want)) return differ(cx, op, "input", from + i + 1, &is, &want);
    }
    return SGL_OK;
}

static int check_truth(Ctx *cx, Op op, const Node *n)
{
    Shape is = type_of(n);
    if (n->dtype == DT_bool && n->rank == 0) return SGL_OK;
    Str text = {0};
    shape_text(cx, &is, &text);
    base_fail(cx, SGL_EDTYPE, "%s: the condition must be a single bool, got %s", OPS[op].name,
              text.at ? text.at : "?");
    base_str_free(&text);
    return SGL_EDTYPE;
}

int ir_shape_cond(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Graph *then = block_at(cx, op, in[0], attr[0], nin - 1);
    const Graph *other = block_at(cx, op, in[0], attr[1], nin - 1);
    if (!then || !other) return cx->err.code;
    int rc = check_truth(cx, op, in[0]);
    if (!rc) rc = check_inputs(cx, op, then, 0, nin - 1, in + 1);
    if (!rc) rc = check_inputs(cx, op, other, 0, nin - 1, in + 1);
    if (!rc && then->outputs.n != other->outputs.n)
        rc = base_fail(cx, SGL_EARG, "cond: the branches give %d and %d results", then->outputs.n,
                       other->outputs.n);
    for (int i = 0; !rc && i < then->outputs.n; i++) {
        Shape a = type_of(then->outputs.at[i].node), b = type_of(other->outputs.at[i].node);
        if (!same(&a, &b)) rc = differ(cx, op, "the branches differ in result", i + 1, &a, &b);
    }
    if (!rc && !then->outputs.n) rc = refuse(cx, op, "the branches give no result");
    if (!rc) *out = then->outputs.n == 1 ? type_of(then->outputs.at[0].node) : ir_no_value();
    return rc;
}

/* The type with a dim in front, for what is stacked. */
static int stacked(const Check *c, Dim length, const Node *of, Shape *out)
{
    Dim dims[OP_MAX_RANK + 1] = {length};
    memcpy(dims + 1, of->dims, of->rank * sizeof *dims);
    return ir_check_result(c, (Dtype)of->dtype, of->rank + 1, dims, out);
}

static int check_carries(Ctx *cx, Op op, const Graph *body, int carry, Node *const *in)
{
    int rc = check_inputs(cx, op, body, 0, carry, in);
    for (int i = 0; !rc && i < carry; i++) {
        Shape before = type_of(in[i]), after = type_of(body->outputs.at[i].node);
        if (!same(&before, &after))
            rc = differ(cx, op, "a step changes the type of carry", i + 1, &before, &after);
    }
    return rc;
}

static int check_slices(const Check *c, const Graph *body, int carry, int xs, Dim length)
{
    for (int i = carry; i < carry + xs; i++) {
        Shape is = type_of(c->in[i]), want;
        int rc = stacked(c, length, body->inputs.at[i].node, &want);
        if (rc) return rc;
        if (!same(&is, &want)) return differ(c->cx, c->op, "input", i + 1, &is, &want);
    }
    return SGL_OK;
}

int ir_shape_scan(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, 0, in};
    int64_t carry = attr[1], xs = attr[2], steps = attr[3];
    if (steps != 1) return refuse(cx, op, "length has one item");
    if (carry < 0 || xs < 0 || carry > nin || xs > nin - carry)
        return refuse(cx, op, "more carries and xs than inputs");
    Dim length = attr[4];
    const Graph *body = block_at(cx, op, in[0], attr[0], nin);
    if (!body) return cx->err.code;
    if (ir_dim_below_zero(cx, length)) return refuse(cx, op, "the length can be negative");
    if (body->outputs.n < carry) return refuse(cx, op, "the block gives too few carries");
    int rc = check_carries(cx, op, body, (int)carry, in), first = (int)(carry + xs);
    if (!rc) rc = check_slices(&c, body, (int)carry, (int)xs, length);
    if (!rc) rc = check_inputs(cx, op, body, first, nin - first, in + first);
    if (rc) return rc;
    int results = body->outputs.n + (int)carry;
    if (!results) return refuse(cx, op, "the block gives no result");
    if (results > 1) *out = ir_no_value();
    else return stacked(&c, length, body->outputs.at[0].node, out);
    return SGL_OK;
}

int ir_shape_loop(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    int64_t carry = attr[1], max = attr[2];
    const Graph *body = block_at(cx, op, in[0], attr[0], nin);
    if (!body) return cx->err.code;
    if (carry < 1 || carry > nin || body->outputs.n != carry)
        return refuse(cx, op, "the block gives other carries");
    if (max < 0 || max > INT32_MAX) return refuse(cx, op, "max must be between 0 and 2^31-1");
    int rc = check_truth(cx, op, in[0]);
    if (!rc) rc = check_carries(cx, op, body, (int)carry, in);
    if (!rc) rc = check_inputs(cx, op, body, (int)carry, nin - (int)carry, in + carry);
    if (!rc) *out = ir_no_value();
    return rc;
}

/* Of a scan or loop: carries, what each step gave or how many there were, saved carries. */
static int repeated_type(const Node *n, const Control *k, int result, Shape *out)
{
    const Check c = {n->graph->cx, (Op)n->op, n->nin, n->in};
    if (result < k->ncarry) *out = type_of(n->in[result]);
    else if (result == k->count) *out = (Shape){.dtype = DT_i32};
    else if (result >= k->saved) return stacked(&c, k->length, n->in[result - k->saved], out);
    else return stacked(&c, k->length, k->block[0]->outputs.at[result].node, out);
    return SGL_OK;
}

int ir_control_type(const Node *n, int k, Shape *out)
{
    Control c = ir_control(n);
    if (c.op != OP_cond) return repeated_type(n, &c, k, out);
    *out = type_of(c.block[0]->outputs.at[k].node);
    return SGL_OK;
}

RESULTS_TOGETHER(cond)
RESULTS_TOGETHER(scan)
RESULTS_TOGETHER(loop)
