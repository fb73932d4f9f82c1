/* recorder.h: where operations go.
 *
 *   outside steps    into the pending trace (pending.c), which is run when a value is read
 *   in a step        into what is captured of it, or of a block of its control flow (capture/)
 *
 * Whatever differs between the two is a function of the table below; all other code of this room
 * records without knowing where. One recorder is on at a time.
 * Holds: tensors that a step made are dead when its recorder goes off; a recorder of a step has
 *        what the step assumes, which its blocks share.
 */
#ifndef SGL_TENSOR_RECORDER_H
#define SGL_TENSOR_RECORDER_H
#include "tensor/dim.h"
#include "tensor/number.h"
#include "tensor/trace.h"

/* In all of them `arg` is the place of t on the stack. NULL or a negative status: the context's
 * error is set; functions without a result raise. */
typedef struct RecorderOps {
    /* Makes the trace ready for another operation. */
    int (*ready)(lua_State *L, Recorder *r);
    /* What stands for t in the trace. */
    Node *(*node)(lua_State *L, Recorder *r, int arg, Tensor *t);
    /* Gives t another value; a leaf has no history. */
    int (*assign)(lua_State *L, Recorder *r, int arg, Tensor *t, Node *value, bool leaf);
    /* The value of t, borrowed, for a function of the user's that is called `what`; raises. */
    Storage *(*read)(lua_State *L, Recorder *r, int arg, Tensor *t, const char *what);
    /* The state of the random numbers of the next draw, and its number there. */
    Node *(*draw)(Recorder *r, int *number);
    /* Was t made since the recorder went on? */
    bool (*made)(const Recorder *r, const Tensor *t);
    /* The number at `arg`, whose node is n, must be as the check says at each run; for `fits`, a
     * dtype, which is checked once, or -1. */
    void (*require)(lua_State *L, Recorder *r, int arg, Node *n, int fits, const NumberCheck *must);
    /* Of numbers of a step (number.h), which only its recorder has. Pushes the value of the number
     * at `arg` in the call that is recorded; false: it is not known. */
    bool (*value)(lua_State *L, Recorder *r, int arg);
    /* Replaces it by that value, which it must have at each run, for `what`; false: it may not. */
    bool (*settle)(lua_State *L, Recorder *r, int arg, const char *what);
    /* How two numbers compare (LUA_OPEQ …), as they must at each run; -1: that is not known. */
    int (*compare)(lua_State *L, Recorder *r, int op, int a, int b);
    /* The recorder in whose graph the gradient of the loss at 1 by the list at 2 is taken. */
    Recorder *(*grad_home)(lua_State *L, Recorder *r);
    /* In that one: what the tensor that is n was before something that may have assigned it, and
     * whether that did, a bool; NULL: there was nothing. */
    Node *(*grad_before)(const Recorder *home, const Node *n, Node **set);
    /* There: raises where the gradient by wrt would be too small, because a way from a tensor
     * to the loss is not recorded there (gradient.h). */
    void (*grad_check)(lua_State *L, Recorder *home, Node *loss, int n, Node *const *wrt);
    /* A break is about to be raised: raises instead where none can be, or one was before. */
    void (*break_begin)(lua_State *L, Recorder *r);
    /* The error on the top is a break: the step ends with it even if user code catches it. */
    void (*break_end)(lua_State *L, Recorder *r);
    /* Puts what the node was made of into the table at `row`, as nodes. */
    void (*break_path)(lua_State *L, Recorder *r, int row, const Node *to);
} RecorderOps;

/* What a step takes for given, by the arguments of the call that it is recorded with. */
typedef struct Assumed {
    bool classed;     /* which numbers among the arguments are integers */
    int64_t *example; /* values of the symbols in sizes, by number; NULL: none */
    int nexample;
    DimGuards sizes;  /* what the example decided about sizes */
} Assumed;

struct Recorder {
    const RecorderOps *ops;
    Host *host;
    Recorder *outer;  /* of a block: what it is recorded in; NULL: none */
    Trace *trace;     /* NULL: nothing is pending */
    Assumed *assumed; /* NULL: outside steps */
};

Recorder *tensor_recorder(const Host *h); /* the one that is on */
bool tensor_recording(const Host *h);     /* is it one of a step? */
/* Turns one on until it is off again; NULL: the pending trace. */
void tensor_recorder_on(Host *h, Recorder *r);
/* Is t on the trace of r, or, from a block, of one around it? */
bool tensor_recorder_holds(const Recorder *r, const Tensor *t);

/* pending.c: the recorder outside steps. */
void tensor_pending_open(Host *h);
void tensor_pending_drop(Host *h);    /* ends its trace */
void tensor_pending_idle(Host *h);    /* the same if no handle is on it */
/* Keeps what handles need; without memory for the copy nothing changes. */
void tensor_pending_compact(Host *h);
/* Reads t as outside steps. */
Storage *tensor_pending_read(lua_State *L, Host *h, Tensor *t, const char *what);
#endif
