/* args.c: arguments from Lua, checked, with errors in the user's terms; shapes for messages.
 */
#include <string.h>
#include "bind/room.h"
#include "ir/check.h"

enum { MOST_CLASSES = 32 }; /* above an object */

const char *bind_kind(lua_State *L, int arg)
{
    if (lua_isnone(L, arg)) return "nothing";
    const char *word = bind_class_word(L, arg);
    if (word) return word;
    if (luaL_getmetafield(L, arg, "__name") != LUA_TSTRING) {
        const char *name = lua_typename(L, lua_type(L, arg));
        return name[0] == 'n' && name[1] == 'i' ? name : lua_pushfstring(L, "a %s", name);
    }
    return lua_pushfstring(L, "a %s", lua_tostring(L, -1));
}

/* The likeliest slip is a dot where a colon belongs, so the message shows the call as it
 * should be. */
void *bind_check_self(lua_State *L, const char *class)
{
    lua_Debug ar;
    void *self = luaL_testudata(L, 1, class);
    if (self) return self;
    const char *kind = strchr(class, '.') + 1, *got = bind_kind(L, 1);
    const char *name = lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) ? ar.name : NULL;
    if (!name || !*name) name = "method"; /* called by C, such as pcall */
    const char *hint = lua_pushfstring(L, "%s:%s(…), with a colon", kind, name);
    bind_raise(L, SGL_EARG, hint, "%s: a method of a %s, called on %s", name, kind, got);
    return NULL;
}

/* Is `class` the metatable of the object at `at`, or a table that its fields come from? */
static bool is_a(lua_State *L, int at, int class)
{
    bool found = false;
    luaL_checkstack(L, 4, "classes");
    lua_pushvalue(L, at);
    for (int depth = 0; !found && depth < MOST_CLASSES && lua_getmetatable(L, -1); depth++) {
        lua_pushliteral(L, "__index");
        lua_rawget(L, -2);
        found = lua_rawequal(L, -1, class) || lua_rawequal(L, -2, class);
        if (!lua_istable(L, -1)) break;
        lua_replace(L, -3);
        lua_pop(L, 1);
    }
    return found;
}

/* core.is_a(object, class) -> boolean */
static int object_is_a(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    lua_pushboolean(L, lua_type(L, 1) != LUA_TSTRING && is_a(L, 1, 2));
    return 1;
}

void bind_set_text(lua_State *L, const char *key, const char *value)
{
    if (!value) return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

const luaL_Reg BIND_ARGS[] = {{"is_a", object_is_a}, {NULL, NULL}};

/* Lists no more names than can be read at a glance. */
enum { MOST_LISTED = 16 };

int bind_unknown(lua_State *L, const char *what, const char *all, const char *name,
                 const char *const *known, int n)
{
    const char *near = base_str_nearest(name, known, n), *hint = NULL;
    luaL_checkstack(L, LUA_MINSTACK, "a message");
    if (near) near = lua_pushfstring(L, " (did you mean '%s'?)", near);
    for (int i = 0; i < n && n <= MOST_LISTED; i++)
        hint = hint ? lua_pushfstring(L, "%s, %s", hint, known[i])
                    : lua_pushfstring(L, "%s: %s", all, known[i]);
    return bind_raise(L, SGL_EARG, hint, "unknown %s '%s'%s", what, name, near ? near : "");
}

Dtype bind_check_dtype(lua_State *L, int arg, int otherwise)
{
    if (otherwise >= 0 && lua_isnoneornil(L, arg)) return (Dtype)otherwise;
    if (lua_type(L, arg) != LUA_TSTRING)
        return bind_raise(L, SGL_EARG, NULL, "a dtype must be a string, got %s", bind_kind(L, arg));
    int t = ir_dtype_find(lua_tostring(L, arg));
    if (t >= 0) return (Dtype)t;
    const char *names[DT_COUNT];
    for (int i = 0; i < DT_COUNT; i++) names[i] = DTYPES[i].name;
    return bind_unknown(L, "dtype", "dtypes", lua_tostring(L, arg), names, DT_COUNT);
}

Op bind_check_op(lua_State *L, int arg)
{
    const char *name = luaL_checkstring(L, arg), *names[OP_COUNT];
    int op = ir_op_find(name);
    if (op >= 0) return (Op)op;
    for (int i = 0; i < OP_COUNT; i++) names[i] = OPS[i].name;
    return bind_unknown(L, "op", "ops", name, names, OP_COUNT);
}

int bind_check_list(lua_State *L, int arg, const char *what)
{
    if (lua_type(L, arg) == LUA_TTABLE) {
        arg = lua_absindex(L, arg);
        bind_push_fields(L, arg);
        lua_replace(L, arg);
        return (int)lua_rawlen(L, arg);
    }
    return bind_raise(L, SGL_EARG, NULL, "%s must be a list, got %s", what, bind_kind(L, arg));
}

/* Axes count from 1, or from -1 at the end; the message shows the shape that the axis is not of. */
int bind_check_axis(lua_State *L, const char *what, lua_Integer axis, const Shape *of)
{
    if (axis < 0 && axis >= -of->rank) return (int)axis + of->rank;
    if (axis >= 1 && axis <= of->rank) return (int)axis - 1;
    bind_push_type(L, of);
    const char *type = lua_tostring(L, -1);
    if (!of->rank)
        return bind_raise(L, SGL_EARG, NULL, "%s: axis %I is out of range: %s has no axes", what,
                          axis, type);
    return bind_raise(L, SGL_EARG, NULL,
                      "%s: axis %I is out of range for %s (axes are 1 to %d, or -%d to -1)", what,
                      axis, type, of->rank, of->rank);
}

/* Breaks come here from a hook, where no function of the engine runs. */
void bind_push_type(lua_State *L, const Shape *s)
{
    luaL_Buffer b;
    Ctx *cx = bind_open(L)->cx;
    lua_pop(L, 1);
    luaL_buffinit(L, &b);
    luaL_addstring(&b, DTYPES[s->dtype].name);
    luaL_addchar(&b, '[');
    for (int i = 0; i < s->rank; i++) {
        if (i) luaL_addstring(&b, ", ");
        if (ir_dim_is_const(s->dims[i])) lua_pushinteger(L, s->dims[i]);
        else lua_pushstring(L, ir_dim_name(cx, s->dims[i]).at);
        luaL_addvalue(&b);
    }
    luaL_addchar(&b, ']');
    luaL_pushresult(&b);
}
