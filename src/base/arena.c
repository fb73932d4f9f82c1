/* arena.c: chunks of growing size, filled from the front.
 *
 * Holds: a chunk never moves, so pointers stay good; the newest chunk is the only one with room
 *        that counts; chunk sizes double up to a limit, so n bytes cost O(log n) allocations.
 */
#include "base/arena.h"
#include <stdint.h>
#include <string.h>
#include "base/mem.h"

enum { ALIGN = 16, FIRST_CHUNK = 1 << 12, LAST_CHUNK = 1 << 20 };

struct ArenaChunk {
    ArenaChunk *older;
    size_t used, cap;
    _Alignas(ALIGN) char bytes[];
};

static ArenaChunk *chunk_new(ArenaChunk *older, size_t need)
{
    size_t cap = older ? older->cap * 2 : FIRST_CHUNK;
    if (cap > LAST_CHUNK) cap = LAST_CHUNK;
    if (cap < need) cap = need;
    ArenaChunk *c = base_mem_alloc(sizeof *c + cap);
    if (c) *c = (ArenaChunk){.older = older, .used = 0, .cap = cap};
    return c;
}

void *base_arena_alloc(Arena *a, size_t bytes)
{
    if (bytes > PTRDIFF_MAX / 2) return NULL;
    size_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    ArenaChunk *c = a->top;
    if (!c || c->cap - c->used < need) {
        c = chunk_new(a->top, need);
        if (!c) return NULL;
        a->top = c;
    }
    void *p = c->bytes + c->used;
    c->used += need;
    a->bytes += need;
    return p;
}

void *base_arena_zero(Arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *p = base_arena_alloc(a, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

void *base_arena_copy(Arena *a, const void *from, size_t bytes)
{
    void *p = base_arena_alloc(a, bytes);
    if (p && bytes) memcpy(p, from, bytes);
    return p;
}

char *base_arena_text(Arena *a, const char *text)
{
    return base_arena_copy(a, text, strlen(text) + 1);
}

ArenaMark base_arena_mark(const Arena *a)
{
    return (ArenaMark){a->top, a->top ? a->top->used : 0, a->bytes};
}

void base_arena_reset(Arena *a, ArenaMark m)
{
    while (a->top != m.chunk) {
        ArenaChunk *c = a->top;
        a->top = c->older;
        base_mem_free(c);
    }
    if (a->top) a->top->used = m.used;
    a->bytes = m.bytes;
}

void base_arena_free(Arena *a) { base_arena_reset(a, (ArenaMark){NULL, 0, 0}); }
