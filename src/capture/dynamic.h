/* dynamic.h: programs of a graph with symbolic sizes (specialise.c).
 */
#ifndef SGL_CAPTURE_DYNAMIC_H
#define SGL_CAPTURE_DYNAMIC_H
#include "capture/ranks.h"
#include "exec/cache.h"
#include "tensor/dim.h"

/* A captured graph with symbolic dims, and its programs: one for all sizes, or, where
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
 * set: an input that does not fit, named with the dim and the value. Ranks, and exact mode, have
 * one of its own for each combination of sizes; place[i]: how input i was asked to lie. */
CacheEntry *capture_dynamic_entry(Host *h, Dynamic *d, Storage *const *in,
                                  const char *const *place);
/* What ranks make of the one that ran last; NULL: nothing. */
Part *capture_dynamic_part(Dynamic *d);
/* The entry for a static graph, which it takes; NULL with the error set. */
CacheEntry *capture_entry(Host *h, Graph *g);
/* Makes the program, which serves them, fit the sizes of the last inputs. */
int capture_dynamic_bind(Dynamic *d, Program *p);
CacheEntry *capture_dynamic_latest(const Dynamic *d);      /* the one that ran last; NULL: none */
const SizeValues *capture_dynamic_sizes(const Dynamic *d); /* those of the last inputs */
typedef struct DynamicInfo { int specialisations, bindings; double bind_seconds; } DynamicInfo;
DynamicInfo capture_dynamic_info(const Dynamic *d);
#endif
