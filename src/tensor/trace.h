/* trace.h: recording: a graph, the handles on its nodes, and the values known so far.
 *
 * Outside captures there is one trace, Host.pending. Values that were computed stay beside
 * their nodes, so that gradients still see how a value came about. What no handle needs is dropped
 * by compaction, which copies the rest into a new graph; it happens only in tensor_trace and where
 * a script asks for memory, when no C function holds a node.
 */
#ifndef SGL_TENSOR_TRACE_H
#define SGL_TENSOR_TRACE_H
#include "tensor/tensor.h"

/* The tensor that an input of the trace stands for, as it was. */
typedef struct Leaf {
    uint64_t id;
    Origin *origin;            /* a reference */
    int result;
} Leaf;

struct Trace {
    Graph *graph;
    Tensor handles;            /* head of the ring of tensors on its nodes */
    VEC(Storage *) value;      /* by node id, may be shorter: values known, each a reference */
    Map leaf;                  /* Tensor.id of a leaf: node id of its input */
    Map past;                  /* Tensor.id of a leaf that was assigned: node id of the value */
    VEC(Leaf) leaves;          /* by number of the input, may be shorter; id 0: no tensor's */
    int origins;               /* leaves that have one */
    Map ids;                   /* node id: address of its TraceIds, where they were asked for */
    int64_t kept;              /* ids in them */
    size_t behind, most_behind; /* bytes of the leaves' origins; above which to prune them */
    int pins;                  /* regions open: the graph must stay */
    int fresh;                 /* number of nodes when something was last computed */
    int64_t held, limit;       /* bytes of values, at most; weight above which to compact */
};

/* Name of the inputs whose tensors were computed and lost their history. */
#define TRACE_CUT "computed"

int tensor_trace_init(Trace *tr, Ctx *cx);
void tensor_trace_end(Trace *tr);                  /* handles on it are left without a node */
void tensor_trace_drop(Host *h);                   /* ends the pending one */
void tensor_trace_idle(Host *h);                   /* the same if no handle is on it */
void tensor_trace_compact(Host *h);                /* keeps what handles need; without memory for
                                                    the copy nothing changes */
Storage *tensor_trace_value(const Trace *tr, const Node *n);            /* NULL: not computed */
/* The operation that computed the leaf, if the trace still has it: what was recorded before then
 * reads this and not the leaf's input. NULL: there is none. */
Node *tensor_trace_past(const Trace *tr, const Tensor *t);
int tensor_trace_store(Trace *tr, const Node *n, Storage *s);           /* refers to s */

Trace *tensor_trace(lua_State *L, Host *h);        /* where to record, at the user's position */
Node *tensor_node(lua_State *L, Host *h, int arg, const char *what);  /* of the tensor at arg */

/* copy.c. Marks by node id say what becomes of a node in the copy. */
enum { COPY_NO, COPY_NODE, COPY_INPUT };
void tensor_copy_mark(const Graph *g, const Trace *known, uint8_t *mark);  /* spreads to inputs */
int tensor_copy(const Graph *from, const uint8_t *mark, Graph *to, Node **made);
Graph *tensor_copy_whole(const Graph *from);       /* outputs and assigns too; NULL: no memory */
#endif
