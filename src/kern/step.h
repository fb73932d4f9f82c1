/* step.h: the steps of a program, in the form backends execute, and the lowering that makes them.
 *
 * A step's buffers are numbers into the program's buffer table; a View is a strided window on one
 * (strides in elements). Numbers that a run decides are filled in before it. Everything a step
 * points to lives in the arena given to kern_lower.
 */
#ifndef SGL_KERN_STEP_H
#define SGL_KERN_STEP_H
#include "kern/kernel.h"
#include "pass/schedule.h"

enum { VIEW_MAX_RANK = LOOP_MAX_VARS };
typedef struct View {
    int buffer;
    Dtype dtype;
    int rank;
    Num offset;
    Num extent[VIEW_MAX_RANK], stride[VIEW_MAX_RANK];
} View;

/* The kinds; step.def says of each what it does. */
typedef enum StepKind {
#define STEP(kind, name, views, uses, op, axis, flag, fails, doc) STEP_##kind,
#include "kern/step.def"
#undef STEP
    STEP_KINDS
} StepKind;

enum { STEP_FLAG_AUTO = -2 }; /* the second, where there is one without a default */

typedef struct StepInfo {
    const char *name;
    int views;                /* how many of view[] it reads */
    int uses;                 /* kern_step_use alone */
    int op;                   /* the op it runs; OP_COUNT: none of its own */
    int axis, flag;           /* which attributes of the op are these; -1: none; or: */
    bool fails;               /* by the values it meets, such as an index out of range */
} StepInfo;
extern const StepInfo STEPS[STEP_KINDS];

typedef struct Step {
    StepKind kind;
    const Kernel *kernel;
    int nargs;
    const int *args;
    View view[3], out;        /* where the kind has views; operands contiguous but for DOT */
    View *each;               /* CUSTOM: of each argument, though its buffer may be -1 */
    int axis, flag;
    Num bytes;                /* COPY */
    int stream, event;        /* where it runs (0: in order); RECORD, WAIT: which event */
    const Node *node;         /* for messages: the op and the user's position */
} Step;

typedef VEC(Step) StepVec;

/* The i-th buffer that the step uses, and how; false: there are no more. A buffer is -1 where a
 * CALL needs none. */
typedef struct StepUse { int buffer; bool reads, writes; } StepUse;
bool kern_step_use(const Step *s, int i, StepUse *use);
const char *kern_step_name(const Step *s);       /* of its kernel, or of its kind */
/* The kind of the steps that run the op, or STEP_KINDS. */
StepKind kern_step_of(int op);
/* Lowers group number `group`; appends its steps. */
int kern_lower(const Schedule *s, int group, Arena *arena, StepVec *out);
/* Steps with equal kernels get one: a block that is repeated has one body, compiled once.
 * *distinct is how many are left. */
int kern_dedupe(Ctx *cx, StepVec *steps, int *distinct);
#endif
