/* dim_table.h: the representation behind dim.h, shared by its arithmetic and its text form.
 */
#ifndef SGL_IR_DIM_TABLE_H
#define SGL_IR_DIM_TABLE_H
#include "ir/dim.h"

typedef struct DimTerm { int64_t symbol, by; } DimTerm;   /* by times (symbol / its multiple) */
typedef struct DimExpr {
    int64_t constant, lo, hi;
    int n;
    const DimTerm *term;
} DimExpr;
typedef struct DimTable {
    VEC(DimSymbol) symbols;
    VEC(DimExpr) exprs;
    Map index;              /* hash of an expression → its place */
    Map derived;            /* hash of a derived symbol → its number */
    Arena arena;
    uint64_t declared;      /* declarations so far */
    int64_t spent, budget;  /* steps; budget 0: DIM_STEPS */
} DimTable;

const DimTable *ir_dim_table(const Ctx *cx);       /* an empty one before the first symbol */
DimExpr ir_dim_expr(const Ctx *cx, Dim d);         /* of a constant too */
int ir_dim_symbol_find(const Ctx *cx, const char *name, size_t n);   /* -1: none */
size_t ir_dim_name_length(const char *text);       /* of the name that text starts with; 0: none */
DimTable *ir_dim_table_made(Ctx *cx);              /* NULL: no memory, and the error is set */
/* The Dim of an expression whose terms are sorted and may lie on the caller's stack. */
Dim ir_dim_intern(Ctx *cx, DimExpr e);
/* a + by·b */
Dim ir_dim_combine(Ctx *cx, Dim a, Dim b, int64_t by);
/* by times the symbol, in units of its multiple */
Dim ir_dim_term(Ctx *cx, int64_t symbol, int64_t by);
bool ir_dim_spend(Ctx *cx, int64_t steps);         /* false: the budget is spent */
Dim ir_dim_fail(Ctx *cx, const char *what, Dim a, const char *op, Dim b);
/* Puts the factors of a symbol behind the n at out, sorted; false when they are too many. */
enum { DIM_FACTORS = 16 };
bool ir_dim_factors(const Ctx *cx, int64_t symbol, int64_t *out, int *n);
void ir_dim_hint_multiple(Ctx *cx, int64_t symbol, int64_t times);
int64_t ir_dim_times(int64_t a, int64_t b);       /* the product, cut at DIM_MOST */
int64_t ir_gcd(int64_t a, int64_t b);
#endif
