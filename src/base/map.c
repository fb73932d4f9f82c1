/* map.c: open addressing with linear probing, and the hash of bytes.
 *
 * Holds: cap is 0 or a power of two; at most 3/4 of the slots are used; from a key's home slot to
 *        its slot no slot is unused, which removal keeps by moving later entries back.
 */
#include "base/map.h"
#include <string.h>
#include "base/mem.h"

enum { FIRST_CAP = 16 };

/* The finisher of SplitMix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The key's slot, or the unused slot where it belongs. The map must have a slot to spare. */
static uint32_t find(const Map *m, uint64_t key)
{
    uint32_t i = (uint32_t)mix(key) & (m->cap - 1);
    while (m->used[i] && m->slot[i].key != key) i = (i + 1) & (m->cap - 1);
    return i;
}

/* Doubles the table and puts every key in again. Without memory the old one is as it was. */
static bool grow(Map *m)
{
    if (m->cap > UINT32_MAX / 2) return false;
    uint32_t cap = m->cap ? m->cap * 2 : FIRST_CAP;
    Map bigger = {.slot = base_mem_alloc(cap * sizeof *bigger.slot),
                  .used = base_mem_zero(cap, 1),
                  .n = m->n,
                  .cap = cap};
    if (!bigger.slot || !bigger.used) {
        base_map_free(&bigger);
        return false;
    }
    for (uint32_t i = 0; i < m->cap; i++) {
        if (m->used[i]) {
            uint32_t to = find(&bigger, m->slot[i].key);
            bigger.slot[to] = m->slot[i];
            bigger.used[to] = 1;
        }
    }
    base_map_free(m);
    *m = bigger;
    return true;
}

bool base_map_set(Map *m, uint64_t key, uint64_t value)
{
    uint32_t i = 0;
    bool present = m->cap && m->used[i = find(m, key)];
    if (!present) {
        if (m->n >= m->cap / 4 * 3) {
            if (!grow(m)) return false;
            i = find(m, key);
        }
        m->used[i] = 1;
        m->n++;
    }
    m->slot[i] = (MapSlot){key, value};
    return true;
}

bool base_map_get(const Map *m, uint64_t key, uint64_t *value)
{
    if (m->n == 0) return false;
    uint32_t i = find(m, key);
    if (!m->used[i]) return false;
    *value = m->slot[i].value;
    return true;
}

bool base_map_remove(Map *m, uint64_t key)
{
    if (m->n == 0) return false;
    uint32_t hole = find(m, key), mask = m->cap - 1;
    if (!m->used[hole]) return false;
    for (uint32_t i = (hole + 1) & mask; m->used[i]; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)mix(m->slot[i].key) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->slot[hole] = m->slot[i];
            hole = i;
        }
    }
    m->used[hole] = 0;
    m->n--;
    return true;
}

void base_map_clear(Map *m)
{
    if (m->cap) memset(m->used, 0, m->cap);
    m->n = 0;
}

void base_map_free(Map *m)
{
    base_mem_free(m->slot);
    base_mem_free(m->used);
    *m = (Map){0};
}

static uint64_t add_word(uint64_t h, const char *at, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, at, n);
    return mix((h ^ word) * 0x9e3779b97f4a7c15u);
}

uint64_t base_hash(uint64_t seed, const void *bytes, size_t n)
{
    enum { WORD = sizeof(uint64_t), LANES = 4, ROW = LANES * WORD };
    const char *p = bytes;
    uint64_t h = mix(seed + 0x9e3779b97f4a7c15u) ^ n;
    if (n >= 2 * ROW) { /* a long text: words that need not wait for each other */
        uint64_t lane[LANES] = {h, h + 1, h + 2, h + 3};
        for (; n >= ROW; p += ROW, n -= ROW)
            for (int i = 0; i < LANES; i++) lane[i] = add_word(lane[i], p + i * WORD, WORD);
        for (int i = 0; i < LANES; i++) h = mix((h ^ lane[i]) * 0x9e3779b97f4a7c15u);
    }
    for (; n >= WORD; p += WORD, n -= WORD) h = add_word(h, p, WORD);
    return n ? add_word(h, p, n) : h;
}
