/* break.c: breaks: records of where and why a capture stops, raised as errors.
 *
 * Out:   the facts as a table, which the handler in lua/sgl/breaks/ makes an error object of:
 *        { code, component, sentence, rewrites, what, by, through, tensor, op, op_file, op_line,
 *        nodes }; nodes as in capture/break_path.c.
 * Holds: a step ends with the first break, so what the handler does is no part of it.
 */
#include "tensor/break.h"
#include "tensor/room.h"

/* Their addresses are keys in the registry: of the handler, and of the list of a survey. */
static const char HANDLER, SURVEY;

static const struct {
    const char *code, *component, *sentence, *rewrites;
} ROWS[] = {
#define X(name, code, component, sentence, rewrites) {code, component, sentence, rewrites},
#include "tensor/breaks.def"
#undef X
};

static void put(lua_State *L, int table, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, table, key);
}

static void push_row(lua_State *L, Break reason)
{
    lua_createtable(L, 0, 12);
    int row = lua_gettop(L);
    put(L, row, "code", ROWS[reason].code);
    put(L, row, "component", ROWS[reason].component);
    put(L, row, "sentence", ROWS[reason].sentence);
    put(L, row, "rewrites", ROWS[reason].rewrites);
}

/* What is known of the tensor: its type, the op that made it and where, and in a step the way to
 * it. */
static void put_tensor(lua_State *L, int row, Host *h, const Tensor *t)
{
    Shape s = tensor_shape(t);
    bind_push_type(L, &s);
    lua_setfield(L, row, "tensor");
    if (!t->node || !t->trace || t->node->op == OP_input) return;
    Recorder *r = tensor_recorder(h);
    if (tensor_recorder_holds(r, t)) r->ops->break_path(L, r, row, t->node);
    put(L, row, "op", OPS[t->node->op].name);
    SrcPos at = base_src_pos(h->cx, t->node->src);
    if (!at.file) return;
    put(L, row, "op_file", at.file);
    lua_pushinteger(L, at.line);
    lua_setfield(L, row, "op_line");
}

void tensor_break_remember(lua_State *L, Host *h)
{
    Recorder *r = tensor_recorder(h);
    r->ops->break_end(L, r);
}

void tensor_break_again(lua_State *L, Host *h)
{
    Recorder *r = tensor_recorder(h);
    luaL_checkstack(L, LUA_MINSTACK, "a break");
    r->ops->break_begin(L, r);
}

/* Begins a break: pushes its row. */
static int begin(lua_State *L, Host *h, Break reason)
{
    tensor_break_again(L, h);
    push_row(L, reason);
    return lua_gettop(L);
}

/* Makes the row on the top the error object. `source` is the chunk of the file, NULL: not known. */
static void make_error(lua_State *L, Host *h, SrcPos at, const char *source)
{
    int row = lua_gettop(L);
    put(L, row, "file", at.file);
    put(L, row, "source", source);
    if (at.file) {
        lua_pushinteger(L, at.line);
        lua_setfield(L, row, "line");
    }
    bind_raising(L, h, SGL_OK);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &HANDLER);
    lua_insert(L, row);
    lua_call(L, 1, 1);
    luaL_setmetatable(L, "sgl.error");
}

/* The same at the user's position. */
static void make_error_here(lua_State *L, Host *h)
{
    lua_Debug ar;
    SrcPos at = bind_position(L, &ar);
    make_error(L, h, at, at.file && at.file == bind_plain_name(ar.short_src) ? ar.source : NULL);
}

/* Raises the error object on the top; the step ends with it. */
static int raise(lua_State *L, Host *h)
{
    tensor_break_remember(L, h);
    return lua_error(L);
}

/* The facts as a row, made an error object at the user's position. */
int tensor_break(lua_State *L, Host *h, Break reason, const Tensor *t, const char *what, ...)
{
    va_list ap;
    int row = begin(L, h, reason);
    va_start(ap, what);
    lua_pushvfstring(L, what, ap);
    va_end(ap);
    lua_setfield(L, row, "what");
    if (t) put_tensor(L, row, h, t);
    make_error_here(L, h);
    return raise(L, h);
}

/* The same for what lies between two others, each a name or a tensor. */
int tensor_break_between(lua_State *L, Host *h, Break reason, const Tensor *t, const char *what)
{
    int row = begin(L, h, reason);
    put(L, row, "what", what);
    lua_pushvalue(L, row - 2);
    lua_setfield(L, row, "by");
    lua_pushvalue(L, row - 1);
    lua_setfield(L, row, "through");
    put_tensor(L, row, h, t);
    make_error_here(L, h);
    return raise(L, h);
}

int tensor_break_at(lua_State *L, Host *h, Break reason, const lua_Debug *ar, const char *what)
{
    int row = begin(L, h, reason);
    put(L, row, "what", what);
    Src at = base_src(h->cx, bind_plain_name(ar->short_src), ar->linedefined, NULL);
    make_error(L, h, base_src_pos(h->cx, at), ar->source);
    return raise(L, h);
}

/* In a survey a read outside steps is noted as the error that it would be in one. */
void tensor_break_note(lua_State *L, Host *h, const Tensor *t, const char *what)
{
    int top = lua_gettop(L);
    if (tensor_recording(h) || !room_of(h)->surveying) return;
    luaL_checkstack(L, LUA_MINSTACK, "a break");
    lua_rawgetp(L, LUA_REGISTRYINDEX, &SURVEY);
    push_row(L, BREAK_READ);
    put(L, top + 2, "what", what);
    put_tensor(L, top + 2, h, t);
    make_error_here(L, h);
    lua_rawseti(L, top + 1, (lua_Integer)lua_rawlen(L, top + 1) + 1);
    lua_settop(L, top);
}

/* core.survey(list or nil) -> the one before: reads that end a segment are noted in it from now on,
 * as the errors that they would be in a capture. */
static int survey(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 1);
    room_of(h)->surveying = lua_istable(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &SURVEY);
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &SURVEY);
    return 1;
}

/* core.on_break(fn): fn(facts) makes the error object of a break. */
static int on_break(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &HANDLER);
    return 0;
}

/* core.breaks() -> the rows of the table, in order */
static int breaks(lua_State *L)
{
    lua_createtable(L, BREAK_COUNT, 0);
    for (int i = 0; i < BREAK_COUNT; i++) {
        push_row(L, (Break)i);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* core.segments() -> how many parts of pending operations were run */
static int segments(lua_State *L)
{
    lua_pushinteger(L, room_of(bind_of(L))->segments);
    return 1;
}

const luaL_Reg TENSOR_BREAK[] = {
    {"on_break", on_break}, {"breaks", breaks}, {"segments", segments},
    {"survey", survey},     {NULL, NULL},
};
