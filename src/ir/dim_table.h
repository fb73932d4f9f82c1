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
    Arena arena;
} DimTable;

const DimTable *ir_dim_table(const Ctx *cx);       /* an empty one before the first symbol */
DimExpr ir_dim_expr(const Ctx *cx, Dim d);         /* of a constant too */
int ir_dim_symbol_find(const Ctx *cx, const char *name, size_t n);   /* -1: none */
size_t ir_dim_name_length(const char *text);       /* of the name that text starts with; 0: none */
#endif
