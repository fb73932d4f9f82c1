/* offsets.c: offsets of buffers in one arena.
 *
 * In:   buffers with bytes and lives.
 * Out:  an offset for each arena buffer, a multiple of MEM_ALIGN, and the size of the arena.
 * Holds: buffers whose lives meet do not overlap.
 * Large buffers are placed first, each at the lowest gap it fits: close to the bound that the
 * bytes alive at once give, and quadratic only in the number of buffers.
 */
#include "pass/plan.h"

static bool lives_meet(const Buffer *a, const Buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Larger first; among equals the one that lives earlier, then the lower number. */
static bool comes_before(const Buffer *buffers, int i, int j)
{
    const Buffer *a = &buffers[i], *b = &buffers[j];
    if (a->bytes != b->bytes) return a->bytes > b->bytes;
    return a->first != b->first ? a->first < b->first : i < j;
}

static void sift(const Buffer *buffers, int *heap, int n, int i)
{
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && comes_before(buffers, heap[child], heap[child + 1])) child++;
        if (comes_before(buffers, heap[child], heap[i])) return;
        int t = heap[i];
        heap[i] = heap[child], heap[child] = t;
    }
}

static void sort(const Buffer *buffers, int *order, int n)
{
    for (int i = n / 2; i-- > 0;) sift(buffers, order, n, i);
    for (int end = n; end-- > 1;) {
        int t = order[0];
        order[0] = order[end], order[end] = t;
        sift(buffers, order, end, 0);
    }
}

/* The lowest gap for b among the `placed` buffers, which are sorted by offset. */
static size_t first_gap(const Buffer *buffers, const int *placed, int n, const Buffer *b)
{
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        const Buffer *other = &buffers[placed[i]];
        if (!lives_meet(other, b)) continue;
        if (other->offset >= at + b->bytes) break;
        if (other->offset + other->bytes > at) at = other->offset + other->bytes;
    }
    return at;
}

static void insert_by_offset(const Buffer *buffers, int *placed, int n, int b)
{
    int i = n;
    for (; i > 0 && buffers[placed[i - 1]].offset > buffers[b].offset; i--)
        placed[i] = placed[i - 1];
    placed[i] = b;
}

size_t pass_offsets(Buffer *buffers, int n, int *by_size)
{
    size_t total = 0;
    int count = 0;
    for (int i = 0; i < n; i++)
        if (buffers[i].place == BUF_ARENA) by_size[count++] = i;
    sort(buffers, by_size, count);
    /* The sorted list is used up from the front as fast as the list by offset grows there. */
    for (int i = 0; i < count; i++) {
        Buffer *b = &buffers[by_size[i]];
        b->offset = first_gap(buffers, by_size, i, b);
        if (b->offset + b->bytes > total) total = b->offset + b->bytes;
        insert_by_offset(buffers, by_size, i, by_size[i]);
    }
    return total;
}
