/* csv.h: tables of numbers from text.
 *
 * A field is a decimal number as C's strtod reads it in the C locale, with blanks around it and
 * perhaps in double quotes; nan and inf are numbers, an empty field is not. Rows end in LF or
 * CR LF; empty lines are skipped; all rows have as many fields as the first.
 */
#ifndef SGL_IO_CSV_H
#define SGL_IO_CSV_H
#include <stdbool.h>
#include <stdint.h>
#include "base/vec.h"
#include "base/err.h"

typedef struct CsvOptions {
    char separator;          /* 0: ',' */
    bool header;             /* the first line holds names and is skipped */
    const char *name;        /* of the file, for messages; NULL: "csv" */
} CsvOptions;
typedef struct CsvTable { int64_t rows, cols; VEC(float) values; } CsvTable;

/* Fills *out (io_csv_free). SGL_EFORMAT names file, line and column; *out is empty then. */
int io_csv_parse(const char *text, size_t n, const CsvOptions *o, CsvTable *out, Err *e);
void io_csv_free(CsvTable *t);
#endif
