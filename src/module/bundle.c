/* bundle.c: exported graphs for Lua. A file that cannot be read or written is an expected failure:
 * nil, message, code. A damaged one raises.
 */
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "io/bundle.h"
#include "module/module.h"
#include "tensor/tensor.h"

/* In a userdata, so that nothing leaks where Lua raises. */
static int bundle_gc(lua_State *L)
{
    Bundle *b = lua_touserdata(L, 1);
    io_bundle_free(b);
    memset(b, 0, sizeof *b);
    return 0;
}

static Bundle *bundle_new(lua_State *L)
{
    static const luaL_Reg META[] = {{"__gc", bundle_gc}, {"__close", bundle_gc}, {NULL, NULL}};
    Bundle *b = lua_newuserdatauv(L, sizeof *b, 0);
    memset(b, 0, sizeof *b);
    bind_class(L, "sgl.bundle", META, NULL, 0);
    lua_setmetatable(L, -2);
    lua_toclose(L, -1);
    return b;
}

static int no_memory(lua_State *L)
{
    return bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a bundle");
}

static const char PARAMETER[] = "parameter"; /* what the file says of a name in the state */

/* The list of { name, tensor, is it a parameter? } at arg, values computed; the data is borrowed
 * from the tensors. */
static void add_state(lua_State *L, Host *h, int arg, Bundle *b)
{
    int n = bind_check_list(L, arg, "export: the state");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, arg, i);
        lua_rawgeti(L, -1, 3);
        bool parameter = lua_toboolean(L, -1);
        lua_rawgeti(L, -2, 1);
        lua_rawgeti(L, -3, 2);
        const Storage *s = tensor_value(L, h, lua_gettop(L), "export");
        FileArray a = {.name = luaL_checkstring(L, -2),
                       .dtype = s->dtype,
                       .rank = s->rank,
                       .data = tensor_host(L, h, s),
                       .bytes = s->bytes};
        memcpy(a.dims, s->dims, s->rank * sizeof *s->dims);
        FilePair mark = {a.name, PARAMETER};
        if (!vec_push(&b->state.arrays, a) || (parameter && !vec_push(&b->state.pairs, mark)))
            no_memory(L);
        lua_pop(L, 4);
    }
}

/* The list of { key, text } at arg. */
static void add_about(lua_State *L, int arg, Bundle *b)
{
    int n = bind_check_list(L, arg, "export: what it is about");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, arg, i);
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        FilePair p = {luaL_checkstring(L, -2), luaL_checkstring(L, -1)};
        if (!vec_push(&b->about, p)) no_memory(L);
        lua_pop(L, 3);
    }
}

/* core.bundle_write(path, kind, graph as text, { { name, tensor, is it a parameter? }, … },
 * { { key, text }, … }) */
static int bundle_write(lua_State *L)
{
    Host *h = bind_of(L);
    Err e = {0};
    lua_settop(L, 5);
    const char *path = luaL_checkstring(L, 1);
    Bundle *b = bundle_new(L);
    b->kind = luaL_checkstring(L, 2);
    b->graph = luaL_checkstring(L, 3);
    add_state(L, h, 4, b);
    add_about(L, 5, b);
    if (io_bundle_write(path, b, &e) < 0) return bind_fail(L, &e);
    lua_pushboolean(L, 1);
    return 1;
}

static bool is_parameter(const FileArrays *file, const char *name)
{
    for (int i = 0; i < file->pairs.n; i++)
        if (!strcmp(file->pairs.at[i].key, name))
            return !strcmp(file->pairs.at[i].value, PARAMETER);
    return false;
}

/* A list of { name, tensor, is it a parameter? }. */
static void push_state(lua_State *L, Host *h, const Bundle *b)
{
    Err e = {0};
    lua_createtable(L, b->state.arrays.n, 0);
    for (int i = 0; i < b->state.arrays.n; i++) {
        const FileArray *a = &b->state.arrays.at[i];
        if (a->foreign)
            bind_raise(L, SGL_EFORMAT, NULL, "'%s' is %s, a dtype that there is not here", a->name,
                       a->foreign);
        lua_createtable(L, 2, 0);
        lua_pushstring(L, a->name);
        lua_rawseti(L, -2, 1);
        Storage *s = tensor_make(L, h, a->dtype, a->rank, a->dims)->storage;
        if (io_source_read(&b->source, a, dev_storage_edit(s), &e) < 0)
            bind_raise(L, e.code, e.hint, "%s", e.text);
        lua_rawseti(L, -2, 2);
        lua_pushboolean(L, is_parameter(&b->state, a->name));
        lua_rawseti(L, -2, 3);
        lua_rawseti(L, -2, i + 1);
    }
}

/* core.bundle_read(path) -> { kind, version, graph = text, state = { { name, tensor, … }, … },
 * about = { key = text } } */
static int bundle_read(lua_State *L)
{
    Host *h = bind_of(L);
    Err e = {0};
    const char *path = luaL_checkstring(L, 1);
    Bundle *b = bundle_new(L);
    if (io_bundle_read(path, b, &e) < 0) {
        if (e.code == SGL_EFILE || e.code == SGL_EUNSUP) return bind_fail(L, &e);
        return bind_raise(L, e.code, e.hint, "%s", e.text);
    }
    lua_createtable(L, 0, 5);
    lua_pushstring(L, b->kind);
    lua_setfield(L, -2, "kind");
    lua_pushstring(L, b->version);
    lua_setfield(L, -2, "version");
    lua_pushstring(L, b->graph);
    lua_setfield(L, -2, "graph");
    push_state(L, h, b);
    lua_setfield(L, -2, "state");
    lua_newtable(L);
    for (int i = 0; i < b->about.n; i++) {
        lua_pushstring(L, b->about.at[i].value);
        lua_setfield(L, -2, b->about.at[i].key);
    }
    lua_setfield(L, -2, "about");
    return 1;
}

/* core.checksum(string) -> its CRC-32 as eight digits */
static int checksum(lua_State *L)
{
    size_t n;
    char digits[9];
    const char *bytes = luaL_checklstring(L, 1, &n);
    snprintf(digits, sizeof digits, "%08x", io_bundle_checksum(bytes, n));
    lua_pushstring(L, digits);
    return 1;
}

const luaL_Reg MODULE_BUNDLE[] = {{"bundle_write", bundle_write},
                                  {"bundle_read", bundle_read},
                                  {"checksum", checksum},
                                  {NULL, NULL}};
