/* room.h: the capture of one call of a Lua function as a graph, shared by the files of capture/.
 *
 * Tensors from outside become state inputs, by handle: the program reads the handles again at
 * each run. Inside the capture an assigned handle stands for its newest node; after it the
 * handles are as before.
 * What a function given to sgl.cond, scan or loop does is captured as a block (control.c): a
 * capture inside a capture, whose inputs are nodes of the outer one. All of this holds for it too,
 * but that it makes no assigns: what it assigned becomes a result of the control node.
 */
#ifndef SGL_CAPTURE_ROOM_H
#define SGL_CAPTURE_ROOM_H
#include <stddef.h>
#include "exec/lifecycle.h"
#include "ir/close.h"
#include "watch/watch.h"
#include "tensor/recorder.h"
#include "tensor/rng.h"
#include "obs/obs.h"

typedef struct CapturedState {
    Tensor *tensor;
    Node *input, *now;
    Node *set; /* bool[]: was it assigned? NULL: surely, if now is not input */
} CapturedState;

/* An argument's stand-in; what was passed is on the stack while the capture is on; `same`: the
 * number of an earlier argument that is the same tensor. */
typedef struct CapturedArg {
    Tensor *tensor;
    Tensor *given; /* what was passed; NULL: a number */
    bool assigned;
    Node *set; /* as above */
    enum { NO_NUMBER, INTEGER, FLOAT } number; /* of Lua */
    union {
        lua_Integer integer;
        lua_Number real;
    } value; /* of the number */
    int same;
} CapturedArg;

/* What an input of a block stands for in the capture around it. */
typedef enum BlockKind {
    BLOCK_ARG,
    BLOCK_TENSOR,
    BLOCK_SET, /* was the tensor assigned? false outside */
    BLOCK_RNG,
    BLOCK_EFFECT,
    BLOCK_INDEX
} BlockKind;
typedef struct BlockInput {
    BlockKind kind;
    Tensor *tensor;     /* TENSOR, SET */
    Node *from, *input; /* node outside; INDEX: NULL */
    Node *after;        /* SET: at the end of the block */
} BlockInput;

/* What a tensor that a block assigned is after it, and the block's results among all `given`. If it
 * may not have been assigned, what it was before, and whether it was; else NULL. */
typedef struct BlockChange {
    Node *changed;
    int from, to;
    Node *before, *set;
} BlockChange;

/* Output `output` says whether the run assigned input `input`, which it may do or not. */
typedef struct Told {
    int input, output;
} Told;

/* A gradient that was taken in a block that repeats. */
typedef struct CarryGrad {
    Src src;
    uint8_t *roles; /* of the first n inputs of the block: grad_carry.c */
    int n;
} CarryGrad;

typedef struct Capture {
    Owned owned;
    Recorder recorder;
    Assumed assumed;           /* of a step */
    Host *host;
    struct Capture *outer;     /* of a block: the capture around it; NULL: a step */
    bool repeats;              /* a block that may run several times */
    bool fails;                /* a block that ends with an error whenever it runs */
    WatchBlock around;         /* of a block: what watch_block_begin gave */
    VEC(BlockInput) inputs;    /* of a block, by number of the input */
    VEC(Node *) results;       /* of a block */
    VEC(CarryGrad) grads;      /* of a block that repeats */
    VEC(BlockChange) changes;  /* by the blocks inside */
    VEC(Told) told;            /* of a step */
    VEC(Node *) given;         /* results of the blocks inside */
    Node *effect;              /* the last print or assert; NULL: none */
    Node *index;               /* of a block that repeats and draws: the number of the step */
    Trace trace;
    VEC(CapturedState) states; /* a list in the registry, under this address, anchors them */
    Map state_of;              /* address of a tensor: its place in states */
    Node *rng;                 /* the hidden input {seed, counter}; NULL: nothing was drawn */
    int draws;                 /* draws, and control nodes, so far: each has a number */
    int number;                /* of a block: that of its control node, outside */
    uint64_t first_id; /* of tensors made inside, or a smaller one */
    int nargs;
    CapturedArg *args;
    SrcPos start; /* of the user's function; file NULL: unknown */
    ObsSpan span; /* of the capture of a step and its compilation */
    bool held;    /* a step may be held to values of numbers among its arguments */
    bool whole;   /* the function returned, nothing was raised */
    int backend;  /* what it is captured for */
    BackendState before; /* of the backend */
    Watch *watch;   /* of a step: what is seen of the virtual machine */
    Guards *guards; /* of a step that runs or ran; borrowed */
    bool broken;  /* a break was raised; field `broken` of the states' list holds it */
    Map fits;        /* nodes of numbers: bits of the dtypes that they are checked to fit */
    VEC(NumberCheck) checks; /* of numbers among the arguments */
} Capture;

static inline Capture *capture_of(const Recorder *r)
{
    return (Capture *)(void *)((char *)(uintptr_t)r - offsetof(Capture, recorder));
}

/* The prints of the run that is on, and those that a run made before it failed: what Lua does again
 * leaves them out. */
typedef struct Prints {
    int made;    /* by the run */
    int done;    /* still to be left out */
    bool failed; /* the function that prints raised in the run */
    bool raised; /* it did after them, and does so again there */
} Prints;

/* What the room keeps for a Lua state. */
typedef struct CaptureRoom {
    const RecorderOps *recorder; /* of captures */
    int recording;               /* under way; one is until it is a program or failed */
    bool in_hook;                /* of sgl.on_graph_capture */
    Prints prints;
} CaptureRoom;

static inline CaptureRoom *room_of(const Host *h) { return h->room[ROOM_CAPTURE].state; }

/* captured.c. Nodes are NULL with the context's error set. */
Capture *capture_new(lua_State *L, Host *h); /* pushes it, and the list of its states */
void capture_off(lua_State *L, Capture *c);
Capture *capture_on(const Host *h);          /* the one that is on; NULL: none */
Capture *capture_step(const Capture *c);     /* of the whole step that c is a block of */
/* Does the capture give the tensor from outside another value? */
bool capture_changed(const Capture *c, const Tensor *t);
bool capture_made(const Capture *c, const Tensor *t); /* inside? */
/* The argument of the step that t stands for; NULL: none. */
const CapturedArg *capture_argument(const Capture *c, const Tensor *t);
/* The node of t, which stands at arg, in the capture that is on, or one around it. */
Node *capture_node_in(lua_State *L, Host *h, Capture *c, int arg, Tensor *t);
/* Gives t, in the capture that is on, another value; `set` as in CapturedState. */
Node *capture_assign(lua_State *L, Host *h, int arg, Tensor *t, Node *value, Node *set);
Node *capture_rng(Capture *c);    /* the state of random numbers */
Node *capture_effect(Capture *c); /* the last effect, or where the chain begins */
/* The number in c of the next draw, or of a control node, in which further draws are numbered. */
int capture_draw(Capture *c);

extern const RecorderOps CAPTURE_RECORDER; /* recorder.c */

/* block.c: the input of a block for what lies outside; NULL with the error set. */
Node *capture_block_tensor(lua_State *L, Host *h, Capture *c, int arg, Tensor *t);
Node *capture_block_changes(lua_State *L, Host *h, Capture *c, int arg, Tensor *t, Node *input);
Node *capture_block_rng(Capture *c);
Node *capture_block_effect(Capture *c);
Node *capture_block_set(Capture *c, Tensor *t, Node *set); /* what it is at the end; NULL: true */

/* maybe.c: what a block may have assigned, and may not have. Before the blocks of a control node
 * are closed: they get what tells it where only they know; raises. */
void capture_maybe_tell(lua_State *L, Host *h, int nblock, Capture *const *block);
/* Behind it: was t assigned? As CapturedState.set; raises. */
Node *capture_maybe_set(lua_State *L, Host *h, const Closing *closing, Capture *const *block,
                        const Tensor *t);
/* What the tensor that is n in c now was before a block that may have assigned it, and whether that
 * did; NULL: there is none. */
Node *capture_maybe_before(const Capture *c, const Node *n, Node **set);

/* grad_block.c: gradients inside a block; the loss is argument 1, the list of tensors argument 2.
 * The capture in whose graph they are taken: where the loss was computed, if no block between has
 * touched it or the tensors. */
Capture *capture_grad_home(lua_State *L, Host *h);
/* Raises, or breaks, where the gradient of the loss by wrt, nodes of c, would be too small. */
void capture_grad_check(lua_State *L, Capture *c, Node *loss, int n, Node *const *wrt);

/* grad_step.c: of a gradient of the node loss in the capture c by the tensors in the list at 2:
 * breaks where it would be too small, because a way lies before the step. That belongs to the
 * tensors of a call, so it is a condition among the guards. */
void capture_grad_step(lua_State *L, Host *h, Capture *c, const Node *loss);
/* At the end of a step, when all that it reads is known. */
void capture_grad_step_end(lua_State *L, Host *h, Capture *step);

/* grad_carry.c: the same through the runs before of a block that repeats. */
/* Pushes scratch: by id, what nodes around block c the marked nodes of c read, by gradients. */
uint8_t *capture_carry_outside(lua_State *L, const Capture *c, const uint8_t *mark);
/* Takes note of a gradient, as above; asks when the results of block c are known, of which the
 * first ncarry are carried. */
void capture_carry_note(lua_State *L, Host *h, Capture *c, const Node *loss);
void capture_carry_end(lua_State *L, Capture *c, int ncarry);

/* program.c: pushes the program of a finished capture, whose graph it takes; `states` is the
 * index of the list of its tensors. */
int capture_program_push(lua_State *L, Host *h, Capture *c, int states);
/* The program at `program` for the run-time inputs in the list at `args`. Runs it and pushes the
 * results; returns how many, or CAPTURE_AGAIN: the step met its own error, nothing of it is done
 * but prints, and Lua does it again to the error. Raises. */
enum { CAPTURE_AGAIN = -1 };
int capture_program_run(lua_State *L, int program, int args);
/* Is it for numbers of these types, and for these sizes? */
bool capture_program_fits(lua_State *L, int program, int args);
/* The number of an input that the step takes from outside as well, and updates; 0: none. */
int capture_program_aliased(lua_State *L, int program, int args);
void capture_program_class(lua_State *L); /* pushes the metatable */

/* effect.c: the next effect is an error with the text when cond, a single bool, is false. NULL with
 * the error set. */
Node *capture_effect_assert(Host *h, Node *cond, const char *text);

/* outcome.c: of the number at `at`, computed of numbers among the arguments of the step alone; else
 * false, or -1. Pushes the value that it has in the call that is captured. */
bool capture_number_value(lua_State *L, const Capture *step, int at);
/* Replaces it by that value, to which the step is held from then on; `what` needs it. */
bool capture_number_settle(lua_State *L, Capture *step, int at, const char *what);
/* How two numbers compare in that call (LUA_OPEQ …), to which the step is held. */
int capture_number_compare(lua_State *L, Capture *step, int op, int a, int b);

/* The next effect of c, which is off, fails with the text. false: the error is set. */
bool capture_effect_fail(Capture *c, const char *text);
/* A run begins. After one that failed: was that the step's own error, which Lua meets as well? Then
 * the context's is cleared. */
void capture_prints_begin(Host *h);
bool capture_again(Host *h);

/* break_path.c: puts what a node of the capture was made of into the table at `row`, as nodes. */
void capture_break_path(lua_State *L, const Host *h, int row, const Node *to);

/* graph_hook.c: tells the hook of sgl.on_graph_capture of a graph that was recorded from the list
 * at `inputs`. */
void capture_graph_told(lua_State *L, Host *h, const Graph *g, int inputs);

/* module_path.c: pushes the list of the calls of modules in a step, { module, number of the call
 * around it } each; gives composites the paths that the list on the top has by number. */
void capture_modules(lua_State *L, const Capture *c);
void capture_modules_named(lua_State *L, Host *h, const Capture *c);

/* What a file adds to sgl.core. */
extern const luaL_Reg CAPTURE_CAPTURE[], CAPTURE_MODULE[], CAPTURE_CONTROL[], CAPTURE_EFFECT[],
    CAPTURE_RESULT[], CAPTURE_CALL[], CAPTURE_GRAPH_HOOK[];
#endif
