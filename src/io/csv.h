/* csv.h: tables from text in the form of RFC 4180.
 *
 * A record is a line of cells; a cell in double quotes may hold separators, line ends and "" for a
 * quote. Lines end in LF or CR LF; empty ones are skipped; a byte order mark is too. All records
 * have as many cells as the first. Blanks around a cell, and around its quotes, do not count.
 * A cell is a number (decimal.h), missing (empty, NA, N/A, #N/A, <NA>, NULL, None and the like,
 * not quoted) or text.
 */
#ifndef SGL_IO_CSV_H
#define SGL_IO_CSV_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "ir/dtype.h"

typedef enum CsvHeader { CSV_HEADER_NO, CSV_HEADER_YES, CSV_HEADER_BY_LOOK } CsvHeader;

typedef struct CsvOptions {
    char separator;          /* 0: ',' */
    CsvHeader header;        /* does the first record hold names? By its look: it has a text over a
                                number or a missing cell, or nothing but texts that differ */
    const char *name;        /* of the file, for messages; NULL: "csv"; borrowed while in use */
    const atomic_int *stop;  /* not 0: SGL_EINTR, from whatever takes as long as the file is large;
                                NULL: nothing; borrowed while in use */
} CsvOptions;

/* A table that was looked through but whose cells are still text, which is borrowed. */
typedef struct CsvTable {
    const char *text, *end, *name;
    const atomic_int *stop;
    char separator;
    int cols;
    bool header;
    char **names;            /* without quotes, when there is a header; in `arena` */
    VEC(size_t) rows;        /* where each record of cells begins in the text */
    Arena arena;
} CsvTable;

/* Finds records and names; fills *out (io_csv_close). SGL_EFORMAT names file, line and cell: cells
 * that are missing or too many, a quote that does not end, names that are equal, no records. */
int io_csv_open(const char *text, size_t n, const CsvOptions *o, CsvTable *out, Err *e);
void io_csv_close(CsvTable *t);

/* What stands for a missing cell; without one it is an error. */
typedef struct CsvFill { bool given; double value; } CsvFill;

/* The n columns (from 0) as numbers: `to` is [records, n] in f32, f64, i32 or i64. SGL_EFORMAT
 * names the place of a cell that is text, or missing, or not whole or out of range in an integer
 * dtype. */
int io_csv_numbers(const CsvTable *t, const int *columns, int n, Dtype dtype, CsvFill fill,
                   void *to, Err *e);

/* SGL_EINTR, if somebody asked for it: for those who go through the records themselves. */
int io_csv_stopped(const CsvTable *t, int64_t record, Err *e);

/* The text of a cell (record and column from 0) in place of what is in `out`, without its quotes.
 * 1, or 0: it is missing. SGL_ENOMEM. */
int io_csv_text(const CsvTable *t, int64_t record, int column, Str *out, Err *e);
#endif
