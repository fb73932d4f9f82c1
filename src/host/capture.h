/* capture.h: the capture of one call of a Lua function as a graph.
 *
 * Tensors from outside become state inputs, by handle: the program reads the handles again at
 * each run. Inside the capture an assigned handle stands for its newest node; after it the
 * handles are as before.
 */
#ifndef SGL_HOST_CAPTURE_H
#define SGL_HOST_CAPTURE_H
#include "exec/lifecycle.h"
#include "host/trace.h"
#include "obs/obs.h"

typedef struct CapturedState { Tensor *tensor; Node *input, *now; } CapturedState;

typedef struct Capture {
    Owned owned;
    Host *host;
    Trace trace;
    VEC(CapturedState) states; /* a list in the registry, under this address, anchors them */
    Map state_of;              /* address of a tensor: its place in states */
    Node *rng;                 /* the hidden input {seed, counter}; NULL: nothing was drawn */
    int streams;               /* drawn so far */
    int nargs;
    ObsSpan span;              /* of the capture and its compilation */
    bool whole;                /* the function returned, nothing was raised */
    int backend;               /* what it is captured for */
    BackendState before;       /* of the backend */
    SrcPos end;                /* last line of the user's function; file NULL: unknown */
} Capture;

/* If the frame is the one of core.capture: where the captured function ends, when known. */
bool host_capture_position(lua_State *L, lua_Debug *frame, SrcPos *out);

Node *host_capture_node(lua_State *L, Host *h, int arg, Tensor *t);
/* NULL: ir_assign refused. */
Node *host_capture_assign(lua_State *L, Host *h, int arg, Tensor *t, Node *value);
Node *host_capture_rng(Host *h);                 /* NULL with the context's error set */

/* program.c: pushes the program of a finished capture, whose graph it takes; `states` is the
 * index of the list of its tensors. */
int host_program_push(lua_State *L, Host *h, Capture *c, int states);

/* rng.c: {seed, counter} of the next draw as a new i64[2]; the counter counts on. */
Storage *host_rng_next(Host *h);
#endif
