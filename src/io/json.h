/* json.h: a strict pull reader for the small JSON in binary formats' headers.
 *
 * The caller asks for what must come next. The first thing that is not there sets the error, with
 * the byte it was at; from then on every call fails.
 * Holds: strings are valid UTF-8 without zero bytes, copied to the arena.
 */
#ifndef SGL_IO_JSON_H
#define SGL_IO_JSON_H
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

typedef struct Json {
    const char *start, *at, *end;
    const char *name;        /* of the file, for messages */
    Arena *arena;            /* of strings */
    Err *err;
    int code;                /* SGL_OK until something failed */
} Json;

/* Sets the error unless one is set: what is wrong at the place reached. Its code. */
int io_json_fail(Json *j, const char *what);
bool io_json_take(Json *j, char c);              /* skips blanks; consumes c if it comes next */
bool io_json_expect(Json *j, char c);            /* c must come next */
const char *io_json_string(Json *j);             /* NULL: failed */
bool io_json_natural(Json *j, int64_t *value);   /* an integer from 0 to 2^63 - 1 */
bool io_json_end(Json *j);                       /* only blanks are left */

/* Loops over the members of an object or array: false at its end or on failure.
 *     bool first = true;
 *     while (io_json_more(&j, '}', &first)) … */
bool io_json_more(Json *j, char close, bool *first);

void io_json_quote(const char *text, Str *out);  /* text as a JSON string */
#endif
