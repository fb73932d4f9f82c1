/* gradient.h: gradients that are whole.
 */
#ifndef SGL_TENSOR_GRADIENT_H
#define SGL_TENSOR_GRADIENT_H
#include "tensor/recorder.h"

/* grad_check.c: RecorderOps.grad_check outside steps. */
void tensor_grad_check(lua_State *L, Recorder *r, Node *loss, int n, Node *const *wrt);
/* All tensors with smaller ids lost the history that they were in. */
uint64_t tensor_last_cut(const Host *h);
#endif
