/* op_comm.c: all_reduce, all_gather, reduce_scatter, all_to_all, copy_from: what ranks do together.
 *
 * Holds: the shape of a result follows from the attributes; that they fit the ranks at hand is
 *        seen when the node runs. The reference knows a mesh of one rank only, on which they give
 *        their input. Gradients are those of the sum of all ranks' losses; a collective among them
 *        waits for the one before, so that all ranks keep one order.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/build.h"
#include "ir/check.h"
#include "ir/ref.h"
#include "ir/rules.h"

/* The lists of a node's mesh: sizes of at least 1, axes of the mesh, none twice. */
static int check_mesh(const Check *c, const int64_t *at)
{
    AttrList mesh = ir_take_list(&at), axes = ir_take_list(&at);
    uint64_t seen = 0;
    for (int i = 0; i < mesh.n; i++)
        if (mesh.at[i] < 1)
            return ir_check_fail(c, SGL_EARG, "an axis of the mesh has no ranks", NULL,
                                 "axis %d is %lld", i + 1, (long long)mesh.at[i]);
    for (int i = 0; i < axes.n; i++) {
        int64_t a = axes.at[i];
        if (a < 1 || a > mesh.n || seen >> a & 1)
            return ir_check_fail(c, SGL_EARG, "the axes are none of the mesh, or twice", NULL,
                                 "%lld", (long long)a);
        seen |= 1ull << a;
    }
    return 0;
}

static int check_kind(const Check *c, const char *kind)
{
    static const char *const KINDS[] = {"sum", "prod", "max", "min"};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(kind, KINDS[i]) == 0) return 0;
    return ir_check_fail(c, SGL_EARG, "unknown kind (sum, prod, max, min)", NULL, "'%s'", kind);
}

/* As the first input, dim `dim` being `to`. */
static int shape_cut(const Check *c, const int64_t *cut, Shape *out)
{
    Dim dims[OP_MAX_RANK];
    const Node *x = c->in[0];
    int rc = ir_check_axis(c, cut[0], x->rank);
    if (rc) return rc;
    if (cut[2] < 0 || cut[3] < 1 || cut[4] < 0 || cut[1] < 0 || cut[1] > cut[2] || cut[5] < 0)
        return ir_check_fail(c, SGL_EARG, "the dim is not cut so", NULL,
                             "%lld of %lld in %lld units", (long long)cut[1], (long long)cut[2],
                             (long long)cut[3]);
    if (x->rank) memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[cut[0]] = cut[1];
    rc = check_mesh(c, cut + 6);
    return rc ? rc : ir_check_result(c, (Dtype)x->dtype, x->rank, dims, out);
}

int ir_shape_all_reduce(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    int rc = check_kind(&c, ir_attr_text(attr[0]));
    if (!rc) rc = check_mesh(&c, attr + 1);
    return rc ? rc : ir_check_result(&c, (Dtype)in[0]->dtype, in[0]->rank, in[0]->dims, out);
}

int ir_shape_all_gather(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    return shape_cut(&(const Check){cx, op, nin, in}, attr, out);
}

int ir_shape_reduce_scatter(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr,
                            Shape *out)
{
    const Check c = {cx, op, nin, in};
    int rc = check_kind(&c, ir_attr_text(attr[0]));
    return rc ? rc : shape_cut(&c, attr + 1, out);
}

/* The ranks of the axes that the attributes from `at` on name; of the whole mesh: no axes. */
static int64_t count_ranks(const int64_t *at, bool all)
{
    AttrList mesh = ir_take_list(&at), axes = ir_take_list(&at);
    int64_t ranks = 1;
    for (int i = 0; i < mesh.n && all; i++) ranks *= mesh.at[i];
    for (int i = 0; i < axes.n && !all; i++) ranks *= mesh.at[axes.at[i] - 1];
    return ranks;
}

static int64_t ranks_of(const Node *n)
{
    return count_ranks(n->attr + ir_attr_place(n, "mesh"), true);
}

int ir_shape_all_to_all(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    const Node *x = in[0];
    int rc = check_mesh(&c, attr);
    if (rc) return rc;
    int64_t ranks = count_ranks(attr, false);
    if (x->rank == 0 || (ir_dim_is_const(x->dims[0]) && x->dims[0] % ranks))
        return ir_check_fail(&c, SGL_ESHAPE, "the first dim has no equal parts", NULL,
                             "for %lld ranks", (long long)ranks);
    return ir_check_result(&c, (Dtype)x->dtype, x->rank, x->dims, out);
}

int ir_shape_copy_from(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    int rc = check_mesh(&c, attr + 1);
    if (rc) return rc;
    if (attr[0] < 0 || attr[0] >= count_ranks(attr + 1, false))
        return ir_check_fail(&c, SGL_EARG, "the group has no such rank", NULL, "%lld",
                             (long long)attr[0]);
    return ir_check_result(&c, (Dtype)in[0]->dtype, in[0]->rank, in[0]->dims, out);
}

Node *ir_comm_last(const Graph *g)
{
    for (int id = g->nodes.n - 1; id >= 0; id--)
        if (ir_op(g->nodes.at[id])->family == FAM_comm) return g->nodes.at[id];
    return NULL;
}

/* A collective on dy, behind the last one of the graph. */
static Node *behind_last(Op op, Node *dy, const AttrBuf *b)
{
    Node *in[] = {dy, ir_comm_last(dy->graph)};
    return ir_attr_node(dy->graph, op, in[1] ? 2 : 1, in, b);
}

/* The words of n from `at` on, behind those that the buffer has. */
static void put_rest(const Node *n, int at, AttrBuf *b)
{
    for (; at < n->nattr; at++) ir_attr_put(b, n->attr[at]);
}

static int is_sum(const Node *n)
{
    int at = ir_attr_place(n, "kind");
    if (at < 0 || ranks_of(n) == 1 || strcmp(ir_attr_text(n->attr[at]), "sum") == 0) return 0;
    return base_fail(n->graph->cx, SGL_EGRAD, "%s: no gradient flows through '%s', only sums",
                     ir_op(n)->name, ir_attr_text(n->attr[at]));
}

/* The words of n, with the length of dy's counterpart where n names that of its result. */
static void put_cut(const Node *n, AttrBuf *b)
{
    int at = ir_attr_place(n, "dim");
    ir_attr_put(b, n->attr[at]);
    ir_attr_put(b, n->in[0]->dims[n->attr[at]]);
    put_rest(n, at + 2, b);
}

static int grad_sum(Node *n, Node *dy, Node **dx)
{
    AttrBuf b = {0};
    int rc = is_sum(n);
    if (rc) return rc;
    ir_attr_put(&b, ir_attr_text_word(n->graph->cx, "sum"));
    put_rest(n, ir_attr_place(n, "mesh"), &b);
    dx[0] = ranks_of(n) == 1 ? dy : behind_last(OP_all_reduce, dy, &b);
    return dx[0] ? 0 : n->graph->cx->err.code;
}

int ir_grad_all_reduce(Node *n, Node *dy, Node **dx) { return grad_sum(n, dy, dx); }
int ir_grad_copy_from(Node *n, Node *dy, Node **dx) { return grad_sum(n, dy, dx); }

int ir_grad_all_gather(Node *n, Node *dy, Node **dx)
{
    AttrBuf b = {0};
    ir_attr_put(&b, ir_attr_text_word(n->graph->cx, "sum"));
    put_cut(n, &b);
    dx[0] = ranks_of(n) == 1 ? dy : behind_last(OP_reduce_scatter, dy, &b);
    return dx[0] ? 0 : n->graph->cx->err.code;
}

int ir_grad_reduce_scatter(Node *n, Node *dy, Node **dx)
{
    AttrBuf b = {0};
    int rc = is_sum(n);
    if (rc) return rc;
    put_cut(n, &b);
    dx[0] = ranks_of(n) == 1 ? dy : behind_last(OP_all_gather, dy, &b);
    return dx[0] ? 0 : n->graph->cx->err.code;
}

int ir_grad_all_to_all(Node *n, Node *dy, Node **dx)
{
    AttrBuf b = {0};
    put_rest(n, 0, &b);
    dx[0] = ranks_of(n) == 1 ? dy : behind_last(OP_all_to_all, dy, &b);
    return dx[0] ? 0 : n->graph->cx->err.code;
}

/* The input, on a mesh of one rank: it has all that the result has. */
static int eval_alone(const Node *n, const RefArray *const *in, RefArray *out)
{
    int64_t ranks = ranks_of(n);
    if (ranks != 1 || in[0]->count != out->count)
        return base_fail(n->graph->cx, SGL_ESTATE, "%s: %lld ranks have to run it together",
                         ir_op(n)->name, (long long)ranks);
    memcpy(out->at, in[0]->at, (size_t)out->count * sizeof *out->at);
    return 0;
}

int ir_eval_all_reduce(const Node *n, const RefArray *const *in, RefArray *out)
{
    return eval_alone(n, in, out);
}

int ir_eval_all_gather(const Node *n, const RefArray *const *in, RefArray *out)
{
    return eval_alone(n, in, out);
}

int ir_eval_reduce_scatter(const Node *n, const RefArray *const *in, RefArray *out)
{
    return eval_alone(n, in, out);
}

int ir_eval_all_to_all(const Node *n, const RefArray *const *in, RefArray *out)
{
    return eval_alone(n, in, out);
}

int ir_eval_copy_from(const Node *n, const RefArray *const *in, RefArray *out)
{
    return eval_alone(n, in, out);
}
