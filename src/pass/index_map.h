/* index_map.h: index maps: at which element each node of a group is read, as affine functions of
 * the kernel's loop variables. `fuse` asks whether a node can join; `lower` gets its maps here.
 *
 * In:   a set of nodes that shall become one kernel, and where the loops start (a root's dims).
 * Out:  loop variables with extents, and for each node one affine expression per dim.
 * Holds: permute, broadcast, slice, flip, pad, window and merging reshapes are always affine. A
 *        reshape that splits a dim is affine after the variable behind that dim is split in two,
 *        which is done on demand and rewrites every map made so far; where that is impossible the
 *        node cannot join and the caller must materialise it. Pads add guards. Dims of size 1
 *        have no variable.
 * Extents, coefficients and bounds are Nums: a dim may be a size that a run decides. What is asked
 * of them is proved for all sizes; what cannot be proved cannot be expressed. No dim here is 0.
 */
#ifndef SGL_PASS_INDEX_MAP_H
#define SGL_PASS_INDEX_MAP_H
#include "ir/graph.h"
#include "ir/numerics.h"
#include "pass/size.h"

enum {
    LOOP_MAX_VARS = 12,
    LOOP_MAX_GUARDS = 12,     /* so that any one pad fits */
    LOOP_ROW_MAX = 4096       /* longest row that is one tile */
};

/* The ways to walk a space; KernMode in kernel.h says what each means. */
typedef enum LoopMode { LOOP_MAP, LOOP_ROW, LOOP_LONG, LOOP_COL } LoopMode;

typedef struct Affine { Num base, coef[LOOP_MAX_VARS]; } Affine;
typedef struct Guard { Affine at; Num lo, hi; } Guard;     /* inside when lo <= at < hi */
typedef struct IndexMap {
    int rank, nguard;
    Affine *dim;                   /* position in the node's own dims */
    Guard *guard;                  /* all must hold where the node is really read */
} IndexMap;
typedef struct LoopNest {
    Sizes *sizes;                  /* borrowed */
    int nvar;
    Num extent[LOOP_MAX_VARS];
    bool reduced[LOOP_MAX_VARS];  /* belongs to reduced dims */
} LoopNest;

/* A space under construction with the maps made over it. The maps live in the arena. */
typedef struct IndexMaps {
    LoopNest space;
    Arena *arena;                  /* borrowed */
    bool frozen;                   /* variables may not be split any more */
    VEC(IndexMap *) made;
} IndexMaps;

/* Results: 1 made, 0 this cannot be expressed (nothing else went wrong), negative no memory. */

/* Adds one variable for each dim of n that is not 1 and whose axis is in `axes` (a bit each). */
bool pass_index_add(IndexMaps *m, const Node *n, unsigned axes, bool reduced);
/* The map of n whose dims are the variables from `first` on, in order. */
int pass_index_identity(IndexMaps *m, const Node *n, int first, IndexMap **out);
/* The map of the input of movement node n (no concat, no fold) that is itself read at `at`. */
int pass_index_through(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap **out);
/* The map of the input of reduction n: kept dims come from `at`, the reduced dims are the reduced
 * variables of the space, row-major. */
int pass_index_reduce(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap **out);
/* Cuts variable v in two: the outer keeps its place, the inner of extent `inner` follows. */
bool pass_index_split(IndexMaps *m, int v, Num inner);
void pass_index_free(IndexMaps *m);

/* Row-major element offset of n when read at `at`. */
Affine pass_index_linear(const Node *n, const IndexMap *at);
/* The same in an array of other dims, of which n is the part from `start` on; NULL: from 0. */
Affine pass_index_linear_in(const Node *n, const IndexMap *at, const Dim *dims, const Dim *start);
bool pass_index_same(const LoopNest *s, const IndexMap *a, const IndexMap *b);
/* Does `at` visit each element of n exactly once while the variables of its level run: all
 * variables, or the kept ones when it depends on no reduced variable? */
bool pass_index_covers(const LoopNest *s, const Node *n, const IndexMap *at);
bool pass_index_on_reduced(const LoopNest *s, const IndexMap *at);
Num pass_index_count(const LoopNest *s, bool reduced);       /* points of one kind of variables */
/* Reduced axes of a reduction, a bit each; the number of elements each result takes. */
unsigned pass_reduce_axes(const Node *n);
Num pass_reduce_length(const Node *n);

/* What an op asks of an input's window: row-major without gaps; or that dims have one stride with
 * the dim behind them, a bit each, because the op takes them for one. */
typedef struct ViewForm { bool contiguous; unsigned joined; } ViewForm;
ViewForm pass_view_form(const Node *n, int input);

/* x as a strided window on the node below its movement ops, as far as that needs no guards and
 * one stride a dim, and has the form. */
typedef struct StridedView {
    Node *base;
    Num offset, stride[OP_MAX_RANK];
} StridedView;
int pass_index_view(Sizes *sizes, Node *x, ViewForm form, Arena *scratch, StridedView *out);
#endif
