/* grad_ids.c: lists of ids: mostly sorted lists one behind the other, which are merged.
 */
#include <string.h>
#include "tensor/grad_ids.h"

enum { FEW_IDS = 64 };

static bool before(Entry a, Entry b) { return a.id != b.id ? a.id < b.id : a.source < b.source; }

static bool in_order(const Ids *ids)
{
    for (int i = 1; i < ids->n; i++)
        if (!before(ids->at[i - 1], ids->at[i])) return false;
    return true;
}

/* End of the ascending run that begins at i. */
static int run_end(const Entry *list, int n, int i)
{
    for (i++; i < n && !before(list[i], list[i - 1]); i++) continue;
    return i < n ? i : n;
}

/* Merges neighbouring ascending runs of `from` into `to`; returns how many runs are left. */
static int merge_runs(const Entry *from, int n, Entry *to)
{
    int runs = 0;
    for (int start = 0, at = 0; start < n; runs++) {
        int i = start, middle = run_end(from, n, start), k = middle;
        int end = middle < n ? run_end(from, n, middle) : n;
        while (i < middle || k < end)
            to[at++] =
                k == end || (i < middle && !before(from[k], from[i])) ? from[i++] : from[k++];
        start = end;
    }
    return runs;
}

/* Drops what is there twice, and with `live` the ids that are not in it. */
static void drop(Ids *ids, const Map *live)
{
    int n = 0;
    uint64_t seen;
    for (int i = 0; i < ids->n; i++) {
        Entry e = ids->at[i];
        bool twice = n && !before(ids->at[n - 1], e);
        if (!twice && (!live || base_map_get(live, e.id, &seen))) ids->at[n++] = e;
    }
    ids->n = n;
}

/* The lists are ascending runs one behind the other, so merging neighbours is done after few
 * rounds. */
bool tensor_ids_sort(Ids *ids)
{
    if (in_order(ids)) return true;
    size_t bytes = (size_t)ids->n * sizeof *ids->at;
    Entry *other = base_mem_alloc(bytes);
    if (!other) return false;
    int runs;
    do {
        runs = merge_runs(ids->at, ids->n, other);
        memcpy(ids->at, other, bytes);
    } while (runs > 1);
    base_mem_free(other);
    drop(ids, NULL);
    return true;
}

bool tensor_ids_bound(Host *h, Ids *ids, int *most)
{
    if (ids->n <= *most) return true;
    Map live = {0};
    bool ok = tensor_ids(h, &live);
    if (ok) drop(ids, &live);
    base_map_free(&live);
    *most = 2 * ids->n + FEW_IDS;
    return ok;
}

int tensor_ids_find(const Entry *at, int n, uint64_t id)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (at[middle].id < id) low = middle + 1;
        else high = middle;
    }
    return low;
}
