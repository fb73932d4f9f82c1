/* collective.c: see collective.h.
 *
 * In:    a node of the family comm, whose attributes name the mesh and the axes.
 * Out:   the call of the transport that it stands for.
 * Holds: what ranks compare names the op, the type of the whole value and the step that it is part
 *        of: it is the same text on all ranks of a group, though their parts differ.
 */
#include "exec/collective.h"
#include <stdio.h>
#include <string.h>
#include "comm/comm.h"
#include "ir/attr.h"
#include "ir/check.h"

/* A node, read. */
typedef struct Collective {
    const Node *n;
    Comm *comm;
    Mesh mesh;
    Axes axes, gone; /* of the group: those that are not kept */
    int dim;         /* -1: none */
    int keep;
    CommCut cut;
    CommWork w;
    char what[192], where[192];
} Collective;

static void read_mesh(Collective *k)
{
    const int64_t *at = k->n->attr + ir_attr_place(k->n, "mesh");
    AttrList mesh = ir_take_list(&at), axes = ir_take_list(&at);
    k->mesh.n = mesh.n < MESH_AXES ? mesh.n : MESH_AXES;
    for (int i = 0; i < k->mesh.n; i++) k->mesh.size[i] = (int)mesh.at[i];
    for (int i = 0; i < axes.n && i < MESH_AXES; i++)
        k->axes = comm_axes_add(k->axes, (int)axes.at[i] - 1);
    k->gone = k->axes >> 4 * k->keep;
}

/* The attributes; then the group among the job's ranks. */
static int read_node(Collective *k)
{
    const Node *n = k->n;
    int kind = ir_attr_place(n, "kind"), dim = ir_attr_place(n, "dim");
    k->comm = comm_of(n->graph->cx);
    if (kind >= 0) k->w.kind = (CommKind)comm_kind_find(ir_attr_text(n->attr[kind]));
    k->dim = dim < 0 ? -1 : (int)n->attr[dim];
    if (dim >= 0) {
        k->cut = (CommCut){n->attr[dim + 2], n->attr[dim + 3], (int)n->attr[dim + 4]};
        k->keep = (int)n->attr[dim + 5];
    }
    read_mesh(k);
    int ranks = comm_mesh_ranks(&k->mesh), size = k->comm ? k->comm->size : 1;
    if (ranks != size)
        return base_fail(n->graph->cx, SGL_ESTATE,
                         "%s: it is for a mesh of %d ranks, the job has %d", ir_op(n)->name, ranks,
                         size);
    if (k->comm) k->w.call.group = comm_mesh_group(&k->mesh, k->gone, k->comm->rank);
    else k->w.call.group = (CommGroup){.n = 1};
    return SGL_OK;
}

/* "all_gather f32[64, 10] of step 3f9a12cc04", the whole dim in place of a part. */
static void name_call(Collective *k)
{
    const Node *n = k->n;
    SrcPos at = base_src_pos(n->graph->cx, n->src);
    Str s = {0};
    base_str_fmt(&s, "%s %s[", ir_op(n)->name, DTYPES[n->dtype].name);
    for (int d = 0; d < n->rank; d++)
        base_str_fmt(&s, "%s%lld", d ? ", " : "",
                     (long long)(d == k->dim ? k->cut.size : n->dims[d]));
    base_str_fmt(&s, "]");
    int64_t step = n->attr[ir_attr_place(n, "step")];
    if (step) base_str_fmt(&s, " of step %010llx", (unsigned long long)step);
    snprintf(k->what, sizeof k->what, "%s", s.failed ? ir_op(n)->name : s.at);
    snprintf(k->where, sizeof k->where, "%s:%d", at.file, at.line);
    base_str_free(&s);
    k->w.call.axes = comm_axes_set(k->gone);
    k->w.call.what = k->what;
    k->w.call.where = k->where;
}

/* Which part of the dim each member has, of the part that all of them have together. */
static CommParts parts_of(const Collective *k, const Node *like)
{
    CommParts p = {.outer = 1, .inner = (int64_t)DTYPES[like->dtype].bytes};
    int n = comm_mesh_parts(&k->mesh, k->axes), members = k->w.call.group.n;
    int kept = comm_axes_count(k->axes) - comm_axes_count(k->gone);
    Axes keep = comm_axes_first(k->axes, kept);
    int first = comm_mesh_part(&k->mesh, keep, k->comm->rank) * members;
    for (int d = 0; d < like->rank; d++)
        *(d < k->dim ? &p.outer : &p.inner) *= d == k->dim ? 1 : like->dims[d];
    for (int m = 0; m < members; m++)
        p.length[m] =
            comm_cut_start(k->cut, n, first + m + 1) - comm_cut_start(k->cut, n, first + m);
    return p;
}

/* Are the parts of the dim those that this rank has, `own`, and that all have together, `whole`? */
static int check_parts(const Collective *k, const CommParts *p, int64_t own, int64_t whole)
{
    const CommGroup *g = &k->w.call.group;
    if (p->length[g->me] == own && comm_parts_total(p, g->n) == whole) return SGL_OK;
    return base_fail(k->comm->cx, SGL_ESTATE, "%s: this is not rank %d's part", k->what,
                     k->comm->rank);
}

static int fill_gather(Collective *k)
{
    const Node *n = k->n, *x = n->in[0];
    k->w.op = COMM_all_gather;
    k->w.parts = parts_of(k, n);
    return check_parts(k, &k->w.parts, x->dims[k->dim], n->dims[k->dim]);
}

static int fill_scatter(Collective *k)
{
    const Node *n = k->n, *x = n->in[0];
    k->w.op = COMM_reduce_scatter;
    k->w.parts = parts_of(k, n);
    return check_parts(k, &k->w.parts, n->dims[k->dim], x->dims[k->dim]);
}

static int fill_reduce(Collective *k)
{
    k->w.op = COMM_all_reduce;
    k->w.count = ir_count(k->n);
    return SGL_OK;
}

int exec_collective_run(const Node *n, const void *in, void *out)
{
    static int (*const FILL[])(Collective *) = {
        [OP_all_reduce] = fill_reduce,
        [OP_all_gather] = fill_gather,
        [OP_reduce_scatter] = fill_scatter,
    };
    Collective k = {.n = n};
    int code = read_node(&k);
    if (code < 0) return code;
    if (k.w.call.group.n == 1) {
        memcpy(out, in, (size_t)ir_count(n) * DTYPES[n->dtype].bytes);
        return SGL_OK;
    }
    name_call(&k);
    k.w.dtype = (Dtype)n->dtype;
    k.w.in = in;
    k.w.out = out;
    code = FILL[n->op](&k);
    return code < 0 ? code : comm_run(k.comm, &k.w);
}
