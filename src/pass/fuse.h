/* fuse.h: what the files of `fuse` share: growing groups and who reads what where.
 *
 * Nodes are placed from the last to the first, so all readers of a node are in groups when its
 * turn comes. A Read says: this group needs the node, at these positions of its space. A node is
 * then either computed wherever it is read (inlined), or computed once: in the group of one reader
 * that visits every element anyway (its host) or in a group of its own.
 *
 * Holds: in groups reduced in COL or LONG order a value of stage END depends on kept variables
 *        only, and results of reductions are read at stage END only.
 */
#ifndef SGL_PASS_FUSE_H
#define SGL_PASS_FUSE_H
#include "ir/blocks.h"
#include "pass/pass.h"

/* Values one kernel computes; readers of one node that are looked at. */
enum { FUSE_MAX_SITES = 160, FUSE_MAX_READS = 32 };

/* When a value is needed: at each point, or once the reductions of the group are done. */
enum { STAGE_EACH = 1, STAGE_END = 2 };

typedef struct Read {
    struct Read *next;
    int group;
    int stage;
    IndexMap *at;            /* NULL: a dot, an index op or an alias, which read buffers */
    IndexMap *below;         /* movement ops: where the input is then read, once that is known */
} Read;

typedef struct FuseNode {
    Read *reads;
    int nread;
    int group;               /* of the one place it is computed in; -1: none yet, or inlined */
    bool need;               /* must be in a buffer */
    int users;               /* nodes that it is an input of */
    int ops, loads;          /* cost of one element if everything below is inlined */
    Num row;                 /* length of the rows whose reductions it is made of; 0: of none,
                                ROW_MIXED: of several lengths or of longer ones */
} FuseNode;
enum { ROW_MIXED = -1 };

typedef struct FuseGroup {
    GroupKind kind;
    LoopMode mode;
    Blocks blocks;           /* COL, LONG: of all its reductions */
    bool small;              /* rows shorter than IR_LANES: COL, but may yet become ROW */
    int merged;              /* the group that took this one in; -1: none */
    int concat;              /* the concat this is a part of; -1: none */
    int part;
    int sites, reductions;   /* values computed, and how many of them reduce */
    IndexMaps maps;
    VEC(LoopRoot) roots;
    NodeVec nodes, outs;
    VEC(int) deps;           /* groups whose results it reads */
    unsigned seen;
} FuseGroup;

typedef struct Fuse {
    Ctx *cx;
    Graph *graph;
    Sizes *sizes;            /* borrowed from the pipeline */
    Arena arena;
    FuseNode *of;            /* by node id */
    VEC(FuseGroup) groups;
    VEC(int) stack;          /* of the search for paths */
    unsigned now;
    bool merged;             /* any groups so far */
    bool off;                /* knob fuse = 0 */
} Fuse;

/* Results as in space.h: 1 done, 0 not possible, negative no memory. */

/* fuse_cost.c */
void pass_fuse_costs(Fuse *f);
bool pass_fuse_recompute(const Fuse *f, const Node *n);   /* cheaper than a round trip? */

/* fuse_group.c */
int pass_fuse_new(Fuse *f, GroupKind kind);               /* number of the group, or negative */
int pass_fuse_group(const Fuse *f, int group);            /* after merges */
int pass_fuse_step(const Fuse *f, int group);             /* and a concat for its parts */
int pass_fuse_read(Fuse *f, Node *x, int group, IndexMap *at, int stage);
int pass_fuse_need(Fuse *f, Node *x, int group);          /* group reads the buffer of x */
/* Computes n in the group, once for each of its points: reads of its inputs, node lists. */
int pass_fuse_compute(Fuse *f, Node *n, Read *r, int stage);
/* Can all reads be served by computing n there? Sets Read.below of movement ops. */
int pass_fuse_inlines(Fuse *f, Node *n);
/* n is stored by the group, at `at`. */
int pass_fuse_store(Fuse *f, Node *n, int group, const IndexMap *at);
/* Does computing n in the group of `host` leave no path from it through another reader back? */
int pass_fuse_convex(Fuse *f, Node *n, const Read *host);
int pass_fuse_independent(Fuse *f, int a, int b);         /* no path between two groups */
/* Makes reads of n that a merge has made equal one. */
void pass_fuse_unify_reads(Fuse *f, Node *n);

/* fuse_join.c */
int pass_fuse_host_value(Fuse *f, Node *n, const Read *r);     /* can n be an output there? */
int pass_fuse_host_reduce(Fuse *f, Node *n, const Read *r);    /* and a reduction a part of it? */
/* Maps that read n, made of reductions of rows, along just such rows, become row kernels. */
int pass_fuse_make_rows(Fuse *f, Node *n);
LoopMode pass_fuse_mode(Sizes *s, const Node *n, bool *small);
Blocks pass_fuse_blocks(const Node *n);                        /* as they matter for its order */
bool pass_fuse_same_blocks(Blocks a, Blocks b);
bool pass_fuse_is_row(Sizes *s, const Node *n);                /* reduction that a tile can hold */

/* fuse_merge.c */
int pass_fuse_merge_readers(Fuse *f, Node *n);

/* fuse_emit.c */
int pass_fuse_emit(Fuse *f, Schedule *s);
#endif
