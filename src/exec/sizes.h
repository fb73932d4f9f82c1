/* sizes.h: the numbers in steps and kernels that a run decides, as one table.
 *
 * Lowering leaves expressions where extents, strides, offsets and counts depend on sizes. The table
 * has each such place once, and each expression once; filling it writes plain numbers to them. A
 * static program has an empty table.
 * Holds: filling allocates nothing. Steps and kernels keep their addresses.
 */
#ifndef SGL_EXEC_SIZES_H
#define SGL_EXEC_SIZES_H
#include "kern/step.h"

typedef struct SizePlace { int64_t *at; int expr, step; } SizePlace;
typedef struct SizeExpr { Num num; int64_t value; bool moved; } SizeExpr;
typedef struct SizeTable {
    VEC(SizeExpr) exprs;
    VEC(SizePlace) places;
    Map index;              /* expression: its place in exprs */
    int *owner;             /* by step: the first one with its kernel, or itself */
    uint8_t *moved;         /* by step: has a number of it changed? */
    int nstep;
} SizeTable;

/* Finds the places in the steps, whose kernels are shared already. SGL_ENOMEM. */
int exec_sizes_find(Ctx *cx, const StepVec *steps, SizeTable *t);
/* Fills them for the sizes at hand; t->moved says which steps are not as they were, or with `all`
 * marks each that has such a place. */
void exec_sizes_fill(SizeTable *t, const Sizes *sizes, bool all);
void exec_sizes_free(SizeTable *t);
#endif
