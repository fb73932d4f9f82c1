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
#include "shard/collective.h"

/* A node on its way to the transport. */
typedef struct Exchange {
    Collective k;
    Comm *comm;
    CommWork w;
    char what[192], where[192];
} Exchange;

/* The attributes, and the group among the job's ranks. */
static int read_node(Exchange *x, const Node *n)
{
    x->comm = comm_of(n->graph->cx);
    x->k = shard_collective(n, x->comm ? x->comm->rank : 0);
    int ranks = comm_mesh_ranks(&x->k.mesh), size = x->comm ? x->comm->size : 1;
    if (ranks != size)
        return base_fail(n->graph->cx, SGL_ESTATE,
                         "%s: it is for a mesh of %d ranks, the job has %d", ir_op(n)->name, ranks,
                         size);
    x->w.kind = x->k.kind;
    x->w.call.group = x->k.group;
    return SGL_OK;
}

/* "all_gather f32[64, 10] of step 3f9a12cc04", the whole dim in place of a part. */
static void name_call(Exchange *x)
{
    const Node *n = x->k.n;
    SrcPos at = base_src_pos(n->graph->cx, n->src);
    Str s = {0};
    base_str_fmt(&s, "%s %s[", ir_op(n)->name, DTYPES[n->dtype].name);
    for (int d = 0; d < n->rank; d++)
        base_str_fmt(&s, "%s%lld", d ? ", " : "",
                     (long long)(d == x->k.dim ? x->k.cut.size : n->dims[d]));
    base_str_fmt(&s, "]");
    int64_t step = n->attr[ir_attr_place(n, "step")];
    if (step) base_str_fmt(&s, " of step %010llx", (unsigned long long)step);
    snprintf(x->what, sizeof x->what, "%s", s.failed ? ir_op(n)->name : s.at);
    snprintf(x->where, sizeof x->where, "%s:%d", at.file, at.line);
    base_str_free(&s);
    x->w.call.axes = comm_axes_set(x->k.gone);
    x->w.call.what = x->what;
    x->w.call.where = x->where;
}

/* Are the parts of the dim those that this rank has, `own`, and that all have together, `whole`? */
static int check_parts(Exchange *x, int64_t own, int64_t whole)
{
    const Node *n = x->k.n;
    const CommParts *p = &x->w.parts;
    x->w.parts = shard_collective_parts(&x->k, n, (int64_t)DTYPES[n->dtype].bytes);
    if (p->length[x->k.group.me] == own && comm_parts_total(p, x->k.group.n) == whole)
        return SGL_OK;
    return base_fail(x->comm->cx, SGL_ESTATE, "%s: this is not rank %d's part", x->what,
                     x->comm->rank);
}

static int fill_gather(Exchange *x)
{
    const Node *n = x->k.n;
    x->w.op = COMM_all_gather;
    return check_parts(x, n->in[0]->dims[x->k.dim], n->dims[x->k.dim]);
}

static int fill_scatter(Exchange *x)
{
    const Node *n = x->k.n;
    x->w.op = COMM_reduce_scatter;
    return check_parts(x, n->dims[x->k.dim], n->in[0]->dims[x->k.dim]);
}

static int fill_reduce(Exchange *x)
{
    x->w.op = COMM_all_reduce;
    x->w.count = ir_count(x->k.n);
    return SGL_OK;
}

/* Equal parts of the first dim, to and from each. */
static int fill_exchange(Exchange *x)
{
    int members = x->k.group.n;
    x->w.op = COMM_all_to_all;
    x->w.count = ir_count(x->k.n) / members * (int64_t)DTYPES[x->k.n->dtype].bytes;
    x->w.parts = (CommParts){.outer = 1, .inner = 1};
    for (int m = 0; m < members; m++) x->w.parts.length[m] = x->w.count;
    x->w.from = x->w.parts;
    return SGL_OK;
}

static int fill_copy(Exchange *x)
{
    x->w.op = COMM_broadcast;
    x->w.count = ir_count(x->k.n);
    x->w.root = (int)x->k.n->attr[0];
    return SGL_OK;
}

int exec_collective_run(const Node *n, const void *in, void *out)
{
    static int (*const FILL[])(Exchange *) = {
        [OP_all_reduce] = fill_reduce,      [OP_all_gather] = fill_gather,
        [OP_reduce_scatter] = fill_scatter, [OP_all_to_all] = fill_exchange,
        [OP_copy_from] = fill_copy,
    };
    Exchange x = {.w.in = in, .w.out = out, .w.dtype = (Dtype)n->dtype};
    int code = read_node(&x, n);
    if (code < 0) return code;
    if (x.k.group.n == 1) {
        memcpy(out, in, (size_t)ir_count(n) * DTYPES[n->dtype].bytes);
        return SGL_OK;
    }
    name_call(&x);
    code = FILL[n->op](&x);
    return code < 0 ? code : comm_run(x.comm, &x.w);
}
