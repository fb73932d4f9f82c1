/* io.c: files and data formats for Lua. A file that cannot be read or written is an expected
 * failure: nil, message, code. Damaged data raises: the parsers name the file and the place.
 *
 * Holds: what a parser returns is in a userdata (Loaded) before Lua is called again.
 */
#include <stdlib.h>
#include <string.h>
#include "module/module.h"
#include "base/write.h"
#include "comm/comm.h"
#include "tensor/tensor.h"
#include "io/source.h"
#include "io/yaml.h"

/* Whatever a call here holds outside Lua's heap. */
typedef struct Loaded {
    char *bytes;
    FileSource source;
    FileArrays arrays;
    YamlFile yaml;
} Loaded;

static int loaded_gc(lua_State *L)
{
    Loaded *l = lua_touserdata(L, 1);
    base_mem_free(l->bytes);
    io_source_close(&l->source);
    io_format_free(&l->arrays);
    io_yaml_free(&l->yaml);
    *l = (Loaded){.source.fd = -1};
    return 0;
}

static Loaded *loaded_new(lua_State *L)
{
    static const luaL_Reg META[] = {{"__gc", loaded_gc}, {"__close", loaded_gc}, {NULL, NULL}};
    Loaded *l = lua_newuserdatauv(L, sizeof *l, 0);
    *l = (Loaded){.source.fd = -1};
    bind_class(L, "sgl.loaded", META, NULL, 0);
    lua_setmetatable(L, -2);
    lua_toclose(L, -1);
    return l;
}

static int raise_err(lua_State *L, const Err *e)
{
    return bind_raise(L, e->code, e->hint, "%s", e->text);
}

const char *module_check_path(lua_State *L, int arg)
{
    size_t n;
    const char *path = luaL_checklstring(L, arg, &n);
    if (strlen(path) != n)
        bind_raise(L, SGL_EARG, NULL, "the path '%s' goes on behind a zero byte", path);
    return path;
}

FileRules module_file_rules(Host *h)
{
    return (FileRules){&h->cx->asked, h->cx->knobs.value[KNOB_unpack_limit]};
}

int module_file_fail(lua_State *L, Host *h, const Err *e)
{
    if (e->code == SGL_EFILE) return bind_fail(L, e);
    if (e->code == SGL_EINTR) bind_interrupt_taken(L, h);
    bool whole = *e->hint || e->code != SGL_EFORMAT;
    return bind_raise(L, e->code, whole ? e->hint : "the file is not whole", "%s", e->text);
}

/* core.read(path) -> string, unpacked if it is gzip */
static int read_file(lua_State *L)
{
    Host *h = bind_of(L);
    const char *path = module_check_path(L, 1);
    const FileRules rules = module_file_rules(h);
    Loaded *l = loaded_new(L);
    size_t n;
    Err e = {0};
    if (base_file_read_gz(path, &rules, &l->bytes, &n, &e) < 0) return module_file_fail(L, h, &e);
    lua_pushlstring(L, l->bytes, n);
    return 1;
}

/* core.there(path) -> boolean: a regular file is there; or nil, message, code */
static int file_there(lua_State *L)
{
    Err e = {0};
    int there = base_file_there(module_check_path(L, 1), &e);
    if (there < 0) return bind_fail(L, &e);
    lua_pushboolean(L, there);
    return 1;
}

/* core.file_kind(path) -> "file", "folder", "link" or "other"; nil: nothing is there */
static int file_kind(lua_State *L)
{
    lua_pushstring(L, base_file_kind(module_check_path(L, 1)));
    return 1;
}

/* core.write(path, string) -> true; a reader sees the old file or the new one */
static int write_file(lua_State *L)
{
    size_t n;
    Err e = {0};
    const char *path = module_check_path(L, 1), *data = luaL_checklstring(L, 2, &n);
    if (base_file_write(path, data, n, &e) < 0) return bind_fail(L, &e);
    lua_pushboolean(L, 1);
    return 1;
}

/* core.keep(part, path) -> true: a file that is whole gets its name; or nil, message, code */
static int keep_file(lua_State *L)
{
    Err e = {0};
    if (base_write_keep(module_check_path(L, 1), module_check_path(L, 2), &e) < 0)
        return bind_fail(L, &e);
    lua_pushboolean(L, 1);
    return 1;
}

/* { name, tensor }, or { name, false, dtype } of a dtype that there is not here */
static int push_array(lua_State *L, Host *h, const FileSource *s, const FileArray *a, Err *e)
{
    lua_createtable(L, 3, 0);
    lua_pushstring(L, a->name);
    lua_rawseti(L, -2, 1);
    if (a->foreign) {
        lua_pushboolean(L, 0);
        lua_rawseti(L, -2, 2);
        lua_pushstring(L, a->foreign);
        lua_rawseti(L, -2, 3);
        return SGL_OK;
    }
    void *to = dev_storage_edit(tensor_make(L, h, a->dtype, a->rank, a->dims)->storage);
    lua_rawseti(L, -2, 2);
    return io_source_read(s, a, to, e);
}

/* The format called so at `arg`, or that of the path. */
static const Format *check_format(lua_State *L, int arg, const char *path)
{
    if (lua_isnoneornil(L, arg)) return io_format_of(path);
    const Format *f = io_format_find(luaL_checkstring(L, arg));
    if (!f) bind_raise(L, SGL_EARG, NULL, "there is no format '%s'", lua_tostring(L, arg));
    return f;
}

/* Pushes the list of arrays whose names begin with the prefix, and the metadata. */
static int push_arrays(lua_State *L, Host *h, const Loaded *l, const char *prefix)
{
    int n = 0;
    Err e = {0};
    lua_newtable(L);
    for (int i = 0; i < l->arrays.arrays.n; i++) {
        const FileArray *a = &l->arrays.arrays.at[i];
        if (strncmp(a->name, prefix, strlen(prefix)) != 0) continue;
        if (push_array(L, h, &l->source, a, &e) < 0) return module_file_fail(L, h, &e);
        lua_rawseti(L, -2, ++n);
    }
    lua_newtable(L);
    for (int i = 0; i < l->arrays.pairs.n; i++) {
        lua_pushstring(L, l->arrays.pairs.at[i].value);
        lua_setfield(L, -2, l->arrays.pairs.at[i].key);
    }
    return 2;
}

/* core.load(text, path, format or nil) -> list of { name, tensor }, metadata */
static int load_arrays(lua_State *L)
{
    Host *h = bind_of(L);
    size_t n;
    Err e = {0};
    const char *bytes = luaL_checklstring(L, 1, &n), *path = luaL_checkstring(L, 2);
    const Format *format = check_format(L, 3, path);
    Loaded *l = loaded_new(L);
    io_source_of(&l->source, path, bytes, n);
    if (io_source_describe(&l->source, format, &l->arrays, &e) < 0) return raise_err(L, &e);
    return push_arrays(L, h, l, "");
}

/* core.open(path, format or nil, prefix or nil) -> the same, of a file; or nil, message, code */
static int open_arrays(lua_State *L)
{
    Host *h = bind_of(L);
    Err e = {0};
    const char *path = module_check_path(L, 1), *prefix = luaL_optstring(L, 3, "");
    const Format *format = check_format(L, 2, path);
    Loaded *l = loaded_new(L);
    if (io_source_open(&l->source, path, module_file_rules(h), &e) < 0)
        return module_file_fail(L, h, &e);
    if (io_source_describe(&l->source, format, &l->arrays, &e) < 0) return raise_err(L, &e);
    return push_arrays(L, h, l, prefix);
}

/* The list of {name, tensor} at 1, values computed; the data is borrowed from the tensors. What
 * lies over the ranks stays there, and is fetched when it is written. */
static FileArray *check_named(lua_State *L, Host *h, int n)
{
    FileArray *list = bind_scratch(L, n, sizeof *list);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 1, i + 1);
        luaL_checktype(L, -1, LUA_TTABLE);
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        Storage *s = tensor_value(L, h, lua_gettop(L), "save");
        list[i] = module_array(L, h, luaL_checkstring(L, -2), s);
        lua_pop(L, 3);
    }
    return list;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const FilePair *)a)->key, ((const FilePair *)b)->key);
}

/* The string fields of the table at 2, by key so that equal data are equal files. */
static FilePair *check_pairs(lua_State *L, int *n)
{
    *n = 0;
    if (!lua_istable(L, 2)) return NULL;
    int count = 0;
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) count++;
    FilePair *pairs = bind_scratch(L, count, sizeof *pairs);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
            bind_raise(L, SGL_EARG, NULL, "save: metadata must be strings, got %s",
                       bind_kind(L, -1));
        pairs[(*n)++] = (FilePair){lua_tostring(L, -2), lua_tostring(L, -1)};
    }
    qsort(pairs, *n, sizeof *pairs, by_key);
    return pairs;
}

/* Nothing of Lua is called while the file is written. Ranks that do not write, and one that cannot,
 * go through the same: what ranks share is fetched by all of them. */
static int write_arrays(const Format *f, const char *path, bool writes, const FileArray *arrays,
                        int n, const FilePair *pairs, int npairs, Err *e)
{
    FileWrite to;
    Err fetched = {0};
    int begun = writes ? base_write_begin(&to, path, e) : SGL_OK;
    if (begun < 0 || !writes) base_write_begin_nowhere(&to);
    int status = f->save(arrays, n, pairs, npairs, &to, &fetched);
    if (status == SGL_OK && begun == SGL_OK && writes) return base_write_end(&to, e);
    base_write_drop(&to);
    if (status < 0) *e = fetched;
    return status < 0 ? status : begun;
}

/* core.save(list of {name, tensor}, metadata, path) -> true; or nil, message, code. All ranks call
 * it, and rank 0 writes; that it could not is known there alone. */
static int save_arrays(lua_State *L)
{
    Host *h = bind_of(L);
    const Comm *c = comm_of(h->cx);
    lua_settop(L, 3);
    int n = bind_check_list(L, 1, "save: the tensors"), npairs;
    const char *path = module_check_path(L, 3);
    const Format *format = io_format_of(path);
    if (!format->save)
        bind_raise(L, SGL_EUNSUP, "such as a name that ends in .safetensors",
                   "save: %s: files of this kind are only read", path);
    FileArray *arrays = check_named(L, h, n);
    FilePair *pairs = check_pairs(L, &npairs);
    Err e = {0};
    base_err_clear(&h->cx->err);
    void *room = module_array_room(h, arrays, n);
    if (h->cx->err.code) return bind_throw(L, h);
    int status = write_arrays(format, path, !c || c->rank == 0, arrays, n, pairs, npairs, &e);
    base_mem_free(room);
    if (h->cx->err.code) return bind_throw(L, h);
    if (status < 0 && status != SGL_EFILE) return raise_err(L, &e);
    if (status < 0) return bind_fail(L, &e);
    lua_pushboolean(L, 1);
    return 1;
}

/* core.formats() -> list of {name, endings, doc, writes} */
static int formats(lua_State *L)
{
    lua_newtable(L);
    for (int i = 0; FORMATS[i].name; i++) {
        lua_createtable(L, 0, 4);
        lua_pushstring(L, FORMATS[i].name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, FORMATS[i].endings);
        lua_setfield(L, -2, "endings");
        lua_pushstring(L, FORMATS[i].doc);
        lua_setfield(L, -2, "doc");
        lua_pushboolean(L, FORMATS[i].save != NULL);
        lua_setfield(L, -2, "writes");
        lua_rawseti(L, -2, i + 1);
    }
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
    {"read", read_file},   {"there", file_there}, {"file_kind", file_kind},
    {"write", write_file}, {"load", load_arrays}, {"open", open_arrays},
    {"save", save_arrays}, {"keep", keep_file},   {"formats", formats},
    {"yaml", read_yaml},   {NULL, NULL},
};
