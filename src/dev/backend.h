/* backend.h: the vtable that a backend implements.
 *
 * A slot that may be NULL says so, and what holds then. With none of the optional ones a backend
 * computes in the host's memory, each call done when it returns; the CPU is that. One with memory
 * of its own fills that group, one that runs behind the host's back the group of streams too.
 * To add a backend: a file with a `const Backend`, a row in base/backend.def.
 * Holds: a context has one device of a backend (dev/device.h) and gives it calls from one thread.
 *        Addresses of a device are passed on, counted on and compared by anybody, and dereferenced
 *        by its own room alone. Nothing but `start`, `alloc`, `stage` and `prepare` allocates.
 */
#ifndef SGL_DEV_BACKEND_H
#define SGL_DEV_BACKEND_H
#include "dev/device.h"
#include "kern/step.h"

/* One run of a program. */
typedef struct DevRun {
    const StepVec *steps;
    const Schedule *plan;            /* of the buffers: how large, how long they matter */
    void *const *buffers;            /* by number: where the buffer is in the device's memory */
    int (*step)(void *arg, int i);   /* gives the device step i, or does what is no backend's */
    void *arg;
} DevRun;

/* A control node whose decisions are left to the device. */
typedef struct DevControl {
    const void *taken;               /* cond, loop: a bool in the device's memory */
    void *count;                     /* loop: an i32 there, the rows done; NULL: nobody asks */
    int64_t rows;                    /* scan: how many; loop: at most */
    /* Gives the steps of a block: `which` is 1 for the branch of a cond whose bool is false, else
     * 0; `row` counts those of a scan or loop from 0. */
    int (*give)(void *arg, int which, int64_t row);
    void *arg;
} DevControl;

struct Backend {
    const char *name;
    bool computes;                   /* 0: buffers are left as they were, as null does */
    bool late;                       /* it starts when it is chosen, not with the engine */

    /* ---- the device */
    /* While it registers: is the machine fit for it? Later calls find d->self as the first left it.
     * NULL: any is. Negative with the context's error set. */
    int (*start)(Device *d);
    void (*stop)(Device *d);         /* at the context's end; NULL: there is nothing to end */

    /* ---- memory: all of it, or all NULL: the host's memory is the device's */
    void *(*alloc)(Device *d, size_t bytes);   /* 128-byte aligned, not cleared; NULL: none left */
    /* Once stream 0 has come to what it was given so far: the memory may be used until then. */
    void (*free)(Device *d, void *at);
    /* Host memory that copies go to. NULL: any memory is as good. */
    void *(*stage)(Device *d, size_t bytes);
    void (*unstage)(Device *d, void *at);
    /* `from` is the caller's again on return. */
    int (*copy_in)(Device *d, int stream, void *to, const void *from, size_t bytes);
    /* `to` is from `stage`, and has the bytes when a `sync` of the stream has returned. */
    int (*copy_out)(Device *d, int stream, void *to, const void *from, size_t bytes);
    int (*copy)(Device *d, int stream, void *to, const void *from, size_t bytes);
    int (*zero)(Device *d, int stream, void *at, size_t bytes);

    /* ---- streams: all of it, or 0 and NULL: everything happens in order, and is done on return */
    int streams;                     /* how many; what one is given happens in order */
    /* From now on the event stands for what the stream was given so far. Event e is recorded on
     * stream e % streams alone, so one that is recorded anew stands for more than before. */
    int (*record)(Device *d, int stream, int event);
    int (*wait)(Device *d, int stream, int event);   /* the stream goes on after the event */
    /* The host goes on when the stream has done everything. Negative: a step of it failed; the
     * error's text names the user's position (dev_blame). */
    int (*sync)(Device *d, int stream);

    /* ---- programs */
    /* Once a program, after lowering: compile kernels; *state is the backend's. NULL: nothing is
     * prepared. */
    int (*prepare)(Device *d, const StepVec *steps, void **state);
    /* The numbers in those steps that `moved` marks, and in their kernels, are others; the device
     * is idle. NULL: release, and prepare again. */
    int (*resize)(Device *d, const StepVec *steps, const uint8_t *moved, void *state);
    void (*release)(void *state);    /* the device is idle; NULL: there is nothing to free */
    /* The bytes that steps of the next run need beside the buffers; SIZE_MAX with the context's
     * error set. NULL: none. */
    size_t (*workspace)(Device *d, void *state);
    /* From now on those bytes, and the arena before them, are here: addresses stay as they are from
     * run to run but for this. With `workspace`. */
    void (*place)(void *state, void *at);
    /* Gives step i to its stream. Negative with the context's error set, for instance an index out
     * of range; a backend with streams may say so at a later `sync`. */
    int (*run)(Device *d, void *state, const DevRun *r, int i);
    /* Gives the whole program, each step at least once by r->step (to record it) or in a way of its
     * own. NULL: r->step for one step after the other. */
    int (*run_program)(Device *d, void *state, const DevRun *r);

    /* ---- control flow. Positive: the device leaves this one to the default. Asked for nodes whose
     * blocks need no host: no print or assert is in them. */
    /* Gives both branches such that one happens. NULL: exec/control.c copies the bool out, waits
     * for it, and gives that branch alone. */
    int (*cond)(Device *d, const DevControl *c);
    /* Gives the rows. NULL: they are given one after the other; nothing is read. */
    int (*scan)(Device *d, const DevControl *c);
    /* Gives rows such that they happen while the bool, which each row writes anew, is true, and
     * counts them. NULL: the bool is copied out and waited for before each row. */
    int (*loop)(Device *d, const DevControl *c);
};
#endif
