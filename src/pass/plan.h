/* plan.h: what order.c, start.c, plan.c, inplace.c and pack.c share.
 *
 * Time is counted in groups: group t of the order runs at time t; what the program copies at the
 * end (outputs that are inputs, assigns not made in place) happens at time `groups.n`.
 */
#ifndef SGL_PASS_PLAN_H
#define SGL_PASS_PLAN_H
#include "pass/schedule.h"

/* The node whose memory n is: n itself, or what an alias group reshapes. */
Node *pass_root(const Schedule *s, Node *n);
/* For the sizes at hand; a multiple of MEM_ALIGN. */
size_t pass_node_bytes(const Schedule *s, const Node *n);

/* fail.c: sets Group.fails; false: no memory. */
bool pass_find_failing(Schedule *s);

/* The end of `order`: which groups run beside others, on a device with so many streams. */
void pass_start_groups(Schedule *s, int streams);

/* Does group g read x only at the very element of `out` it computes, so that `out` may take the
 * memory of x? `mark` has one byte a node, all 0 before and after. */
bool pass_reads_in_place(const Group *g, const Node *x, const Node *out, uint8_t *mark);

/* Gives each arena buffer an offset such that no two whose lives meet overlap; returns the bytes
 * needed. `by_size` is scratch for n numbers. */
size_t pass_offsets(Buffer *buffers, int n, int *by_size);
#endif
