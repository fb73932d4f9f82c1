/* cache.h: programs of captured functions, by way of the cache.
 */
#ifndef SGL_TENSOR_CACHE_H
#define SGL_TENSOR_CACHE_H
#include "exec/cache.h"
#include "bind/host.h"

/* What a program is of: the text of its graph; where that has symbolic sizes, the sizes at hand,
 * and which of the graph's programs is meant: sizes that are treated alike have one. `graph` makes
 * the graph to compile, which is taken, and is called only where the program is not there yet. */
typedef struct CacheRecipe {
    const Str *text;
    size_t plain;        /* where the plain text of the graph to compile begins in it; 0: it is of
                             another */
    const SizeValues *sizes;                        /* NULL: static */
    int variant;
    Graph *(*graph)(const struct CacheRecipe *r);   /* NULL with the context's error set */
    void *arg;
} CacheRecipe;

/* The text of a graph in which all that matters differs, messages too. Returns where its plain text
 * begins, or SGL_ENOMEM. */
int tensor_cache_text(const Graph *g, Str *out);
/* NULL with the context's error set. The caller holds the entry. */
CacheEntry *tensor_cache_captured(Host *h, const CacheRecipe *r);
/* The program of an entry, made again, for these sizes, if the cache had to free it; raises. */
Program *tensor_cache_ready(lua_State *L, Host *h, CacheEntry *e, const SizeValues *sizes);
#endif
