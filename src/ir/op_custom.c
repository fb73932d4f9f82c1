/* op_custom.c: `custom`: attributes and types as the functions of a registered row see and say
 * them. Gradients are in custom_grad.c, the reference in custom_eval.c.
 *
 * Holds: whatever such a function answers, the graph stays well formed: what it says is looked at
 *        before it is used, and every refusal names the op.
 */
#include <stdio.h>
#include <string.h>
#include "ir/attr.h"
#include "ir/check.h"
#include "ir/custom.h"
#include "ir/result.h"
#include "ir/rules.h"

/* ---- what functions of a row are given */

/* The words behind the op's name, each in the fields of its kind. */
static void put_attrs(const int64_t *attr, int nattr, sgl_attr *out)
{
    const char *schema = ir_attr_schema(OP_custom, attr, nattr);
    AttrField f;
    ir_attr_next(&schema, &f);
    for (int at = 1; ir_attr_next(&schema, &f); out++) {
        const int64_t *word = attr + at;
        *out = (sgl_attr){0};
        if (f.kind->list) out->n = (int)word[0], out->items = word + 1;
        else if (f.kind->item == ITEM_real) out->real = ir_attr_double(*word);
        else if (f.kind->item == ITEM_text) out->text = ir_attr_text(*word);
        else out->integer = *word, out->real = (double)*word;
        at += ir_attr_words(&f, word, nattr - at);
    }
}

void ir_custom_attrs(const Node *n, sgl_attr *out) { put_attrs(n->attr, n->nattr, out); }

sgl_array ir_custom_array(Dtype dtype, int rank, const Dim *dims)
{
    sgl_array a = {.dtype = (sgl_dtype)dtype, .rank = rank};
    if (rank) memcpy(a.dims, dims, (size_t)rank * sizeof *dims);
    return a;
}

int ir_custom_refuse(Ctx *cx, const sgl_op *op, int code, const char *what, int nin,
                     Node *const *in)
{
    Str s = {0};
    if (cx->err.code) return cx->err.code;
    for (int i = 0; i < nin; i++) {
        base_str_put(&s, i == 0 ? ": " : i == nin - 1 ? " and " : ", ");
        ir_type_text(in[i], &s);
    }
    base_fail(cx, code, "%s: %s%s", op->name, what, s.failed || !s.at ? "" : s.at);
    base_str_free(&s);
    return code;
}

/* The code of a function of the user's: one of ours, or a bad argument. */
static int code_of(int code) { return code < 0 && base_err_sentence(code) ? code : SGL_EARG; }

static const char *text_of(const char *error) { return *error ? error : "it failed"; }

int ir_custom_failed(const Node *n, int code, const char *error)
{
    Ctx *cx = n->graph->cx;
    if (cx->err.code) return cx->err.code;
    if (code == SGL_OK) return SGL_OK;
    return base_fail(cx, code_of(code), "%s: %s", ir_custom_name(n), text_of(error));
}

/* ---- shapes */

/* sgl_call.size. */
static int64_t compute_size(sgl_call *c, int64_t a, char how, int64_t b)
{
    Ctx *cx = c->engine;
    if (!ir_dim_valid(cx, a) || !ir_dim_valid(cx, b)) {
        base_fail(cx, SGL_ESHAPE, "%s: its shape rule computes with what is no size", c->op->name);
        return DIM_FAIL;
    }
    switch (how) {
    case '+':
        return ir_dim_add(cx, a, b);
    case '-':
        return ir_dim_sub(cx, a, b);
    case '*':
        return ir_dim_mul(cx, a, b);
    case '/':
        if (b > 0) return ir_dim_floordiv(cx, a, b);
        break;
    default:
        break;
    }
    base_fail(cx, SGL_EARG, "%s: its shape rule asks for a size by '%c' and %lld", c->op->name, how,
              (long long)b);
    return DIM_FAIL;
}

/* Is what the shape rule said a type? */
static int check_output(Ctx *cx, const sgl_op *op, int k, const sgl_array *a)
{
    char what[64];
    bool valid =
        (int)a->dtype >= 0 && (int)a->dtype < DT_COUNT && a->rank >= 0 && a->rank <= OP_MAX_RANK;
    for (int d = 0; valid && d < a->rank; d++) valid = ir_dim_valid(cx, a->dims[d]);
    if (valid) return SGL_OK;
    snprintf(what, sizeof what, "its shape rule gives no type for output %d", k + 1);
    return ir_custom_refuse(cx, op, SGL_ESHAPE, what, 0, NULL);
}

static bool same_dims(const sgl_array *a, const sgl_array *b, int n)
{
    return a->rank >= n && b->rank >= n && !memcmp(a->dims, b->dims, (size_t)n * sizeof *a->dims);
}

/* What the row promises of the dims, which whoever cuts them relies on. */
static int check_promises(Ctx *cx, const sgl_call *c, Node *const *in)
{
    const sgl_op *op = c->op;
    const sgl_array *first = NULL;
    bool each = op->flags & SGL_OP_ELEMENTWISE, fits = true;
    for (int i = 0; i < c->nin + c->nout; i++) {
        const sgl_array *a = i < c->nin ? &c->in[i] : &c->out[i - c->nin];
        bool cut = each || (op->rows && (i >= c->nin || op->rows >> i & 1));
        if (!cut) continue;
        if (!first) first = a;
        fits = fits && (each ? a->rank == first->rank && same_dims(a, first, a->rank)
                             : same_dims(a, first, 1));
    }
    if (fits) return SGL_OK;
    return ir_custom_refuse(cx, op, SGL_ESHAPE,
                            each ? "inputs and outputs must have the same dims"
                                 : "inputs and outputs must have the same number of rows",
                            c->nin, in);
}

/* All types of the op over these inputs. */
static int types_of(Ctx *cx, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const sgl_op *op = ir_custom_find(ir_attr_text(attr[0]));
    sgl_array given[SGL_OP_INPUTS], made[SGL_OP_OUTPUTS];
    sgl_attr values[SGL_OP_ATTRS];
    if (!op) return ir_custom_missing(cx, ir_attr_text(attr[0]));
    if (op->inputs < 0 ? nin > SGL_OP_INPUTS : nin != op->inputs)
        return base_fail(cx, SGL_EARG, "%s: %d inputs given, it takes %d", op->name, nin,
                         op->inputs < 0 ? SGL_OP_INPUTS : op->inputs);
    for (int i = 0; i < nin; i++)
        given[i] = ir_custom_array((Dtype)in[i]->dtype, in[i]->rank, in[i]->dims);
    put_attrs(attr, ATTR_MAX_WORDS, values);
    for (int k = 0; k < op->outputs; k++) made[k] = given[0];
    sgl_call c = {.op = op,
                  .attr = values,
                  .nin = nin,
                  .nout = op->outputs,
                  .in = given,
                  .out = made,
                  .size = compute_size,
                  .engine = cx};
    int code = op->shape ? op->shape(&c) : SGL_OK;
    if (cx->err.code) return cx->err.code;
    c.error[sizeof c.error - 1] = 0;
    if (code) return ir_custom_refuse(cx, op, code_of(code), text_of(c.error), nin, in);
    for (int k = 0; k < op->outputs && !code; k++) {
        code = check_output(cx, op, k, &made[k]);
        if (code) return code;
        out[k] = (Shape){.dtype = (Dtype)made[k].dtype, .rank = made[k].rank};
        memcpy(out[k].dims, made[k].dims, (size_t)made[k].rank * sizeof *made[k].dims);
    }
    return check_promises(cx, &c, in);
}

int ir_custom_types(const Node *n, Shape *out)
{
    return types_of(n->graph->cx, n->nin, n->in, n->attr, out);
}

int ir_shape_custom(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    (void)op;
    Shape types[SGL_OP_OUTPUTS];
    int rc = types_of(cx, nin, in, attr, types);
    if (rc) return rc;
    if (ir_custom_find(ir_attr_text(attr[0]))->outputs == 1) *out = types[0];
    else *out = ir_no_value();
    return SGL_OK;
}

RESULTS_TOGETHER(custom)
