/* arena.h: bump allocation with mark and reset.
 *
 * Holds: memory is 16-byte aligned and freed as a whole or back to a mark; objects in an arena
 *        are never destroyed one by one. Allocation returns NULL when memory is out.
 */
#ifndef SGL_BASE_ARENA_H
#define SGL_BASE_ARENA_H
#include <stddef.h>

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
    ArenaChunk *top;      /* chunk being filled; older chunks hang behind it */
    size_t bytes;         /* handed out since the last full reset */
} Arena;
typedef struct ArenaMark { ArenaChunk *chunk; size_t used, bytes; } ArenaMark;

void *base_arena_alloc(Arena *a, size_t bytes);                   /* uninitialised */
void *base_arena_zero(Arena *a, size_t count, size_t size);
void *base_arena_copy(Arena *a, const void *from, size_t bytes);
char *base_arena_text(Arena *a, const char *text);                /* copy of a C string */
ArenaMark base_arena_mark(const Arena *a);
void base_arena_reset(Arena *a, ArenaMark m);                     /* frees all made after m */
void base_arena_free(Arena *a);                                   /* frees everything */
#endif
