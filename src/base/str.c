/* str.c: string builder, interner, nearest word.
 *
 * Holds: while a builder has not failed and is not untouched, at[n] is 0 and n < cap.
 */
#include "base/str.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

enum { FIRST_CAP = 64, NEAREST_MAX = 64, NEAREST_SLIPS = 2 };

/* Room for `more` characters and the final 0; false when the builder has failed. */
static bool reserve(Str *s, size_t more)
{
    if (s->failed) return false;
    size_t need;
    if (__builtin_add_overflow(s->n, more, &need) || need > PTRDIFF_MAX / 2) {
        s->failed = true;
        return false;
    }
    if (need < s->cap) return true;
    size_t cap = s->cap + s->cap / 2 + FIRST_CAP;
    if (cap <= need) cap = need + 1;
    char *at = base_mem_resize(s->at, cap);
    if (!at) {
        s->failed = true;
        return false;
    }
    s->at = at;
    s->cap = cap;
    return true;
}

void base_str_add(Str *s, const char *text, size_t n)
{
    if (!reserve(s, n)) return;
    if (n) memcpy(s->at + s->n, text, n);
    s->n += n;
    s->at[s->n] = 0;
}

void base_str_put(Str *s, const char *text) { base_str_add(s, text, strlen(text)); }

void base_str_vfmt(Str *s, const char *fmt, va_list ap)
{
    va_list again;
    if (!reserve(s, FIRST_CAP)) return;
    va_copy(again, ap);
    int n = vsnprintf(s->at + s->n, s->cap - s->n, fmt, ap); /* most often it fits at once */
    bool fits = n >= 0 && (size_t)n < s->cap - s->n;
    if (n < 0) s->failed = true;
    else if (!fits && reserve(s, (size_t)n)) vsnprintf(s->at + s->n, (size_t)n + 1, fmt, again);
    if (!s->failed) s->n += (size_t)n;
    s->at[s->n] = 0;
    va_end(again);
}

void base_str_int(Str *s, int64_t value)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0) *--at = '-';
    base_str_add(s, at, (size_t)(digits + sizeof digits - at));
}

void base_str_fmt(Str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    base_str_vfmt(s, fmt, ap);
    va_end(ap);
}

void base_str_free(Str *s)
{
    base_mem_free(s->at);
    *s = (Str){0};
}

/* Nothing is ever removed, so strings whose hashes meet can sit at successive keys. */
const char *base_intern(Interner *in, const char *text, size_t n)
{
    uint64_t key = base_hash(0, text, n), found;
    for (; base_map_get(&in->map, key, &found); key++) {
        const char *known = (const char *)(uintptr_t)found;
        if (strncmp(known, text, n) == 0 && known[n] == 0) return known;
    }
    ArenaMark before = base_arena_mark(&in->arena);
    char *made = base_arena_alloc(&in->arena, n + 1);
    if (!made) return NULL;
    if (n) memcpy(made, text, n);
    made[n] = 0;
    if (!base_map_set(&in->map, key, (uintptr_t)made)) {
        base_arena_reset(&in->arena, before);
        return NULL;
    }
    return made;
}

void base_intern_free(Interner *in)
{
    base_arena_free(&in->arena);
    base_map_free(&in->map);
}

static int least(int a, int b) { return a < b ? a : b; }

/* Edit distance where swapping two neighbours is one slip, as it is to a typist. */
static int distance(const char *a, int na, const char *b, int nb)
{
    int row[3][NEAREST_MAX + 1];
    for (int j = 0; j <= nb; j++) row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *above = row[(i + 2) % 3], *above2 = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int d = above[j - 1] + (a[i - 1] != b[j - 1]);
            d = least(d, least(above[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d = least(d, above2[j - 2] + 1);
            now[j] = d;
        }
    }
    return row[na % 3][nb];
}

const char *base_str_nearest(const char *word, const char *const *candidates, int n)
{
    size_t len = strlen(word);
    if (len > NEAREST_MAX) return NULL;
    const char *best = NULL;
    int best_distance = NEAREST_SLIPS + 1;
    for (int i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]);
        if (other > NEAREST_MAX) continue;
        int d = distance(word, (int)len, candidates[i], (int)other);
        if (d < best_distance && 2 * d <= (int)len) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}
