/* attrs.c: attributes of ops between Lua tables and the words of a node (ir/attr.h).
 *
 * Reading, an absent flag or number is its default or 0, an absent list of axes means all, an
 * absent list of steps, strides or dilations means ones; everything else must be there. A name that
 * is not in the schema is an error. What has its default is not pushed.
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
    int table;
    const Shape *x;
    AttrBuf *out;
    int length; /* of the last list read; absent lists of ones take it */
} Reader;

static const char *what(const Reader *r, const AttrField *f)
{
    return lua_pushfstring(r->L, "%s: attribute '%s'", OPS[r->op].name,
                           lua_pushlstring(r->L, f->name, f->length));
}

static void missing(const Reader *r, const AttrField *f)
{
    bind_raise(r->L, SGL_EARG, NULL, "%s is missing", what(r, f));
}

/* The op is made for one value of the attribute. */
static void refuse_number(const Reader *r, const AttrField *f, int at)
{
    Host *h = bind_of(r->L);
    if (tensor_number_at(r->L, h, at)) tensor_number_refuse(r->L, h, at, what(r, f));
}

static void read_int(Reader *r, const AttrField *f, int at)
{
    int exact;
    refuse_number(r, f, at);
    lua_Integer v = lua_tointegerx(r->L, at, &exact);
    if (lua_isboolean(r->L, at)) v = lua_toboolean(r->L, at);
    else if (!exact && !lua_isnil(r->L, at))
        bind_raise(r->L, SGL_EARG, NULL, "%s must be an integer, got %s", what(r, f),
                   bind_kind(r->L, at));
    ir_attr_put(r->out, v);
}

static void read_float(Reader *r, const AttrField *f, int at)
{
    refuse_number(r, f, at);
    if (!lua_isnil(r->L, at) && lua_type(r->L, at) != LUA_TNUMBER)
        bind_raise(r->L, SGL_EARG, NULL, "%s must be a number, got %s", what(r, f),
                   bind_kind(r->L, at));
    ir_attr_put_float(r->out, lua_tonumber(r->L, at));
}

static void read_dtype(Reader *r, const AttrField *f, int at)
{
    if (lua_isnil(r->L, at)) missing(r, f);
    ir_attr_put(r->out, bind_check_dtype(r->L, at, -1));
}

static void read_axis(Reader *r, const AttrField *f, int at)
{
    int exact;
    refuse_number(r, f, at);
    lua_Integer axis = lua_tointegerx(r->L, at, &exact);
    if (!exact)
        bind_raise(r->L, SGL_EARG, NULL, "%s must be an axis, got %s", what(r, f),
                   bind_kind(r->L, at));
    ir_attr_put(r->out, bind_check_axis(r->L, OPS[r->op].name, axis, r->x));
}

static int list_length(Reader *r, const AttrField *f, int at)
{
    int n = bind_check_list(r->L, at, what(r, f));
    if (n > OP_MAX_RANK)
        bind_raise(r->L, SGL_ESHAPE, NULL, "%s has %d items, at most %d are possible", what(r, f),
                   n, OP_MAX_RANK);
    return r->length = n;
}

/* Axes of x, none twice; nil stands for all of them. */
static void read_axes(Reader *r, const AttrField *f, int at)
{
    int64_t axes[OP_MAX_RANK];
    int n = lua_isnil(r->L, at) ? r->x->rank : list_length(r, f, at);
    for (int i = 0; i < n; i++) {
        lua_Integer axis = i + 1;
        if (!lua_isnil(r->L, at)) axis = tensor_check_item(r->L, at, i + 1, what(r, f));
        axes[i] = bind_check_axis(r->L, OPS[r->op].name, axis, r->x);
        for (int j = 0; j < i; j++)
            if (axes[j] == axes[i])
                bind_raise(r->L, SGL_EARG, NULL, "%s: axis %I is given twice", OPS[r->op].name,
                           axis);
    }
    ir_attr_put_list(r->out, n, axes);
}

static void read_ints(Reader *r, const AttrField *f, int at)
{
    int64_t items[OP_MAX_RANK];
    int n = lua_isnil(r->L, at) ? r->length : list_length(r, f, at);
    for (int i = 0; i < n; i++)
        items[i] = lua_isnil(r->L, at) ? 1 : tensor_check_item(r->L, at, i + 1, what(r, f));
    ir_attr_put_list(r->out, n, items);
}

/* Sizes, some of them symbolic; -1 is left to be inferred where the op does that. */
static void read_dims(Reader *r, const AttrField *f, int at)
{
    int64_t dims[OP_MAX_RANK];
    if (lua_isnil(r->L, at)) missing(r, f);
    int n = list_length(r, f, at);
    for (int i = 0; i < n; i++) {
        if (tensor_check_size(r->L, at, i + 1, what(r, f), &dims[i])) continue;
        if (dims[i] == -1 && r->op == OP_reshape) dims[i] = DIM_INFER;
        else if (dims[i] < 0)
            bind_raise(r->L, SGL_ESHAPE, NULL, "%s: element %d is %I, it cannot be negative",
                       what(r, f), i + 1, (lua_Integer)dims[i]);
    }
    ir_attr_put_list(r->out, n, dims);
}

/* Texts and blocks come by ways of their own (control.c, effect.c). */
static void read_none(Reader *r, const AttrField *f, int at)
{
    (void)at;
    missing(r, f);
}

/* By kind: reading a field, and pushing the words of one; `items` counts those of a list. */
typedef struct Kind {
    char kind;
    void (*read)(Reader *, const AttrField *, int at);
    bool list, from_one; /* counts from 1 in Lua */
} Kind;

static const Kind KINDS[] = {
    {'I', read_int, false, false}, {'F', read_float, false, false}, {'T', read_dtype, false, false},
    {'A', read_axis, false, true}, {'P', read_axes, true, true},    {'L', read_ints, true, false},
    {'D', read_dims, true, false}, {'S', read_none, false, false},  {'G', read_none, false, false},
};

static const Kind *kind_of(char kind)
{
    const Kind *k = KINDS;
    while (k->kind != kind) k++;
    return k;
}

/* No field of the table may be one that the op does not have. */
static void check_names(const Reader *r)
{
    lua_State *L = r->L;
    for (lua_pushnil(L); lua_next(L, r->table); lua_pop(L, 1)) {
        const char *schema = OPS[r->op].attrs;
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        bool known = false;
        for (AttrField f; !known && ir_attr_next(&schema, &f);)
            known = strlen(name) == (size_t)f.length && !memcmp(name, f.name, f.length);
        if (!known)
            bind_raise(L, SGL_EARG, NULL, "%s: unknown attribute '%s' (schema: %s)",
                       OPS[r->op].name, name, OPS[r->op].attrs);
    }
}

/* Field by field as the op's schema has them, so the words come out in its order. */
void tensor_attrs_read(lua_State *L, Op op, int table, const Shape *x, AttrBuf *out)
{
    const char *schema = OPS[op].attrs;
    Reader r = {L, op, table, x, out, 0};
    *out = (AttrBuf){0};
    check_names(&r);
    for (AttrField f; ir_attr_next(&schema, &f);) {
        int top = lua_gettop(L);
        lua_pushlstring(L, f.name, f.length);
        lua_rawget(L, table);
        if (f.optional && lua_isnil(L, top + 1)) ir_attr_put(out, f.fallback);
        else kind_of(f.kind)->read(&r, &f, top + 1);
        lua_settop(L, top);
    }
}

static void push_word(lua_State *L, const AttrField *f, int64_t word)
{
    if (f->kind == 'F') lua_pushnumber(L, ir_attr_double(word));
    else if (f->kind == 'T') lua_pushstring(L, DTYPES[word].name);
    else if (f->kind == 'S') lua_pushstring(L, ir_attr_text(word));
    else if (f->kind == 'D') tensor_push_size(L, word);
    else lua_pushinteger(L, word + kind_of(f->kind)->from_one);
}

/* The value of the attribute at `at`. */
static void push_value(lua_State *L, const AttrField *f, const int64_t *at)
{
    if (!kind_of(f->kind)->list) {
        push_word(L, f, *at);
        return;
    }
    int count = (int)at[0];
    lua_createtable(L, count, 0);
    for (int i = 1; i <= count; i++) {
        push_word(L, f, at[i]);
        lua_rawseti(L, -2, i);
    }
}

/* The way back: a table that tensor_attrs_read would read the same from. */
void tensor_attrs_push(lua_State *L, const Node *n)
{
    const char *schema = ir_op(n)->attrs;
    const int64_t *at = n->attr, *end = n->attr + n->nattr;
    lua_newtable(L);
    for (AttrField f; ir_attr_next(&schema, &f);) {
        if (!ir_attr_default(&f, at)) {
            lua_pushlstring(L, f.name, f.length);
            push_value(L, &f, at);
            lua_rawset(L, -3);
        }
        at += ir_attr_words(f.kind, at, (int)(end - at));
    }
}
