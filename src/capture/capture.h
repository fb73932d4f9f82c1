/* capture.h: the capture of one call of a Lua function as a graph.
 *
 * Tensors from outside become state inputs, by handle: the program reads the handles again at
 * each run. Inside the capture an assigned handle stands for its newest node; after it the
 * handles are as before.
 * What a function given to sgl.cond, scan or loop does is captured as a block (control.c): a
 * capture inside a capture, whose inputs are nodes of the outer one. All of this holds for it too,
 * but that it makes no assigns: what it assigned becomes a result of the control node.
 */
#ifndef SGL_CAPTURE_CAPTURE_H
#define SGL_CAPTURE_CAPTURE_H
#include "exec/lifecycle.h"
#include "watch/hook.h"
#include "tensor/dim.h"
#include "tensor/trace.h"
#include "obs/obs.h"

typedef struct CapturedState {
    Tensor *tensor;
    Node *input, *now;
} CapturedState;

/* An argument's stand-in; what was passed is on the stack while the capture is on; `same`: the
 * number of an earlier argument that is the same tensor. */
typedef struct CapturedArg {
    Tensor *tensor;
    Tensor *given; /* what was passed; NULL: a number */
    bool assigned;
    enum { NO_NUMBER, INTEGER, FLOAT } number; /* of Lua */
    int same;
} CapturedArg;

/* A number among the arguments must be at least the one and below the other at each run; {} in the
 * text, which is interned, stands for its value. */
typedef struct NumberCheck {
    int arg;
    double least, limit;
    const char *text;
} NumberCheck;

/* What an input of a block stands for in the capture around it. */
typedef enum BlockKind { BLOCK_ARG, BLOCK_TENSOR, BLOCK_RNG, BLOCK_EFFECT, BLOCK_INDEX } BlockKind;
typedef struct BlockInput {
    BlockKind kind;
    Tensor *tensor;            /* BLOCK_TENSOR */
    Node *from, *input;        /* node outside; INDEX: NULL */
} BlockInput;

/* What a tensor that a block assigned is after it, and the block's results among all `given`. */
typedef struct BlockChange {
    const Node *changed;
    int from, to;
} BlockChange;

/* A gradient that was taken in a block that repeats. */
typedef struct CarryGrad {
    Src src;
    uint8_t *roles; /* of the first n inputs of the block: grad_carry.c */
    int n;
} CarryGrad;

typedef struct Capture {
    Owned owned;
    Host *host;
    struct Capture *outer;     /* of a block: the capture around it; NULL: a step */
    bool repeats;              /* a block that may run several times */
    uint64_t since;            /* of a block: the Watch's outside */
    VEC(BlockInput) inputs;    /* of a block, by number of the input */
    VEC(Node *) results;       /* of a block */
    VEC(CarryGrad) grads;      /* of a block that repeats */
    VEC(BlockChange) changes;  /* by the blocks inside */
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
    bool whole;   /* the function returned, nothing was raised */
    int backend;  /* what it is captured for */
    BackendState before; /* of the backend */
    Watch watch;  /* what it sees of the virtual machine */
    bool broken;  /* a break was raised; field `broken` of the states' list holds it */
    int64_t *example; /* values of symbols by number, from the arguments; NULL: none */
    int nexample;
    bool classed;    /* it matters which numbers among the arguments are integers */
    Map fits;        /* nodes of numbers: bits of the dtypes that they are checked to fit */
    VEC(NumberCheck) checks;
    DimGuards sizes; /* what the example decided about sizes */
} Capture;

/* What the room keeps for a Lua state. */
typedef struct CaptureRoom {
    bool in_hook; /* of sgl.on_graph_capture */
} CaptureRoom;

static inline CaptureRoom *capture_room(const Host *h) { return h->room[ROOM_CAPTURE].state; }

/* graph_hook.c: tells the hooks of sgl.on_graph_capture of a graph that was recorded from the list
 * at `inputs`. */
void capture_graph_told(lua_State *L, Host *h, const Graph *g, int inputs);
/* Adds the functions of this room to the table on the top. */
void capture_open(lua_State *L, Host *h);
void capture_program_class(lua_State *L);
extern const luaL_Reg CAPTURE_CAPTURE[], CAPTURE_MODULE[], CAPTURE_CONTROL[], CAPTURE_EFFECT[],
    CAPTURE_RESULT[], CAPTURE_GRAPH_HOOK[];

Node *capture_node(lua_State *L, Host *h, int arg, Tensor *t);
/* NULL: ir_assign refused. */
Node *capture_assign(lua_State *L, Host *h, int arg, Tensor *t, Node *value);
/* The next three with the capture to look in: h->capture, or one around it. */
Node *capture_node_in(lua_State *L, Host *h, Capture *c, int arg, Tensor *t);
Node *capture_rng(Capture *c);              /* NULL with the context's error set */
Node *capture_effect(Capture *c);           /* the last effect, or where the chain begins */
/* The number in c of the next draw, or of a control node, in which further draws are numbered. */
int capture_draw(Capture *c);
Capture *capture_new(lua_State *L, Host *h);       /* pushes it, and the list of its states */
void capture_off(lua_State *L, Capture *c);
/* Does the capture give the tensor from outside another value? */
bool capture_changed(const Capture *c, const Tensor *t);
/* Was t made inside? */
bool capture_made(Capture *c, const Tensor *t);
/* The values of the tensor t at `arg` are read now: unless it was made inside, they are guarded. */
void capture_read(lua_State *L, Capture *c, int arg, const Tensor *t);
/* The argument of the step that t stands for; NULL: none. */
const CapturedArg *capture_argument(const Capture *c, const Tensor *t);
/* The capture of the whole step that c is a block of. */
Capture *capture_step(Capture *c);
/* Is t made or stood for in c or in a capture around it? */
bool capture_holds(const Capture *c, const Tensor *t);

/* control.c: the same for a block: its input for what lies outside. NULL with the error set. */
Node *capture_block_tensor(lua_State *L, Host *h, Capture *c, int arg, Tensor *t);
Node *capture_block_changes(lua_State *L, Host *h, Capture *c, int arg, Tensor *t, Node *input);
Node *capture_block_rng(Capture *c);
Node *capture_block_effect(Capture *c);
/* grad_block.c: gradients inside a block; the loss is argument 1, the list of tensors argument 2.
 * The capture in whose graph they are taken: where the loss was computed, if no block between has
 * touched it or the tensors. */
Capture *capture_grad_home(lua_State *L, Host *h);
/* Raises if loss, in the block c, depends on the tensors, wrt[i] there, through nodes outside. */
void capture_grad_check(lua_State *L, Capture *c, Node *loss, int n, Node *const *wrt);

/* grad_carry.c: the same through the runs before of a block that repeats. */
/* Pushes scratch: by id, what nodes around block c the marked nodes of c read, by gradients. */
uint8_t *capture_carry_outside(lua_State *L, const Capture *c, const uint8_t *mark);
/* Takes note of a gradient, as above; asks when the results of block c are known, of which the
 * first ncarry are carried. */
void capture_carry_note(lua_State *L, Host *h, Capture *c, const Node *loss);
void capture_carry_end(lua_State *L, Capture *c, int ncarry);
void capture_carry_free(Capture *c);

/* program.c: pushes the program of a finished capture, whose graph it takes; `states` is the
 * index of the list of its tensors. */
int capture_program_push(lua_State *L, Host *h, Capture *c, int states);

/* effect.c: the next effect is an error with the text when cond, a single bool, is false. NULL with
 * the error set. */
Node *capture_effect_assert(Host *h, Node *cond, const char *text);

/* rng.c: {seed, counter} of the next draws as a new i64[2]; the counter goes on by their number. */
Storage *tensor_rng_next(Host *h, int draws);
/* Draws in steps of a scan or loop are this far apart: more than a body has. */
static const int64_t RNG_STEP = INT64_C(1) << 20;
#endif
