/* grad.c: reverse-mode differentiation, graph to graph.
 *
 * In:    a graph, a scalar loss, the nodes to differentiate by.
 * Out:   new nodes of the same graph, one gradient for each.
 * Holds: cotangents are summed in falling order of the forward ids, so equal graphs get equal
 *        gradients; a gradient node has the source position of the node it differentiates and that
 *        node as its origin, and lies in composite 0.
 *
 * Masks. Where `where` did not take a side its cotangent is 0, and a derivative that is inf or
 * NaN there would turn it into NaN. A cotangent that came through `where` is therefore marked
 * (MASK_PART), and behind each op whose derivative depends on values what is not finite becomes 0
 * where dy is. What is finite stays, since 0 may also be what dy happens to be, and then gradients
 * of the gradient go through. The mark travels until a dot or a reduction mixes elements. What only
 * a block reads that did not run has a cotangent of zeros: that one (MASK_WHOLE) travels all the
 * way, and behind a dot or a reduction the gradient is 0 where all of dy is.
 */
#include "ir/build.h"
#include "ir/check.h"
#include "ir/control.h"
#include "ir/custom.h"
#include "ir/grad.h"
#include "ir/result.h"

typedef struct Reverse {
    Graph *g;
    uint32_t count;   /* nodes there before the first gradient */
    uint8_t *flows;   /* by id: a float that depends on some wrt through gradients */
    uint8_t *needed;  /* by id: the loss needs it */
    uint8_t *masked;  /* by id: MASK_… of its cotangent */
    Node **cotangent; /* by id: the sum so far, or NULL */
} Reverse;

static int out_of_memory(const Graph *g)
{
    return base_fail(g->cx, SGL_ENOMEM, "grad: out of memory.");
}

/* Refuses what has no gradient before anything is added to the graph. */
static int check_arguments(Graph *g, const Node *loss, int n, Node *const *wrt)
{
    Str s = {0};
    const Node *wrong = NULL;
    if (!loss) return g->cx->err.code ? g->cx->err.code : SGL_EARG;
    for (int i = 0; i < n; i++) {
        if (!wrt[i]) return g->cx->err.code ? g->cx->err.code : SGL_EARG;
        if (wrt[i]->graph != g || loss->graph != g)
            return base_fail(g->cx, SGL_EARG, "grad: the loss and its inputs lie in two graphs.");
        if (!ir_is_float(wrt[i]) && !wrong) wrong = wrt[i];
    }
    if (ir_is_float(loss) && loss->rank == 0 && !wrong) return 0;
    bool bad_loss = !ir_is_float(loss) || loss->rank;
    ir_type_text(bad_loss ? loss : wrong, &s);
    base_fail(g->cx, SGL_EGRAD,
              bad_loss ? "grad: the loss must be one float, it is %s."
                       : "grad: no gradient with respect to %s: it is no float.",
              s.failed || !s.at ? "?" : s.at);
    base_err_hint(&g->cx->err, "%s",
                  bad_loss ? "reduce it with :mean() or :sum() first"
                           : "cast it to f32 before it is used");
    base_str_free(&s);
    return SGL_EGRAD;
}

static void spread_flow(const Graph *g, uint8_t *mark, uint32_t count)
{
    for (uint32_t id = 0; id < count; id++) {
        const Node *node = g->nodes.at[id];
        if (!ir_is_float(node) || !ir_op(node)->flows) continue;
        const Node *by = ir_result_of(node);
        for (int i = 0; i < by->nin; i++)
            if (mark[by->in[i]->id] && ir_flows(node, i)) mark[id] |= mark[by->in[i]->id];
    }
}

void ir_grad_flow(const Graph *g, uint8_t *mark) { spread_flow(g, mark, (uint32_t)g->nodes.n); }

void ir_grad_reach(const Graph *g, uint8_t *mark)
{
    for (int id = g->nodes.n - 1; id >= 0; id--) {
        const Node *node = g->nodes.at[id];
        if (!mark[id] || !ir_is_float(node) || !ir_op(node)->flows) continue;
        const Node *by = ir_result_of(node);
        for (int i = 0; i < by->nin; i++)
            if (ir_flows(node, i)) mark[by->in[i]->id] = 1;
    }
}

static void mark_flow(Reverse *r, int n, Node *const *wrt, uint32_t last)
{
    for (int i = 0; i < n; i++) r->flows[wrt[i]->id] = 1;
    spread_flow(r->g, r->flows, last + 1);
}

/* Whether dx is dy itself, its negation or a choice between dy and something: no factor that could
 * be inf where dy is 0. */
static bool passes(const Node *dx, const Node *dy)
{
    bool chosen = dx->op == OP_where && (dx->in[1] == dy || dx->in[2] == dy);
    return dx == dy || chosen || (dx->op == OP_neg && dx->in[0] == dy);
}

/* dx, but 0 where dy is and dx is not finite. */
static Node *guard_elements(Node *dx, Node *dy)
{
    Node *zero = ir_const_like(dx, 0);
    Node *taken = ir_logical_or(ir_ne(dy, ir_const_like(dy, 0)), ir_isfinite(dx));
    return ir_where(taken, dx, zero);
}

/* dx, but 0 where all of dy is. */
static Node *guard_whole(Node *dx, Node *dy)
{
    int axes[OP_MAX_RANK];
    for (int i = 0; i < dy->rank; i++) axes[i] = i;
    Node *some = ir_cast(ir_ne(dy, ir_const_like(dy, 0)), DT_i32);
    Node *any = ir_ne(ir_reduce(some, OP_reduce_max, dy->rank, axes),
                      ir_const(dy->graph, DT_i32, 0, NULL, 0));
    return ir_where(any, dx, ir_const_like(dx, 0));
}

/* Does an element of its gradient depend on that at its place of the one cotangent? */
static bool is_each(const Node *n)
{
    const sgl_op *op = ir_custom_op(n);
    if (!op) return ir_family_elementwise(ir_op(n)->family);
    return op->flags & SGL_OP_ELEMENTWISE && op->outputs == 1;
}

/* What of the mark of n goes on to its inputs, and dx behind it: a factor that is infinite must not
 * make NaN of what is 0 only because something was not taken. */
static uint8_t mask(const Reverse *r, const Node *n, Node *dy, Node **dx)
{
    Family family = ir_op(n)->family;
    bool each = is_each(n);
    bool mixes = family == FAM_dot || family == FAM_reduce || (family == FAM_custom && !each);
    uint8_t mark = r->masked[n->id] & (mixes ? MASK_WHOLE : MASK_PART | MASK_WHOLE);
    if (!mark || !dy || passes(*dx, dy)) return mark;
    if (each) *dx = guard_elements(*dx, dy);
    else if (mixes && n->op != OP_sum) *dx = guard_whole(*dx, dy);
    return mark;
}

/* Adds what n hands on to the cotangent of its input. */
static int accumulate(Reverse *r, const Node *n, Node *dy, int which, Node *dx)
{
    Node *x = n->in[which];
    if (dx->dtype != x->dtype || !ir_same_dims(dx, x))
        return base_fail(r->g->cx, SGL_EINTERN, "grad: %s gives input %d a gradient of other dims",
                         ir_op(n)->name, which + 1);
    uint8_t mark = mask(r, n, dy, &dx);
    Node *sum = r->cotangent[x->id];
    r->cotangent[x->id] = sum && dx ? ir_add(sum, dx) : dx;
    r->masked[x->id] |= mark | ir_control_masks(n);
    return ir_built(x, r->cotangent[x->id]);
}

/* Passes the cotangent of n on to its inputs. */
static int reverse_node(Reverse *r, Node *n)
{
    Node *few[8] = {0}, *dy = r->cotangent[n->id];
    Node **dx = n->nin <= 8 ? few : base_mem_zero(n->nin, sizeof *dx);
    if (!dx) return out_of_memory(r->g);
    int rc = ir_rules(r->g->cx, n->op)->grad(n, dy, dx);
    for (int i = 0; !rc && i < n->nin; i++)
        if (dx[i] && r->flows[n->in[i]->id]) rc = accumulate(r, n, dy, i, dx[i]);
    if (dx != few) base_mem_free(dx);
    return rc;
}

static bool takes_part(const Reverse *r, const Node *n)
{
    return n && n->id < r->count && r->needed[n->id] && r->flows[n->id];
}

/* Gathers the cotangents of n's results; false: there are none. All users of a result have larger
 * ids than n. */
static bool gather_results(Reverse *r, Node *n, int nout, Node **dy, uint8_t *masked)
{
    bool any = false;
    for (int k = 0; k < nout; k++) {
        const Node *result = ir_result_find(n, k);
        if (!takes_part(r, result)) continue;
        dy[k] = r->cotangent[result->id];
        masked[k] = r->masked[result->id];
        any |= dy[k] != NULL;
    }
    return any;
}

/* The same for a node with results. */
static int reverse_results(Reverse *r, Node *n)
{
    int nout = ir_result_count(n), rc = SGL_OK;
    Node **dy = base_mem_zero((size_t)(nout + n->nin), sizeof *dy);
    uint8_t *masked = base_mem_zero((size_t)(nout + n->nin), 1);
    if (!dy || !masked) rc = out_of_memory(r->g);
    bool any = false;
    for (int i = 0; i < n->nin && !rc; i++) any |= masked[nout + i] = r->flows[n->in[i]->id];
    if (any && gather_results(r, n, nout, dy, masked)) {
        Node **dx = dy + nout;
        const uint8_t *wants = masked + nout;
        Node *one = nout == 1 && n->op == OP_custom ? dy[0] : NULL;
        for (int k = 0; k < nout; k++) r->masked[n->id] |= masked[k];
        rc = ir_is_control(n) ? ir_control_grad(n, dy, masked, wants, dx)
                              : ir_custom_grad(n, dy, dx);
        for (int i = 0; !rc && i < n->nin; i++)
            if (dx[i] && wants[i]) rc = accumulate(r, n, one, i, dx[i]);
    }
    base_mem_free(dy);
    base_mem_free(masked);
    return rc;
}

static int reverse(Reverse *r, uint32_t last)
{
    int rc = SGL_OK;
    for (uint32_t id = last + 1; !rc && id-- > 0;) {
        Node *n = r->g->nodes.at[id];
        if (!takes_part(r, n) || !ir_op(n)->flows) continue;
        r->g->src = n->src;
        r->g->origin = n;
        if (ir_has_results(n)) rc = reverse_results(r, n);
        else if (r->cotangent[id] && n->op != OP_result) rc = reverse_node(r, n);
    }
    return rc;
}

static int start(Reverse *r, int nroots, Node *const *roots, Node *const *seeds,
                 const uint8_t *masked)
{
    int rc = SGL_OK;
    for (int i = 0; i < nroots && !rc; i++) {
        uint32_t id = roots[i]->id;
        Node *sum = r->cotangent[id];
        r->cotangent[id] = sum ? ir_add(sum, seeds[i]) : seeds[i];
        if (masked) r->masked[id] |= masked[i];
        rc = ir_built(roots[i], r->cotangent[id]);
    }
    return rc;
}

int ir_grad_from(Graph *g, int nroots, Node *const *roots, Node *const *seeds,
                 const uint8_t *masked, int n, Node *const *wrt, Node **out)
{
    size_t count = (size_t)g->nodes.n;
    uint32_t last = 0, composite = g->composite;
    Src src = g->src;
    const Node *origin = g->origin;
    Reverse r = {.g = g,
                 .count = (uint32_t)count,
                 .flows = base_mem_zero(count + 1, 3),
                 .cotangent = base_mem_zero(count + 1, sizeof *r.cotangent)};
    int rc = r.flows && r.cotangent ? SGL_OK : out_of_memory(g);
    if (!rc) {
        r.needed = r.flows + count;
        r.masked = r.needed + count;
        g->composite = 0;
        for (int i = 0; i < nroots; i++)
            if (roots[i]->id > last) last = roots[i]->id;
        ir_reachable(g, nroots, roots, r.needed);
        mark_flow(&r, n, wrt, last);
        rc = start(&r, nroots, roots, seeds, masked);
    }
    if (!rc) rc = reverse(&r, last);
    for (int i = 0; !rc && i < n; i++) out[i] = wrt[i]->id < count ? r.cotangent[wrt[i]->id] : NULL;
    g->src = src;
    g->composite = composite;
    g->origin = origin;
    base_mem_free(r.flows);
    base_mem_free(r.cotangent);
    return rc;
}

int ir_grad(Graph *g, Node *loss, int n, Node *const *wrt, Node **out)
{
    uint32_t composite = g->composite;
    int rc = check_arguments(g, loss, n, wrt);
    if (rc) return rc;
    g->composite = 0;
    Node *one = ir_const_like(loss, 1);
    rc = ir_built(loss, one);
    if (!rc) rc = ir_grad_from(g, 1, &loss, &one, NULL, n, wrt, out);
    for (int i = 0; !rc && i < n; i++) {
        if (!out[i]) out[i] = ir_const_like(wrt[i], 0);
        rc = ir_built(wrt[i], out[i]);
    }
    g->composite = composite;
    return rc;
}
