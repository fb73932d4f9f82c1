/* vec.c: growth of VEC arrays.
 *
 * Holds: capacity grows by half at least, so n pushes move O(n) elements. The array pointer is
 *        read and written as bytes, because its type is the caller's.
 */
#include "base/vec.h"
#include <limits.h>
#include <string.h>

enum { FIRST_CAP = 8 };

bool base_vec_grow(void **at, int *cap, int need, size_t size)
{
    if (need < 0) return false;
    int more = *cap > INT_MAX / 3 * 2 ? INT_MAX : *cap + *cap / 2;
    if (more < FIRST_CAP) more = FIRST_CAP;
    if (more < need) more = need;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)more, size, &bytes)) return false;
    void *old;
    memcpy(&old, at, sizeof old);
    void *moved = base_mem_resize(old, bytes);
    if (!moved) return false;
    memcpy(at, &moved, sizeof moved);
    *cap = more;
    return true;
}
