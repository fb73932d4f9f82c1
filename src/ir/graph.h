/* graph.h: the graph: immutable nodes in an arena.
 *
 * Holds: a node never changes after ir_node returns it; where a graph shares (Graph.shares), equal
 *        op, inputs, attributes, dtype and dims give the same node (the first position in the
 *        source stays); a node's inputs have smaller ids, so id order is a topological order;
 *        nothing aliases: `assign` is an output. Builders given a NULL input return NULL and keep
 *        the first error.
 * Ownership: a graph owns its nodes; ir_graph_free ends them all. Ctx outlives its graphs.
 */
#ifndef SGL_IR_GRAPH_H
#define SGL_IR_GRAPH_H
#include "base/arena.h"
#include "base/context.h"
#include "base/vec.h"
#include "ir/op.h"

struct Node {
    Graph *graph;
    uint32_t id;             /* position in graph->nodes */
    uint16_t op;             /* Op */
    uint8_t dtype;           /* Dtype */
    uint8_t rank;
    uint16_t nin, nattr;
    Src src;                 /* the user's position */
    uint32_t composite;         /* innermost composite it was made in; 0: none */
    const Dim *dims;
    const int64_t *attr;     /* encoded by the op's schema: I, A, T, G one word; F the double's
                                bits; S an interned text; P, L, D a count and then the items */
    const Node *origin;      /* the node of the graph one level up, or NULL */
    Node *in[];
};

typedef enum InputKind { INPUT_ARG, INPUT_STATE } InputKind;
typedef struct GraphInput {
    Node *node;
    const char *name;
    InputKind kind;
    int batch;               /* the dim that counts samples, from 1; 0: unknown (mark.h) */
} GraphInput;
typedef struct GraphOutput { Node *node; const char *name; } GraphOutput;
/* The last effect of a channel, whose chain runs like an output. Effects of one channel happen in
 * the order of their chain; those of two are not ordered. */
typedef struct GraphEffect { const char *channel; Node *last; } GraphEffect;
#define IR_HOST "host"       /* the channel of prints and asserts */
typedef struct GraphGrad { Node *value, *of; } GraphGrad;     /* a gradient, and of what */
typedef struct GraphAssign { int input; Node *value; } GraphAssign;  /* set at the end of a run */

/* A composite: a named composite around primitives, for exporters, hand kernels and pictures.
 * Composites[0] is the whole graph. */
typedef struct Composite {
    const char *name;
    const char *module;      /* path of the module that it was made in (mark.h); "": none */
    uint32_t parent;
    Src src;
    int nin;
    Node **in;               /* what it was called on */
    Node *out;               /* what it returned; NULL while open */
} Composite;

typedef struct Side Side;

struct Graph {
    Ctx *cx;                 /* borrowed */
    Arena arena;
    VEC(Node *) nodes;
    VEC(GraphInput) inputs;
    VEC(GraphOutput) outputs;
    VEC(GraphAssign) assigns;
    VEC(Composite) composites;
    VEC(Graph *) blocks;     /* graphs that control nodes run (control.h); references */
    VEC(Node *) losses;      /* mark.h */
    VEC(GraphGrad) grads;
    Side *side;              /* notes about nodes (side.h); NULL: none */
    VEC(GraphEffect) effects; /* one of each channel that has any */
    Map index;               /* hash-consing */
    Src src;                 /* given to new nodes */
    uint32_t composite;         /* given to new nodes */
    const char *module;      /* given to new composites; NULL: none */
    const Node *origin;      /* given to new nodes */
    Graph *from;             /* the graph one level up, where origins point; owned, may be NULL */
    bool bound;              /* made of a symbolic graph, for one combination of its sizes */
    bool part;               /* a body that repeats: of a run that fails no state is left */
    bool shares;             /* equal nodes are one; else only equal leaves and control nodes */
    int refs;                /* owners; more than one only for blocks */
    uint64_t hash;           /* of a block, once it is one */
};

/* An empty graph with one owner; NULL with the error set. */
Graph *ir_graph_new(Ctx *cx);
Graph *ir_graph_ref(Graph *g);                         /* one more owner; returns g */
void ir_graph_free(Graph *g);                          /* one owner less; NULL is allowed */

/* Elements that no static node may exceed. */
#define IR_MAX_COUNT (INT64_C(1) << 56)

/* The one way to make a node. `attr` is encoded as in Node.attr; dtype and dims are inferred by
 * the op's shape rule (leaf ops carry them as attributes; `input` is made by ir_input). */
Node *ir_node(Graph *g, Op op, int nin, Node *const *in, const int64_t *attr, int nattr);
/* The node that ir_node would give, if it is there already; NULL: it is not. */
Node *ir_node_find(const Graph *g, Op op, int nin, Node *const *in, const int64_t *attr, int nattr);

/* Inputs count from 0 in the order in which they are made. */
Node *ir_input(Graph *g, InputKind kind, const char *name, Dtype dtype, int rank, const Dim *dims);
/* Another name for an input, of which no node depends. */
int ir_input_name(Graph *g, const Node *input, const char *name);
int ir_output(Graph *g, Node *n, const char *name);
int ir_assign(Graph *g, Node *input, Node *value);     /* last one wins; same dtype and dims */
/* The last effect of a channel; i32[]; NULL is refused. */
int ir_effect(Graph *g, const char *channel, Node *last);
const GraphEffect *ir_effect_find(const Graph *g, const char *channel);  /* NULL: none */
uint32_t ir_composite_begin(Graph *g, const char *name, int nin, Node *const *in);
void ir_composite_end(Graph *g, uint32_t composite, Node *out);
/* Fills a composite whose nodes were not yet there when it began. */
int ir_composite_fill(Graph *g, uint32_t composite, int nin, Node *const *in, Node *out);

/* Attributes by position in the schema. */
int64_t ir_attr_int(const Node *n, int which);
double ir_attr_float(const Node *n, int which);
const int64_t *ir_attr_list(const Node *n, int which, int *count);

/* Facts */
static inline const OpInfo *ir_op(const Node *n) { return &OPS[n->op]; }
static inline bool ir_is_float(const Node *n) { return DTYPES[n->dtype].class == CLASS_FLOAT; }
static inline const OpRules *ir_rules(const Ctx *cx, Op op)
{
    return (const OpRules *)cx->slot[CTX_OPS] + op;
}
bool ir_has_dims(const Node *n, int rank, const Dim *dims);
bool ir_same_dims(const Node *a, const Node *b);
bool ir_is_static(const Node *n);                      /* all dims constant */
/* The dims of a node and those among its attributes; returns how many. */
int ir_node_dims(const Node *n, Dim *out);
enum { IR_NODE_DIMS = 4 * OP_MAX_RANK };
/* The first node with a symbolic dim, also among its attributes; NULL: the graph is static. */
const Node *ir_graph_symbolic(const Graph *g);
int64_t ir_count(const Node *n);                       /* elements; -1 when not static */
bool ir_const_value(const Node *n, double *value);     /* const, through broadcast and reshape */
void ir_type_text(const Node *n, Str *out);            /* "f32[64, 128]" */

/* Marks the nodes that `roots` need, the roots too, in a byte by id; returns how many they are.
 * Going through ids upwards meets inputs before their users. */
int ir_reachable(const Graph *g, int nroots, Node *const *roots, uint8_t *mark_by_id);
#endif
