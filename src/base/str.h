/* str.h: string builder and interner.
 *
 * A zeroed Str is empty; `s.at` is always a C string once something was added. When memory runs
 * out the builder remembers it (`s.failed`) and ignores what follows, so one check at the end is
 * enough. An interner gives equal strings one address for its whole life.
 */
#ifndef SGL_BASE_STR_H
#define SGL_BASE_STR_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/map.h"

typedef struct Str { char *at; size_t n, cap; bool failed; } Str;

/* Adds n bytes, a C string, a formatted text; without memory the string is `failed` from then
 * on. */
void base_str_add(Str *s, const char *text, size_t n);
void base_str_put(Str *s, const char *text);
void base_str_fmt(Str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void base_str_int(Str *s, int64_t value);       /* in decimal */
void base_str_vfmt(Str *s, const char *fmt, va_list ap);
void base_str_free(Str *s);

typedef struct Interner { Arena arena; Map map; } Interner;
const char *base_intern(Interner *in, const char *text, size_t n);   /* NULL: out of memory */
void base_intern_free(Interner *in);

/* The candidate closest to `word` by edit distance, or NULL when none is near enough to be a
 * likely slip (distance at most 2 and at most half the word). */
const char *base_str_nearest(const char *word, const char *const *candidates, int n);
#endif
