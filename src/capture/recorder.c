/* recorder.c: recording into the capture that is on.
 *
 * Holds: what the tables of tensor/recorder.h ask of a block is answered for the block; what they
 *        ask of arguments, breaks and what was there before, for the step that it is a part of.
 */
#include <string.h>
#include "capture/room.h"
#include "ir/build.h"
#include "tensor/break.h"

static int ready(lua_State *L, Recorder *r) { return (void)L, (void)r, SGL_OK; }

static Node *node(lua_State *L, Recorder *r, int arg, Tensor *t)
{
    return capture_node_in(L, r->host, capture_of(r), arg, t);
}

/* In a step nothing has a history but its nodes, so a leaf is a node like others. */
static int assign(lua_State *L, Recorder *r, int arg, Tensor *t, Node *value, bool leaf)
{
    (void)leaf;
    return capture_assign(L, r->host, arg, t, value, NULL) ? SGL_OK : r->host->cx->err.code;
}

/* What the step does not compute can be read; unless it was made inside, its values are guarded. */
static Storage *read(lua_State *L, Recorder *r, int arg, Tensor *t, const char *what)
{
    Capture *c = capture_of(r), *step = capture_step(c);
    bool computed = !t->storage && tensor_recorder_holds(r, t);
    if (computed || capture_changed(c, t)) tensor_break(L, r->host, BREAK_READ, t, "%s", what);
    Storage *s = tensor_pending_read(L, r->host, t, what);
    if (!capture_made(c, t) && step->guards) watch_guard_values(L, step->guards, arg);
    return s;
}

static Node *draw(Recorder *r, int *number)
{
    Node *state = capture_rng(capture_of(r));
    *number = capture_draw(capture_of(r));
    return state;
}

static bool made(const Recorder *r, const Tensor *t) { return capture_made(capture_of(r), t); }

/* In a capture, or a block, the same number in the same dtype is checked once. */
static bool is_checked(lua_State *L, Capture *c, const Node *n, int to)
{
    uint64_t known = 0, bit = UINT64_C(1) << to;
    base_map_get(&c->fits, (uintptr_t)n, &known);
    if (!(known & bit) && !base_map_set(&c->fits, (uintptr_t)n, known | bit))
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
    return known & bit;
}

/* An argument is seen to before a run, but not in a block, which may not run. */
static void require(lua_State *L, Recorder *r, int arg, Node *n, int fits, const NumberCheck *must)
{
    Host *h = r->host;
    Capture *c = capture_of(r);
    if (fits >= 0 && is_checked(L, c, n, fits)) return;
    const CapturedArg *given = capture_argument(c, tensor_number_at(L, h, arg));
    if (given && !c->outer) {
        NumberCheck check = *must;
        check.arg = (int)(given - c->args);
        check.text = base_intern(&h->cx->names, must->text, strlen(must->text));
        if (!check.text || !vec_push(&c->checks, check))
            bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
        return;
    }
    Node *good = ir_logical_and(ir_ge(n, ir_const_like(n, must->least)),
                                ir_lt(n, ir_const_like(n, must->limit)));
    if (!capture_effect_assert(h, good, luaL_gsub(L, must->text, "{}", "a number of the step")))
        bind_throw(L, h);
    lua_pop(L, 1);
}

static bool value(lua_State *L, Recorder *r, int arg)
{
    return capture_number_value(L, capture_step(capture_of(r)), arg);
}

static bool settle(lua_State *L, Recorder *r, int arg, const char *what)
{
    return capture_number_settle(L, capture_step(capture_of(r)), arg, what);
}

static int compare(lua_State *L, Recorder *r, int op, int a, int b)
{
    return capture_number_compare(L, capture_step(capture_of(r)), op, a, b);
}

/* ---- gradients */

static Recorder *grad_home(lua_State *L, Recorder *r)
{
    return &capture_grad_home(L, r->host)->recorder;
}

static Node *grad_before(const Recorder *home, const Node *n, Node **set)
{
    return capture_maybe_before(capture_of(home), n, set);
}

static void grad_check(lua_State *L, Recorder *home, Node *loss, int n, Node *const *wrt)
{
    capture_grad_check(L, capture_of(home), loss, n, wrt);
}

/* ---- breaks: the first one ends the step */

/* The first break is raised again wherever the step would break once more. */
static void break_begin(lua_State *L, Recorder *r)
{
    Capture *step = capture_step(capture_of(r));
    if (watch_failed(step->watch)) /* what is new and what is old is not known */
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
    if (!step->broken) return;
    /* What runs of it since, handlers and closing variables, adds nothing. */
    lua_rawgetp(L, LUA_REGISTRYINDEX, step);
    lua_getfield(L, -1, "broken");
    bind_raising(L, r->host, SGL_OK);
    lua_error(L);
}

static void break_end(lua_State *L, Recorder *r)
{
    Capture *step = capture_step(capture_of(r));
    if (step->broken) return;
    lua_rawgetp(L, LUA_REGISTRYINDEX, step);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "broken");
    lua_pop(L, 1);
    step->broken = true;
}

static void break_path(lua_State *L, Recorder *r, int row, const Node *to)
{
    capture_break_path(L, r->host, row, to);
}

const RecorderOps CAPTURE_RECORDER = {
    .ready = ready,
    .node = node,
    .assign = assign,
    .read = read,
    .draw = draw,
    .made = made,
    .require = require,
    .value = value,
    .settle = settle,
    .compare = compare,
    .grad_home = grad_home,
    .grad_before = grad_before,
    .grad_check = grad_check,
    .break_begin = break_begin,
    .break_end = break_end,
    .break_path = break_path,
};
