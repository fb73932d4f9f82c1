/* vec.h: growable arrays. `VEC(T)` declares one; a zeroed struct is an empty vector.
 *
 * Holds: `at` may move at every push. A push that finds no memory changes nothing and is false.
 */
#ifndef SGL_BASE_VEC_H
#define SGL_BASE_VEC_H
#include <stdbool.h>
#include <stddef.h>

#define VEC(T) struct { T *at; int n, cap; }

/* Behind vec_reserve: makes room for `need` items of the size; false: no memory. */
bool base_vec_grow(void **at, int *cap, int need, size_t size);

#define vec_reserve(v, need) \
    ((need) <= (v)->cap || base_vec_grow((void **)&(v)->at, &(v)->cap, (need), sizeof *(v)->at))
#define vec_push(v, x) (vec_reserve((v), (v)->n + 1) ? ((v)->at[(v)->n++] = (x), true) : false)
#define vec_pop(v)     ((v)->at[--(v)->n])
#define vec_last(v)    ((v)->at[(v)->n - 1])
#define vec_free(v)    (base_mem_free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)
#include "base/mem.h"
#endif
