/* backend.h: the vtable a backend implements. Slots marked optional may be NULL; the default is
 * stated at the slot. To add a backend: a file with a `const Backend`, a row in backend.c, a value
 * of the knob `backend`.
 */
#ifndef SGL_EXEC_BACKEND_H
#define SGL_EXEC_BACKEND_H
#include "exec/program.h"
#include "kern/step.h"

typedef struct Backend {
    const char *name;
    /* Once a program, after lowering: compile kernels, size workspaces; *state is the backend's.
     * Optional: nothing is prepared. */
    int (*prepare)(Ctx *cx, const StepVec *steps, void **state);
    void (*release)(void *state);                               /* optional: nothing to free */
    /* Runs step number i. buffers[b] is the address of buffer b. Allocates nothing. Negative with
     * the context's error set, for instance an index out of range. */
    int (*run)(Ctx *cx, void *state, const Step *step, int i, void *const *buffers);
    /* Is memory written by `run` at all? 0: outputs are left as they were (null). */
    int computes;
} Backend;

extern const Backend EXEC_CPU, EXEC_NULL;
const Backend *exec_backend(Ctx *cx);       /* the one the knob names */
#endif
