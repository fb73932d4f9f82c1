/* expr.h: values as micro-ops: what an elementwise op computes, in a form that machines read.
 *
 * The value column of op.def, the conversions of cast.def and the functions of math.def are C text.
 * Here that text is a list of micro-ops (expr.def), each row parsed once, when first asked for: a
 * first program is not to wait for rows it does not use. From them come printed C, the cost of an
 * op, and whatever makes code for a device; the compiled text stays the second opinion.
 *
 * An Expr is in SSA form: instruction i has one number of one type, operands are earlier ones, and
 * the last instruction is the value. There is no control flow: of a condition both sides are
 * computed, so no micro-op traps. Evaluated one after the other, with each result rounded to its
 * type, they give the bits of the compiled text (but a NaN may be another one: which of two NaN
 * operands survives is the compiler's choice).
 *
 * What passes through the C library stays a call of it: `tan asin acos atan sinh cosh atan2` in f32
 * by way of double, all functions of f64, and `fmod`. A device without that library cannot have
 * these bits.
 *
 * Holds: equal instructions are one; constants are folded; what the value does not need is left
 *        out. A type narrower than i32 is only loaded, converted and returned, as in C.
 */
#ifndef SGL_IR_EXPR_H
#define SGL_IR_EXPR_H
#include "ir/op.h"

typedef enum ExprType {
    EXT_truth, EXT_u8, EXT_u16, EXT_i32, EXT_u32, EXT_i64, EXT_u64, EXT_f32, EXT_f64, EXT_COUNT
} ExprType;

typedef enum ExprCode {
#define MICRO(name, operands, cost, floats, integers) EX_##name,
#include "ir/expr.def"
#undef MICRO
    EX_COUNT
} ExprCode;

typedef struct MicroInfo {
    const char *name;
    int operands, cost;
    const char *floats, *integers;     /* C text */
} MicroInfo;
extern const MicroInfo MICROS[EX_COUNT];

typedef struct ExprInst {
    uint8_t code, type;
    int16_t a, b, c;                   /* earlier instructions, or -1 */
    uint64_t bits;                     /* const: its bits, integers extended to 64; input, table,
                                          call: a number */
} ExprInst;

enum { EXPR_MAX_INPUTS = 6 };
typedef struct Expr {
    int n, inputs, cost;               /* cost: of all its instructions */
    const ExprInst *at;
    uint8_t input[EXPR_MAX_INPUTS];    /* types */
} Expr;

/* A table of math.def, a function of the C library. */
typedef struct ExprTable { const char *name; ExprType type; int n; uint64_t at[16]; } ExprTable;
typedef struct ExprCall { const char *name; ExprType type; int operands; } ExprCall;
const ExprTable *ir_expr_table(int number);
const ExprCall *ir_expr_call(int number);

/* SGL_EINTERN with the name of a row that was read and not understood, and what was not. */
int ir_expr_error(Ctx *cx);

/* The type of the registers that hold a dtype: 16-bit floats are f32, bool is u8. */
ExprType ir_expr_type(Dtype dtype);
/* Those below are NULL where there is no such row, or where ir_expr_error tells why it was not
 * understood.
 * An elementwise op whose operands have the dtype (those of `where` from the second on). */
const Expr *ir_expr_op(Op op, Dtype operands);
/* A conversion, of cast.def; the result is a register. */
const Expr *ir_expr_cast(Dtype from, Dtype to);
/* What reading and writing memory needs, and op rand: a row of math.def. */
typedef enum ExprFn {
    EXPR_WIDEN_F16, EXPR_WIDEN_BF16, EXPR_NARROW_F16, EXPR_NARROW_BF16, EXPR_RAND_WORD,
    EXPR_UNIFORM, EXPR_FN_COUNT
} ExprFn;
const Expr *ir_expr_fn(ExprFn fn);
/* The value of a row that stands in no table: C text over x, y, z (as many as `inputs`) of the
 * type. In the arena; NULL with the context's error set, which names the row. */
const Expr *ir_expr_of_text(Ctx *cx, Arena *arena, const char *name, const char *text, int inputs,
                            Dtype dtype);
/* The largest error in ulp that math.def states of the op in f32; 0: none. */
double ir_expr_stated(Op op);
/* Cost of an elementwise op beside an instruction of the tile interpreter, at least 1. */
int ir_expr_cost(Op op, Dtype operands);
#endif
