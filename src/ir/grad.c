/* grad.c: reverse-mode differentiation, graph to graph.
 *
 * In:    a graph, a scalar loss, the nodes to differentiate by.
 * Out:   new nodes of the same graph, one gradient for each.
 * Holds: cotangents are summed in falling order of the forward ids, so equal graphs get equal
 *        gradients; a gradient node has the source position of the node it differentiates and that
 *        node as its origin, and lies in region 0.
 *
 * Masks. Where `where` did not take a side its cotangent is 0, and a derivative that is inf or
 * NaN there would turn it into NaN. A cotangent that came through `where` is therefore marked, and
 * behind each op whose derivative depends on values it becomes where(dy == 0, 0, dx). The mark
 * travels until a dot or a reduction mixes elements.
 */
#include "ir/build.h"
#include "ir/check.h"
#include "ir/grad.h"

typedef struct Reverse {
    Graph *g;
    uint8_t *flows;   /* by id: a float that depends on some wrt through gradients */
    uint8_t *needed;  /* by id: the loss needs it */
    uint8_t *masked;  /* by id: its cotangent came through `where` */
    Node **cotangent; /* by id: the sum so far, or NULL */
} Reverse;

static bool is_float(const Node *n) { return DTYPES[n->dtype].class == CLASS_FLOAT; }

static int check_arguments(Graph *g, const Node *loss, int n, Node *const *wrt)
{
    Str s = {0};
    const Node *wrong = NULL;
    if (!loss) return g->cx->err.code ? g->cx->err.code : SGL_EARG;
    for (int i = 0; i < n; i++) {
        if (!wrt[i]) return g->cx->err.code ? g->cx->err.code : SGL_EARG;
        if (wrt[i]->graph != g || loss->graph != g)
            return base_fail(g->cx, SGL_EARG, "grad: the loss and its inputs lie in two graphs.");
        if (!is_float(wrt[i]) && !wrong) wrong = wrt[i];
    }
    if (is_float(loss) && loss->rank == 0 && !wrong) return 0;
    bool bad_loss = !is_float(loss) || loss->rank;
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

static void mark_flow(Reverse *r, int n, Node *const *wrt, uint32_t last)
{
    for (int i = 0; i < n; i++) r->flows[wrt[i]->id] = 1;
    for (uint32_t id = 0; id <= last; id++) {
        const Node *node = r->g->nodes.at[id];
        if (!is_float(node) || !ir_op(node)->grad) continue;
        for (int i = 0; i < node->nin; i++) r->flows[id] |= r->flows[node->in[i]->id];
    }
}

/* Whether dx is dy itself, its negation or a choice between dy and something: no factor that could
 * be inf where dy is 0. */
static bool passes(const Node *dx, const Node *dy)
{
    bool chosen = dx->op == OP_where && (dx->in[1] == dy || dx->in[2] == dy);
    return dx == dy || chosen || (dx->op == OP_neg && dx->in[0] == dy);
}

static int accumulate(Reverse *r, const Node *n, Node *dy, int which, Node *dx)
{
    Node *x = n->in[which];
    Family family = ir_op(n)->family;
    bool masked = r->masked[n->id] && family != FAM_dot && family != FAM_reduce;
    if (dx->dtype != x->dtype || !ir_same_dims(dx, x))
        return base_fail(r->g->cx, SGL_EINTERN, "grad: %s gives input %d a gradient of other dims",
                         ir_op(n)->name, which + 1);
    if (masked && ir_family_elementwise(family) && !passes(dx, dy)) {
        Node *zero = ir_const_like(dx, 0);
        dx = ir_where(ir_eq(dy, zero), zero, dx);
    }
    Node *sum = r->cotangent[x->id];
    r->cotangent[x->id] = sum && dx ? ir_add(sum, dx) : dx;
    r->masked[x->id] |= masked || n->op == OP_where;
    return ir_built(x, r->cotangent[x->id]);
}

/* Passes the cotangent of n on to its inputs. */
static int reverse_node(Reverse *r, Node *n)
{
    Node *few[8] = {0}, *dy = r->cotangent[n->id];
    Node **dx = n->nin <= 8 ? few : base_mem_zero(n->nin, sizeof *dx);
    if (!dx) return base_fail(r->g->cx, SGL_ENOMEM, "grad: out of memory.");
    r->g->src = n->src;
    r->g->origin = n;
    int rc = ir_op(n)->grad(n, dy, dx);
    for (int i = 0; !rc && i < n->nin; i++)
        if (dx[i] && r->flows[n->in[i]->id]) rc = accumulate(r, n, dy, i, dx[i]);
    if (dx != few) base_mem_free(dx);
    return rc;
}

static int reverse(Reverse *r, Node *loss, int n, Node *const *wrt, Node **out)
{
    ir_reachable(r->g, 1, &loss, r->needed);
    mark_flow(r, n, wrt, loss->id);
    r->cotangent[loss->id] = ir_const_like(loss, 1);
    int rc = ir_built(loss, r->cotangent[loss->id]);
    for (uint32_t id = loss->id + 1; !rc && id-- > 0;)
        if (r->needed[id] && r->flows[id] && r->cotangent[id])
            rc = ir_op(r->g->nodes.at[id])->grad ? reverse_node(r, r->g->nodes.at[id]) : 0;
    for (int i = 0; !rc && i < n; i++) {
        Node *d = r->cotangent[wrt[i]->id];
        out[i] = d ? d : ir_const_like(wrt[i], 0);
        rc = ir_built(wrt[i], out[i]);
    }
    return rc;
}

int ir_grad(Graph *g, Node *loss, int n, Node *const *wrt, Node **out)
{
    size_t count = (size_t)g->nodes.n;
    Src src = g->src;
    uint32_t region = g->region;
    const Node *origin = g->origin;
    int rc = check_arguments(g, loss, n, wrt);
    if (rc) return rc;
    Reverse r = {.g = g,
                 .flows = base_mem_zero(count, 3),
                 .cotangent = base_mem_zero(count, sizeof *r.cotangent)};
    if (r.flows && r.cotangent) {
        r.needed = r.flows + count;
        r.masked = r.needed + count;
        g->region = 0;
        rc = reverse(&r, loss, n, wrt, out);
    } else {
        rc = base_fail(g->cx, SGL_ENOMEM, "grad: out of memory.");
    }
    g->src = src;
    g->region = region;
    g->origin = origin;
    base_mem_free(r.flows);
    base_mem_free(r.cotangent);
    return rc;
}
