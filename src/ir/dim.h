/* dim.h: sizes of dimensions: constants or interned affine expressions over symbols.
 *
 * A Dim is an int64. From 0 up it is the size itself; below 0 it is ~index of an expression
 * c0 + Σ ci·symbol_i in the context's table. Expressions are interned, so equal Dims are equal
 * numbers. Every symbol has a range [lo, hi] and a multiple; a dim is never "unknown".
 * Functions return DIM_FAIL with the context's error set: a result that is not affine or not
 * exact, a range that leaves the int64, no memory.
 */
#ifndef SGL_IR_DIM_H
#define SGL_IR_DIM_H
#include <stdbool.h>
#include <stdint.h>
#include "base/context.h"

typedef int64_t Dim;
#define DIM_FAIL INT64_MIN

static inline bool ir_dim_is_const(Dim d) { return d >= 0; }

bool ir_dim_valid(const Ctx *cx, Dim d);             /* a size, or an expression of the table */
Dim ir_dim_symbol(Ctx *cx, const char *name, int64_t lo, int64_t hi, int64_t multiple);
Dim ir_dim_add(Ctx *cx, Dim a, Dim b);
Dim ir_dim_sub(Ctx *cx, Dim a, Dim b);
Dim ir_dim_mul(Ctx *cx, Dim a, Dim b);               /* one side constant, else SGL_ESHAPE */
Dim ir_dim_div(Ctx *cx, Dim a, int64_t k);           /* exact, or SGL_ESHAPE with the hint
                                                        `multiple = k` for the symbol */
void ir_dim_range(const Ctx *cx, Dim d, int64_t *lo, int64_t *hi);
int ir_dim_symbols(const Ctx *cx, Dim d, int *out, int max);   /* symbol numbers in d */
int ir_dim_symbol_count(const Ctx *cx);
typedef struct DimSymbol { const char *name; int64_t lo, hi, multiple; } DimSymbol;
const DimSymbol *ir_dim_symbol_at(const Ctx *cx, int symbol);   /* 0 .. symbol_count-1 */
void ir_dim_text(const Ctx *cx, Dim d, Str *out);    /* "64", "batch", "2*batch+1" */
Dim ir_dim_parse(Ctx *cx, const char **text);        /* advances *text; symbols must exist */
#endif
