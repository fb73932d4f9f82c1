/* grad.h: reverse-mode differentiation, graph to graph.
 *
 * out[i] = d loss / d wrt[i], built in the same graph, with the dims and dtype of wrt[i]; zeros
 * where loss does not depend on it. loss must be a float of rank 0 (else SGL_EGRAD, also for an
 * integer wrt). Gradients of gradients are gradients. A cotangent that came through `where` or a
 * control node is masked: 0 times inf beside what was not taken is 0 (NaN-safe).
 * The new nodes have the source position of the node they differentiate and that node as origin.
 */
#ifndef SGL_IR_GRAD_H
#define SGL_IR_GRAD_H
#include "ir/graph.h"

/* What may be 0 in a cotangent because something was not taken. */
enum {
    MASK_PART = 1, /* some elements: it came through `where` */
    MASK_WHOLE = 2 /* all of them: it came through a control node that may not have run */
};

/* out[i] becomes the gradient of the loss by wrt[i], 0 where nothing flows. */
int ir_grad(Graph *g, Node *loss, int n, Node *const *wrt, Node **out);

/* Spreads marks by id to all floats that depend on a marked node through gradients. */
void ir_grad_flow(const Graph *g, uint8_t *mark);
/* The other way: to all that marked floats depend on; marks of what is no float mean nothing. */
void ir_grad_reach(const Graph *g, uint8_t *mark);

/* Several results at once, each with a cotangent: out[i] = sum over r of seed[r] · d root[r] / d
 * wrt[i], or NULL where no root depends on wrt[i]. masked[r] (NULL: none): MASK_… of the seed. */
int ir_grad_from(Graph *g, int nroots, Node *const *roots, Node *const *seeds,
                 const uint8_t *masked, int n, Node *const *wrt, Node **out);
#endif
