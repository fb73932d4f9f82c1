/* csv.c: tables of text for Lua: opened once, read column by column.
 *
 * In:    a file, gzip or not; the object holds its text.
 * Out:   columns as tensors, cells as strings. Damaged data raises with file, line and cell.
 */
#include <string.h>
#include "module/module.h"
#include "io/csv.h"
#include "tensor/tensor.h"

static const char CLASS[] = "sgl.csv";

typedef struct Opened {
    char *text;
    CsvTable table;
} Opened;

static int csv_gc(lua_State *L)
{
    Opened *o = lua_touserdata(L, 1);
    io_csv_close(&o->table);
    base_mem_free(o->text);
    o->text = NULL;
    return 0;
}

/* The options at 2: { separator=, header= }; header nil: by its look. */
static CsvOptions take_options(lua_State *L)
{
    CsvOptions o = {.name = lua_tostring(L, 1), .header = CSV_HEADER_BY_LOOK};
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_getfield(L, 2, "separator");
    o.separator = luaL_optstring(L, -1, ",")[0];
    if (lua_getfield(L, 2, "header") != LUA_TNIL)
        o.header = lua_toboolean(L, -1) ? CSV_HEADER_YES : CSV_HEADER_NO;
    return o;
}

static int fail(lua_State *L, const Err *e)
{
    if (e->code == SGL_EINTR) bind_interrupt_taken(L, bind_of(L));
    return bind_raise(L, e->code, e->hint, "%s", e->text);
}

/* core.csv_open(path, {separator=, header=}) -> object; or nil, message, code */
static int csv_open(lua_State *L)
{
    static const luaL_Reg META[] = {{"__gc", csv_gc}, {NULL, NULL}};
    size_t n;
    Err e = {0};
    const char *path = module_check_path(L, 1);
    CsvOptions o = take_options(L);
    FileRules rules = module_file_rules(bind_of(L));
    o.stop = rules.stop;
    Opened *opened = lua_newuserdatauv(L, sizeof *opened, 1);
    memset(opened, 0, sizeof *opened);
    bind_class(L, CLASS, META, NULL, 0);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, 1); /* the table borrows the name */
    lua_setiuservalue(L, -2, 1);
    if (base_file_read_gz(path, &rules, &opened->text, &n, &e) < 0)
        return module_file_fail(L, bind_of(L), &e);
    if (io_csv_open(opened->text, n, &o, &opened->table, &e) < 0) return fail(L, &e);
    return 1;
}

static CsvTable *check_table(lua_State *L)
{
    return &((Opened *)luaL_checkudata(L, 1, CLASS))->table;
}

/* core.csv_head(object) -> records, columns, list of names or nil */
static int csv_head(lua_State *L)
{
    const CsvTable *t = check_table(L);
    lua_pushinteger(L, t->rows.n);
    lua_pushinteger(L, t->cols);
    if (!t->header) return 2;
    lua_createtable(L, t->cols, 0);
    for (int i = 0; i < t->cols; i++) {
        lua_pushstring(L, t->names[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 3;
}

/* The column number (from 1) at the top of the stack, from 0. */
static int take_column(lua_State *L, const CsvTable *t)
{
    lua_Integer at = luaL_checkinteger(L, -1);
    if (at < 1 || at > t->cols)
        bind_raise(L, SGL_EINDEX, NULL, "csv: no column %I of %d", (LUAI_UACINT)at, t->cols);
    lua_pop(L, 1);
    return (int)at - 1;
}

/* core.csv_numbers(object, {column, …}, dtype, fill or nil) -> tensor [records, n] */
static int csv_numbers(lua_State *L)
{
    Host *h = bind_of(L);
    const CsvTable *t = check_table(L);
    Err e = {0};
    lua_settop(L, 4);
    int n = bind_check_list(L, 2, "csv: the columns");
    Dtype dtype = bind_check_dtype(L, 3, DT_f32);
    CsvFill fill = {.given = !lua_isnil(L, 4), .value = luaL_optnumber(L, 4, 0)};
    int *columns = bind_scratch(L, (size_t)n, sizeof *columns);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        columns[i] = take_column(L, t);
    }
    int64_t dims[] = {t->rows.n, n};
    void *to = dev_storage_edit(tensor_make(L, h, dtype, 2, dims)->storage);
    if (n && io_csv_numbers(t, columns, n, dtype, fill, to, &e) < 0) return fail(L, &e);
    return 1;
}

/* core.csv_texts(object, column) -> list of strings, false where a cell is missing */
static int csv_texts(lua_State *L)
{
    CsvTable *t = check_table(L);
    Err e = {0};
    lua_settop(L, 2);
    int column = take_column(L, t);
    Str *s = bind_text(L);
    lua_createtable(L, t->rows.n, 0);
    for (int i = 0; i < t->rows.n; i++) {
        int there = io_csv_stopped(t, i, &e);
        if (there == SGL_OK) there = io_csv_text(t, i, column, s, &e);
        if (there < 0) return fail(L, &e);
        if (there) lua_pushlstring(L, s->n ? s->at : "", s->n);
        else lua_pushboolean(L, 0);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

const luaL_Reg MODULE_CSV[] = {
    {"csv_open", csv_open},   {"csv_head", csv_head}, {"csv_numbers", csv_numbers},
    {"csv_texts", csv_texts}, {NULL, NULL},
};
