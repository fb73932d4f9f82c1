/* program_type.h: the inside of a Program, for program.c and what prints it alone.
 *
 * Holds: during a run buffers[b] is the address of buffer b: of the arena's in the workspace, of
 *        inputs and outputs as the run gave them.
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
    Device *device;          /* borrowed from the context */
    Device *where;           /* the device's memory: the device, or NULL for the host's */
    void *state;             /* the backend's */
    bool fails;              /* by the values it meets: a run waits to see */
    Calls *calls;            /* what STEP_CALL runs; NULL: none */
    void *memory;            /* where the workspace was that buffers[] speaks of; borrowed */
    size_t needs;            /* bytes of workspace the last run took */
    void **buffers;          /* by number in the schedule */
    Storage **kept;          /* by output: what the last run handed out, for reuse */
    ProgramInfo info;
};

/* The stages of stage.c: the program alone, or with its blocks as one C file (program_c.c). */
void exec_print_groups(const Program *p, Str *out);
void exec_print_plan(const Program *p, Str *out);
void exec_print_kernels(const Program *p, Str *out);
void exec_program_c(const Program *p, Str *out);
#endif
