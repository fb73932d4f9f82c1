/* arrays.h: arrays of the reference interpreter between Lua and C (graph_eval.c).
 */
#ifndef SGL_TENSOR_ARRAYS_H
#define SGL_TENSOR_ARRAYS_H
#include "bind/host.h"
#include "ir/eval.h"

/* Freed by Lua also when an error passes through. */
typedef struct Arrays {
    int n;
    RefArray at[];
} Arrays;

Arrays *tensor_arrays_new(lua_State *L, int n);          /* pushes them, empty */
/* Pushes the values of the tensors in the list at 2, one for each input; raises. */
Arrays *tensor_arrays_input(lua_State *L, Host *h, const Graph *g);
void tensor_push_array(lua_State *L, Host *h, const RefArray *a); /* as an f64 tensor */
#endif
