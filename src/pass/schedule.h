/* schedule.h: what the passes after `simplify` produce: groups, their order, buffers.
 *
 * A group becomes one step of the program (concat: one for each input). A buffer holds one
 * materialised node. Buffers of inputs, outputs and state live outside the arena; all others have
 * an offset in it, and two buffers share bytes only when their lives (in steps) do not meet.
 */
#ifndef SGL_PASS_SCHEDULE_H
#define SGL_PASS_SCHEDULE_H
#include "ir/graph.h"
#include "pass/index_map.h"

typedef enum GroupKind {
    GROUP_MAP,      /* elementwise over one index space */
    GROUP_REDUCE,   /* reductions over one index space, with prologue and epilogue */
    GROUP_CONCAT,   /* each input computed straight into its place */
    GROUP_DOT,      /* one matrix product; operands may be strided views of buffers */
    GROUP_INDEX,    /* gather, scatter_add, argsort, cumsum, fold: one node */
    GROUP_CALL,     /* a control node with its results, or an effect: whole buffers in and out */
    GROUP_ALIAS     /* a reshape or barrier of a whole buffer: no step, the same bytes */
} GroupKind;

/* One kernel of a group: its loops, and the nodes it stores with where in the space each is. */
typedef struct LoopRoot { Node *node; const IndexMap *at; } LoopRoot;
typedef struct Loop {
    LoopMode mode;
    LoopNest space;
    int nroot;
    const LoopRoot *root;
    int part;               /* CONCAT: which input */
} Loop;

typedef VEC(Node *) NodeVec;
typedef struct Group {
    GroupKind kind;
    NodeVec nodes;          /* computed inside, in id order */
    NodeVec ins;            /* materialised nodes read */
    NodeVec outs;           /* nodes of this group that others read: each has a buffer */
    bool fails;             /* values may end the run here; state is written after it (fail.c) */
    int stream;             /* 0: in order; else started there, and waited for */
    int until;              /* before this group, or the end (groups.n) */
    int nloop;              /* MAP, REDUCE: 1; CONCAT: one for each input; without elements 0 */
    Loop *loop;             /* in the schedule's arena */
} Group;

typedef enum BufferPlace { BUF_ARENA, BUF_INPUT, BUF_OUTPUT } BufferPlace;
typedef struct Buffer {
    Node *node;             /* first node materialised in it */
    BufferPlace place;
    int index;              /* which input or output */
    size_t bytes, offset;   /* for the sizes at hand; offset: BUF_ARENA only; multiples of 128 */
    int first, last;        /* steps between which its content matters */
} Buffer;

typedef struct Schedule {
    Graph *graph;           /* after simplify; owned */
    Sizes *sizes;           /* those at hand, and what was decided by them; owned */
    Arena arena;            /* loops and their maps */
    VEC(Group) groups;      /* in the order of execution once `order` ran */
    VEC(Buffer) buffers;
    int *buffer_of;         /* by node id: buffer, or -1: only inside kernels */
    int *group_of;          /* by node id: group, or -1 for inputs and dead nodes */
    size_t arena_bytes;     /* peak memory of a run, known before running */
    int *by_size;           /* scratch of the packing, a number for each buffer */
    /* State updated in place: assign a of the graph was computed straight into the input's buffer
     * when in_place[a], otherwise the program copies it there at the end. */
    bool *in_place;
} Schedule;

/* The schedule and its graph; NULL is allowed. */
void pass_schedule_free(Schedule *s);
/* plan.c: bytes and offsets of the buffers anew, for the sizes at hand. Allocates nothing. */
void pass_plan_sizes(Schedule *s);
#endif
