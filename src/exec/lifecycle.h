/* lifecycle.h: the states of the backends of a context.
 *
 *   uninitialized ─▶ registering ─▶ registered ─▶ capturing ─▶ compiled
 *
 * The table in lifecycle.c has every legal step; any other is SGL_ESTATE. Each step is told as the
 * event `lifecycle`.
 */
#ifndef SGL_EXEC_LIFECYCLE_H
#define SGL_EXEC_LIFECYCLE_H
#include "exec/backend.h"

typedef enum BackendState {
    BACKEND_UNINITIALIZED,     /* not enabled, or not fit for this machine */
    BACKEND_REGISTERING,       /* finding out whether it is fit */
    BACKEND_REGISTERED,        /* ready, without a program so far */
    BACKEND_CAPTURING,         /* a function is being recorded for it */
    BACKEND_COMPILED,          /* it has made a program */
    BACKEND_STATES
} BackendState;

typedef struct BackendStep { BackendState from, to; const char *when; } BackendStep;
const BackendStep *exec_lifecycle_step(int i);             /* of the legal ones; NULL: no more */
const char *exec_state_name(BackendState s);
BackendState exec_lifecycle_state(const Ctx *cx, int backend);
int exec_lifecycle_move(Ctx *cx, int backend, BackendState to);

/* Brings every backend to where the knob `enable` wants it. One that is not fit stays
 * uninitialized; that is an error only when it is used. */
int exec_lifecycle_start(Ctx *cx);
/* Registers the backend unless it is; SGL_ESTATE when it is not enabled. */
int exec_lifecycle_ready(Ctx *cx, int backend);
#endif
