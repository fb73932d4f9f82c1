/* args.h: arguments that hold sizes. `what` begins the message, such as the name of the op.
 */
#ifndef SGL_TENSOR_ARGS_H
#define SGL_TENSOR_ARGS_H
#include "bind/host.h"

/* For an error at an argument of a method of tensors, called by its name; pushes it. Else NULL. */
const char *tensor_colon_hint(lua_State *L);
lua_Integer tensor_check_item(lua_State *L, int arg, int i, const char *what);
/* The rank; the sizes may be symbolic. */
int tensor_check_dims(lua_State *L, int arg, const char *what, int64_t *dims);
void tensor_push_dims(lua_State *L, int rank, const int64_t *dims);
#endif
