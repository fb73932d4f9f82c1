/* control.h: control nodes and the blocks they run.
 *
 * A block is a graph with inputs and outputs, held by the graph whose nodes run it and never
 * changed after ir_block_add. It sees only its inputs: what a branch uses from outside is one.
 * A control node has the results that stand on the right, each read by a node of its own where
 * there are several (result.h).
 *
 *   cond   in: predicate, then the inputs of both blocks    results: those of the block taken
 *   scan   in: carries, xs, captures                        results: carries at the end,
 *          body: (carries, slices of xs, captures)               what each step gave, stacked,
 *                -> (carries, ys)                                carries before each step, stacked
 *   loop   in: carries, captures; carry 0 is the condition  results: carries at the end,
 *          body: (carries, captures) -> carries                  steps done,
 *                                                                carries before each step, stacked
 * A loop stops before a step when its condition is false or `max` steps are done; stacked carries
 * of steps not done are 0. A reverse scan goes through positions from the last to the first, and
 * what it stacks for a position lies there.
 */
#ifndef SGL_IR_CONTROL_H
#define SGL_IR_CONTROL_H
#include "ir/eval.h"
#include "ir/graph.h"

/* Adds a block, refers to it, and gives its number; equal blocks have one. Negative: no memory. */
int ir_block_add(Graph *g, Graph *block);
/* A graph with inputs of the types of `of`, all arguments; NULL with the error set. */
Graph *ir_block_new(Ctx *cx, int n, Node *const *of);

/* What the attributes of a control node say, in one form. */
typedef struct Control {
    Op op;
    const Graph *block[2];     /* cond: then, else; scan, loop: body, NULL */
    int ncarry, nxs, ncapture; /* inputs: carries, xs, captures; cond: all are captures */
    int ny;                    /* scan: outputs of the body behind the carries */
    Dim length;                /* scan: steps; loop: at most */
    bool reverse;
    int nout;                  /* results */
    int count;                 /* loop: the result that counts steps; -1 */
    int saved;                 /* scan, loop: first result of carries before each step */
} Control;
Control ir_control(const Node *n);
static inline bool ir_is_control(const Node *n) { return OPS[n->op].family == FAM_control; }

/* The type of result k, which there is, of a control node with these inputs; 0 or the code of an
 * error that is set. */
int ir_control_type(const Node *n, int k, Shape *out);

/* May a gradient go from n to input i of the node that computes it (ir_result_of)? Through a
 * control node: into what the result is in the block, as far as that can be told at a glance: what
 * a block only hands on, or ends with an assign. Of a node without a value: from any result. */
bool ir_flows(const Node *n, int i);

/* How the node marks the cotangents of its inputs, MASK_… of grad.h: as `where`, as a control node
 * that may leave an input unused, or as one whose blocks do so. */
uint8_t ir_control_masks(const Node *n);

/* May the values that it meets end a run: a position outside, an effect, a registered op, or a
 * control node over such? */
bool ir_may_fail(const Node *n);

/* The node; blocks by number, inputs in the order that the table above says. */
Node *ir_cond(Node *pred, int n, Node *const *in, int then, int otherwise);
Node *ir_scan(int n, Node *const *in, int body, int ncarry, int nxs, Dim length, bool reverse);
Node *ir_loop(int n, Node *const *in, int body, int ncarry, int64_t max);

/* control_grad.c: gradients of all results at once. dy[k] is the cotangent of result k or NULL,
 * masked[k] as in grad.c; dx[i] is set for each input that `wants` asks for, NULL: 0. */
int ir_control_grad(Node *n, Node *const *dy, const uint8_t *masked, const uint8_t *wants,
                    Node **dx);
/* control_eval.c: values of the results that `wants` marks. in[i] belongs to input i. */
int ir_control_eval(const Node *n, RefMode mode, const RefArray *const *in, const uint8_t *wants,
                    RefArray *out);
#endif
