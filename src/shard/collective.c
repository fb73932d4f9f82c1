/* collective.c: see collective.h.
 */
#include "shard/collective.h"
#include "ir/attr.h"
#include "ir/check.h"

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

/* The dim, its cut and how many axes stay come together, where they come. */
Collective shard_collective_read(const Node *n)
{
    Collective k = {.n = n, .dim = -1};
    int kind = ir_attr_place(n, "kind"), dim = ir_attr_place(n, "dim");
    if (kind >= 0) k.kind = (CommKind)comm_kind_find(ir_attr_text(n->attr[kind]));
    if (dim >= 0) {
        k.dim = (int)n->attr[dim];
        k.cut = (CommCut){n->attr[dim + 2], n->attr[dim + 3], (int)n->attr[dim + 4]};
        k.keep = (int)n->attr[dim + 5];
    }
    read_mesh(&k);
    return k;
}

Collective shard_collective(const Node *n, int rank)
{
    Collective k = shard_collective_read(n);
    k.group = comm_mesh_group(&k.mesh, k.gone, rank);
    return k;
}

CommParts shard_collective_parts(const Collective *k, const Node *like, int64_t bytes)
{
    CommParts p = {.outer = 1, .inner = bytes};
    int n = comm_mesh_parts(&k->mesh, k->axes), members = k->group.n;
    int kept = comm_axes_count(k->axes) - comm_axes_count(k->gone);
    Axes keep = comm_axes_first(k->axes, kept);
    int first = comm_mesh_part(&k->mesh, keep, k->group.rank[k->group.me]) * members;
    for (int d = 0; d < like->rank; d++)
        *(d < k->dim ? &p.outer : &p.inner) *= d == k->dim ? 1 : like->dims[d];
    for (int m = 0; m < members; m++)
        p.length[m] =
            comm_cut_start(k->cut, n, first + m + 1) - comm_cut_start(k->cut, n, first + m);
    return p;
}
