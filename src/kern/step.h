/* step.h: the steps of a program, in the form backends execute, and the lowering that makes them.
 *
 * A step's buffers are numbers into the program's buffer table; a View is a strided window on one
 * (strides in elements). Everything a step points to lives in the arena given to kern_lower.
 */
#ifndef SGL_KERN_STEP_H
#define SGL_KERN_STEP_H
#include "kern/kernel.h"
#include "pass/schedule.h"

enum { VIEW_MAX_RANK = SPACE_MAX_VARS };
typedef struct View {
    int buffer;
    Dtype dtype;
    int rank;
    int64_t offset;
    int64_t extent[VIEW_MAX_RANK], stride[VIEW_MAX_RANK];
} View;

typedef enum StepKind {
    STEP_KERNEL,   /* kernel over args[0 .. kernel->nargs) */
    STEP_DOT,      /* out[b…, m, n] = a[b…, m, k] · b[b…, k, n]; same dtype; out contiguous */
    STEP_GATHER,   /* view[0] = x, view[1] = index, out; axis */
    STEP_SCATTER,  /* view[0] = x, view[1] = index, view[2] = updates, out; axis */
    STEP_ARGSORT,  /* view[0] = x, out; axis, flag = descending */
    STEP_CUMSUM,   /* view[0] = x, out; axis, flag = reverse */
    STEP_FOLD,     /* view[0] = x, out; node's attributes */
    STEP_COPY,     /* bytes of args[0] to args[1] */
    STEP_CALL      /* not a backend's: a control node or an effect; args: its inputs, then its
                      results by `out`, -1 where one is not needed */
} StepKind;

typedef struct Step {
    StepKind kind;
    const Kernel *kernel;
    int nargs;
    const int *args;
    View view[3], out;        /* all but KERNEL, COPY, CALL; operands contiguous but for DOT */
    int axis, flag;
    size_t bytes;             /* COPY */
    const Node *node;         /* for messages: the op and the user's position */
} Step;

typedef VEC(Step) StepVec;
/* Lowers group number `group`; appends its steps. */
int kern_lower(const Schedule *s, int group, Arena *arena, StepVec *out);
/* Steps with equal kernels get one: a block that is repeated has one body, compiled once.
 * *distinct is how many are left. */
int kern_share(Ctx *cx, StepVec *steps, int *distinct);
#endif
