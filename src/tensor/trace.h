/* trace.h: recording: a graph, the handles on its nodes, and the values known so far.
 *
 * Outside steps there is one trace, the pending one. Values that were computed stay beside
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
    Map replaced;              /* ids of nodes that an assign took a tensor from before they ran:
                                  what was recorded meanwhile reads them, so they are kept */
    VEC(Leaf) leaves;          /* by number of the input, may be shorter; id 0: no tensor's */
    int origins;               /* leaves that have one */
    Map ids;                   /* node id: address of its TraceIds, where they were asked for */
    int64_t kept;              /* ids in them */
    size_t behind, most_behind; /* bytes of the leaves' origins; above which to prune them */
    int pins;                  /* composites open: the graph must stay */
    int waiting;               /* nodes not run when the trace was made of an older one */
    int swept;                 /* number of nodes when Lua last collected for its sake */
    int fresh;                 /* number of nodes when something was last computed */
    int64_t held, limit;       /* bytes of values, at most; weight above which to compact */
};

/* Name of the inputs whose tensors were computed and lost their history. */
#define TRACE_CUT "computed"

/* Begins with an empty graph; SGL_ENOMEM. */
int tensor_trace_init(Trace *tr, Ctx *cx);
void tensor_trace_end(Trace *tr);                  /* handles on it are left without a node */
/* Moves all that handles of `old` need to `new`, which is empty; without `history` what has a value
 * becomes an input, called TRACE_CUT. false: no memory for it, and nothing has moved; it is not
 * worth another try before `old` has doubled. */
bool tensor_trace_move(Trace *old, Trace *new, bool history);
int64_t tensor_trace_weight(const Trace *tr);      /* in bytes: of values, and for each node */
/* The input that stands for t, which is on no trace; a new one at first. NULL: the error is set. */
Node *tensor_trace_leaf(Trace *tr, const Tensor *t);
int tensor_trace_store(Trace *tr, const Node *n, Storage *s);           /* refers to s */
/* The tensor on n, which has no value yet, gets another one. */
int tensor_trace_replace(Trace *tr, const Node *n);
/* The leaves' origins forget tensors that are gone, all but `live` (NULL: not known). */
void tensor_trace_prune(Trace *tr, const Map *live);
void tensor_trace_forget(Trace *tr);               /* the ids that were asked for */

/* NULL: not computed. */
static inline Storage *tensor_trace_value(const Trace *tr, const Node *n)
{
    return (int)n->id < tr->value.n ? tr->value.at[n->id] : NULL;
}

/* The operation that computed the leaf, if the trace still has it: what was recorded before then
 * reads this and not the leaf's input. NULL: there is none. */
static inline Node *tensor_trace_past(const Trace *tr, const Tensor *t)
{
    uint64_t id;
    return !t->trace && base_map_get(&tr->past, t->id, &id) ? tr->graph->nodes.at[id] : NULL;
}

/* recorder.c: where to record now, at the user's position; the node there of the tensor at arg. */
Trace *tensor_trace(lua_State *L, Host *h);
Node *tensor_node(lua_State *L, Host *h, int arg, const char *what);
Node *tensor_node_of(lua_State *L, Host *h, int arg, Tensor *t, const char *what); /* it is t */

/* copy.c. Marks by node id say what becomes of a node in the copy. */
enum { COPY_NO, COPY_NODE, COPY_INPUT, COPY_NUMBER };
/* Spreads marks to inputs: not behind nodes with a value known to the trace (NULL: none), or, for a
 * history, behind those of them alone through which no gradient goes. */
void tensor_copy_mark(const Graph *g, const Trace *known, bool history, uint8_t *mark);
int tensor_copy(const Graph *from, const uint8_t *mark, Graph *to, Node **made);
Graph *tensor_copy_whole(const Graph *from);       /* outputs and assigns too; NULL: no memory */
#endif
