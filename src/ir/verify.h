/* verify.h: the rules V1… that every graph obeys, after capture and after every pass.
 *
 * Returns SGL_EVERIFY with the number of the first broken rule and the node in the text.
 */
#ifndef SGL_IR_VERIFY_H
#define SGL_IR_VERIFY_H
#include "ir/graph.h"

/* The graph and, through the rule on blocks, all that it holds. */
int ir_verify(const Graph *g);
#endif
