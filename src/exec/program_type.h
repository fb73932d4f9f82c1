/* program_type.h: the inside of a Program, for program.c and program_print.c alone.
 *
 * Holds: buffers[b] of an arena buffer is fixed from compilation on; those of inputs and outputs
 *        are set by each run.
 */
#ifndef SGL_EXEC_PROGRAM_TYPE_H
#define SGL_EXEC_PROGRAM_TYPE_H
#include "exec/backend.h"
#include "exec/control.h"

struct Program {
    Ctx *cx;                 /* borrowed */
    Schedule *schedule;
    Arena arena;             /* of steps and kernels */
    StepVec steps;
    const Backend *backend;
    void *state;             /* the backend's */
    Calls *calls;            /* what STEP_CALL runs; NULL: none */
    void *memory;            /* the arena of buffers */
    void **buffers;          /* by number in the schedule */
    Storage **kept;          /* by output: what the last run handed out, for reuse */
    ProgramInfo info;
};

const char *exec_step_name(const Step *s);       /* of the kernel, or its kind */
#endif
