/* backend.h: the vtable a backend implements. Slots marked optional may be NULL; the default is
 * stated at the slot. To add a backend: a file with a `const Backend`, a row in backend.c, a value
 * of the knobs `backend` and `enable`.
 */
#ifndef SGL_DEV_BACKEND_H
#define SGL_DEV_BACKEND_H
#include "exec/program.h"
#include "kern/step.h"

typedef struct Backend {
    const char *name;
    /* While it registers: is the machine fit for it? Optional: any is. Negative with the context's
     * error set. */
    int (*start)(Ctx *cx);
    /* Once a program, after lowering: compile kernels; *state is the backend's. Optional: nothing
     * is prepared. */
    int (*prepare)(Ctx *cx, const StepVec *steps, void **state);
    void (*release)(void *state);                               /* optional: nothing to free */
    /* The bytes that steps of the next run need beside the buffers; SIZE_MAX with the context's
     * error set. Optional: none. */
    size_t (*workspace)(Ctx *cx, void *state);
    void (*place)(void *state, void *at);          /* from now on they are here; with workspace */
    /* Runs step number i. buffers[b] is the address of buffer b. Allocates nothing. Negative with
     * the context's error set, for instance an index out of range. */
    int (*run)(Ctx *cx, void *state, const Step *step, int i, void *const *buffers);
    /* Is memory written by `run` at all? 0: outputs are left as they were (null). */
    int computes;
} Backend;

extern const Backend CPU_BACKEND, DEV_NULL;
enum { BACKEND_COUNT = 2 };
const Backend *exec_backend_at(int i);      /* in the order of the knob's choices */
int exec_backend_chosen(const Ctx *cx);     /* the number of the one the knob `backend` names */
const Backend *exec_backend(Ctx *cx);       /* that one */
#endif
