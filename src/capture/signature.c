/* signature.c: one walk over the arguments of a call, which writes its signature.
 *
 * In:   arguments on the Lua stack.
 * Out:  words, and the run-time inputs and tables among the arguments in the order in which the
 *       walk meets them. A word is a kind and what it says in 56 bits; sizes, numbers and text
 *       follow in words of their own, so a list of words can be read in one way only.
 * Holds: keys are taken in the order of `<`, numbers before names, so equal tables have equal
 *        words. A tensor or a table that comes twice is the one before. Objects that are no data
 *        (modules, functions) are told apart by a number for good. By a mask
 *        (lua/sgl/compile/mask.lua), which stands in the place of the specs, what no capture looks
 *        at is left out.
 */
#include "capture/signature.h"
#include <string.h>

enum { MOST_DEPTH = 32 };

typedef enum Word {
    WORD_NIL,
    WORD_BOOLEAN,
    WORD_INTEGER,
    WORD_FLOAT,
    WORD_STRING,
    WORD_OBJECT,
    WORD_NUMBER, /* a run-time input */
    WORD_TENSOR,
    WORD_DECLARED, /* a tensor as its spec says */
    WORD_TABLE,
    WORD_SHAPE, /* a table that is a shape: its numbers are no run-time inputs */
    WORD_SAME,  /* a table met before */
    WORD_PART,  /* a table of which some keys are looked at */
    WORD_SPARE, /* what nothing looks at */
    WORD_END,   /* of a table */
} Word;

typedef struct Reader {
    lua_State *L;
    Host *host;
    Signature *s;
    const CallPlace *at;
} Reader;

void capture_signature_free(Signature *s)
{
    vec_free(&s->words);
    vec_free(&s->leaf);
    vec_free(&s->table);
    vec_free(&s->order);
}

static bool put(Reader *r, Word kind, uint64_t what)
{
    return vec_push(&r->s->words, (uint64_t)kind | what << 8);
}

static bool put_word(Reader *r, uint64_t word) { return vec_push(&r->s->words, word); }

/* The number or string at `at`, by value. */
static bool put_value(Reader *r, int at)
{
    uint64_t word;
    if (lua_isinteger(r->L, at))
        return put(r, WORD_INTEGER, 0) && put_word(r, (uint64_t)lua_tointeger(r->L, at));
    if (lua_type(r->L, at) == LUA_TNUMBER) {
        lua_Number v = lua_tonumber(r->L, at);
        memcpy(&word, &v, sizeof word);
        return put(r, WORD_FLOAT, 0) && put_word(r, word);
    }
    size_t n;
    const char *text = lua_tolstring(r->L, at, &n);
    bool ok = put(r, WORD_STRING, n);
    for (size_t i = 0; ok && i < n; i += sizeof word) {
        word = 0;
        memcpy(&word, text + i, n - i < sizeof word ? n - i : sizeof word);
        ok = put_word(r, word);
    }
    return ok;
}

/* An object by its number, which a table with weak keys knows. */
static bool put_object(Reader *r, int at)
{
    static const char NUMBERS, LAST;
    lua_State *L = r->L;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &NUMBERS) == LUA_TNIL) {
        lua_newtable(L);
        lua_createtable(L, 0, 1);
        lua_pushliteral(L, "k");
        lua_setfield(L, -2, "__mode");
        lua_setmetatable(L, -2);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &NUMBERS);
        lua_replace(L, -2);
    }
    lua_pushvalue(L, at);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &LAST);
        lua_Integer number = lua_tointeger(L, -1) + 1;
        lua_pushvalue(L, at);
        lua_pushinteger(L, number);
        lua_rawset(L, -5);
        lua_pushinteger(L, number);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &LAST);
        lua_pop(L, 2);
        lua_pushinteger(L, number);
    }
    bool ok = put(r, WORD_OBJECT, (uint64_t)lua_tointeger(L, -1));
    lua_pop(L, 2);
    return ok;
}

/* ---- run-time inputs */

/* Takes note of the run-time input at `at`; t is NULL for a number. */
static bool leaf(Reader *r, int at, const Tensor *t)
{
    if (!vec_push(&r->s->leaf, t)) return false;
    lua_pushvalue(r->L, at);
    lua_rawseti(r->L, r->at->leaves, r->s->leaf.n);
    return true;
}

/* Is the tensor what its spec says? The text is the dtype, then the sizes, -1 for a symbolic one.
 */
static bool fits_spec(lua_State *L, int spec, Dtype dtype, int rank, const int64_t *dims)
{
    size_t n;
    const char *text = lua_tolstring(L, spec, &n);
    bool fits = n == (size_t)(rank + 1) * sizeof(int64_t);
    for (int i = -1; fits && i < rank; i++) {
        int64_t want;
        memcpy(&want, text + (size_t)(i + 1) * sizeof want, sizeof want);
        fits = i < 0 ? want == (int64_t)dtype : want < 0 || want == dims[i];
    }
    return fits;
}

/* A tensor by its type, and by which earlier argument it is if it is one of them: then the step
 * is another. A declared one stands for all that fit its spec. */
static bool tensor(Reader *r, int at, const Tensor *t, int spec)
{
    if (t->life != TENSOR_ALIVE || t->weak) return false;
    const Node *n = t->node;
    Dtype dtype = n ? (Dtype)n->dtype : t->storage->dtype;
    int rank = n ? n->rank : t->storage->rank, same = 0;
    const int64_t *dims = n ? n->dims : t->storage->dims;
    while (same < r->s->leaf.n && r->s->leaf.at[same] != t) same++;
    uint64_t other = same < r->s->leaf.n ? (uint64_t)same + 1 : 0;
    bool declared = lua_type(r->L, spec) == LUA_TSTRING;
    if (declared && !fits_spec(r->L, spec, dtype, rank, dims)) return false;
    bool ok = put(r, declared ? WORD_DECLARED : WORD_TENSOR,
                  (uint64_t)dtype | (uint64_t)rank << 8 | other << 16);
    for (int i = 0; ok && !declared && i < rank; i++) ok = put_word(r, (uint64_t)dims[i]);
    return ok && leaf(r, at, t);
}

/* ---- tables */

/* Numbers come before names. */
static bool comes_before(lua_State *L, int a, int b)
{
    int x = lua_type(L, a), y = lua_type(L, b);
    return x != y ? x == LUA_TNUMBER : lua_compare(L, a, b, LUA_OPLT);
}

/* Pushes the keys of the table at `at` and puts their places, sorted, behind what is in the order;
 * returns how many they are, or -1: a key is no name, or no memory. */
static int push_keys(Reader *r, int at)
{
    lua_State *L = r->L;
    int n = 0, from = r->s->order.n;
    for (lua_pushnil(L); lua_next(L, at); n++) {
        int type = lua_type(L, -2), low = 0, high = n;
        lua_pop(L, 1);
        int key = lua_gettop(L);
        if ((type != LUA_TSTRING && type != LUA_TNUMBER) || !vec_push(&r->s->order, key)) return -1;
        int *order = r->s->order.at + from;
        if (n && comes_before(L, order[n - 1], key)) low = n;
        while (low < high) {
            int middle = (low + high) / 2;
            if (comes_before(L, order[middle], key)) low = middle + 1;
            else high = middle;
        }
        memmove(order + low + 1, order + low, (size_t)(n - low) * sizeof *order);
        order[low] = key;
        luaL_checkstack(L, LUA_MINSTACK, "arguments");
        lua_pushvalue(L, key); /* stays; the one on the top goes on */
    }
    return n;
}

static bool value(Reader *r, int at, int depth, int spec, bool fixed);

/* The items of the table at `at`, whose specs, if any, are in the table at `spec`. */
static bool items(Reader *r, int at, int depth, int spec, bool fixed)
{
    lua_State *L = r->L;
    int top = lua_gettop(L), from = r->s->order.n, n = push_keys(r, at);
    bool ok = n >= 0, listed = !r->at->masked && lua_istable(L, spec);
    for (int i = 0; ok && i < n; i++) {
        int key = r->s->order.at[from + i], below = lua_gettop(L) + 1;
        lua_pushvalue(L, key);
        if (listed) lua_rawget(L, spec);
        else lua_pushnil(L), lua_replace(L, -2);
        lua_pushvalue(L, key);
        lua_rawget(L, at);
        ok = put_value(r, key) && value(r, below + 1, depth + 1, below, fixed);
        lua_settop(L, below - 1);
    }
    lua_settop(L, top);
    r->s->order.n = from;
    return ok;
}

/* Of the table at `at` the items whose keys are listed in the mask, there or not. */
static bool part(Reader *r, int at, int depth, int mask)
{
    lua_State *L = r->L;
    int n = (int)lua_rawlen(L, mask), key = lua_gettop(L) + 2, top = key - 2;
    lua_getfield(L, mask, "below");
    bool ok = lua_istable(L, -1);
    for (int i = 1; ok && i <= n; i++, lua_settop(L, key - 1)) {
        int type = lua_rawgeti(L, mask, i);
        lua_pushvalue(L, key);
        lua_rawget(L, key - 1);
        lua_pushvalue(L, key);
        lua_rawget(L, at);
        ok = (type == LUA_TSTRING || type == LUA_TNUMBER) && put_value(r, key) &&
             value(r, key + 2, depth + 1, key + 1, false);
    }
    lua_settop(L, top);
    return ok;
}

/* The place of the table among those that were met, or -1. */
static int met(const Signature *s, const void *table)
{
    int i = s->table.n - 1;
    while (i >= 0 && s->table.at[i] != table) i--;
    return i;
}

/* A table: all of it, or what its mask says; by a mask none comes twice. */
static bool table(Reader *r, int at, int depth, int spec, bool shape)
{
    lua_State *L = r->L;
    const void *address = lua_topointer(L, at);
    int before = met(r->s, address);
    bool some = r->at->masked && lua_istable(L, spec) && !shape;
    if (before >= 0) return !r->at->masked && put(r, WORD_SAME, (uint64_t)before);
    if (depth > MOST_DEPTH || !vec_push(&r->s->table, address)) return false;
    lua_pushvalue(L, at);
    lua_rawseti(L, r->at->tables, r->s->table.n);
    luaL_checkstack(L, LUA_MINSTACK, "arguments");
    if (some) return put(r, WORD_PART, 0) && part(r, at, depth, spec) && put(r, WORD_END, 0);
    return put(r, shape ? WORD_SHAPE : WORD_TABLE, 0) && items(r, at, depth, spec, shape) &&
           put(r, WORD_END, 0);
}

/* Is the table nothing but data, and a shape? */
static bool is_plain(Reader *r, int at, bool *shape)
{
    *shape = false;
    if (!lua_getmetatable(r->L, at)) return true;
    tensor_push_methods(r->L);
    lua_pushliteral(r->L, "__shape");
    lua_rawget(r->L, -2);
    *shape = lua_rawequal(r->L, -1, -3);
    lua_pop(r->L, 3);
    return *shape;
}

/* The value at `at`, for which the spec at `spec` is: nil, false, a packed spec or a table. */
static bool value(Reader *r, int at, int depth, int spec, bool fixed)
{
    lua_State *L = r->L;
    int type = lua_type(L, at), wanted = lua_type(L, spec);
    bool shape, specified = !r->at->masked && lua_toboolean(L, spec) && type != LUA_TNIL;
    const Tensor *t = type == LUA_TUSERDATA ? tensor_at(L, r->host, at) : NULL;
    if (specified && (wanted == LUA_TSTRING ? !t : type != LUA_TTABLE)) return false;
    if (t) return tensor(r, at, t, spec);
    switch (type) {
    case LUA_TNIL:
        return put(r, WORD_NIL, 0);
    case LUA_TBOOLEAN:
        return put(r, WORD_BOOLEAN, (uint64_t)lua_toboolean(L, at));
    case LUA_TNUMBER:
        return fixed ? put_value(r, at) : put(r, WORD_NUMBER, 0) && leaf(r, at, NULL);
    case LUA_TSTRING:
        return put_value(r, at);
    case LUA_TTABLE:
        if (is_plain(r, at, &shape)) return table(r, at, depth, spec, shape);
    }
    return put_object(r, at);
}

/* Argument i, from 0. One that is left out is nil where a mask says how many there are. */
static bool argument(Reader *r, int i)
{
    lua_State *L = r->L;
    int spec = lua_gettop(L) + 1, at = r->at->first + i;
    if (lua_istable(L, r->at->specs)) lua_rawgeti(L, r->at->specs, i + 1);
    else lua_pushnil(L);
    bool spare = r->at->masked && lua_isboolean(L, spec) && !lua_toboolean(L, spec), ok;
    if (spare || i >= r->at->count) ok = put(r, spare ? WORD_SPARE : WORD_NIL, 0);
    else ok = value(r, at, 1, spec, false);
    lua_settop(L, spec - 1);
    return ok;
}

bool capture_signature_read(lua_State *L, Host *h, Signature *s, const CallPlace *at)
{
    Reader r = {.L = L, .host = h, .s = s, .at = at};
    int n = at->count;
    s->words.n = s->leaf.n = s->table.n = s->order.n = 0;
    if (at->masked) {
        if (lua_getfield(L, at->specs, "n") == LUA_TNUMBER) n = (int)lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    bool ok = put_word(&r, (uint64_t)n);
    for (int i = 0; ok && i < n; i++) ok = argument(&r, i);
    return ok;
}
