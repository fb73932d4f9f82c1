/* mem.c: the counted allocator over malloc.
 *
 * Every block is preceded by a Head that says how many bytes were asked for and where the system's
 * own block begins, so free and resize need nothing but the pointer. Small blocks keep malloc's
 * 16-byte alignment; big ones get a cache line for their head.
 * Holds: counters are atomic and exact whenever no allocation is in progress; shrinking a block
 *        never fails (Lua relies on it) and is no target of failure injection; the caller's pointer
 *        lies inside the system's block even for 0 bytes, so leak checkers see that it is held.
 */
#include "base/mem.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct Head {
    size_t bytes;  /* asked for */
    size_t offset; /* from the start of the system's block to the caller's pointer */
} Head;

enum { SMALL_OFFSET = 16, BIG_ALIGN = 64, BIG_PAD = 128, HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20 };
static const size_t MOST_BYTES = PTRDIFF_MAX - HUGE_PAGE; /* sums with offsets stay in range */
_Static_assert(sizeof(Head) <= SMALL_OFFSET, "the head must fit before a small block");

static _Atomic int64_t live, peak, count, blocks;
static _Atomic int64_t fail_countdown;

static Head *head_of(const void *p) { return (Head *)((char *)(uintptr_t)p - sizeof(Head)); }

static void *system_block(void *p) { return (char *)p - head_of(p)->offset; }

static size_t small_bytes(size_t bytes) { return SMALL_OFFSET + (bytes ? bytes : 1); }

static size_t big_bytes(size_t bytes)
{
    return BIG_ALIGN + (bytes ? (bytes + BIG_PAD - 1) / BIG_PAD : 1) * BIG_PAD;
}

static bool fails_now(void)
{
    return atomic_load_explicit(&fail_countdown, memory_order_relaxed) > 0 &&
           atomic_fetch_sub(&fail_countdown, 1) == 1;
}

/* Accounts for a block that grew by `grown` bytes; `made` is 1 for a new block. */
static void account(int64_t grown, int made)
{
    int64_t now = atomic_fetch_add(&live, grown) + grown;
    int64_t most = atomic_load_explicit(&peak, memory_order_relaxed);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {}
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&blocks, made, memory_order_relaxed);
}

static void *place(void *block, size_t offset, size_t bytes)
{
    void *p = (char *)block + offset;
    *head_of(p) = (Head){bytes, offset};
    account((int64_t)bytes, 1);
    return p;
}

void *base_mem_alloc(size_t bytes)
{
    if (bytes > MOST_BYTES || fails_now()) return NULL;
    void *block = malloc(small_bytes(bytes));
    return block ? place(block, SMALL_OFFSET, bytes) : NULL;
}

void *base_mem_zero(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > MOST_BYTES || fails_now()) return NULL;
    void *block = calloc(1, small_bytes(bytes));
    return block ? place(block, SMALL_OFFSET, bytes) : NULL;
}

void *base_mem_big(size_t bytes)
{
    if (bytes > MOST_BYTES || fails_now()) return NULL;
    size_t whole = big_bytes(bytes);
    bool huge = bytes >= HUGE_FROM;
    void *block;
    if (posix_memalign(&block, huge ? HUGE_PAGE : BIG_ALIGN, whole) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    if (huge) (void)madvise(block, whole, MADV_HUGEPAGE); /* a wish: kernels may lack huge pages */
#endif
    return place(block, BIG_ALIGN, bytes);
}

/* Whole pages go back to the system, which gives zeros for them when they are touched. */
void base_mem_clear(void *p, size_t bytes)
{
    const uintptr_t at = (uintptr_t)p, end = at + bytes;
    const uintptr_t first = (at + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    const uintptr_t last = end / HUGE_PAGE * HUGE_PAGE;
    if (first < last && madvise((void *)first, last - first, MADV_DONTNEED) == 0) {
        memset(p, 0, first - at);
        memset((void *)last, 0, end - last);
    } else if (bytes) {
        memset(p, 0, bytes);
    }
}

static void *resize_big(void *p, size_t bytes)
{
    void *q = base_mem_big(bytes);
    if (!q) return NULL;
    size_t old = head_of(p)->bytes;
    memcpy(q, p, old < bytes ? old : bytes);
    base_mem_free(p);
    return q;
}

void *base_mem_resize(void *p, size_t bytes)
{
    if (!p) return base_mem_alloc(bytes);
    size_t old = head_of(p)->bytes;
    bool grows = bytes > old;
    if (head_of(p)->offset != SMALL_OFFSET && grows) return resize_big(p, bytes);
    if (grows && (bytes > MOST_BYTES || fails_now())) return NULL;
    if (head_of(p)->offset == SMALL_OFFSET) {
        void *block = realloc(system_block(p), small_bytes(bytes));
        if (!block && grows) return NULL;
        if (block) p = (char *)block + SMALL_OFFSET;
    }
    head_of(p)->bytes = bytes;
    account((int64_t)bytes - (int64_t)old, 0);
    return p;
}

void base_mem_free(void *p)
{
    if (!p) return;
    atomic_fetch_sub(&live, (int64_t)head_of(p)->bytes);
    atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
    free(system_block(p));
}

MemStats base_mem_stats(void)
{
    return (MemStats){.live = atomic_load(&live),
                      .peak = atomic_load(&peak),
                      .count = atomic_load(&count),
                      .blocks = atomic_load(&blocks)};
}

void base_mem_peak_restart(void) { atomic_store(&peak, atomic_load(&live)); }

void base_mem_fail_at(int64_t nth) { atomic_store(&fail_countdown, nth); }
