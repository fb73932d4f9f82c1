/* gradient.h: gradients that are whole.
 *
 * A gradient is taken in one graph. It is whole if that graph has every way from a tensor w to the
 * loss, along operations that have gradients. One that would be too small is refused, as an error
 * or, in a step, as a break; it is never given. Ways leave a graph at five places:
 *
 *      outside steps:  the pending trace
 *   1  w --> op --> ( run of a program ) --> y --> op --> loss      a run leaves no operations
 *   2  w --> op --> X     (dropped)      --> y --> op --> loss      a long trace drops its oldest
 *
 *      in a step:      what was recorded before       |  the graph of the step
 *   3  w --> op --------------------------------------|--> input --> op --> loss
 *
 *      in a block:     the graph around it            |  the block of cond, scan or loop
 *   4  w --> op --------------------------------------|--> input --> op --> loss
 *
 *      in a loop:      the block in the run before    |  the block, recorded once
 *   5  w --> op --> what is carried ------------------|--> input --> op --> loss
 *
 *   1  grad_flow.c    of a program: which of what it reads and makes can reach which result
 *      grad_origin.c  of a run: the ids of those tensors, kept with the results
 *      grad_walk.c    through the pending trace, to what lies behind its inputs (grad_ids.c: lists)
 *      grad_check.c   refuses where the loss meets w there
 *   2  pending.c      cuts: Tensor.cut, the id below which histories are lost; grad_check.c refuses
 *   3  capture/grad_step.c    by walks from the tensors of the call: so it is a condition among the
 *                             guards of the step, asked again at each call
 *   4  capture/grad_block.c   takes the gradient in the graph that knows all ways, else refuses
 *   5  capture/grad_carry.c   when the results of the block, and so what is carried, are known
 *
 * A tensor is known by Tensor.id, which names one value and is never given twice.
 */
#ifndef SGL_TENSOR_GRADIENT_H
#define SGL_TENSOR_GRADIENT_H
#include "tensor/recorder.h"

/* grad_check.c: RecorderOps.grad_check outside steps. */
void tensor_grad_check(lua_State *L, Recorder *r, Node *loss, int n, Node *const *wrt);
/* All tensors with smaller ids lost the history that they were in. */
uint64_t tensor_last_cut(const Host *h);
#endif
