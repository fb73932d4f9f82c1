/* scan.h: reading words, numbers and names off a text, with line and column for errors.
 *
 * A reader that fails returns false with the error set, once; the scanner stays where it was.
 */
#ifndef SGL_IR_SCAN_H
#define SGL_IR_SCAN_H
#include <stdbool.h>
#include <stdint.h>
#include "base/context.h"

typedef struct Scan {
    Ctx *cx;
    const char *at, *line_start;
    int line;
    bool failed;             /* the error has its place already */
} Scan;

/* SGL_EPARSE "line 3, column 7: …"; false. An error that is set already gets the place in front. */
bool ir_scan_fail(Scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ir_scan_blanks(Scan *s);                         /* blanks and tabs, not line ends */
bool ir_scan_end(Scan *s);                            /* at the end of the line or text */
bool ir_scan_line(Scan *s);                           /* past the line's end; fails on a rest */
bool ir_scan_take(Scan *s, const char *token);        /* takes it if it stands here; no error */
bool ir_scan_need(Scan *s, const char *token);
/* Letters, digits and _; at most size - 1 of them. */
bool ir_scan_word(Scan *s, char *out, int size, const char *what);
bool ir_scan_int(Scan *s, int64_t *out);
bool ir_scan_double(Scan *s, double *out);
bool ir_scan_quoted(Scan *s, Str *out);
#endif
