/* expr_build.h: what the files of ir/expr* share: a list of micro-ops while it is built, and the
 * parser.
 */
#ifndef SGL_IR_EXPR_BUILD_H
#define SGL_IR_EXPR_BUILD_H
#include "ir/expr.h"

enum { EXPR_MOST = 640, EXPR_FAILED = -1, EXPR_ERROR_BYTES = 200 };

typedef struct ExprBuild {
    int n;
    ExprInst at[EXPR_MOST];
    char error[EXPR_ERROR_BYTES];      /* "" while all is well; the first stays */
} ExprBuild;

static inline bool ir_ext_float(int type) { return type >= EXT_f32; }

/* Number of the instruction that is this one, folded, or EXPR_FAILED. Operands that are
 * EXPR_FAILED give EXPR_FAILED. */
int ir_expr_add(ExprBuild *b, ExprCode code, ExprType type, const int operand[3], uint64_t bits);
int ir_expr_const(ExprBuild *b, ExprType type, uint64_t bits);
/* As C's cast; to EXT_truth: is it not 0? */
int ir_expr_convert(ExprBuild *b, int value, ExprType type);
/* An instruction of constants: its bits. */
uint64_t ir_expr_fold(const ExprInst *t, const ExprInst *const operand[3]);
void ir_expr_fail(ExprBuild *b, const char *format, ...);

/* Parses an expression over x, y, z (those of `input` that are not EXT_COUNT), whose T and m_ are
 * of the given type, converted to `result`. */
int ir_expr_parse(ExprBuild *b, const char *text, ExprType type, const ExprType input[3],
                  ExprType result);
/* The body of a row of math.def over its parameters as inputs; *inputs: how many. */
int ir_expr_parse_fn(ExprBuild *b, const char *name, int *inputs);
#endif
