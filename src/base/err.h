/* err.h: error codes (err.def) and the text of the last error.
 *
 * Every fallible function returns an int status (0 or negative) or NULL. The text lives in an Err;
 * the first error since base_err_clear wins, so a builder may go on with NULLs and the cause
 * is still what the user reads.
 */
#ifndef SGL_BASE_ERR_H
#define SGL_BASE_ERR_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum ErrCode {
    SGL_OK = 0,
#define X(code, number, sentence) code = number,
#include "base/err.def"
#undef X
} ErrCode;

enum { ERR_TEXT = 2048 };
typedef struct Err {
    int code;              /* 0: no error */
    char text[ERR_TEXT];   /* what went wrong, without the user's position */
    bool placed;           /* by now the text ends with that position */
    char hint[ERR_TEXT / 2]; /* a way out; may be empty */
} Err;

const char *base_err_name(int code);       /* "SGL_ESHAPE" */
const char *base_err_sentence(int code);   /* "shapes do not fit" */

/* Record an error unless one is recorded already; returns `code`. */
int base_err_set(Err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int base_err_vset(Err *e, int code, const char *fmt, va_list ap);
/* Add a way out to the recorded error (kept only if none is there). */
void base_err_hint(Err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void base_err_clear(Err *e);
#endif
