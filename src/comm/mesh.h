/* mesh.h: how ranks are arranged, and which part of a dim a rank has.
 *
 * A mesh is axes with sizes, in order; a rank is a point of it, the last axis counting fastest. A
 * dim is cut over an ordered list of axes, the outermost first. It is a number of units (a size for
 * each), and parts are whole units: part i of n are the units iU/n to (i+1)U/n, rounded down; where
 * reductions are cut into S blocks (ir/blocks.h), the blocks iS/n to (i+1)S/n.
 * Holds: both nest: the parts over axes (a, b) make up those over (a). Where a part begins depends
 *        on the dim, the axes and the rank alone.
 */
#ifndef SGL_COMM_MESH_H
#define SGL_COMM_MESH_H
#include <stdbool.h>
#include <stdint.h>

enum { MESH_AXES = 3, MESH_RANKS = 64, MESH_NAME = 16 };

typedef struct Mesh {
    int n;
    int size[MESH_AXES];
    char name[MESH_AXES][MESH_NAME]; /* for messages */
} Mesh;

/* An ordered list of axes: four bits each, the number of the axis and 1, the outermost lowest. */
typedef uint32_t Axes;
static inline int comm_axes_count(Axes a)
{
    int n = 0;
    for (; a; a >>= 4) n++;
    return n;
}
static inline int comm_axes_at(Axes a, int i) { return (int)(a >> 4 * i & 15) - 1; }
static inline Axes comm_axes_add(Axes a, int axis)
{
    return a | (Axes)(axis + 1) << 4 * comm_axes_count(a);
}
static inline Axes comm_axes_first(Axes a, int n) { return a & (((Axes)1 << 4 * n) - 1); }
static inline bool comm_axes_begin(Axes a, Axes with) /* does `a` begin with `with`? */
{
    return comm_axes_first(a, comm_axes_count(with)) == with;
}
static inline unsigned comm_axes_set(Axes a) /* as bits */
{
    unsigned set = 0;
    for (; a; a >>= 4) set |= 1u << ((a & 15) - 1);
    return set;
}

/* How many ranks there are, how many parts over these axes, and which of them a rank has. */
int comm_mesh_ranks(const Mesh *m);
int comm_mesh_parts(const Mesh *m, Axes axes);
int comm_mesh_part(const Mesh *m, Axes axes, int rank);

/* The ranks that differ from `rank` in these axes alone, by the part that they have. */
typedef struct CommGroup { int n, me, rank[MESH_RANKS]; } CommGroup;
/* Those of a rank. */
CommGroup comm_mesh_group(const Mesh *m, Axes axes, int rank);

/* A dim to cut: so many units, and blocks of reductions; 0: there are none. */
typedef struct CommCut { int64_t size, units; int blocks; } CommCut;

/* Where part i of n begins; i = n: the dim's end. */
int64_t comm_cut_start(CommCut c, int n, int i);
#endif
