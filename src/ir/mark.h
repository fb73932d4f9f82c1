/* mark.h: what a graph tells beside what it computes, for reports, exporters and partitioners:
 *
 *   batch    which dim of an argument counts samples                  GraphInput.batch
 *   module   the path of the module that a composite was made in      Composite.module
 *   loss     a value whose gradients follow: forward ends there       Graph.losses
 *   grad     a value that is the gradient of another                  Graph.grads
 *
 * Holds: they are part of the text, not of the hash; no pass reads them to change a result. A
 *        rebuilt graph has those whose nodes it has. A gradient has the dtype and dims of what it
 *        is the gradient of, a loss is a single float.
 */
#ifndef SGL_IR_MARK_H
#define SGL_IR_MARK_H
#include "ir/graph.h"

/* `dim` from 0; refused unless the argument has it and it was not said before. */
int ir_mark_batch(Graph *g, const Node *input, int64_t dim);
int ir_mark_loss(Graph *g, Node *loss);                /* once or several times */
int ir_mark_grad(Graph *g, Node *value, Node *of);
/* The path given to new composites, interned; NULL or "": none. */
int ir_mark_module(Graph *g, const char *path);
int ir_composite_module(Graph *g, uint32_t composite, const char *path);  /* of one that is there */
/* Those of `from` whose nodes were made, by id. */
int ir_marks_carry(Graph *to, const Graph *from, Node *const *made);
bool ir_marks_hold(const Graph *g);                    /* the rule of the verifier */
#endif
