/* control_eval.c: the reference of control nodes: blocks evaluated step by step.
 *
 * In:    arrays of the inputs; which results are wanted.
 * Out:   arrays of those results, the caller's.
 * Holds: only the branch taken and the steps done are evaluated.
 */
#include <string.h>
#include "ir/control.h"
#include "ir/ref.h"
#include "ir/result.h"

typedef struct Run {
    const Node *n;
    Control c;
    RefMode mode;
    const RefArray *const *in;
    const uint8_t *wants;
    RefArray *out;
    RefArray *args, *given; /* of the block: inputs, borrowed; outputs */
    RefArray *carry;        /* owned */
} Run;

static int out_of_memory(const Run *r)
{
    return base_fail(r->n->graph->cx, SGL_ENOMEM, "eval: out of memory.");
}

/* All outputs of a block from r->args into r->given. */
static int eval_block(Run *r, const Graph *block)
{
    int n = block->outputs.n;
    Node **roots = base_mem_alloc((size_t)(n + 1) * sizeof *roots);
    if (!roots) return out_of_memory(r);
    for (int k = 0; k < n; k++) roots[k] = block->outputs.at[k].node;
    int rc = ir_eval_nodes(block, r->mode, r->args, n, roots, r->given);
    base_mem_free(roots);
    return rc;
}

static int eval_cond(Run *r)
{
    const Graph *block = r->c.block[r->in[0]->at[0] != 0 ? 0 : 1];
    for (int i = 0; i < r->c.ncapture; i++) r->args[i] = *r->in[i + 1];
    int rc = eval_block(r, block);
    for (int k = 0; k < block->outputs.n && !rc; k++) {
        if (r->wants[k]) r->out[k] = r->given[k];
        else ir_ref_free(&r->given[k]);
    }
    return rc;
}

static void put_row(RefArray *stacked, int64_t row, const RefArray *from)
{
    if (from->count)
        memcpy(stacked->at + row * from->count, from->at, (size_t)from->count * sizeof *from->at);
}

/* Step number t over position `row` of what is stacked. */
static int eval_step(Run *r, int64_t row)
{
    const Control *c = &r->c;
    int nin = c->ncarry + c->nxs + c->ncapture, rc;
    for (int i = 0; i < nin; i++) {
        RefArray *a = &r->args[i];
        *a = i < c->ncarry ? r->carry[i] : *r->in[i];
        if (i < c->ncarry || i >= c->ncarry + c->nxs) continue;
        a->rank--;
        memmove(a->dims, a->dims + 1, (size_t)a->rank * sizeof *a->dims);
        a->count = c->length ? a->count / c->length : 0;
        a->at += row * a->count;
    }
    for (int i = 0; i < c->ncarry; i++)
        if (r->wants[c->saved + i]) put_row(&r->out[c->saved + i], row, &r->carry[i]);
    rc = eval_block(r, c->block[0]);
    if (rc) return rc;
    for (int k = 0; k < c->ncarry + c->ny; k++) {
        if (k < c->ncarry) {
            ir_ref_free(&r->carry[k]);
            r->carry[k] = r->given[k];
            continue;
        }
        if (r->wants[k]) put_row(&r->out[k], row, &r->given[k]);
        ir_ref_free(&r->given[k]);
    }
    return 0;
}

static int stacked_results(Run *r)
{
    for (int k = r->c.ncarry; k < r->c.nout; k++) {
        const Node *result = ir_result_find(r->n, k);
        RefArray *a = &r->out[k];
        if (!r->wants[k] || k == r->c.count) continue;
        if (ir_ref_alloc(a, (Dtype)result->dtype, result->rank, result->dims) < 0)
            return out_of_memory(r);
        memset(a->at, 0, (size_t)a->count * sizeof *a->at);
    }
    return 0;
}

/* Runs the body of a scan or loop step by step. The carries are copies of their own, which
 * become the results that are wanted. */
static int eval_steps(Run *r)
{
    const Control *c = &r->c;
    int64_t done = 0;
    int rc = stacked_results(r);
    for (int i = 0; i < c->ncarry && !rc; i++) {
        const RefArray *a = r->in[i];
        if (ir_ref_alloc(&r->carry[i], a->dtype, a->rank, a->dims) < 0) rc = out_of_memory(r);
        else put_row(&r->carry[i], 0, a);
    }
    for (; !rc && done < c->length; done++) {
        if (c->op == OP_loop && !r->carry[0].at[0]) break;
        rc = eval_step(r, c->reverse ? c->length - 1 - done : done);
    }
    if (!rc && c->count >= 0 && r->wants[c->count]) {
        rc = ir_ref_alloc(&r->out[c->count], DT_i32, 0, NULL) < 0 ? out_of_memory(r) : 0;
        if (!rc) r->out[c->count].at[0] = (double)done;
    }
    for (int i = 0; i < c->ncarry; i++) {
        if (!rc && r->wants[i]) r->out[i] = r->carry[i];
        else ir_ref_free(&r->carry[i]);
    }
    return rc;
}

int ir_control_eval(const Node *n, RefMode mode, const RefArray *const *in, const uint8_t *wants,
                    RefArray *out)
{
    Run r = {.n = n, .c = ir_control(n), .mode = mode, .in = in, .wants = wants, .out = out};
    size_t nin = n->nin, given = (size_t)r.c.block[0]->outputs.n + 1, carry = (size_t)r.c.ncarry;
    if (!ir_dim_is_const(r.c.length))
        return base_fail(n->graph->cx, SGL_ESHAPE, "eval: the length is not a number.");
    r.args = base_mem_zero(nin + given + carry, sizeof *r.args);
    if (!r.args) return out_of_memory(&r);
    r.given = r.args + nin;
    r.carry = r.given + given;
    int rc = n->op == OP_cond ? eval_cond(&r) : eval_steps(&r);
    for (int k = 0; rc && k < r.c.nout; k++) ir_ref_free(&out[k]);
    base_mem_free(r.args);
    return rc;
}
