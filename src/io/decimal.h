/* decimal.h: decimal numbers from text, correctly rounded, whatever the locale.
 *
 * Grammar: [+-] digits [. digits] [e [+-] digits], with digits on at least one side of the point;
 * or nan, inf, infinity in any case. Hexadecimal floats and nan(…), which strtod takes, are none.
 */
#ifndef SGL_IO_DECIMAL_H
#define SGL_IO_DECIMAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Decimal {
    double value;         /* nearest to what is written, ties to even */
    int64_t integer;      /* what is written, where `whole` */
    bool whole;           /* digits alone, and within i64 */
} Decimal;

/* Reads all n bytes; false: they are no such number. The bytes need not end in 0. */
bool io_decimal_read(const char *text, size_t n, Decimal *out);
/* The f32 nearest to the same text: of its double unless that lies halfway between two floats. */
float io_decimal_float(const char *text, size_t n, const Decimal *d);
#endif
