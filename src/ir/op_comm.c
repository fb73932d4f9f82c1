/* op_comm.c: all_reduce, all_gather, reduce_scatter: what ranks do together.
 *
 * Holds: the shape of a result follows from the attributes; that they fit the ranks at hand is
 *        seen when the node runs. The reference knows a mesh of one rank only, on which they give
 *        their input.
 */
#include <string.h>
#include "ir/attr.h"
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

static int64_t ranks_of(const Node *n)
{
    int at = ir_attr_place(n, "mesh");
    int64_t ranks = 1;
    for (int64_t i = 0; i < n->attr[at]; i++) ranks *= n->attr[at + 1 + i];
    return ranks;
}

/* Collectives are put into graphs that have their gradients already. */
static int grad_alone(Node *n, Node *dy, Node **dx)
{
    if (ranks_of(n) != 1)
        return base_fail(n->graph->cx, SGL_EGRAD, "%s: the gradient between ranks is not defined",
                         ir_op(n)->name);
    dx[0] = dy;
    return 0;
}

int ir_grad_all_reduce(Node *n, Node *dy, Node **dx) { return grad_alone(n, dy, dx); }
int ir_grad_all_gather(Node *n, Node *dy, Node **dx) { return grad_alone(n, dy, dx); }
int ir_grad_reduce_scatter(Node *n, Node *dy, Node **dx) { return grad_alone(n, dy, dx); }

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
