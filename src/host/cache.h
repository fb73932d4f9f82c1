/* cache.h: programs of captured functions, by way of the cache.
 */
#ifndef SGL_HOST_CACHE_H
#define SGL_HOST_CACHE_H
#include "exec/cache.h"
#include "host/host.h"

/* Takes a captured graph. NULL with the context's error set. The caller holds the entry. */
CacheEntry *host_cache_captured(Host *h, Graph *g);
/* The program of an entry, made again if the cache had to free it; raises. */
Program *host_cache_ready(lua_State *L, Host *h, CacheEntry *e);
#endif
