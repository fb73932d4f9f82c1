/* args.h: arguments that are tensors or hold sizes. `what` begins the message, such as the name of
 * the op.
 */
#ifndef SGL_TENSOR_ARGS_H
#define SGL_TENSOR_ARGS_H
#include "tensor/tensor.h"

/* For an error at an argument of a method of tensors, called by its name; pushes it. Else NULL. */
const char *tensor_colon_hint(lua_State *L);
void tensor_check_alive(lua_State *L, const Tensor *t, const char *what);
Tensor *tensor_check(lua_State *L, Host *h, int arg, const char *what); /* a tensor, and alive */
/* The same, but it may be a number of a step, which to the user is no tensor. */
Tensor *tensor_or_number(lua_State *L, Host *h, int arg, const char *what);
/* Checks a list of tensors; pushes scratch with them, borrowed from the list. */
Tensor **tensor_list(lua_State *L, Host *h, int arg, const char *what, int *n);
lua_Integer tensor_check_item(lua_State *L, int arg, int i, const char *what);
/* Item i of the list at arg: true and a symbolic size, or false and an integer of any sign. */
bool tensor_check_size(lua_State *L, int arg, int i, const char *what, Dim *out);
/* The rank; the sizes may be symbolic. */
int tensor_check_dims(lua_State *L, int arg, const char *what, int64_t *dims);
void tensor_push_dims(lua_State *L, int rank, const int64_t *dims);
#endif
