/* effect.c: print and assert inside a step: recorded in the chain of effects, and the printing of
 * what a running program hands out.
 *
 * In:    a text with {} for each tensor, {{ and }} for braces; tensors.
 * Out:   at run time a call of the function given to core.on_print with the text and the values.
 * Holds: a Lua error in that function stops the program as an error of its own would; it goes
 *        through no C frame of the engine. What a run printed before it failed is not printed when
 *        Lua does the step again.
 */
#include <string.h>
#include "exec/program.h"
#include "capture/room.h"
#include "tensor/ops.h"
#include "ir/build.h"

static const char ON_PRINT[] = "sgl.on_print", RAISED[] = "sgl.print_raised";

/* The next effect of the capture: op over the last one and nodes; NULL with the error set. */
static Node *effect(Host *h, Op op, const char *text, int n, Node **nodes)
{
    AttrBuf b = {0};
    Capture *c = capture_on(h);
    ir_attr_put(&b, ir_attr_text_word(h->cx, text));
    nodes[0] = capture_effect(c);
    if (!nodes[0] || h->cx->err.code) return NULL;
    Node *made = ir_attr_node(c->trace.graph, op, n + 1, nodes, &b);
    if (made) c->effect = made;
    return made;
}

Node *capture_effect_assert(Host *h, Node *cond, const char *text)
{
    Node *nodes[2] = {NULL, cond};
    return cond ? effect(h, OP_assert, text, 1, nodes) : NULL;
}

bool capture_effect_fail(Capture *c, const char *text)
{
    AttrBuf b = {0};
    Ctx *cx = c->host->cx;
    ir_attr_put(&b, ir_attr_text_word(cx, text));
    Node *nodes[2] = {capture_effect(c), ir_const(c->trace.graph, DT_bool, 0, NULL, 0)};
    c->effect = nodes[0] ? ir_attr_node(c->trace.graph, OP_assert, 2, nodes, &b) : NULL;
    return c->effect != NULL;
}

static Host *begin(lua_State *L, const char *what)
{
    Host *h = bind_of(L);
    if (!tensor_recording(h))
        bind_raise(L, SGL_ESTATE, NULL, "%s: only while a step is captured", what);
    tensor_trace(L, h);
    return h;
}

/* core.effect_print(text, list) */
static int effect_print(lua_State *L)
{
    Host *h = begin(L, "print");
    const char *text = luaL_checkstring(L, 1);
    int n = bind_check_list(L, 2, "print");
    Node **nodes = bind_scratch(L, (size_t)n + 1, sizeof *nodes);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, 2, i);
        nodes[i] = tensor_node(L, h, lua_gettop(L), "print");
        lua_pop(L, 1);
    }
    return effect(h, OP_print, text, n, nodes) ? 0 : bind_throw(L, h);
}

/* core.effect_assert(cond, text) */
static int effect_assert(lua_State *L)
{
    Host *h = begin(L, "assert");
    Node *cond = tensor_node(L, h, 1, "assert");
    return capture_effect_assert(h, cond, luaL_checkstring(L, 2)) ? 0 : bind_throw(L, h);
}

/* One print on its way into Lua. */
typedef struct Printing {
    Host *h;
    const Node *n;
    const char *text;
    void *const *values;
} Printing;

/* (Printing): calls the function with the text and a list of tensors. */
static int call_print(lua_State *L)
{
    const Printing *p = lua_touserdata(L, 1);
    if (lua_getfield(L, LUA_REGISTRYINDEX, ON_PRINT) != LUA_TFUNCTION) return 0;
    lua_pushstring(L, p->text);
    lua_createtable(L, p->n->nin - 1, 0);
    for (int i = 1; i < p->n->nin; i++) {
        const Node *in = p->n->in[i];
        Tensor *t = tensor_make(L, p->h, (Dtype)in->dtype, in->rank, in->dims);
        dev_storage_write(t->storage, p->values[i - 1]);
        lua_rawseti(L, -2, i);
    }
    lua_call(L, 2, 0);
    return 0;
}

/* Pops an error of the function that prints, which is kept for its next call. */
static int print_raised(lua_State *L, Host *h)
{
    int code = base_fail(h->cx, SGL_EARG, "print: %s", luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, RAISED);
    room_of(h)->prints.failed = true;
    return code;
}

/* Called by a running program: the values become tensors for Lua in a protected call, and an error
 * stops the program. */
static int print(void *arg, const Node *n, const char *text, void *const *values)
{
    Host *h = arg;
    lua_State *L = tensor_running(h);
    Printing p = {h, n, text, values};
    if (!L || !lua_checkstack(L, LUA_MINSTACK)) return SGL_OK;
    Prints outer = room_of(h)->prints;
    lua_pushcfunction(L, call_print);
    lua_pushlightuserdata(L, &p);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) return print_raised(L, h);
    room_of(h)->prints.made = outer.made + 1;
    return SGL_OK;
}

void capture_prints_begin(Host *h)
{
    room_of(h)->prints.made = 0;
    room_of(h)->prints.failed = false;
}

bool capture_again(Host *h)
{
    Prints *prints = &room_of(h)->prints;
    int code = h->cx->err.code;
    if (code != SGL_EASSERT && code != SGL_EINDEX && !prints->failed) return false;
    base_err_clear(&h->cx->err);
    if (code == SGL_EINDEX) tensor_positions_now(h, true);
    prints->done += prints->made;
    prints->raised = prints->failed;
    return true;
}

/* core.print_due() -> is something to be printed now? Raises where the run that is done again did
 * so. */
static int print_due(lua_State *L)
{
    Prints *prints = &room_of(bind_of(L))->prints;
    bool due = !prints->done;
    if (!due) prints->done--;
    else if (prints->raised) {
        prints->raised = false;
        lua_getfield(L, LUA_REGISTRYINDEX, RAISED);
        lua_pushnil(L);
        lua_setfield(L, LUA_REGISTRYINDEX, RAISED);
        return lua_error(L);
    }
    lua_pushboolean(L, due);
    return 1;
}

/* core.again_end(): nothing is done again any more. */
static int again_end(lua_State *L)
{
    room_of(bind_of(L))->prints = (Prints){0};
    tensor_positions_now(bind_of(L), false);
    return 0;
}

/* core.on_print(fn) */
static int on_print(lua_State *L)
{
    Host *h = bind_of(L);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, ON_PRINT);
    ExecPrint to = {print, h};
    return exec_print_set(h->cx, to) < 0 ? bind_throw(L, h) : 0;
}

const luaL_Reg CAPTURE_EFFECT[] = {
    {"effect_print", effect_print}, {"effect_assert", effect_assert}, {"on_print", on_print},
    {"print_due", print_due},       {"again_end", again_end},         {NULL, NULL},
};
