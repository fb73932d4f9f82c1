/* print_c.h: kernels and values as C text that stands by itself.
 *
 * The text includes system headers only. Compiled without contraction (-ffp-contract=off) and
 * without aliasing by type (-fno-strict-aliasing, above -O1), a kernel gives the bits of the tile
 * interpreter, a NaN aside (expr.h). It is for reading, and an oracle; not made for speed.
 */
#ifndef SGL_KERN_PRINT_C_H
#define SGL_KERN_PRINT_C_H
#include "ir/blocks.h"
#include "ir/expr.h"
#include "kern/kernel.h"

/* How a language like C says things. Texts of micro-ops that differ from expr.def's stand in
 * `floats` and `integers`; the others are NULL. */
typedef struct CDialect {
    const char *type[EXT_COUNT];
    const char *function;               /* before each function */
    const char *floats[EX_COUNT], *integers[EX_COUNT];
    const char *prelude;                /* what the texts of micro-ops need */
    const char *fold;                   /* of a reduction, where it is not C's functions: its text
                                           with $a type, $o op, $n dtype, $i identity, $c how two
                                           values combine */
} CDialect;
extern const CDialect KERN_C;

/* A value as a function of that name over x0, x1, … */
void kern_print_expr(const CDialect *d, const Expr *e, const char *name, Str *out);
/* A value in place of a call, where it is one micro-op over the operands of these names. */
bool kern_print_inline(const CDialect *d, const Expr *e, const char *const *operand, Str *out);
/* A constant of the type, by its bits. */
void kern_print_bits(ExprType type, uint64_t bits, Str *out);

/* Which functions stand in the text already; all zero but the dialect at first. */
typedef struct CFile {
    const CDialect *d;                  /* borrowed */
    bool op[OP_COUNT][DT_COUNT], cast[DT_COUNT][DT_COUNT], fn[EXPR_FN_COUNT];
    bool fold[2][OP_COUNT][DT_COUNT], tree[2][OP_COUNT][DT_COUNT];   /* of rows, of columns */
} CFile;
/* The kernel as `static int <name>(void *const *arg)`, which returns -1 when memory is missing,
 * behind the functions it needs that the file lacks. */
void kern_print_c(CFile *f, const Kernel *k, const char *name, Str *out);

/* print_c_fn.c: the functions of a file. Each is named after what it computes and the register
 * type: "exp_f32", "cast_f32_to_i32", "row_sum_f32". */
void kern_print_c_functions(CFile *f, const Kernel *k, Str *out);
/* The dtype whose C type is that of registers with d. */
Dtype kern_c_register(Dtype d);
const char *kern_c_type(const CFile *f, Dtype d);      /* of a register */
const char *kern_c_memory(const CFile *f, Dtype d);    /* of an element in memory */
const char *kern_c_fn(ExprFn fn);
bool kern_c_best(int op);                              /* argmax, argmin */
Dtype kern_c_accumulator(const KernInst *t);           /* of a KI_REDUCE */
#endif
