/* make.c: tensors from Lua values and bytes; constants.
 *
 * A nested table is walked twice: for its shape and the highest class of its values, then for
 * the values. Both walks refuse a ragged table and name the place: [2][1].
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "tensor/args.h"
#include "tensor/number.h"
#include "tensor/ops.h"
#include "tensor/room.h"
#include "ir/build.h"

/* Where a walk is: indices of the tables it is in. */
typedef struct Walk {
    lua_State *L;
    Shape shape; /* dims found by the first walk */
    int class;   /* highest class of a value so far */
    int64_t at[OP_MAX_RANK];
    Dtype dtype;  /* second walk: of the tensor, */
    void *data;   /* whose elements go here */
    int64_t next; /* element to be stored */
} Walk;

static const char *place(Walk *w, int depth)
{
    lua_pushliteral(w->L, "");
    for (int i = 0; i < depth; i++)
        lua_pushfstring(w->L, "%s[%I]", lua_tostring(w->L, -1), (lua_Integer)w->at[i]);
    return lua_tostring(w->L, -1);
}

static void ragged(Walk *w, int depth, const char *got)
{
    bind_raise(w->L, SGL_ESHAPE, "all tables on one level must have the same length",
               "tensor: value%s is %s, but the first at this depth is %s", place(w, depth), got,
               depth < w->shape.rank
                   ? lua_pushfstring(w->L, "a table of %I", (lua_Integer)w->shape.dims[depth])
                   : "a number");
}

/* A table without a list part but with other keys is a slip, not an empty dim. */
static void refuse_names(Walk *w, int depth)
{
    lua_pushnil(w->L);
    if (!lua_next(w->L, -2)) return;
    bind_raise(w->L, SGL_EARG, "write the values as a list: { 1, 2, 3 }",
               "tensor: value%s is a table with keys that are no positions", place(w, depth));
}

/* Length of the table on the top; the first table of a depth fixes the dim. */
static int64_t check_table(Walk *w, int depth, bool first)
{
    int64_t n = (int64_t)lua_rawlen(w->L, -1);
    if (n == 0) refuse_names(w, depth);
    if (first && depth == OP_MAX_RANK)
        bind_raise(w->L, SGL_ESHAPE, NULL, "tensor: tables nested deeper than %d", OP_MAX_RANK);
    if (first && depth == w->shape.rank) w->shape.dims[w->shape.rank++] = n;
    if (depth >= w->shape.rank || w->shape.dims[depth] != n)
        ragged(w, depth, lua_pushfstring(w->L, "a table of %I", (lua_Integer)n));
    return n;
}

static int value_class(Walk *w, int depth)
{
    int type = lua_type(w->L, -1);
    if (type == LUA_TBOOLEAN) return CLASS_BOOL;
    if (type == LUA_TNUMBER) return lua_isinteger(w->L, -1) ? CLASS_INT : CLASS_FLOAT;
    tensor_number_refuse(w->L, bind_of(w->L), lua_gettop(w->L), "sgl.tensor of a table");
    bind_raise(w->L, SGL_EARG, NULL,
               "tensor: value%s must be a number, a boolean or a table, got %s", place(w, depth),
               bind_kind(w->L, -1));
    return 0;
}

static void check_value(Walk *w, int depth)
{
    int class = value_class(w, depth);
    if (depth != w->shape.rank) ragged(w, depth, "a number");
    if (class > w->class) w->class = class;
}

/* Shape and class of the value on the top of the stack. `first`: nothing beside it was seen. */
static void measure(Walk *w, int depth, bool first)
{
    if (!lua_istable(w->L, -1)) {
        check_value(w, depth);
        return;
    }
    int64_t n = check_table(w, depth, first);
    luaL_checkstack(w->L, LUA_MINSTACK, "nested tables");
    for (int64_t i = 1; i <= n; i++) {
        w->at[depth] = i;
        lua_rawgeti(w->L, -1, i);
        measure(w, depth + 1, first && i == 1);
        lua_pop(w->L, 1);
    }
}

static void unfit(Walk *w, int depth)
{
    const char *value = luaL_tolstring(w->L, -1, NULL);
    bind_raise(w->L, SGL_EARG, "give the dtype: sgl.tensor(v, { dtype = \"i64\" }), or \"f32\"",
               "tensor: value%s is %s, which does not fit into %s", place(w, depth), value,
               DTYPES[w->dtype].name);
}

/* Every integer goes into i64; into other integer dtypes only if it fits, into floats as it is
 * rounded. */
static void store_integer(Walk *w, int depth)
{
    lua_Integer v = lua_tointeger(w->L, -1);
    Dtype t = w->dtype;
    if (t == DT_i64) {
        ((int64_t *)w->data)[w->next++] = v;
        return;
    }
    int64_t k = w->next++;
    ir_dtype_store(t, w->data, k, (double)v);
    if (DTYPES[t].class != CLASS_INT || (double)v == ir_dtype_load(t, w->data, k)) return;
    unfit(w, depth);
}

/* A number in an integer tensor loses its fraction, but not its size. */
static bool fits(Dtype t, double v)
{
    const double past_i64 = 9223372036854775808.0;
    if (DTYPES[t].class != CLASS_INT) return true;
    return fabs(v - ir_dtype_round(t, v)) < 1 && v < past_i64;
}

static void store_float(Walk *w, int depth)
{
    double v = lua_tonumber(w->L, -1);
    ir_dtype_store(w->dtype, w->data, w->next++, v);
    if (!fits(w->dtype, v)) unfit(w, depth);
}

/* The second walk: stores the values in the order of the elements. */
static void fill(Walk *w, int depth)
{
    if (lua_istable(w->L, -1)) {
        int64_t n = check_table(w, depth, false);
        for (int64_t i = 1; i <= n; i++) {
            w->at[depth] = i;
            lua_rawgeti(w->L, -1, i);
            fill(w, depth + 1);
            lua_pop(w->L, 1);
        }
    } else if (lua_isinteger(w->L, -1)) {
        store_integer(w, depth);
    } else if (lua_isboolean(w->L, -1)) {
        ir_dtype_store(w->dtype, w->data, w->next++, lua_toboolean(w->L, -1));
    } else {
        store_float(w, depth);
    }
}

static Dtype class_dtype(int class)
{
    return class == CLASS_BOOL ? DT_bool : class == CLASS_INT ? DT_i32 : DT_f32;
}

/* Pushes a tensor on the node made by `build`. */
static int push_node(lua_State *L, Host *h, Trace *tr, Node *n)
{
    Tensor *t = tensor_new(L, h);
    if (!n) return bind_throw(L, h);
    tensor_bind(t, tr, n);
    return 1;
}

/* Of a number of a step. */
static int make_number(lua_State *L, Host *h, const Tensor *number)
{
    Trace *tr = tensor_trace(L, h);
    Dtype dtype =
        lua_isnil(L, 2) ? class_dtype(tensor_number_class(h, number)) : bind_check_dtype(L, 2, -1);
    return push_node(L, h, tr, tensor_number_cast(L, h, "tensor", 1, dtype));
}

/* The data tensor on top, or, in a capture, one that stands for a node as all that a step makes:
 * what is assigned to it is not there at the next run. The data themselves are never assigned. */
static int push_data(lua_State *L, Host *h)
{
    int data = lua_gettop(L);
    if (!tensor_recording(h)) return 1;
    Trace *tr = tensor_trace(L, h);
    Node *n = tensor_node(L, h, data, "tensor");
    push_node(L, h, tr, ir_reshape(n, n->rank, n->dims));
    tensor_at(L, h, -1)->storage = dev_storage_ref(tensor_at(L, h, data)->storage);
    return 1;
}

/* core.tensor(value, dtype?) */
static int make_tensor(lua_State *L)
{
    Host *h = bind_of(L);
    Walk w = {.L = L};
    luaL_checkany(L, 1);
    lua_settop(L, 2);
    tensor_number_of_size(L, h, 1);
    const Tensor *number = tensor_number_at(L, h, 1);
    if (number) return make_number(L, h, number);
    lua_pushvalue(L, 1);
    measure(&w, 0, true);
    Dtype dtype = bind_check_dtype(L, 2, class_dtype(w.class ? w.class : CLASS_FLOAT));
    Tensor *t = tensor_make(L, h, dtype, w.shape.rank, w.shape.dims);
    w.dtype = dtype;
    w.data = dev_storage_edit(t->storage);
    lua_pushvalue(L, 1);
    fill(&w, 0);
    lua_pop(L, 1);
    return push_data(L, h);
}

/* The bytes must be as many as the shape has; any that is not 0 is true. */
static int make_copy(lua_State *L, Host *h, Dtype dtype, int rank, const int64_t *dims,
                     const char *bytes, size_t n)
{
    Tensor *t = tensor_make(L, h, dtype, rank, dims);
    if (n != t->storage->bytes) {
        Shape s = tensor_shape(t);
        bind_push_type(L, &s);
        return bind_raise(L, SGL_ESHAPE, NULL, "from_bytes: %s needs %I bytes, got %I",
                          lua_tostring(L, -1), (lua_Integer)t->storage->bytes, (lua_Integer)n);
    }
    unsigned char *flags = dev_storage_edit(t->storage);
    if (n) memcpy(flags, bytes, n);
    for (size_t i = 0; dtype == DT_bool && i < n; i++) flags[i] = flags[i] != 0;
    return push_data(L, h);
}

/* core.from_bytes(string, dtype, shape) */
static int make_from_bytes(lua_State *L)
{
    Host *h = bind_of(L);
    size_t n;
    int64_t dims[OP_MAX_RANK];
    const char *bytes = luaL_checklstring(L, 1, &n);
    Dtype dtype = bind_check_dtype(L, 2, -1);
    int rank = tensor_check_dims(L, 3, "from_bytes: the shape", dims);
    return make_copy(L, h, dtype, rank, dims, bytes, n);
}

/* Fills the storage with one value. */
static void fill_same(Storage *s, double value)
{
    size_t size = DTYPES[s->dtype].bytes, done = size;
    char *at = dev_storage_edit(s);
    if (!s->count) return;
    ir_dtype_store(s->dtype, at, 0, value);
    for (; done < s->bytes; done *= 2)
        memcpy(at + done, at, done < s->bytes - done ? done : s->bytes - done);
}

/* The number at 2 everywhere, where that is no constant: a number of a step, or an integer with
 * more digits than one holds. */
static int make_alike(lua_State *L, Host *h, const char *what, Dtype dtype, int rank,
                      const int64_t *dims)
{
    Trace *tr = tensor_trace(L, h);
    const Tensor *number = tensor_number_at(L, h, 2);
    Node *n;
    if (!number) n = ir_integer(tr->graph, lua_tointeger(L, 2));
    else n = tensor_number_cast(L, h, what, 2, dtype);
    return push_node(L, h, tr, ir_broadcast(n, rank, dims));
}

/* core.full(shape, value, dtype?, what?); `what` begins messages. Recorded, equal constants are
 * one node. So outside a capture a float one is a leaf, which gradients can be taken of: it is not
 * every other constant. */
static int make_full(lua_State *L)
{
    Host *h = bind_of(L);
    int64_t dims[OP_MAX_RANK];
    int rank = tensor_check_dims(L, 1, "full: the shape", dims);
    Dtype dtype = bind_check_dtype(L, 3, DT_f32);
    const char *what = luaL_optstring(L, 4, "full");
    tensor_number_of_size(L, h, 2);
    if (tensor_number_at(L, h, 2) || (dtype == DT_i64 && lua_isinteger(L, 2)))
        return make_alike(L, h, what, dtype, rank, dims);
    if (!lua_isnumber(L, 2) && !lua_isboolean(L, 2))
        return bind_raise(L, SGL_EARG, NULL, "%s: the value must be a number, got %s", what,
                          bind_kind(L, 2));
    double v = lua_isboolean(L, 2) ? lua_toboolean(L, 2) : lua_tonumber(L, 2);
    if (!fits(dtype, v))
        return bind_raise(L, SGL_EARG, "a wider dtype holds it, such as i64 or f32",
                          "%s: %s does not fit into %s", what, luaL_tolstring(L, 2, NULL),
                          DTYPES[dtype].name);
    if (!tensor_recording(h) && DTYPES[dtype].class == CLASS_FLOAT) {
        fill_same(tensor_make(L, h, dtype, rank, dims)->storage, v);
        return 1;
    }
    Trace *tr = tensor_trace(L, h);
    return push_node(L, h, tr, ir_const(tr->graph, dtype, rank, dims, v));
}

/* core.iota(shape, dim, dtype) */
static int make_iota(lua_State *L)
{
    Host *h = bind_of(L);
    Shape s = {.dtype = DT_f32};
    s.rank = tensor_check_dims(L, 1, "iota: the shape", s.dims);
    int axis = bind_check_axis(L, "iota", luaL_optinteger(L, 2, 1), &s);
    Dtype dtype = bind_check_dtype(L, 3, DT_i32);
    Trace *tr = tensor_trace(L, h);
    return push_node(L, h, tr, ir_iota(tr->graph, dtype, s.rank, s.dims, axis));
}

/* core.is_tensor(v): to the user: a number of a step is none */
static int is_tensor(lua_State *L)
{
    const Tensor *t = lua_gettop(L) > 0 ? tensor_at(L, bind_of(L), 1) : NULL;
    lua_pushboolean(L, t && !t->weak);
    return 1;
}

/* core.born(t) -> a number that is larger for a younger tensor; without one, larger than all */
static int born(lua_State *L)
{
    const Tensor *t = tensor_at(L, bind_of(L), 1);
    lua_pushinteger(L, (lua_Integer)(t ? t->born : tensor_id()));
    return 1;
}

/* core.derived(t) -> boolean: do gradients go back from it to what it was computed from? */
static int derived(lua_State *L)
{
    const Tensor *t = tensor_check(L, bind_of(L), 1, "derived");
    lua_pushboolean(L, t->node && !t->leaf);
    return 1;
}

const luaL_Reg TENSOR_MAKE[] = {
    {"tensor", make_tensor},  {"from_bytes", make_from_bytes},
    {"full", make_full},      {"iota", make_iota},
    {"is_tensor", is_tensor}, {"born", born},
    {"derived", derived},     {NULL, NULL},
};
