/* hook_call.c: calls of C functions, whoever makes them, and returns to what takes booleans.
 *
 * In the call event of a C function, argument n stands at stack index n.
 */
#include <string.h>
#include "watch/room.h"

/* The innermost Lua frame, which made the call; NULL: none that was seen. */
static Frame *caller(lua_State *L, Watch *w)
{
    lua_Debug up;
    uint64_t i;
    for (int level = 1; lua_getstack(L, level, &up); level++)
        if (base_map_get(&w->frame_of, (uintptr_t)up.i_ci, &i)) {
            lua_getinfo(L, "S", &up);
            if (*up.what != 'C') return &w->frames.at[i];
        }
    return NULL;
}

/* Is the function at index f one of the engine's own? They hold the host. */
static bool is_own(lua_State *L, const Watch *w, int f)
{
    if (!lua_getupvalue(L, f, 1)) return false;
    bool own = lua_touserdata(L, -1) == (const void *)w->host;
    lua_pop(L, 1);
    return own;
}

/* What the engine reads of tables it is given, it reads without instructions. */
static void read_arguments(lua_State *L, Watch *w, const Frame *f, int n)
{
    for (int i = 1; i <= n; i++)
        if (lua_type(L, i) == LUA_TTABLE) watch_all(L, w, f, i);
}

/* "math.random": by the list, else by how the call names it. */
static const char *name_of(lua_State *L, lua_Debug *ar, const char *listed)
{
    if (listed) return listed;
    lua_getinfo(L, "n", ar);
    return ar->name ? ar->name : "a C function";
}

int watch_hook_refuse(lua_State *L, lua_Debug *ar, const Watch *w, Break reason, const char *name)
{
    return tensor_break(L, w->host, reason, NULL, "a call of %s", name_of(L, ar, name));
}

/* A tensor of the step, inputs included: it has no value yet. */
static bool is_symbolic(lua_State *L, const Watch *w, int at)
{
    const Tensor *t = tensor_at(L, w->host, at);
    return t && tensor_recorder_holds(tensor_recorder(w->host), t);
}

static void check_value(lua_State *L, lua_Debug *ar, const Watch *w, const char *name)
{
    const Tensor *t = tensor_at(L, w->host, 1);
    if (!t || (!strcmp(name, "assert") && !watch_boolean(L, w, 1))) return;
    tensor_break(L, w->host, BREAK_VALUE, t, "%s on a tensor", name_of(L, ar, name));
}

/* Functions of Lua that need a number at argument `from` or later, `last` being the last place; -1:
 * any. ORDER: they go by comparisons alone, which sizes and numbers have; KIND: by what kind of a
 * number it is. The rest of a room comes last. */
typedef enum Need { VALUE, ORDER, KIND } Need;
static const struct {
    const char *name;
    int from, last;
    Need need;
} NUMBERS[] = {
    {"math.max", 1, -1, ORDER},   {"math.min", 1, -1, ORDER},    {"math.type", 1, 1, KIND},
    {"math.", 1, -1, VALUE},      {"string.", 1, -1, VALUE},     {"utf8.", 1, -1, VALUE},
    {"type", 1, 1, KIND},         {"tonumber", 1, 2, VALUE},     {"rawequal", 1, 2, VALUE},
    {"select", 1, 1, VALUE},      {"rawget", 2, 2, VALUE},       {"rawset", 2, 2, VALUE},
    {"next", 2, 2, VALUE},        {"table.concat", 3, 4, VALUE}, {"table.unpack", 2, 3, VALUE},
    {"table.move", 2, 4, VALUE},  {"table.remove", 2, 2, VALUE}, {"table.insert", 2, 2, VALUE},
    {"getmetatable", 1, 1, KIND},
};

/* A size, or a number among the arguments, or computed of such, at index i: a number becomes its
 * value in this call, to which the step is held where that is needed. */
static void settle(lua_State *L, lua_Debug *ar, const Watch *w, const char *name, int i, Need need)
{
    if (need != ORDER && tensor_dim_at(L, i) != DIM_FAIL)
        tensor_break(L, w->host, BREAK_SIZE, NULL, "%s of a symbolic size", name_of(L, ar, name));
    const Tensor *t = tensor_number_at(L, w->host, i);
    if (!t || need == ORDER) return;
    if (need == KIND && !strncmp(name, "math", 4)) tensor_number_class(w->host, t);
    if (need == KIND && tensor_number_value(L, w->host, i)) lua_replace(L, i);
    else tensor_number_settle(L, w->host, i, name_of(L, ar, name));
}

/* The items of the list at 1. */
static void check_joined(lua_State *L, lua_Debug *ar, const Watch *w, const char *name)
{
    lua_Integer n = lua_istable(L, 1) ? (lua_Integer)lua_rawlen(L, 1) : 0;
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, 1, i);
        bool number = tensor_number_at(L, w->host, -1) != NULL;
        settle(L, ar, w, name, lua_gettop(L), VALUE);
        if (number) lua_rawseti(L, 1, i);
        else lua_pop(L, 1);
    }
}

/* A number of the step is shown by its value, as %s does too. */
static void format_value(lua_State *L, lua_Debug *ar, const Watch *w, const char *name, int i,
                         char how)
{
    if (how != 's' || tensor_dim_at(L, i) == DIM_FAIL) settle(L, ar, w, name, i, VALUE);
}

/* Sizes have a text of their own, for %s; numbers among the arguments have none. */
static void check_format(lua_State *L, lua_Debug *ar, const Watch *w, const char *name)
{
    const char *p = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
    for (int i = 2; i <= ar->ntransfer && (p = strchr(p, '%')) != NULL; p++) {
        p += 1 + strspn(p + 1, "-+ #0123456789.");
        if (*p != '%') format_value(L, ar, w, name, i++, *p);
        if (!*p) break;
    }
}

/* By the row of the function: which of its arguments would need a value that is not known. */
static void check_unknown(lua_State *L, lua_Debug *ar, const Watch *w, const char *name)
{
    size_t k = 0, count = sizeof NUMBERS / sizeof *NUMBERS;
    if (!name) return;
    if (!strcmp(name, "string.format")) {
        check_format(L, ar, w, name);
        return;
    }
    while (k < count && strncmp(NUMBERS[k].name, name, strlen(NUMBERS[k].name)) != 0) k++;
    if (k == count) return;
    int last =
        NUMBERS[k].last < 0 || NUMBERS[k].last > ar->ntransfer ? ar->ntransfer : NUMBERS[k].last;
    if (!strcmp(name, "table.insert") && ar->ntransfer < 3) return;
    for (int i = NUMBERS[k].from; i > 0 && i <= last; i++)
        settle(L, ar, w, name, i, NUMBERS[k].need);
    if (!strcmp(name, "table.concat")) check_joined(L, ar, w, name);
}

static bool is_new(const Watch *w, const lua_State *thread)
{
    return watch_fresh(w, (const char *)thread - LUA_EXTRASPACE);
}

static void check_resume(lua_State *L, lua_Debug *ar, Watch *w, int function, const char *name)
{
    lua_State *thread = lua_tothread(L, 1);
    if (!thread && lua_getupvalue(L, function, 1)) thread = lua_tothread(L, -1);
    if (!thread) return;
    Break reason = watch_change(w, (const char *)thread - LUA_EXTRASPACE);
    if (reason != BREAK_COUNT)
        watch_hook_refuse(L, ar, w, reason == BREAK_WRITE ? BREAK_RESUME : reason,
                          name ? name : "a wrapped coroutine");
    watch_hook_thread(L, w, thread);
}

/* The iterator of gmatch keeps its place. */
static void check_advance(lua_State *L, lua_Debug *ar, const Watch *w, int function)
{
    Break reason = watch_change(w, lua_topointer(L, function));
    if (reason != BREAK_COUNT)
        watch_hook_refuse(L, ar, w, reason == BREAK_WRITE ? BREAK_RESUME : reason,
                          "the iterator of string.gmatch");
}

/* Is what the call returns left alone? */
static bool is_statement(lua_State *L)
{
    lua_Debug up;
    if (!lua_getstack(L, 1, &up)) return false;
    lua_getinfo(L, "S", &up);
    if (*up.what == 'C') return false;
    Instruction i = watch_hook_instruction(&up);
    return vm_op(i) == VM_CALL && vm_c(i) == 1;
}

/* A collection is none of the step, nor are the finalizers that it calls: until it returns, what is
 * recorded goes where it goes outside. Its result says what differs from run to run. */
static void check_collect(lua_State *L, lua_Debug *ar, Watch *w, const char *name)
{
    const char *how = luaL_optstring(L, ar->ntransfer ? 1 : lua_gettop(L) + 1, "collect");
    bool collects = !strcmp(how, "collect") || !strcmp(how, "step");
    if (!collects || !is_statement(L)) watch_hook_refuse(L, ar, w, BREAK_CALL, name);
    w->set_aside = tensor_recorder(w->host);
    tensor_recorder_on(w->host, NULL);
}

/* debug.getinfo and traceback see who called the step, which differs from call to call: a level
 * inside is what it is for good, and so is a function. */
static void check_levels(lua_State *L, lua_Debug *ar, const Watch *w, const char *name)
{
    lua_Debug at;
    bool whole = name && strcmp(name, "debug.getinfo") != 0;
    if (!whole && lua_type(L, 1) == LUA_TFUNCTION) return;
    bool inside = !whole && lua_isinteger(L, 1) && lua_tointeger(L, 1) >= 0 &&
                  lua_getstack(L, (int)lua_tointeger(L, 1), &at) && watch_is_inside(w, &at);
    if (!inside) watch_hook_refuse(L, ar, w, BREAK_CALL, name);
}

/* A module that is loaded already is what `require` reads of a table. */
static bool read_loaded(lua_State *L, Watch *w, const Frame *f)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    int loaded = lua_gettop(L);
    if (lua_type(L, 1) != LUA_TSTRING) return false;
    lua_pushvalue(L, 1);
    watch_read(L, w, f, loaded);
    return lua_getfield(L, loaded, lua_tostring(L, 1)) != LUA_TNIL;
}

/* What stands for an argument is another object than the argument. */
static void check_identity(lua_State *L, const Watch *w, const char *name)
{
    const Tensor *t = tensor_at(L, w->host, 1);
    if (!name) return;
    if (!strcmp(name, "rawequal") && watch_stand_in(L, w, 1, 2))
        tensor_break(L, w->host, BREAK_EQ, t, "rawequal of an argument and something from outside");
}

/* Calls by user code that the library does not vouch for. */
static void check_user_call(lua_State *L, lua_Debug *ar, Watch *w, const Frame *f, Purity purity,
                            const char *name)
{
    int function = lua_gettop(L);
    switch (purity) {
    case C_UNKNOWN:
        for (int i = 1; i <= ar->ntransfer; i++)
            if (is_symbolic(L, w, i))
                tensor_break(L, w->host, BREAK_READ, tensor_at(L, w->host, i), "%s of a tensor",
                             name_of(L, ar, name));
        watch_hook_refuse(L, ar, w, BREAK_CALL, name);
        return;
    case C_VALUE:
        check_value(L, ar, w, name);
        return;
    case C_RESUME:
        check_resume(L, ar, w, function, name);
        return;
    case C_STATUS:
        if (lua_isthread(L, 1) && !is_new(w, lua_tothread(L, 1)))
            watch_hook_refuse(L, ar, w, BREAK_CALL, name);
        return;
    case C_THREAD:
        if (!is_new(w, L)) watch_hook_refuse(L, ar, w, BREAK_CALL, name);
        return;
    case C_ADVANCE:
        check_advance(L, ar, w, function);
        return;
    case C_COLLECT:
        check_collect(L, ar, w, name);
        return;
    case C_LEVELS:
        check_levels(L, ar, w, name);
        return;
    case C_REQUIRE:
        if (!read_loaded(L, w, f)) watch_hook_refuse(L, ar, w, BREAK_CALL, name);
        return;
    case C_HOOK:
        watch_hook_refuse(L, ar, w, BREAK_HOOK, name);
        return;
    default:
        return;
    }
}

/* Of the engine's own functions those with a name in the list break, and the tables that others
 * are given are read. Of Lua's functions the arguments are looked at, then what the list says of
 * them. */
void watch_hook_call(lua_State *L, lua_Debug *ar, Watch *w)
{
    int function = lua_gettop(L);
    const char *name;
    Frame *f = caller(L, w);
    lua_getinfo(L, "r", ar);
    Purity purity = watch_purity_of(w->host, lua_tocfunction(L, function), &name);
    watch_sure(w, ar, false, name && (!strcmp(name, "error") || !strcmp(name, "assert")));
    if (is_own(L, w, function)) {
        if (name) watch_hook_refuse(L, ar, w, BREAK_CALL, name);
        if (purity != C_PURE) read_arguments(L, w, f, ar->ntransfer);
        return;
    }
    if (f && !f->library) {
        check_identity(L, w, name);
        check_unknown(L, ar, w, name);
        check_user_call(L, ar, w, f, purity, name);
        if ((purity == C_READ_AT || !strcmp(name ? name : "", "rawset")) && watch_computed(L, w, 2))
            tensor_break(L, w->host, BREAK_KEY, tensor_at(L, w->host, 2),
                         "a tensor as the key of a table");
    }
    watch_hook_tables(L, ar, w, f, purity, name);
}

/* A tensor handed to table.sort, or to an order or equality instruction that called a user's
 * metamethod, would be taken for true. */
void watch_hook_return(lua_State *L, lua_Debug *ar, Watch *w)
{
    const char *name;
    lua_Debug up;
    if (w->set_aside) {
        tensor_recorder_on(w->host, w->set_aside);
        w->set_aside = NULL;
    }
    lua_getinfo(L, "r", ar);
    if (!ar->ntransfer || !lua_getlocal(L, ar, ar->ftransfer)) return;
    if (!lua_toboolean(L, -1)) watch_hook_caught(L, ar, w);
    const Tensor *t = tensor_at(L, w->host, -1);
    if (t && lua_getstack(L, 1, &up)) {
        lua_getinfo(L, "f", &up);
        lua_CFunction c = lua_tocfunction(L, -1);
        int op = c || lua_isnil(L, -1) ? 0 : vm_op(watch_hook_instruction(&up));
        if (c ? watch_purity_of(w->host, c, &name) == C_SORT : op >= VM_EQ && op <= VM_GEI)
            tensor_break(L, w->host, BREAK_ORDER, t,
                         c ? "a comparison in table.sort" : "a comparison");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}
