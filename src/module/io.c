/* io.c: files and data formats for Lua. A file that cannot be read or written is an expected
 * failure: nil, message, code. Damaged data raises: the parsers name the file and the place.
 *
 * Holds: what a parser returns is in a userdata (Loaded) before Lua is called again.
 */
#include <stdlib.h>
#include <string.h>
#include "module/module.h"
#include "base/file.h"
#include "tensor/tensor.h"
#include "io/idx.h"
#include "io/safetensors.h"
#include "io/yaml.h"

/* Whatever a call here holds outside Lua's heap. */
typedef struct Loaded {
    char *bytes;
    SafeFile safe;
    YamlFile yaml;
} Loaded;

static int loaded_gc(lua_State *L)
{
    Loaded *l = lua_touserdata(L, 1);
    base_mem_free(l->bytes);
    io_safetensors_free(&l->safe);
    io_yaml_free(&l->yaml);
    memset(l, 0, sizeof *l);
    return 0;
}

static Loaded *loaded_new(lua_State *L)
{
    static const luaL_Reg META[] = {{"__gc", loaded_gc}, {"__close", loaded_gc}, {NULL, NULL}};
    Loaded *l = lua_newuserdatauv(L, sizeof *l, 0);
    memset(l, 0, sizeof *l);
    bind_class(L, "sgl.loaded", META, NULL, 0);
    lua_setmetatable(L, -2);
    lua_toclose(L, -1);
    return l;
}

static int raise_err(lua_State *L, const Err *e)
{
    return bind_raise(L, e->code, e->hint, "%s", e->text);
}

/* core.read(path) -> string, unpacked if it is gzip */
static int read_file(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    Loaded *l = loaded_new(L);
    size_t n;
    Err e = {0};
    if (base_file_read_gz(path, &l->bytes, &n, &e) < 0) return bind_fail(L, &e);
    lua_pushlstring(L, l->bytes, n);
    return 1;
}

/* core.there(path) -> boolean: a regular file is there; or nil, message, code */
static int file_there(lua_State *L)
{
    Err e = {0};
    int there = base_file_there(luaL_checkstring(L, 1), &e);
    if (there < 0) return bind_fail(L, &e);
    lua_pushboolean(L, there);
    return 1;
}

/* core.write(path, string) -> true; a reader sees the old file or the new one */
static int write_file(lua_State *L)
{
    size_t n;
    Err e = {0};
    const char *path = luaL_checkstring(L, 1), *data = luaL_checklstring(L, 2, &n);
    if (base_file_write(path, data, n, &e) < 0) return bind_fail(L, &e);
    lua_pushboolean(L, 1);
    return 1;
}

/* core.idx(text, name) -> tensor */
static int read_idx(lua_State *L)
{
    Host *h = bind_of(L);
    size_t n;
    Err e = {0};
    IdxArray a;
    const char *bytes = luaL_checklstring(L, 1, &n);
    if (io_idx_parse(bytes, n, luaL_optstring(L, 2, NULL), &a, &e) < 0) return raise_err(L, &e);
    io_idx_read(&a, dev_storage_edit(tensor_make(L, h, a.dtype, a.rank, a.dims)->storage));
    return 1;
}

static void push_safe(lua_State *L, Host *h, const SafeTensor *t)
{
    lua_createtable(L, 2, 0);
    lua_pushstring(L, t->name);
    lua_rawseti(L, -2, 1);
    Storage *s = tensor_make(L, h, t->dtype, t->rank, t->dims)->storage;
    uint8_t *flag = dev_storage_edit(s);
    if (t->bytes) memcpy(flag, t->data, t->bytes);
    for (int64_t i = 0; t->dtype == DT_bool && i < s->count; i++) flag[i] = flag[i] != 0;
    lua_rawseti(L, -2, 2);
}

/* core.safetensors_load(text, name) -> list of {name, tensor}, metadata */
static int load_safetensors(lua_State *L)
{
    Host *h = bind_of(L);
    size_t n;
    Err e = {0};
    const char *bytes = luaL_checklstring(L, 1, &n), *name = luaL_optstring(L, 2, NULL);
    Loaded *l = loaded_new(L);
    if (io_safetensors_load(bytes, n, name, &l->safe, &e) < 0) return raise_err(L, &e);
    lua_createtable(L, l->safe.tensors.n, 0);
    for (int i = 0; i < l->safe.tensors.n; i++) {
        push_safe(L, h, &l->safe.tensors.at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_newtable(L);
    for (int i = 0; i < l->safe.pairs.n; i++) {
        lua_pushstring(L, l->safe.pairs.at[i].value);
        lua_setfield(L, -2, l->safe.pairs.at[i].key);
    }
    return 2;
}

/* The list of {name, tensor} at 1, values computed; the data is borrowed from the tensors. */
static SafeTensor *check_named(lua_State *L, Host *h, int n)
{
    SafeTensor *list = bind_scratch(L, n, sizeof *list);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 1, i + 1);
        luaL_checktype(L, -1, LUA_TTABLE);
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        const Storage *s = tensor_value(L, h, lua_gettop(L), "save");
        list[i] = (SafeTensor){.name = luaL_checkstring(L, -2),
                               .dtype = s->dtype,
                               .rank = s->rank,
                               .data = tensor_host(L, h, s),
                               .bytes = s->bytes};
        memcpy(list[i].dims, s->dims, s->rank * sizeof *s->dims);
        lua_pop(L, 3);
    }
    return list;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const SafePair *)a)->key, ((const SafePair *)b)->key);
}

/* The string fields of the table at 2, by key so that equal data are equal files. */
static SafePair *check_pairs(lua_State *L, int *n)
{
    *n = 0;
    if (!lua_istable(L, 2)) return NULL;
    int count = 0;
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) count++;
    SafePair *pairs = bind_scratch(L, count, sizeof *pairs);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
            bind_raise(L, SGL_EARG, NULL, "save: metadata must be strings, got %s",
                       bind_kind(L, -1));
        pairs[(*n)++] = (SafePair){lua_tostring(L, -2), lua_tostring(L, -1)};
    }
    qsort(pairs, *n, sizeof *pairs, by_key);
    return pairs;
}

/* core.safetensors_save(list, metadata) -> string */
static int save_safetensors(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 2);
    int n = bind_check_list(L, 1, "save: the tensors"), npairs;
    SafeTensor *tensors = check_named(L, h, n);
    SafePair *pairs = check_pairs(L, &npairs);
    Loaded *l = loaded_new(L);
    size_t size;
    Err e = {0};
    if (io_safetensors_save(tensors, n, pairs, npairs, &l->bytes, &size, &e) < 0)
        return raise_err(L, &e);
    lua_pushlstring(L, l->bytes, size);
    return 1;
}

/* core.yaml(text) -> list of {key, value, line}; or nil, message, code, hint, line */
static int read_yaml(lua_State *L)
{
    size_t n;
    Err e = {0};
    const char *text = luaL_checklstring(L, 1, &n);
    Loaded *l = loaded_new(L);
    if (io_yaml_parse(text, n, &l->yaml, &e) < 0) {
        bind_fail(L, &e);
        lua_pushstring(L, e.hint);
        lua_pushinteger(L, l->yaml.line);
        return 5;
    }
    lua_createtable(L, l->yaml.pairs.n, 0);
    for (int i = 0; i < l->yaml.pairs.n; i++) {
        const YamlPair *pair = &l->yaml.pairs.at[i];
        lua_createtable(L, 0, 3);
        lua_pushstring(L, pair->key);
        lua_setfield(L, -2, "key");
        lua_pushstring(L, pair->value);
        lua_setfield(L, -2, "value");
        lua_pushinteger(L, pair->line);
        lua_setfield(L, -2, "line");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

const luaL_Reg MODULE_IO[] = {
    {"read", read_file},
    {"there", file_there},
    {"write", write_file},
    {"idx", read_idx},
    {"yaml", read_yaml},
    {"safetensors_load", load_safetensors},
    {"safetensors_save", save_safetensors},
    {NULL, NULL},
};
