/* varying.c: constants in which pending operations differ from those that ran before.
 *
 * A program has its constants built in, which makes it faster, and its key has them. A loop that
 * scales by its own counter, a schedule that changes a rate at each step: each would need a
 * program for every number. So a constant that was seen to change becomes an input of one element.
 * Holds: what is noted decides what is built in, never a result. A hash that two keys share, or a
 *        record that was dropped, costs a program.
 */
#include "tensor/varying.h"
#include <string.h>
#include "base/mem.h"

enum { RECORDS_BYTES = 4 << 20 };

typedef struct Record {
    int count;
    uint8_t *varies; /* behind the values */
    int64_t value[];
} Record;

/* The hash of what lies between the constants. */
static uint64_t frame_hash(const int64_t *key, int n, const int *at, int count)
{
    uint64_t hash = 0;
    for (int i = 0, from = 0; i <= count; i++) {
        int to = i < count ? at[i] : n;
        hash = base_hash(hash, key + from, (size_t)(to - from) * sizeof *key);
        from = to + 1;
    }
    return hash;
}

static void add(Varying *v, uint64_t hash, const int64_t *key, const int *at, int count)
{
    size_t bytes = sizeof(Record) + (size_t)count * (sizeof(int64_t) + 1);
    if (v->bytes + bytes > RECORDS_BYTES) tensor_varying_free(v);
    Record *r = base_mem_zero(1, bytes);
    if (!r) return;
    v->bytes += bytes;
    r->count = count;
    r->varies = (uint8_t *)&r->value[count];
    for (int i = 0; i < count; i++) r->value[i] = key[at[i]];
    if (base_map_set(&v->record, hash, (uint64_t)(uintptr_t)r)) return;
    v->bytes -= bytes;
    base_mem_free(r);
}

const uint8_t *tensor_varying_note(Varying *v, const int64_t *key, int n, const int *at, int count)
{
    uint64_t hash = frame_hash(key, n, at, count), found;
    if (!base_map_get(&v->record, hash, &found)) {
        add(v, hash, key, at, count);
        return NULL;
    }
    Record *r = (Record *)(uintptr_t)found;
    if (r->count != count) return NULL;
    for (int i = 0; i < count; i++) {
        r->varies[i] |= r->value[i] != key[at[i]];
        r->value[i] = key[at[i]];
    }
    return memchr(r->varies, 1, (size_t)count) ? r->varies : NULL;
}

void tensor_varying_free(Varying *v)
{
    for (uint32_t i = 0; i < v->record.cap; i++)
        if (v->record.used[i]) base_mem_free((void *)(uintptr_t)v->record.slot[i].value);
    base_map_free(&v->record);
    v->bytes = 0;
}
