/* break.h: breaks: the places at which capture stops, each with its reason.
 */
#ifndef SGL_TENSOR_BREAK_H
#define SGL_TENSOR_BREAK_H
#include "tensor/tensor.h"

typedef enum Break {
#define X(name, code, component, sentence, rewrites) BREAK_##name,
#include "tensor/breaks.def"
#undef X
    BREAK_COUNT
} Break;

/* Raises a break at the user's position. `what` says what stands there; the tensor, if it is not
 * NULL, is described after it. Outside captures, where the same cannot happen, as an error. */
int tensor_break(lua_State *L, Host *h, Break reason, const Tensor *t, const char *what, ...);
/* The same for a break between two others, which are on the top of the stack, each a name or a
 * tensor. */
int tensor_break_between(lua_State *L, Host *h, Break reason, const Tensor *t, const char *what);
/* The same at the definition of a function, which lua_getinfo filled into ar ("S"). */
int tensor_break_at(lua_State *L, Host *h, Break reason, const lua_Debug *ar, const char *what);
/* The value of t is read now, which ends a segment: noted where a survey is on. */
void tensor_break_note(lua_State *L, Host *h, const Tensor *t, const char *what);
/* Raises the break again that the step ends with, if there was one. */
void tensor_break_again(lua_State *L, Host *h);
/* Remembers the error on the top of the stack: a capture that goes on all the same, because
 * user code caught it, ends with it. */
void tensor_break_remember(lua_State *L, Host *h);

#endif
