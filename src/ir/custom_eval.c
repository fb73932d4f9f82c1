/* custom_eval.c: the reference of registered ops: that of the row, or its function for the CPU.
 *
 * In:    arrays of the inputs.
 * Out:   arrays of all results, the caller's.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/custom.h"
#include "ir/result.h"
#include "ir/rules.h"

/* Arrays of the node's inputs and results: of doubles, or in their own types. */
typedef struct RefCall {
    const Node *n;
    bool exact;
    sgl_array in[SGL_OP_INPUTS], out[SGL_OP_OUTPUTS];
} RefCall;

static int no_memory(const Node *n)
{
    return base_no_memory(n->graph->cx, "the reference of an op");
}

/* An array for a, in doubles a's own. */
static int give_array(const RefCall *r, const RefArray *a, sgl_array *to)
{
    *to = ir_custom_array(r->exact ? DT_f64 : a->dtype, a->rank, a->dims);
    to->data = r->exact ? a->at : base_mem_alloc((size_t)a->count * DTYPES[a->dtype].bytes + 1);
    return to->data ? SGL_OK : no_memory(r->n);
}

/* The row's own reference on doubles, or its function for the CPU on values in their types. */
static int call_reference(RefCall *r, const sgl_op *op, const RefArray *const *in, RefArray *out)
{
    sgl_attr values[SGL_OP_ATTRS];
    CustomRun run = r->exact ? op->reference : ir_custom_run(op, "cpu");
    if (!run)
        return base_fail(r->n->graph->cx, SGL_EUNSUP, "eval: the op %s has no reference", op->name);
    for (int i = 0; !r->exact && i < r->n->nin; i++)
        for (int64_t e = 0; e < in[i]->count; e++)
            ir_dtype_store(in[i]->dtype, r->in[i].data, e, in[i]->at[e]);
    ir_custom_attrs(r->n, values);
    sgl_call c = {.op = op,
                  .attr = values,
                  .nin = r->n->nin,
                  .nout = op->outputs,
                  .in = r->in,
                  .out = r->out};
    int code = run(&c);
    c.error[sizeof c.error - 1] = 0;
    for (int k = 0; !r->exact && k < op->outputs; k++)
        for (int64_t e = 0; e < out[k].count; e++)
            out[k].at[e] = ir_dtype_load(out[k].dtype, r->out[k].data, e);
    return ir_custom_failed(r->n, code, c.error);
}

/* Arrays for everything, then the call; none is left over after an error. */
int ir_custom_eval(const Node *n, const RefArray *const *in, RefArray *out)
{
    const sgl_op *op = ir_custom_op(n);
    Shape types[SGL_OP_OUTPUTS];
    RefCall r = {.n = n, .exact = op && op->reference};
    int rc = ir_custom_types(n, types);
    if (rc) return rc;
    for (int k = 0; k < op->outputs; k++) out[k] = (RefArray){0};
    for (int i = 0; i < n->nin && !rc; i++) rc = give_array(&r, in[i], &r.in[i]);
    for (int k = 0; k < op->outputs && !rc; k++) {
        if (ir_ref_alloc(&out[k], types[k].dtype, types[k].rank, types[k].dims) < 0)
            rc = no_memory(n);
        else rc = give_array(&r, &out[k], &r.out[k]);
    }
    if (!rc) rc = call_reference(&r, op, in, out);
    for (int i = 0; i < n->nin && !r.exact; i++) base_mem_free(r.in[i].data);
    for (int k = 0; k < op->outputs && !r.exact; k++) base_mem_free(r.out[k].data);
    for (int k = 0; k < op->outputs && rc; k++) ir_ref_free(&out[k]);
    return rc;
}
