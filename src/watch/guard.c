/* guard.c: guards: recorded once, checked before each run, explained when one fails.
 *
 * Holds: a value is compared as its type and 64 bits, strings by address first. The anchor, the
 *        userdata's value, is a list of all objects; a slot of it is known by the address. What was
 *        reached through a table with weak keys or values is in a list of its own, whose values are
 *        weak, under slots below 0: a guard keeps nothing alive that the script does not, and one
 *        on what is gone fails.
 *        Guards are sorted by container, so each container is fetched once. Conditions come last,
 *        in numbers too.
 */
#include <stdlib.h>
#include <string.h>
#include "watch/room.h"

typedef struct Value {
    int type;
    uint64_t bits;
} Value;

/* A guarded place. */
typedef struct Guarded {
    uint8_t kind;
    bool slow;          /* a field of an object with a version */
    int container, key; /* slots of the anchor; the key of an upvalue is its number */
    int value_slot;
    Value value;
} Guarded;

struct Guards {
    Host *host;
    Map slot_of; /* address of a container: slot; dropped when done */
    Map weak;    /* addresses of what was reached through weak tables; dropped when done */
    Map known;   /* hash of a place: guard + 1; dropped when done */
    VEC(Guarded) fast, slow;
    VEC(Condition *) conditions;
    int slots, weak_slots;
    uint64_t version; /* of all objects when the slow ones were last found to hold */
    uint64_t rules;   /* the host's when the capture began */
    bool done;
    bool wrote; /* the capture wrote to what was there before */
};

static const char CLASS[] = "sgl.guards";

/* The conditions are owned; the anchor goes with the userdata. */
static int guards_gc(lua_State *L)
{
    Guards *g = lua_touserdata(L, 1);
    base_map_free(&g->slot_of);
    base_map_free(&g->known);
    base_map_free(&g->weak);
    vec_free(&g->fast);
    vec_free(&g->slow);
    for (int i = 0; i < g->conditions.n; i++) g->conditions.at[i]->ops->free(g->conditions.at[i]);
    vec_free(&g->conditions);
    lua_pushnil(L); /* the anchor, if the capture failed before it was on */
    lua_rawsetp(L, LUA_REGISTRYINDEX, g);
    return 0;
}

void watch_guards_check(lua_State *L, int at) { luaL_checkudata(L, at, CLASS); }

static const luaL_Reg GUARDS_META[] = {{"__gc", guards_gc}, {NULL, NULL}};

/* Types and bits of the value at i: of objects the address, which is theirs while they are
 * anchored. */
static Value value_at(lua_State *L, int i)
{
    Value v = {lua_type(L, i), 0};
    if (v.type == LUA_TBOOLEAN) v.bits = (uint64_t)lua_toboolean(L, i);
    else if (lua_isinteger(L, i)) v.bits = (uint64_t)lua_tointeger(L, i);
    else if (v.type == LUA_TNUMBER) {
        lua_Number n = lua_tonumber(L, i);
        v.type = LUA_NUMTYPES; /* apart from integers: 1 and 1.0 print differently */
        memcpy(&v.bits, &n, sizeof n);
    } else if (v.type != LUA_TNIL) v.bits = (uintptr_t)lua_topointer(L, i);
    return v;
}

static void no_memory(lua_State *L)
{
    bind_raise(L, SGL_ENOMEM, NULL, "out of memory for the guards of a step");
}

static const char WEAK; /* where the anchor has the list of what is weak */

/* Pushes that list, which is made when it is first asked for. */
static void push_weak(lua_State *L, int anchor)
{
    if (lua_rawgetp(L, anchor, &WEAK) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, anchor, &WEAK);
}

/* Pops a value into a new slot of the anchor list at `anchor`, or of what is weak there. */
static int slot_new(lua_State *L, Guards *g, int anchor, bool weak)
{
    if (!weak) {
        lua_rawseti(L, anchor, ++g->slots);
        return g->slots;
    }
    push_weak(L, anchor);
    lua_insert(L, -2);
    lua_rawseti(L, -2, ++g->weak_slots);
    lua_pop(L, 1);
    return -g->weak_slots;
}

/* Pushes what is in a slot: nil, where that was weak, and is gone. */
static inline int push_slot(lua_State *L, int anchor, int slot)
{
    if (slot >= 0) return lua_rawgeti(L, anchor, slot);
    push_weak(L, anchor);
    int type = lua_rawgeti(L, -1, -slot);
    lua_replace(L, -2);
    return type;
}

static bool is_collected(int type)
{
    return type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA ||
           type == LUA_TTHREAD;
}

static bool is_weak(lua_State *L, const Guards *g, int at)
{
    uint64_t one;
    return is_collected(lua_type(L, at)) &&
           base_map_get(&g->weak, (uintptr_t)lua_topointer(L, at), &one);
}

/* Has the table weak keys or values, or was it reached through one that has? What is found in it
 * then belongs to nobody here. */
static bool leads_weakly(lua_State *L, const Guards *g, int at)
{
    bool weak = is_weak(L, g, at);
    if (weak || lua_type(L, at) != LUA_TTABLE || !lua_getmetatable(L, at)) return weak;
    lua_pushliteral(L, "__mode");
    weak = lua_rawget(L, -2) == LUA_TSTRING;
    lua_pop(L, 2);
    return weak;
}

/* An object that a weak place leads to is weak, unless another led to it before. */
static void mark_weak(lua_State *L, Guards *g, int at)
{
    uint64_t key = (uintptr_t)lua_topointer(L, at), slot;
    if (!is_collected(lua_type(L, at)) || base_map_get(&g->slot_of, key, &slot)) return;
    if (!base_map_set(&g->weak, key, 1)) no_memory(L);
}

static int container_slot(lua_State *L, Guards *g, int anchor, int at)
{
    uint64_t slot, key = (uintptr_t)lua_topointer(L, at);
    if (base_map_get(&g->slot_of, key, &slot)) return (int)(int64_t)slot;
    bool weak = is_weak(L, g, at);
    lua_pushvalue(L, at);
    slot = (uint64_t)(int64_t)slot_new(L, g, anchor, weak);
    if (!base_map_set(&g->slot_of, key, slot)) no_memory(L);
    return (int)(int64_t)slot;
}

typedef struct Place {
    uint64_t kind, id, type, bits;
} Place;

/* Is the place new? Two independent hashes stand for it, 128 bits together. */
static bool place_new(lua_State *L, Guards *g, GuardKind kind, const void *id, Value key)
{
    Place p = {(uint64_t)kind, (uintptr_t)id, (uint64_t)key.type, key.bits};
    uint64_t one = base_hash(1, &p, sizeof p), two = base_hash(2, &p, sizeof p) | 1, seen;
    while (base_map_get(&g->known, one, &seen)) {
        if (seen == two) return false;
        one++;
    }
    if (!base_map_set(&g->known, one, two)) no_memory(L);
    return true;
}

/* A place that is guarded already is not guarded again: the first value read is the one that
 * counts. */
void watch_guard_add(lua_State *L, Guards *g, GuardKind kind, int at, const void *id, bool slow)
{
    int value = lua_gettop(L), key = value - 1;
    at = lua_absindex(L, at);
    if (!place_new(L, g, kind, id ? id : lua_topointer(L, at), value_at(L, key))) {
        lua_settop(L, key - 1);
        return;
    }
    luaL_checkstack(L, LUA_MINSTACK, "guards");
    lua_rawgetp(L, LUA_REGISTRYINDEX, g);
    int anchor = lua_gettop(L);
    Guarded q = {.kind = (uint8_t)kind, .slow = slow, .value = value_at(L, value)};
    q.container = container_slot(L, g, anchor, at);
    if (kind != GUARD_META && leads_weakly(L, g, at)) {
        mark_weak(L, g, key);
        mark_weak(L, g, value);
    }
    lua_pushvalue(L, key);
    q.key = kind == GUARD_UPVALUE ? (int)lua_tointeger(L, key)
                                  : slot_new(L, g, anchor, is_weak(L, g, key));
    lua_settop(L, anchor);
    lua_pushvalue(L, value);
    q.value_slot = slot_new(L, g, anchor, is_weak(L, g, value));
    if (!(slow ? vec_push(&g->slow, q) : vec_push(&g->fast, q))) no_memory(L);
    lua_settop(L, key - 1);
}

void watch_guard_skip(lua_State *L, Guards *g, const void *container)
{
    place_new(L, g, GUARD_FIELD, container, value_at(L, -1));
    lua_pop(L, 1);
}

/* A hash of the keys in their order, which differs where one is another. */
static lua_Integer order_of_keys(lua_State *L, int t)
{
    uint64_t hash = 0;
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
        Value key = value_at(L, lua_gettop(L) - 1);
        uint64_t words[] = {(uint64_t)key.type, key.bits};
        hash = base_hash(hash + 1, words, sizeof words);
    }
    return (lua_Integer)hash;
}

static void push_values(lua_State *L, Host *h, int at)
{
    const Tensor *t = tensor_at(L, h, at);
    lua_pushinteger(L, t && t->life == TENSOR_ALIVE ? (lua_Integer)t->id : -1);
}

void watch_guard_order(lua_State *L, Guards *g, int at, bool slow)
{
    at = lua_absindex(L, at);
    lua_pushnil(L);
    lua_pushinteger(L, order_of_keys(L, at));
    watch_guard_add(L, g, GUARD_ORDER, at, NULL, slow);
}

void watch_guard_values(lua_State *L, Guards *g, int at)
{
    at = lua_absindex(L, at);
    lua_pushnil(L);
    push_values(L, g->host, at);
    watch_guard_add(L, g, GUARD_VALUES, at, NULL, false);
}

static int count(const Guards *g) { return g->fast.n + g->slow.n; }

bool watch_guards_condition(lua_State *L, Guards *g, Condition *c)
{
    if (!vec_push(&g->conditions, c)) return false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, g);
    lua_insert(L, -2);
    c->slot = slot_new(L, g, lua_absindex(L, -2), false);
    lua_pop(L, 1);
    return true;
}

Condition *watch_guards_condition_at(const Guards *g, int i)
{
    return i < g->conditions.n ? g->conditions.at[i] : NULL;
}

static int by_container(const void *a, const void *b)
{
    const Guarded *x = a, *y = b;
    if (x->container != y->container) return x->container < y->container ? -1 : 1;
    return x->value_slot < y->value_slot ? -1 : 1;
}

/* Its user value anchors containers, keys and values; until the capture is over the registry has
 * that list too. */
Guards *watch_guards_new(lua_State *L, Host *h)
{
    Guards *g = lua_newuserdatauv(L, sizeof *g, 1);
    *g = (Guards){.host = h, .rules = room_of(h)->rules};
    bind_class(L, CLASS, GUARDS_META, NULL, 0);
    lua_setmetatable(L, -2);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, g);
    lua_setiuservalue(L, -2, 1);
    return g;
}

/* core.guards_exact(guards) -> is one of them that a number among the arguments has one value? */
static int guards_exact(lua_State *L)
{
    const Guards *g = luaL_checkudata(L, 1, CLASS);
    bool exact = false;
    for (int i = 0; i < g->conditions.n; i++) exact = exact || g->conditions.at[i]->ops->exact;
    lua_pushboolean(L, exact);
    return 1;
}

/* ---- checking */

static lua_Integer count_keys(lua_State *L, int t)
{
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) n++;
    return n;
}

/* Pushes what is now at the guard's place; `container` holds the container. */
static void push_now(lua_State *L, Host *h, const Guarded *q, int anchor, int container)
{
    switch ((GuardKind)q->kind) {
    case GUARD_FIELD:
        push_slot(L, anchor, q->key);
        lua_rawget(L, container);
        return;
    case GUARD_UPVALUE:
        if (!lua_getupvalue(L, container, q->key)) lua_pushnil(L);
        return;
    case GUARD_LENGTH:
        lua_pushinteger(L, (lua_Integer)lua_rawlen(L, container));
        return;
    case GUARD_META:
        if (!lua_getmetatable(L, container)) lua_pushnil(L);
        return;
    case GUARD_KEYS:
        lua_pushinteger(L, count_keys(L, container));
        return;
    case GUARD_ORDER:
        lua_pushinteger(L, order_of_keys(L, container));
        return;
    case GUARD_VALUES:
        push_values(L, h, container);
    }
}

/* What is gone left its address to others. */
static bool is_there(lua_State *L, int anchor, int slot)
{
    bool there = push_slot(L, anchor, slot) != LUA_TNIL;
    lua_pop(L, 1);
    return there;
}

/* Is the value on the top the guard's? */
static bool is_same(lua_State *L, const Guarded *q, int anchor)
{
    Value v = value_at(L, -1);
    if (v.type == q->value.type && v.bits == q->value.bits)
        return q->value_slot >= 0 || is_there(L, anchor, q->value_slot);
    if (v.type != LUA_TSTRING || q->value.type != LUA_TSTRING) return false;
    lua_rawgeti(L, anchor, q->value_slot);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 1);
    return same;
}

/* Index of the first guard of a list that fails, or -1. Stack: anchor, container. */
static int first_failing(lua_State *L, Host *h, const Guarded *list, int n, int anchor)
{
    int container = anchor + 1, fetched = 0;
    for (int i = 0; i < n; i++) {
        const Guarded *q = &list[i];
        if (q->container != fetched) {
            bool there = push_slot(L, anchor, q->container) != LUA_TNIL;
            lua_replace(L, container);
            fetched = q->container;
            if (!there) return i;
        }
        if (q->key < 0 && !is_there(L, anchor, q->key)) return i;
        push_now(L, h, q, anchor, container);
        if (!is_same(L, q, anchor)) return i;
        lua_settop(L, container);
    }
    return -1;
}

/* Drops guards that fail already: of places that the step itself wrote to. The anchor is on the
 * top; pops it. */
static void drop_failing(lua_State *L, Guards *g)
{
    int top = lua_gettop(L) - 1, i;
    lua_pushnil(L);
    while ((i = first_failing(L, g->host, g->fast.at, g->fast.n, top + 1)) >= 0) {
        for (; i + 1 < g->fast.n; i++) g->fast.at[i] = g->fast.at[i + 1];
        g->fast.n--;
        lua_settop(L, top + 2);
    }
    while ((i = first_failing(L, g->host, g->slow.at, g->slow.n, top + 1)) >= 0) {
        for (; i + 1 < g->slow.n; i++) g->slow.at[i] = g->slow.at[i + 1];
        g->slow.n--;
        lua_settop(L, top + 2);
    }
    lua_settop(L, top);
}

void watch_guards_wrote(Guards *g) { g->wrote = true; }

/* Sorted by container, so that each is fetched once a check. */
void watch_guards_done(lua_State *L, Guards *g, bool settle)
{
    if (g->fast.n) qsort(g->fast.at, (size_t)g->fast.n, sizeof *g->fast.at, by_container);
    if (g->slow.n) qsort(g->slow.at, (size_t)g->slow.n, sizeof *g->slow.at, by_container);
    if (settle) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, g);
        drop_failing(L, g);
    }
    base_map_free(&g->slot_of);
    base_map_free(&g->known);
    base_map_free(&g->weak);
    g->done = true;
    g->version = g->host->version;
}

/* core.guards_done(guards) -> did it write? Of a capture that broke. */
static int guards_done(lua_State *L)
{
    Guards *g = luaL_checkudata(L, 1, CLASS);
    if (!g->done) watch_guards_done(L, g, false);
    lua_pushboolean(L, g->wrote);
    return 1;
}

/* core.guards_settle(guards): of a step that runs as Lua. What it changes itself says nothing of
 * whether it would break again. */
static int guards_settle(lua_State *L)
{
    Guards *g = luaL_checkudata(L, 1, CLASS);
    lua_getiuservalue(L, 1, 1);
    drop_failing(L, g);
    return 0;
}

/* Index of the first condition that fails for a call with the arguments in a list, or -1. */
static int failing_condition(lua_State *L, const Guards *g, int args)
{
    for (int i = 0; i < g->conditions.n; i++)
        if (!g->conditions.at[i]->ops->holds(L, g->host, g->conditions.at[i], args)) return i;
    return -1;
}

/* The version counts writes to all objects that have their fields behind; while it stands still,
 * none changed. */
int watch_guards_failing(lua_State *L, int guards, int args)
{
    Guards *g = lua_touserdata(L, guards);
    int top = lua_gettop(L);
    lua_getiuservalue(L, guards, 1);
    lua_pushnil(L);
    int failing = first_failing(L, g->host, g->fast.at, g->fast.n, top + 1);
    if (failing < 0 && g->version != g->host->version) {
        failing = first_failing(L, g->host, g->slow.at, g->slow.n, top + 1);
        if (failing < 0) g->version = g->host->version;
        else failing += g->fast.n;
    }
    if (failing < 0) {
        failing = failing_condition(L, g, args);
        if (failing < 0 && g->rules != room_of(g->host)->rules) failing = g->conditions.n;
        if (failing >= 0) failing += count(g);
    }
    lua_settop(L, top);
    return failing + 1;
}

/* core.guards_check(guards, arguments) -> nil, or the number of the first guard that fails. */
static int guards_check(lua_State *L)
{
    luaL_checkudata(L, 1, CLASS);
    lua_settop(L, 2);
    int failing = watch_guards_failing(L, 1, 2);
    if (failing) lua_pushinteger(L, failing);
    return failing ? 1 : 0;
}

/* ---- explaining */

static const Guarded *guard_at(const Guards *g, int i)
{
    return i < g->fast.n ? &g->fast.at[i] : &g->slow.at[i - g->fast.n];
}

static const char *const KIND_NAMES[] = {"field", "upvalue", "length", "metatable",
                                         "keys",  "order",   "values"};

/* Puts the conditions behind the guards in the list at 3; the anchor is at 2. */
static void list_conditions(lua_State *L, const Guards *g)
{
    for (int i = 0, n = count(g); i < g->conditions.n; i++) {
        const Condition *c = g->conditions.at[i];
        lua_rawgeti(L, 2, c->slot);
        lua_newtable(L);
        c->ops->put(L, g->host, c, lua_gettop(L) - 1);
        lua_rawseti(L, 3, n + i + 1);
        lua_pop(L, 1);
    }
}

/* Pushes a guard as a table of its list; the anchor is at 2, the list at 3. */
static void push_guard(lua_State *L, const Guarded *q)
{
    lua_createtable(L, 0, 5);
    lua_pushstring(L, KIND_NAMES[q->kind]);
    lua_setfield(L, 4, "kind");
    push_slot(L, 2, q->container);
    if (q->kind == GUARD_UPVALUE) {
        const char *name = lua_getupvalue(L, 5, q->key);
        lua_settop(L, 5);
        lua_pushstring(L, name ? name : "?");
        lua_setfield(L, 4, "name");
        lua_pushinteger(L, q->key);
    } else {
        push_slot(L, 2, q->key);
    }
    lua_setfield(L, 4, "key");
    lua_setfield(L, 4, "container");
    push_slot(L, 2, q->value_slot);
    lua_setfield(L, 4, "value");
}

/* core.guards_list(guards) -> list of { kind, container, key, name, value }; name is that of an
 * upvalue. A condition is { kind, ... } as it says itself. The last is of the kind "rules" and has
 * nothing else. */
static int guards_list(lua_State *L)
{
    const Guards *g = luaL_checkudata(L, 1, CLASS);
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 1);
    lua_createtable(L, count(g), 0);
    for (int i = 0; i < count(g); i++) {
        push_guard(L, guard_at(g, i));
        lua_rawseti(L, 3, i + 1);
    }
    list_conditions(L, g);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "rules");
    lua_setfield(L, 4, "kind");
    lua_rawseti(L, 3, count(g) + g->conditions.n + 1);
    return 1;
}

/* core.guards_objects(guards) -> of that list the guards whose value is a table or a tensor: what
 * leads from place to place */
static int guards_objects(lua_State *L)
{
    const Guards *g = luaL_checkudata(L, 1, CLASS);
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 1);
    lua_newtable(L);
    for (int i = 0, n = 0; i < count(g); i++) {
        int type = push_slot(L, 2, guard_at(g, i)->value_slot);
        lua_pop(L, 1);
        if (type != LUA_TTABLE && type != LUA_TUSERDATA) continue;
        push_guard(L, guard_at(g, i));
        lua_rawseti(L, 3, ++n);
    }
    return 1;
}

/* core.guards_now(guards, number) -> the value that is now at the place */
static int guards_now(lua_State *L)
{
    const Guards *g = luaL_checkudata(L, 1, CLASS);
    int i = (int)luaL_checkinteger(L, 2) - 1;
    luaL_argcheck(L, i >= 0 && i < count(g), 2, "no such guard");
    const Guarded *q = guard_at(g, i);
    lua_settop(L, 2);
    lua_getiuservalue(L, 1, 1);
    if (push_slot(L, 3, q->container) != LUA_TNIL) push_now(L, g->host, q, 3, 4);
    return 1;
}

const luaL_Reg WATCH_GUARD[] = {
    {"guards_check", guards_check},     {"guards_exact", guards_exact},
    {"guards_done", guards_done},       {"guards_settle", guards_settle},
    {"guards_list", guards_list},       {"guards_now", guards_now},
    {"guards_objects", guards_objects}, {NULL, NULL},
};
