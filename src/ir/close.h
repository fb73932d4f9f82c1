/* close.h: closure conversion: blocks that read and change what lies around them become blocks
 * that see only their inputs, run by one control node.
 *
 * In:    for cond two blocks, for scan and loop one; of each its graph, what every input stands for
 *        in the graph around, and what that is at the block's end.
 * Out:   blocks of the graph around (control.h), over the same inputs; the node's results; what
 *        the blocks changed, as results too.
 * Holds: an input that a block changes is a result; where the block repeats, it is carried from
 *        step to step. What both branches read is one input. A constant that no block changes stays
 *        one inside. Arguments, results and changes keep their order.
 */
#ifndef SGL_IR_CLOSE_H
#define SGL_IR_CLOSE_H
#include "ir/control.h"

typedef enum OpenRole {
    OPEN_ARGUMENT, /* a carry or, behind those, a slice of a scan; first and in order */
    OPEN_VALUE,    /* read, and perhaps changed */
    OPEN_STEP      /* the number of the step, i64[], from 0 */
} OpenRole;

typedef struct OpenInput {
    OpenRole role;
    const void *key;     /* OPEN_VALUE: what it stands for, equal in both branches */
    Node *from;          /* the node outside; OPEN_STEP: NULL */
    Node *input, *after; /* in the block: the input, and what it is at the end */
    Node *changed; /* set: what is outside after the node; NULL: unchanged, or told of an input
                            before */
} OpenInput;

typedef struct OpenBlock {
    Graph *graph; /* without outputs; it gets some */
    int nin, nresult;
    OpenInput *in;
    Node *const *result;
} OpenBlock;

typedef struct Closing {
    Op op;
    Graph *outer;
    Node *pred; /* cond */
    int ncarry; /* of the arguments; scan and loop */
    Dim length; /* scan: steps; loop: at most */
    bool reverse;
    int nblock;
    OpenBlock block[2];
    Node **result; /* set: room for those of a block and, for a loop, the steps done */
} Closing;

/* Adds the blocks to `outer`, makes the node there, and fills in what is set. */
int ir_close(Closing *c);
#endif
