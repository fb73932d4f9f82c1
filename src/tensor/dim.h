/* dim.h: symbolic sizes as Lua values, and guards on them.
 *
 * In Lua a size that is known is an integer; one that is not is a userdata over an ir Dim, with
 * arithmetic. Everything that takes a size takes both.
 */
#ifndef SGL_TENSOR_DIM_H
#define SGL_TENSOR_DIM_H
#include "tensor/tensor.h"

void tensor_push_size(lua_State *L, Dim d);          /* an integer, or the userdata */
Dim tensor_dim_at(lua_State *L, int arg);            /* DIM_FAIL: not a symbolic size */
extern const char TENSOR_DIM_CLASS[];

/* a <order> b + add: what a capture decided about sizes that their ranges leave open, by those of
 * its example. A program serves a call only if every guard has the same result for its sizes. */
typedef enum DimOrder { DIM_LT, DIM_LE, DIM_EQ } DimOrder;
typedef struct DimGuard { Dim a, b; int64_t add; DimOrder order; bool result; Src src; } DimGuard;
typedef VEC(DimGuard) DimGuards;

/* Pushes them as a list of sentences, each with its place. */
void tensor_push_guards(lua_State *L, Ctx *cx, const DimGuards *g);
/* Does every guard have its result for these values? If not, *which is the first. */
bool tensor_guards_hold(const Ctx *cx, const DimGuards *g, const int64_t *values, int *which);
#endif
