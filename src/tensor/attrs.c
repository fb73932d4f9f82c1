/* attrs.c: attributes of ops between Lua tables and the words of a node (ir/attr.h).
 *
 * What an absent attribute means stands in attr.def. A name that is not in the schema is an error.
 * What has its default is not pushed.
 */
#include <string.h>
#include "tensor/args.h"
#include "tensor/dim.h"
#include "tensor/number.h"
#include "tensor/ops.h"
#include "ir/build.h"

typedef struct Reader {
    lua_State *L;
    Op op;
    const char *name, *schema; /* of the op, or of a registered one */
    int table;
    const Shape *x;
    AttrBuf *out;
    int length; /* of the last list read; absent lists of ones take it */
} Reader;

static const char *what(const Reader *r, const AttrField *f)
{
    return lua_pushfstring(r->L, "%s: attribute '%s'", r->name,
                           lua_pushlstring(r->L, f->name, f->length));
}

static void missing(const Reader *r, const AttrField *f)
{
    bind_raise(r->L, SGL_EARG, NULL, "%s is missing", what(r, f));
}

/* The op is made for one value of the attribute. */
static void settle_number(const Reader *r, const AttrField *f, int at)
{
    Host *h = bind_of(r->L);
    if (tensor_number_at(r->L, h, at)) tensor_number_settle(r->L, h, at, what(r, f));
}

/* ---- one value of Lua as a word, by what it means; `item` counts in a list, 0: no list */

static int64_t read_integer(Reader *r, const AttrField *f, int at, int item)
{
    int exact;
    if (item) return tensor_check_item(r->L, at, item, what(r, f));
    settle_number(r, f, at);
    lua_Integer v = lua_tointegerx(r->L, at, &exact);
    if (lua_isboolean(r->L, at)) return lua_toboolean(r->L, at);
    if (!exact)
        bind_raise(r->L, SGL_EARG, NULL, "%s must be an integer, got %s", what(r, f),
                   bind_kind(r->L, at));
    return v;
}

static int64_t read_real(Reader *r, const AttrField *f, int at, int item)
{
    (void)item;
    settle_number(r, f, at);
    if (lua_type(r->L, at) != LUA_TNUMBER)
        bind_raise(r->L, SGL_EARG, NULL, "%s must be a number, got %s", what(r, f),
                   bind_kind(r->L, at));
    return ir_attr_real_word(lua_tonumber(r->L, at));
}

static int64_t read_dtype(Reader *r, const AttrField *f, int at, int item)
{
    (void)f, (void)item;
    return bind_check_dtype(r->L, at, -1);
}

/* An axis from 1, or from -1 backwards, which the first input must have. */
static int64_t read_axis(Reader *r, const AttrField *f, int at, int item)
{
    int exact;
    lua_Integer axis;
    if (item) {
        axis = tensor_check_item(r->L, at, item, what(r, f));
    } else {
        settle_number(r, f, at);
        axis = lua_tointegerx(r->L, at, &exact);
        if (!exact)
            bind_raise(r->L, SGL_EARG, NULL, "%s must be an axis, got %s", what(r, f),
                       bind_kind(r->L, at));
    }
    return bind_check_axis(r->L, r->name, axis, r->x);
}

static int64_t read_dim(Reader *r, const AttrField *f, int at, int item)
{
    int64_t dim;
    if (tensor_check_size(r->L, at, item, what(r, f), &dim)) return dim;
    if (dim == -1 && r->op == OP_reshape) return DIM_INFER;
    if (dim < 0)
        bind_raise(r->L, SGL_ESHAPE, NULL, "%s: element %d is %I, it cannot be negative",
                   what(r, f), item, (lua_Integer)dim);
    return dim;
}

static int64_t read_text(Reader *r, const AttrField *f, int at, int item)
{
    (void)item;
    if (lua_type(r->L, at) != LUA_TSTRING)
        bind_raise(r->L, SGL_EARG, NULL, "%s must be a string, got %s", what(r, f),
                   bind_kind(r->L, at));
    Host *h = bind_of(r->L);
    int64_t word = ir_attr_text_word(h->cx, lua_tostring(r->L, at));
    if (!word) bind_throw(r->L, h);
    return word;
}

/* Blocks come by a way of their own (capture/control.c). */
static int64_t read_block(Reader *r, const AttrField *f, int at, int item)
{
    (void)at, (void)item;
    missing(r, f);
    return 0;
}

/* ---- a word as a value of Lua, on the top */

static void push_integer(lua_State *L, int64_t word) { lua_pushinteger(L, word); }
static void push_real(lua_State *L, int64_t word) { lua_pushnumber(L, ir_attr_double(word)); }
static void push_dtype(lua_State *L, int64_t word) { lua_pushstring(L, DTYPES[word].name); }
static void push_axis(lua_State *L, int64_t word) { lua_pushinteger(L, word + 1); }
static void push_dim(lua_State *L, int64_t word) { tensor_push_size(L, word); }
static void push_text(lua_State *L, int64_t word) { lua_pushstring(L, ir_attr_text(word)); }
static void push_block(lua_State *L, int64_t word) { lua_pushinteger(L, word); }

static const struct {
    int64_t (*read)(Reader *, const AttrField *, int at, int item);
    void (*push)(lua_State *L, int64_t word);
} ITEMS[] = {
#define ITEM(name) [ITEM_##name] = {read_##name, push_##name},
#define KIND(letter, item, list, absent)
#include "ir/attr.def"
#undef ITEM
#undef KIND
};

/* ---- whole attributes */

static void refuse_twice(const Reader *r, const int64_t *axes, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (axes[j] == axes[i])
                bind_raise(r->L, SGL_EARG, NULL, "%s: axis %I is given twice", r->name,
                           (lua_Integer)axes[i] + 1);
}

static void read_list(Reader *r, const AttrField *f, int at)
{
    int64_t items[OP_MAX_RANK];
    int n = bind_check_list(r->L, at, what(r, f));
    if (n > OP_MAX_RANK)
        bind_raise(r->L, SGL_ESHAPE, NULL, "%s has %d items, at most %d are possible", what(r, f),
                   n, OP_MAX_RANK);
    for (int i = 0; i < n; i++) items[i] = ITEMS[f->kind->item].read(r, f, at, i + 1);
    if (f->kind->item == ITEM_axis) refuse_twice(r, items, n);
    r->length = n;
    ir_attr_put_list(r->out, n, items);
}

/* What a table means that leaves the attribute out. */
static void put_absent(Reader *r, const AttrField *f)
{
    int64_t items[OP_MAX_RANK];
    AttrAbsent absent = f->kind->absent;
    int n = absent == ABSENT_ALL ? r->x->rank : r->length;
    if (f->optional) {
        ir_attr_put(r->out, f->fallback);
    } else if (r->op == OP_custom) {
        missing(r, f);
    } else if (absent == ABSENT_ZERO) {
        ir_attr_put(r->out, 0);
    } else if (absent == ABSENT_ERROR) {
        missing(r, f);
    } else {
        for (int i = 0; i < n; i++) items[i] = absent == ABSENT_ALL ? i : 1;
        ir_attr_put_list(r->out, n, items);
    }
}

/* No field of the table may be one that the op does not have. */
static void check_names(const Reader *r)
{
    lua_State *L = r->L;
    for (lua_pushnil(L); lua_next(L, r->table); lua_pop(L, 1)) {
        const char *schema = r->schema;
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        bool known = false;
        for (AttrField f; !known && ir_attr_next(&schema, &f);)
            known = strlen(name) == (size_t)f.length && !memcmp(name, f.name, f.length);
        if (!known)
            bind_raise(L, SGL_EARG, NULL, "%s: unknown attribute '%s' (schema: %s)", r->name, name,
                       r->schema);
    }
}

/* Field by field as the schema has them, so the words come out in its order. */
static void read_fields(Reader r)
{
    lua_State *L = r.L;
    const char *schema = r.schema;
    check_names(&r);
    for (AttrField f; ir_attr_next(&schema, &f);) {
        int top = lua_gettop(L);
        lua_pushlstring(L, f.name, f.length);
        lua_rawget(L, r.table);
        if (lua_isnil(L, top + 1)) put_absent(&r, &f);
        else if (f.kind->list) read_list(&r, &f, top + 1);
        else ir_attr_put(r.out, ITEMS[f.kind->item].read(&r, &f, top + 1, 0));
        lua_settop(L, top);
    }
}

void tensor_attrs_read(lua_State *L, Op op, int table, const Shape *x, AttrBuf *out)
{
    *out = (AttrBuf){0};
    read_fields((Reader){L, op, OPS[op].name, OPS[op].attrs, table, x, out, 0});
}

void tensor_attrs_custom(lua_State *L, const sgl_op *op, int table, const Shape *x, AttrBuf *out)
{
    Host *h = bind_of(L);
    int64_t name = ir_attr_text_word(h->cx, op->name);
    if (!name) bind_throw(L, h);
    *out = (AttrBuf){0};
    ir_attr_put(out, name);
    read_fields((Reader){L, OP_custom, op->name, op->attrs ? op->attrs : "", table, x, out, 0});
}

/* The value of the attribute at `at`. */
static void push_value(lua_State *L, const AttrField *f, const int64_t *at)
{
    if (!f->kind->list) {
        ITEMS[f->kind->item].push(L, *at);
        return;
    }
    int count = (int)at[0];
    lua_createtable(L, count, 0);
    for (int i = 1; i <= count; i++) {
        ITEMS[f->kind->item].push(L, at[i]);
        lua_rawseti(L, -2, i);
    }
}

/* The way back: a table that tensor_attrs_read would read the same from. */
void tensor_attrs_push(lua_State *L, const Node *n)
{
    const char *schema = ir_schema(n);
    const int64_t *at = n->attr, *end = n->attr + n->nattr;
    lua_newtable(L);
    for (AttrField f; ir_attr_next(&schema, &f);) {
        if (!ir_attr_default(&f, at)) {
            lua_pushlstring(L, f.name, f.length);
            push_value(L, &f, at);
            lua_rawset(L, -3);
        }
        at += ir_attr_words(&f, at, (int)(end - at));
    }
}
