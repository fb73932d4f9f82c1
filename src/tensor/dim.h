/* dim.h: symbolic sizes as Lua values, and what a program with symbolic sizes needs to run.
 *
 * In Lua a size that is known is an integer; one that is not is a userdata over an ir Dim, with
 * arithmetic. Everything that takes a size takes both.
 */
#ifndef SGL_TENSOR_DIM_H
#define SGL_TENSOR_DIM_H
#include "exec/cache.h"
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

/* instance.c: a captured graph with symbolic dims, and its programs: one for all sizes, or, where
 * the order of a sum or the lack of elements depends on sizes, one for each such case. */
typedef struct Dynamic Dynamic;
/* Takes the graph, and the guards. NULL with the context's error set. */
Dynamic *capture_dynamic_new(Host *h, Graph *g, DimGuards *guards);
void capture_dynamic_free(Dynamic *d, bool drop);   /* drop: its programs go now */
const DimGuards *capture_dynamic_guards(const Dynamic *d);
/* Do the guards hold for these sizes? Sizes that do not fit at all are left to the run; without
 * memory the error is set. */
bool capture_dynamic_fits(Host *h, const Dynamic *d, const Shape *list);
const Graph *capture_dynamic_graph(const Dynamic *d);
/* The program for the sizes of these inputs, borrowed until the next call; NULL with the error
 * set: an input that does not fit, named with the dim and the value. */
CacheEntry *capture_dynamic_entry(Host *h, Dynamic *d, Storage *const *in);
/* Makes the program, which serves them, fit the sizes of the last inputs. */
int capture_dynamic_bind(Dynamic *d, Program *p);
CacheEntry *capture_dynamic_latest(const Dynamic *d);     /* the one that ran last; NULL: none did */
const SizeValues *capture_dynamic_sizes(const Dynamic *d); /* those of the last inputs */
/* Values of the symbols, by number (0: not among the inputs), from the sizes in `list`: one Shape
 * for each input. Scratch that the caller frees; NULL with the error set. */
int64_t *capture_dim_solve(const Graph *g, const Shape *list);
/* Does every guard have its result for these values? If not, *which is the first. */
bool tensor_guards_hold(const Ctx *cx, const DimGuards *g, const int64_t *values, int *which);
typedef struct DynamicInfo { int instances, bindings; double bind_seconds; } DynamicInfo;
DynamicInfo capture_dynamic_info(const Dynamic *d);
#endif
