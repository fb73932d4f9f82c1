/* purity.c: the list of C functions of Lua's own libraries, and what each does.
 *
 * The functions are found when the library is opened, and known by their address.
 * Holds: what is not in the list counts as impure.
 */
#include <string.h>
#include "watch/room.h"

typedef struct Known {
    const char *full;
    Purity purity;
} Known;

static const Known LIST[] = {
    {"assert", C_VALUE},
    {"collectgarbage", C_COLLECT},
    {"error", C_PURE},
    {"getmetatable", C_READ_META},
    {"ipairs", C_PURE},
    {"load", C_PURE},
    {"next", C_NEXT},
    {"pairs", C_PAIRS},
    {"pcall", C_PROTECT},
    {"rawequal", C_PURE},
    {"rawget", C_READ_AT},
    {"rawlen", C_LENGTH},
    {"rawset", C_WRITE},
    {"require", C_REQUIRE},
    {"select", C_PURE},
    {"setmetatable", C_WRITE},
    {"tonumber", C_VALUE},
    {"tostring", C_TEXT},
    {"type", C_PURE},
    {"xpcall", C_PROTECT},
    {"print", C_UNKNOWN},
    {"dofile", C_UNKNOWN},
    {"loadfile", C_UNKNOWN},
    {"warn", C_UNKNOWN},
    {"coroutine.create", C_PURE},
    {"coroutine.isyieldable", C_THREAD},
    {"coroutine.resume", C_RESUME},
    {"coroutine.running", C_THREAD},
    {"coroutine.status", C_STATUS},
    {"coroutine.wrap", C_PURE},
    {"coroutine.yield", C_THREAD},
    {"coroutine.close", C_RESUME},
    {"debug.getinfo", C_LEVELS},
    {"debug.traceback", C_LEVELS},
    {"debug.sethook", C_HOOK},
    {"debug.getlocal", C_UNKNOWN},
    {"debug.getmetatable", C_READ_META},
    {"math.abs", C_PURE},
    {"math.acos", C_PURE},
    {"math.asin", C_PURE},
    {"math.atan", C_PURE},
    {"math.ceil", C_PURE},
    {"math.cos", C_PURE},
    {"math.deg", C_PURE},
    {"math.exp", C_PURE},
    {"math.floor", C_PURE},
    {"math.fmod", C_PURE},
    {"math.log", C_PURE},
    {"math.max", C_PURE},
    {"math.min", C_PURE},
    {"math.modf", C_PURE},
    {"math.rad", C_PURE},
    {"math.sin", C_PURE},
    {"math.sqrt", C_PURE},
    {"math.tan", C_PURE},
    {"math.tointeger", C_VALUE},
    {"math.type", C_VALUE},
    {"math.ult", C_PURE},
    {"math.random", C_UNKNOWN},
    {"math.randomseed", C_UNKNOWN},
    {"os.time", C_UNKNOWN},
    {"os.clock", C_UNKNOWN},
    {"os.date", C_UNKNOWN},
    {"os.getenv", C_UNKNOWN},
    {"os.difftime", C_PURE},
    {"os.remove", C_UNKNOWN},
    {"os.rename", C_UNKNOWN},
    {"os.execute", C_UNKNOWN},
    {"os.exit", C_UNKNOWN},
    {"os.tmpname", C_UNKNOWN},
    {"io.open", C_UNKNOWN},
    {"io.read", C_UNKNOWN},
    {"io.write", C_UNKNOWN},
    {"io.lines", C_UNKNOWN},
    {"io.popen", C_UNKNOWN},
    {"io.close", C_UNKNOWN},
    {"io.input", C_UNKNOWN},
    {"io.output", C_UNKNOWN},
    {"io.tmpfile", C_UNKNOWN},
    {"io.type", C_UNKNOWN},
    {"string.byte", C_PURE},
    {"string.char", C_PURE},
    {"string.dump", C_PURE},
    {"string.find", C_PURE},
    {"string.format", C_FORMAT},
    {"string.gmatch", C_PURE},
    {"string.gsub", C_GSUB},
    {"string.len", C_PURE},
    {"string.lower", C_PURE},
    {"string.match", C_PURE},
    {"string.pack", C_PURE},
    {"string.packsize", C_PURE},
    {"string.rep", C_PURE},
    {"string.reverse", C_PURE},
    {"string.sub", C_PURE},
    {"string.unpack", C_PURE},
    {"string.upper", C_PURE},
    {"table.concat", C_READ},
    {"table.insert", C_CHANGE},
    {"table.move", C_MOVE},
    {"table.pack", C_PURE},
    {"table.remove", C_CHANGE},
    {"table.sort", C_SORT},
    {"table.unpack", C_READ},
    {"utf8.char", C_PURE},
    {"utf8.codepoint", C_PURE},
    {"utf8.codes", C_PURE},
    {"utf8.len", C_PURE},
    {"utf8.offset", C_PURE},
};
enum { LISTED = sizeof LIST / sizeof *LIST };

/* Functions without a name of their own: what these expressions give. */
static const struct {
    const char *code;
    Purity purity;
} HIDDEN[] = {
    {"return (ipairs {})", C_ITEM},
    {"return (string.gmatch('a', 'a'))", C_ADVANCE},
    {"return (utf8.codes '')", C_PURE},
    {"return (utf8.codes('', true))", C_PURE},
    {"return (coroutine.wrap(print))", C_RESUME},
    {"return getmetatable('').__add", C_PURE},
    {"return getmetatable('').__sub", C_PURE},
    {"return getmetatable('').__mul", C_PURE},
    {"return getmetatable('').__div", C_PURE},
    {"return getmetatable('').__mod", C_PURE},
    {"return getmetatable('').__pow", C_PURE},
    {"return getmetatable('').__idiv", C_PURE},
    {"return getmetatable('').__unm", C_PURE},
};
enum { HIDDEN_COUNT = sizeof HIDDEN / sizeof *HIDDEN };

/* Functions of the engine that read or change more than tensors; without a name, less: of their
 * arguments nothing that the step depends on. */
static const struct {
    const char *name, *shown;
} OWN[] = {
    {"knob", "sgl.config"},
    {"knobs", "sgl.config"},
    {"memory", "sgl.memory"},
    {"clock", "the clock"},
    {"read", "a file reader"},
    {"write", "a file writer"},
    {"csv_open", "a file reader"},
    {"load", "a file reader"},
    {"save", "a file writer"},
    {"history", "sgl.events"},
    {"cache_stats", "sgl.cache.stats"},
    {"cache_clear", "sgl.cache.clear"},
    {"is_a", NULL},
    {"stand_in", NULL},
    {"given", NULL},
};
enum { OWN_COUNT = sizeof OWN / sizeof *OWN };

/* Takes the function on the top of the stack. Several wrong entries would hide each other: the
 * first one stays. */
static void note(lua_State *L, Host *h, uint64_t place)
{
    lua_CFunction f = lua_tocfunction(L, -1);
    uint64_t seen;
    lua_pop(L, 1);
    if (!f || base_map_get(&room_of(h)->purity, (uintptr_t)f, &seen)) return;
    if (!base_map_set(&room_of(h)->purity, (uintptr_t)f, place))
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for the list of functions");
}

/* By the tables of loaded libraries, before user code can have put other functions there. */
void watch_purity_open(lua_State *L, Host *h)
{
    int top = lua_gettop(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    for (int i = 0; i < LISTED; i++) {
        const char *full = LIST[i].full, *dot = strchr(full, '.');
        lua_pushlstring(L, dot ? full : "_G", dot ? (size_t)(dot - full) : 2);
        if (lua_rawget(L, top + 1) == LUA_TTABLE) {
            lua_getfield(L, -1, dot ? dot + 1 : full);
            note(L, h, (uint64_t)i);
        }
        lua_settop(L, top + 1);
    }
    for (int i = 0; i < HIDDEN_COUNT; i++) {
        if (luaL_dostring(L, HIDDEN[i].code) == LUA_OK) note(L, h, (uint64_t)(LISTED + i));
        lua_settop(L, top + 1);
    }
    lua_settop(L, top);
}

void watch_know_own(lua_State *L, Host *h)
{
    for (int i = 0; i < OWN_COUNT; i++) {
        lua_getfield(L, -1, OWN[i].name);
        note(L, h, (uint64_t)(LISTED + HIDDEN_COUNT + i));
    }
}

/* The three lists one behind the other are known by place. */
Purity watch_purity_of(const Host *h, lua_CFunction f, const char **name)
{
    uint64_t i;
    *name = NULL;
    if (!base_map_get(&room_of(h)->purity, (uintptr_t)f, &i)) return C_UNKNOWN;
    if (i >= LISTED + HIDDEN_COUNT) {
        *name = OWN[i - LISTED - HIDDEN_COUNT].shown;
        return *name ? C_UNKNOWN : C_PURE;
    }
    if (i >= LISTED) return HIDDEN[i - LISTED].purity;
    *name = LIST[i].full;
    return LIST[i].purity;
}
