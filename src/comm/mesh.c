/* mesh.c: see mesh.h.
 */
#include "comm/mesh.h"

int comm_mesh_ranks(const Mesh *m)
{
    int n = 1;
    for (int a = 0; a < m->n; a++) n *= m->size[a];
    return n;
}

int comm_mesh_parts(const Mesh *m, Axes axes)
{
    int n = 1;
    for (; axes; axes >>= 4) n *= m->size[comm_axes_at(axes, 0)];
    return n;
}

/* Where a rank stands on an axis. */
static int place_on(const Mesh *m, int axis, int rank)
{
    for (int a = m->n - 1; a > axis; a--) rank /= m->size[a];
    return rank % m->size[axis];
}

int comm_mesh_part(const Mesh *m, Axes axes, int rank)
{
    int part = 0;
    for (; axes; axes >>= 4) {
        int axis = comm_axes_at(axes, 0);
        part = part * m->size[axis] + place_on(m, axis, rank);
    }
    return part;
}

CommGroup comm_mesh_group(const Mesh *m, Axes axes, int rank)
{
    CommGroup g = {.n = comm_mesh_parts(m, axes), .me = comm_mesh_part(m, axes, rank)};
    unsigned set = comm_axes_set(axes);
    int ranks = comm_mesh_ranks(m);
    for (int r = 0; r < ranks; r++) {
        bool same = true;
        for (int a = 0; a < m->n; a++)
            same = same && (set >> a & 1 || place_on(m, a, r) == place_on(m, a, rank));
        if (same) g.rank[comm_mesh_part(m, axes, r)] = r;
    }
    return g;
}

int64_t comm_cut_start(CommCut c, int n, int i)
{
    int64_t units = c.units > 0 ? c.units : 1;
    int64_t at = c.blocks ? (int64_t)i * c.blocks / n * units / c.blocks : i * units / n;
    return at * (c.size / units);
}
