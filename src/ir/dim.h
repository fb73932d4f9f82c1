/* dim.h: sizes of dimensions: constants or interned expressions over symbols.
 *
 * A Dim is an int64. From 0 up it is the size itself; below 0 it is ~index of an expression
 * c0 + Σ ci·symbol_i in the context's table. Expressions are interned, so equal Dims are equal
 * numbers. Every symbol has a range [lo, hi] and a multiple; a dim is never "unknown".
 * A declared symbol is bound by a run; a derived one stands for a product of symbols or for the
 * rounded quotient of an expression, so that both are terms like any other.
 * Functions return DIM_FAIL with the context's error set: a quotient that is not exact, a number
 * that leaves the int64, the budget of steps spent, no memory.
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
/* Declares a symbol. One of the same name, range and multiple is that symbol; with others it is
 * another symbol of this name, and the name then means it. */
Dim ir_dim_symbol(Ctx *cx, const char *name, int64_t lo, int64_t hi, int64_t multiple);
Dim ir_dim_add(Ctx *cx, Dim a, Dim b);
Dim ir_dim_sub(Ctx *cx, Dim a, Dim b);
Dim ir_dim_mul(Ctx *cx, Dim a, Dim b);
Dim ir_dim_div(Ctx *cx, Dim a, int64_t k);           /* exact, or SGL_ESHAPE with the hint
                                                        `multiple = k` for the symbol */
Dim ir_dim_floordiv(Ctx *cx, Dim a, int64_t k);      /* rounded down; k at least 1 */
Dim ir_dim_quotient(Ctx *cx, Dim a, Dim b);          /* exact; b a constant or a single term */
/* Sets `hint` to the multiple a symbol needs for the rounded quotients in d to be exact; false
 * when there are none. */
bool ir_dim_hint(Ctx *cx, Dim d);
/* The arithmetic may take so many steps from now on before it gives up with SGL_ESHAPE. */
void ir_dim_budget(Ctx *cx, int64_t steps);
#define DIM_STEPS INT64_C(400000)
/* Passes ask in proportion to the nodes of a graph whose sizes were made within DIM_STEPS. */
#define DIM_STEPS_COMPILE (INT64_C(1) << 40)
void ir_dim_range(const Ctx *cx, Dim d, int64_t *lo, int64_t *hi);
/* 0 or more when it is certain that d is never below 0: knows what a rounded quotient has to do
 * with its expression, which the range does not. */
int64_t ir_dim_least(Ctx *cx, Dim d);
int ir_dim_plain(const Ctx *cx, Dim d);              /* the declared symbol that d is; -1: none */
/* Numbers of the declared symbols in d, each once: at most max of them; returns how many. */
int ir_dim_symbols(const Ctx *cx, Dim d, int *out, int max);
/* Ranges and values end here: what is larger is no size, and sums of ends do not overflow. */
#define DIM_MOST (INT64_C(1) << 60)
/* Its value for values of the declared symbols, by symbol number, cut at DIM_MOST. A difference may
 * be below 0: then it is no size. */
int64_t ir_dim_eval(const Ctx *cx, Dim d, const int64_t *value_of_symbol);
int ir_dim_symbol_count(const Ctx *cx);
typedef struct DimSymbol {
    const char *name;                                /* of a derived one: its text */
    int64_t lo, hi, multiple;
    int nfactor;                                     /* a product: at least 2 */
    const int64_t *factor;                           /* sorted symbol numbers */
    Dim of;                                          /* a quotient: of / over, rounded down */
    int64_t over;                                    /* 0: not a quotient */
    uint64_t declared;                               /* larger: declared later; 0: derived */
} DimSymbol;
const DimSymbol *ir_dim_symbol_at(const Ctx *cx, int symbol);   /* 0 .. symbol_count-1 */
void ir_dim_text(const Ctx *cx, Dim d, Str *out);    /* "64", "batch", "2*batch+1" */
Dim ir_dim_parse(Ctx *cx, const char **text);        /* advances *text; symbols must exist */
#endif
