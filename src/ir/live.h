/* live.h: graphs without what nothing needs, in blocks too.
 */
#ifndef SGL_IR_LIVE_H
#define SGL_IR_LIVE_H
#include "ir/control.h"
#include "ir/rebuild.h"

/* The graph with equal nodes made one, and without dead nodes, results of blocks that nobody reads,
 * and what only these need: for whoever asks what a step has to do, such as the partitioner, which
 * else would let ranks meet for a value that is thrown away. The inputs stay. NULL with the error
 * set. */
Graph *ir_live(const Graph *from, RebuildOrigin origin);

/* dead_control.c: the copy in `to` of a control node, whose inputs there are `in`, and of all its
 * live results, into made by old id. A block takes the place of its node while there is room for
 * its nodes, which it takes. 1: simpler than they were; 0; negative: no memory. */
int ir_dead_control(const Node *n, const uint8_t *live, Graph *to, Node *const *in, int64_t *room,
                    Node **made);
/* The room for a pass: in proportion to the graph. Blocks that run others more than once would make
 * a graph a power of what it was. */
int64_t ir_dead_control_room(const Graph *g);
#endif
