/* mem.h: the one door to the system's allocator.
 *
 * Holds: every byte of the product (Lua's heap included) is counted here; a test can make the
 *        n-th allocation from now fail, once; every caller treats NULL as SGL_ENOMEM.
 * Ownership: a pointer returned here is freed with base_mem_free and nothing else.
 */
#ifndef SGL_BASE_MEM_H
#define SGL_BASE_MEM_H
#include <stddef.h>
#include <stdint.h>

typedef struct MemStats {
    int64_t live;    /* bytes now allocated */
    int64_t peak;    /* most bytes allocated at once since start or base_mem_peak_restart */
    int64_t count;   /* allocations made since start */
    int64_t blocks;  /* blocks now allocated */
} MemStats;

void *base_mem_alloc(size_t bytes);                 /* uninitialised; NULL when out of memory */
void *base_mem_zero(size_t count, size_t size);     /* zeroed; NULL on overflow too */
void *base_mem_resize(void *p, size_t bytes);       /* as realloc; p stays valid on NULL;
                                                       making smaller never fails */
void  base_mem_free(void *p);                       /* NULL is allowed */
void *base_mem_big(size_t bytes);                   /* 64-byte aligned, huge pages from 4 MiB,
                                                       not zeroed, padded to 128 bytes */

/* Memory that is handed out in parts: each begins at a multiple of this, so no two share a line of
 * the cache. */
enum { MEM_ALIGN = 128 };
static inline size_t base_mem_align(size_t bytes)
{
    return (bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
}

/* The figures now, of the whole process. */
MemStats base_mem_stats(void);
void base_mem_peak_restart(void);                   /* the peak is what lives now */
void base_mem_fail_at(int64_t nth);                 /* the nth allocation from now fails; 0: none */
#endif
