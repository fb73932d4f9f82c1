/* error.c: errors as objects: {code, message, file, line, hint} with metatable "sgl.error".
 *
 * In:   a code and a text, or what a call left in the context's error.
 * Out:  an object raised at the user's position: the innermost frame that is Lua code and not a
 *       chunk of the library (their sources begin with "=sgl/"). A tail call leaves no frame;
 *       where Lua is watched, the lookout saw it.
 */
#include <string.h>
#include "bind/events.h"
#include "bind/room.h"
#include "base/message.h"

static const char ERROR[] = "sgl.error";

/* A file that package.path found in the working folder is named as the user would. */
const char *bind_plain_name(const char *file)
{
    return strncmp(file, "./", 2) == 0 ? file + 2 : file;
}

/* The innermost frame of user code; frames of the library and of C are passed over. `lost` tells
 * that the library was entered by a tail call, so that the frame is that of a caller further out:
 * the library's own entries (api.lua, nn/module.lua) make none. */
static SrcPos position(lua_State *L, const Host *h, lua_Debug *ar, bool *lost)
{
    const Lookout *lookout = h ? h->lookout : NULL;
    *lost = false;
    for (int level = 0; lua_getstack(L, level, ar); level++) {
        SrcPos tail;
        lua_getinfo(L, "Slt", ar);
        if (ar->currentline > 0 && strncmp(ar->source, "=sgl/", 5) != 0)
            return (SrcPos){bind_plain_name(ar->short_src), ar->currentline, NULL};
        if (lookout && lookout->tail(h, ar, &tail)) {
            *lost = false;
            return tail;
        }
        *lost = ar->istailcall;
    }
    return (SrcPos){NULL, 0, NULL};
}

SrcPos bind_position(lua_State *L, lua_Debug *ar)
{
    bool lost;
    return position(L, bind_peek(L), ar, &lost);
}

Src bind_src(lua_State *L, Host *h, const char *in)
{
    lua_Debug ar;
    bool lost;
    SrcPos at = position(L, h, &ar, &lost);
    return at.file ? base_src(h->cx, at.file, at.line, in) : 0;
}

void bind_raising(lua_State *L, Host *h, int code)
{
    if (h && h->lookout) h->lookout->raising(L, h, code);
}

/* Raises the message on the top of the stack, as of the place given. */
static int raise_at(lua_State *L, int code, const char *hint, SrcPos at)
{
    lua_createtable(L, 0, 5);
    lua_insert(L, -2);
    lua_setfield(L, -2, "message");
    lua_pushstring(L, base_err_name(code));
    lua_setfield(L, -2, "code");
    if (hint && *hint) {
        lua_pushstring(L, hint);
        lua_setfield(L, -2, "hint");
    }
    if (at.file) {
        lua_pushstring(L, at.file);
        lua_setfield(L, -2, "file");
        lua_pushinteger(L, at.line);
        lua_setfield(L, -2, "line");
    }
    if (luaL_getmetatable(L, ERROR) == LUA_TNIL) bind_open_error(L); /* there is no host yet */
    lua_pop(L, 1);
    luaL_setmetatable(L, ERROR);
    bind_raising(L, bind_peek(L), code);
    return lua_error(L);
}

/* The same, at the user's position. Where that is a caller's, the hint says so. */
static int raise_top(lua_State *L, int code, const char *hint)
{
    static const char *const LOST = "by a tail call (return f(…)) in a function that is called in "
                                    "this line; Lua keeps no line of it";
    lua_Debug ar;
    bool lost;
    SrcPos at = position(L, bind_peek(L), &ar, &lost);
    if (lost && at.file) {
        hint = hint && *hint ? lua_pushfstring(L, "%s\n%s", hint, LOST) : lua_pushstring(L, LOST);
        lua_insert(L, -2);
    }
    return raise_at(L, code, hint, at);
}

int bind_raise(lua_State *L, int code, const char *hint, const char *fmt, ...)
{
    char text[ERR_TEXT];
    va_list ap;
    va_start(ap, fmt);
    base_message_format(text, sizeof text, fmt, ap);
    va_end(ap);
    lua_pushstring(L, text);
    return raise_top(L, code, hint);
}

int bind_throw(lua_State *L, Host *h)
{
    Err e = h->cx->err;
    base_err_clear(&h->cx->err);
    if (!e.code) e.code = SGL_EINTERN;
    if (e.code == SGL_EINTR) bind_interrupt_taken(L, h);
    bind_events_flush(L, h);
    lua_pushstring(L, *e.text ? e.text : base_err_sentence(e.code));
    return raise_top(L, e.code, e.hint);
}

const char BIND_FAILURE;

/* Notes the failure whose text is on the top, before nil is returned for it. */
static void note_failure(lua_State *L)
{
    lua_Debug ar;
    SrcPos at = bind_position(L, &ar);
    if (!at.file) return;
    lua_pushfstring(L, "the call at %s:%d gave nil: %s", at.file, at.line, lua_tostring(L, -1));
    lua_rawsetp(L, LUA_REGISTRYINDEX, &BIND_FAILURE);
}

int bind_fail(lua_State *L, const Err *e)
{
    lua_pushnil(L);
    lua_pushstring(L, *e->text ? e->text : base_err_sentence(e->code));
    note_failure(L);
    lua_pushstring(L, base_err_name(e->code));
    return 3;
}

/* The name of a code as a number; an unknown name is the caller's mistake. */
static int code_of(lua_State *L, int arg)
{
    static const struct {
        const char *name;
        int code;
    } CODES[] = {
#define X(code, number, sentence) {#code, code},
#include "base/err.def"
#undef X
    };
    const char *name = luaL_checkstring(L, arg);
    for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++)
        if (!strcmp(CODES[i].name, name)) return CODES[i].code;
    return luaL_error(L, "unknown error code '%s'", name);
}

/* Pushes the text at arg, without control bytes but line ends: whatever was put into it. */
static void push_clean(lua_State *L, int arg)
{
    size_t n, cap;
    const char *text = luaL_checklstring(L, arg, &n);
    lua_pushvalue(L, arg);
    for (size_t i = 0; i < n; i++) {
        if (((unsigned char)text[i] >= 0x20 && text[i] != 0x7F) || text[i] == '\n') continue;
        cap = n < ERR_TEXT ? 4 * n + 1 : 4 * ERR_TEXT;
        char *clean = bind_scratch(L, (int)cap, 1);
        base_message_clean(clean, cap, text, n);
        lua_pushstring(L, clean);
        return;
    }
}

/* core.quote(value) -> the value between quotes, as messages show it */
static int error_quote(lua_State *L)
{
    char shown[MESSAGE_VALUE_CAP];
    size_t n;
    const char *text = luaL_tolstring(L, 1, &n);
    base_message_value(shown, text, n);
    lua_pushfstring(L, "'%s'", shown);
    return 1;
}

/* core.raise(code, message, hint?, file?, line?); without a file, the user's position */
static int error_raise(lua_State *L)
{
    int code = code_of(L, 1);
    const char *hint = luaL_optstring(L, 3, NULL);
    SrcPos at = {luaL_optstring(L, 4, NULL), (int)luaL_optinteger(L, 5, 0), NULL};
    push_clean(L, 2);
    return at.file ? raise_at(L, code, hint, at) : raise_top(L, code, hint);
}

/* core.fail(code, message) -> nil, message, code */
static int error_fail(lua_State *L)
{
    code_of(L, 1);
    lua_pushnil(L);
    push_clean(L, 2);
    note_failure(L);
    lua_pushvalue(L, 1);
    return 3;
}

/* core.position() -> file, line */
static int error_position(lua_State *L)
{
    lua_Debug ar;
    SrcPos at = bind_position(L, &ar);
    if (!at.file) return 0;
    lua_pushstring(L, at.file);
    lua_pushinteger(L, at.line);
    return 2;
}

/* file:line: message, then the hint's lines indented by two blanks, then the mark. */
static int error_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_getfield(L, 1, "message");
    if (lua_getfield(L, 1, "file") == LUA_TSTRING && lua_getfield(L, 1, "line") == LUA_TNUMBER)
        lua_pushfstring(L, "%s:%d: %s", lua_tostring(L, 3), (int)lua_tointeger(L, 4),
                        luaL_tolstring(L, 2, NULL));
    else luaL_tolstring(L, 2, NULL);
    if (lua_getfield(L, 1, "hint") != LUA_TSTRING) {
        lua_pop(L, 1);
        return 1;
    }
    const char *indented = luaL_gsub(L, lua_tostring(L, -1), "\n", "\n  ");
    const char *mark = lua_getfield(L, 1, "mark") == LUA_TSTRING ? lua_tostring(L, -1) : "";
    lua_pushfstring(L, "%s\n  %s%s%s", lua_tostring(L, -4), indented, *mark ? "\n" : "", mark);
    return 1;
}

static int error_concat(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

static const luaL_Reg META[] = {
    {"__tostring", error_tostring},
    {"__concat", error_concat},
    {NULL, NULL},
};

const luaL_Reg BIND_ERROR[] = {
    {"raise", error_raise}, {"fail", error_fail}, {"position", error_position},
    {"quote", error_quote}, {NULL, NULL},
};

void bind_open_error(lua_State *L)
{
    int host = lua_gettop(L);
    luaL_newmetatable(L, ERROR);
    lua_pushvalue(L, host); /* the engine's own functions are known by it */
    luaL_setfuncs(L, META, 1);
    lua_settop(L, host);
}
