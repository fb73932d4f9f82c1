/* control_grad.c: gradients of control nodes: control nodes over the gradients of their blocks.
 *
 * In:    a node, cotangents of its results.
 * Out:   gradients of its inputs.
 *   cond   a cond on the same predicate; each branch computes the block again and differentiates
 *   scan   a scan the other way over the stacked carries: it carries the cotangents of the carries
 *          and the sums for the captures, and stacks those for the xs
 *   loop   the same over all `max` positions; a step not done is a cond that changes nothing
 * Holds: a block computes again what its gradient needs, from its inputs alone; effects in it do
 *        not happen again. Sums for captures begin at 0 and add the last step first, as unrolled
 *        code does. The results are plain control nodes, so they have gradients in turn.
 */
#include "ir/build.h"
#include "ir/check.h"
#include "ir/control.h"
#include "ir/custom.h"
#include "ir/grad.h"
#include "ir/rebuild.h"
#include "ir/result.h"

typedef struct Reversal {
    Node *n;
    Control c;
    Ctx *cx;
    Node *const *dy;
    const uint8_t *masked, *wants;
    Arena arena; /* lists below and of the functions */
    bool failed;
} Reversal;

typedef struct List {
    int n;
    Node **at;
} List;

static List list_new(Reversal *r, int most)
{
    List l = {0, base_arena_zero(&r->arena, (size_t)most + 1, sizeof *l.at)};
    r->failed = r->failed || !l.at;
    return l;
}

/* Adds a node; NULL is a failure of the builder that made it. */
static void add(Reversal *r, List *l, Node *n)
{
    r->failed = r->failed || !n;
    if (!r->failed) l->at[l->n++] = n;
}

static int finish(Reversal *r, int rc)
{
    if (rc == SGL_OK && r->failed)
        rc = r->cx->err.code ? r->cx->err.code
                             : base_fail(r->cx, SGL_ENOMEM, "grad: out of memory.");
    base_arena_free(&r->arena);
    return rc;
}

/* Gradients of the block's outputs with seeds by the nodes wrt, in the graph g where in are the
 * block's inputs. dx[i] is NULL where nothing depends on wrt[i]. seeds[k] NULL: none. */
static int differentiate(Reversal *r, Graph *g, const Graph *block, Node *const *in,
                         Node *const *seeds, const uint8_t *masked, const List *wrt, Node **dx)
{
    int n = block->outputs.n, roots = 0;
    Node **out = base_arena_zero(&r->arena, 2 * (size_t)n + 1, sizeof *out);
    uint8_t *mask = base_arena_zero(&r->arena, (size_t)n + 1, 1);
    if (!out || !mask) return SGL_ENOMEM;
    Node **seed = out + n;
    int rc = ir_block_splice(g, block, in, NULL, out);
    for (int k = 0; k < n && rc == SGL_OK; k++) {
        if (!seeds[k]) continue;
        out[roots] = out[k];
        mask[roots] = masked[k];
        seed[roots++] = seeds[k];
    }
    return rc ? rc : ir_grad_from(g, roots, out, seed, mask, wrt->n, wrt->at, dx);
}

/* ---- cond */

/* The block's gradient: its inputs and then the seeds, to the gradients that are wanted. */
static Graph *branch(Reversal *r, const Graph *block, const List *in)
{
    const uint8_t *wants = r->wants + 1;
    int nin = block->inputs.n, seed = nin, rc = SGL_OK;
    Graph *g = ir_block_new(r->cx, in->n, in->at);
    List seeds = list_new(r, r->c.nout), wrt = list_new(r, nin), dx = list_new(r, nin);
    List args = list_new(r, in->n);
    if (!g || r->failed) return g;
    for (int i = 0; i < in->n; i++) add(r, &args, g->inputs.at[i].node);
    for (int k = 0; k < r->c.nout; k++)
        if (r->dy[k]) seeds.at[k] = g->inputs.at[seed++].node;
    for (int i = 0; i < nin; i++)
        if (wants[i]) add(r, &wrt, args.at[i]);
    rc = differentiate(r, g, block, args.at, seeds.at, r->masked, &wrt, dx.at);
    for (int i = 0; i < wrt.n && !rc; i++)
        rc = ir_output(g, dx.at[i] ? dx.at[i] : ir_const_like(wrt.at[i], 0), NULL);
    r->failed = r->failed || rc;
    return g;
}

/* One cond more: its blocks take the inputs and the cotangents and give the gradients of their
 * own branch, 0 where it does not use an input. */
static int grad_cond(Reversal *r, Node **dx)
{
    Graph *g = r->n->graph;
    int nin = r->c.ncapture, number[2] = {-1, -1}, out = 0;
    List in = list_new(r, nin + r->c.nout);
    for (int i = 0; i < nin; i++) add(r, &in, r->n->in[i + 1]);
    for (int k = 0; k < r->c.nout; k++)
        if (r->dy[k]) add(r, &in, r->dy[k]);
    for (int b = 0; b < 2 && !r->failed; b++) {
        Graph *block = branch(r, r->c.block[b], &in);
        if (block && !r->failed) number[b] = ir_block_add(g, block);
        r->failed = r->failed || number[b] < 0;
        ir_graph_free(block);
    }
    Node *made = r->failed ? NULL : ir_cond(r->n->in[0], in.n, in.at, number[0], number[1]);
    r->failed = !made;
    for (int i = 0; i < nin && !r->failed; i++) {
        if (!r->wants[i + 1]) continue;
        dx[i + 1] = ir_result(made, out++);
        r->failed = !dx[i + 1];
    }
    return SGL_OK;
}

/* ---- scan and loop */

/* The inputs of the reverse scan, in the order of its block's inputs, and what belongs to them. */
typedef struct Lists {
    List in;
    int dcarry, dcapture;    /* first of: cotangents of float carries, sums of wanted captures */
    int saved, xs, captures; /* first of: what the body's inputs are at each step */
    int *dy, *dsaved;        /* by result: place of its stacked cotangent, or -1 */
    int index, count;        /* loop: place of the position and of the steps done */
    int ncarry, nxs;         /* of the reverse scan */
} Lists;

static Node *zeros(const Node *like) { return ir_const_like(like, 0); }

static void put_carries(Reversal *r, Lists *l)
{
    const Control *c = &r->c;
    for (int i = 0; i < c->ncarry; i++)
        if (ir_is_float(r->n->in[i])) add(r, &l->in, r->dy[i] ? r->dy[i] : zeros(r->n->in[i]));
    l->dcapture = l->in.n;
    for (int i = c->ncarry + c->nxs; i < r->n->nin; i++)
        if (r->wants[i]) add(r, &l->in, zeros(r->n->in[i]));
    l->ncarry = l->in.n;
}

/* The inputs of the reverse scan that have a row for each step: carries before it, slices,
 * cotangents, and for a loop the step's number, by which it knows steps that were not done. */
static void put_stacked(Reversal *r, Lists *l)
{
    const Control *c = &r->c;
    l->saved = l->in.n;
    for (int i = 0; i < c->ncarry; i++) add(r, &l->in, ir_result(r->n, c->saved + i));
    l->xs = l->in.n;
    for (int i = 0; i < c->nxs; i++) add(r, &l->in, r->n->in[c->ncarry + i]);
    for (int k = c->ncarry; k < c->nout && !r->failed; k++) {
        if (!r->dy[k]) continue;
        *(k < c->saved ? &l->dy[k] : &l->dsaved[k - c->saved]) = l->in.n;
        add(r, &l->in, r->dy[k]);
    }
    l->index = l->in.n;
    if (c->op == OP_loop) add(r, &l->in, ir_iota(r->n->graph, DT_i32, 1, &c->length, 0));
    l->nxs = l->in.n - l->saved;
}

static void put_captures(Reversal *r, Lists *l)
{
    const Control *c = &r->c;
    l->captures = l->in.n;
    for (int i = c->ncarry + c->nxs; i < r->n->nin; i++) add(r, &l->in, r->n->in[i]);
    l->count = l->in.n;
    if (c->op == OP_loop) add(r, &l->in, ir_result(r->n, c->count));
}

static Lists lists_make(Reversal *r)
{
    const Control *c = &r->c;
    Lists l = {.in = list_new(r, 4 * r->n->nin + 2 * c->nout + 2)};
    l.dy = base_arena_alloc(&r->arena, 2 * (size_t)c->nout * sizeof *l.dy);
    if (!l.dy) r->failed = true;
    if (r->failed) return l;
    l.dsaved = l.dy + c->nout;
    for (int k = 0; k < 2 * c->nout; k++) l.dy[k] = -1;
    put_carries(r, &l);
    put_stacked(r, &l);
    put_captures(r, &l);
    return l;
}

/* One step back in g over its values `in` of the lists: the outputs of the reverse scan's block.
 */
static void step_back(Reversal *r, const Lists *l, Graph *g, Node *const *in, List *out)
{
    const Control *c = &r->c;
    int nin = r->n->nin, d = 0, first = c->ncarry + c->nxs;
    List args = list_new(r, nin), seeds = list_new(r, c->nout), wrt = list_new(r, nin);
    List dx = list_new(r, nin);
    if (r->failed) return;
    for (int i = 0; i < nin; i++)
        add(r, &args,
            in[i < c->ncarry ? l->saved + i
               : i < first   ? l->xs + i - c->ncarry
                             : l->captures + i - first]);
    for (int i = 0; i < nin; i++)
        if (i < c->ncarry ? ir_is_float(r->n->in[i]) : r->wants[i]) add(r, &wrt, args.at[i]);
    for (int i = 0; i < c->ncarry; i++)
        if (ir_is_float(r->n->in[i])) seeds.at[i] = in[d++];
    for (int k = c->ncarry; k < c->saved && c->op == OP_scan; k++)
        if (l->dy[k] >= 0) seeds.at[k] = in[l->dy[k]];
    if (r->failed || differentiate(r, g, c->block[0], args.at, seeds.at, r->masked, &wrt, dx.at)) {
        r->failed = true;
        return;
    }
    List ys = list_new(r, nin);
    int sum = l->dcapture;
    for (int i = 0, w = 0; i < nin && !r->failed; i++) {
        if (i < c->ncarry ? !ir_is_float(r->n->in[i]) : !r->wants[i]) continue;
        Node *dxi = dx.at[w], *x = wrt.at[w++];
        if (i < c->ncarry) {
            Node *more = l->dsaved[i] >= 0 ? in[l->dsaved[i]] : NULL;
            add(r, out, !dxi ? more ? more : zeros(x) : more ? ir_add(dxi, more) : dxi);
        } else if (i < first) {
            add(r, &ys, dxi ? dxi : zeros(x));
        } else {
            add(r, out, dxi ? ir_add(in[sum], dxi) : in[sum]);
            sum++;
        }
    }
    for (int i = 0; i < ys.n; i++) add(r, out, ys.at[i]);
}

/* An empty block with its inputs: what the lists have, of stacked values a slice. */
static Graph *block_of(Reversal *r, const Lists *l, List *in)
{
    Graph *g = ir_graph_new(r->cx);
    *in = list_new(r, l->in.n);
    r->failed = r->failed || !g;
    for (int i = 0; i < l->in.n && !r->failed; i++) {
        const Node *n = l->in.at[i];
        int slice = i >= l->saved && i < l->saved + l->nxs;
        add(r, in, ir_input(g, INPUT_ARG, NULL, n->dtype, n->rank - slice, n->dims + slice));
    }
    return g;
}

static void give(Reversal *r, Graph *g, const List *out)
{
    for (int i = 0; i < out->n && !r->failed; i++)
        r->failed = ir_output(g, out->at[i], NULL) != SGL_OK;
}

/* The step as a block, or (idle) the block that leaves the carries as they are. */
static int branch_of_loop(Reversal *r, const Lists *l, Graph *outer, bool idle)
{
    List in, out = list_new(r, l->in.n);
    Graph *g = block_of(r, l, &in);
    int number = -1;
    if (!r->failed && !idle) step_back(r, l, g, in.at, &out);
    for (int i = 0; idle && i < l->ncarry && !r->failed; i++) add(r, &out, in.at[i]);
    if (!r->failed) give(r, g, &out);
    if (!r->failed) number = ir_block_add(outer, g);
    r->failed = r->failed || number < 0;
    ir_graph_free(g);
    return number;
}

static void step_if_done(Reversal *r, const Lists *l, Graph *g, const List *in, List *out)
{
    int step = branch_of_loop(r, l, g, false), idle = branch_of_loop(r, l, g, true);
    if (r->failed) return;
    Node *done = ir_lt(in->at[l->index], in->at[l->count]);
    Node *made = l->ncarry ? ir_cond(done, in->n, in->at, step, idle) : NULL;
    for (int i = 0; i < l->ncarry; i++) add(r, out, made ? ir_result(made, i) : NULL);
}

/* A mark on any result is one on all carries, which mix from step to step. */
static void mask_steps(Reversal *r)
{
    uint8_t *all = base_arena_zero(&r->arena, (size_t)r->c.nout, 1);
    if (!all) {
        r->failed = true;
        return;
    }
    uint8_t any = ir_control_masks(r->n);
    for (int k = 0; k < r->c.nout; k++) any |= r->masked[k];
    for (int k = 0; k < r->c.nout; k++) all[k] = any;
    r->masked = all;
}

/* One scan the other way round: it carries the cotangents of carries and the sums of those of
 * captures, and stacks the cotangents of slices. */
static int grad_repeated(Reversal *r, Node **dx)
{
    Graph *g = r->n->graph;
    const Control *c = &r->c;
    mask_steps(r);
    Lists l = lists_make(r);
    if (r->failed) return SGL_OK;
    List in, out = list_new(r, l.in.n);
    Graph *block = block_of(r, &l, &in);
    if (!r->failed && c->op == OP_loop) step_if_done(r, &l, block, &in, &out);
    else if (!r->failed) step_back(r, &l, block, in.at, &out);
    if (!r->failed) give(r, block, &out);
    int number = r->failed ? -1 : ir_block_add(g, block);
    r->failed = r->failed || number < 0;
    ir_graph_free(block);
    Node *made = r->failed
                     ? NULL
                     : ir_scan(l.in.n, l.in.at, number, l.ncarry, l.nxs, c->length, !c->reverse);
    r->failed = !made;
    int carry = 0, sum = l.dcapture, slice = l.ncarry;
    for (int i = 0; i < r->n->nin && !r->failed; i++) {
        bool is_carry = i < c->ncarry, is_x = !is_carry && i < c->ncarry + c->nxs;
        if (is_carry ? !ir_is_float(r->n->in[i]) : !r->wants[i]) continue;
        int which = is_carry ? carry++ : is_x ? slice++ : sum++;
        if (!r->wants[i]) continue;
        dx[i] = ir_result(made, which);
        r->failed = !dx[i];
    }
    return SGL_OK;
}

/* A block computes again what its gradient needs: what then comes out otherwise has none. */
static int refuse_random(const Node *n)
{
    SrcPos at = base_src_pos(n->graph->cx, n->src);
    base_fail(
        n->graph->cx, SGL_EGRAD,
        "grad: the %s at %s:%d calls an op that gives other results each time, and its gradient "
        "would call it again",
        ir_op(n)->name, at.file, at.line);
    base_err_hint(&n->graph->cx->err, "call the op outside, and pass what it gives");
    return SGL_EGRAD;
}

int ir_control_grad(Node *n, Node *const *dy, const uint8_t *masked, const uint8_t *wants,
                    Node **dx)
{
    Reversal r = {
        .n = n, .c = ir_control(n), .cx = n->graph->cx, .dy = dy, .masked = masked, .wants = wants};
    for (int b = 0; b < 2; b++)
        if (r.c.block[b] && ir_custom_any(r.c.block[b], SGL_OP_RANDOM)) return refuse_random(n);
    int rc = n->op == OP_cond ? grad_cond(&r, dx) : grad_repeated(&r, dx);
    return finish(&r, rc);
}
