/* apply.c: core.apply, ops with structure by name; realization of lists.
 */
#include "bind/events.h"
#include "tensor/args.h"
#include "tensor/ops.h"
#include "tensor/room.h"
#include "ir/build.h"

/* An op whose builder does more than make the node: infers, promotes, drops what is no change.
 * w are the attribute's words. Ops without a row are made by ir_attr_node. */
typedef struct Builder {
    Op op;
    Node *(*build)(int n, Node *const *in, const int64_t *w);
} Builder;

static Node *build_reshape(int n, Node *const *in, const int64_t *w)
{
    return (void)n, ir_reshape(in[0], (int)w[0], w + 1);
}

static Node *build_broadcast(int n, Node *const *in, const int64_t *w)
{
    return (void)n, ir_broadcast(in[0], (int)w[0], w + 1);
}

static Node *build_cast(int n, Node *const *in, const int64_t *w)
{
    return (void)n, ir_cast(in[0], (Dtype)w[0]);
}

static Node *build_dot(int n, Node *const *in, const int64_t *w)
{
    return (void)n, ir_dot_inner(in[0], in[1], (int)w[2], (Blocks){w[0], w[1]});
}

static Node *build_concat(int n, Node *const *in, const int64_t *w)
{
    return ir_concat(n, in, (int)w[0]);
}

static const Builder BUILDERS[] = {
    {OP_reshape, build_reshape}, {OP_broadcast, build_broadcast}, {OP_cast, build_cast},
    {OP_dot, build_dot},         {OP_concat, build_concat},
};

/* What changes nothing whatever the sizes is its input; a list shorter than the rank is left to
 * the op's shape rule. */
static bool is_identity(Op op, const Node *x, const AttrBuf *b)
{
    const int64_t *w = b->word;
    if (op == OP_flip || OPS[op].family == FAM_reduce) return w[0] == 0;
    bool same = op == OP_permute && w[0] == x->rank;
    for (int64_t d = 1; same && d <= x->rank; d++) same = w[d] == d - 1;
    return same;
}

static Node *build(Graph *g, Op op, int n, Node *const *in, AttrBuf *b)
{
    for (size_t i = 0; i < sizeof BUILDERS / sizeof *BUILDERS; i++)
        if (BUILDERS[i].op == op) return BUILDERS[i].build(n, in, b->word);
    return is_identity(op, in[0], b) ? in[0] : ir_attr_node(g, op, n, in, b);
}

static Op check_op(lua_State *L, int arg)
{
    Op op = bind_check_op(L, arg);
    Family family = OPS[op].family;
    if (family == FAM_leaf || (family >= FAM_control && family <= FAM_effect))
        bind_raise(L, SGL_EARG, NULL, "%s makes no tensor from tensors", OPS[op].name);
    return op;
}

/* The inputs, one tensor or a list, at 4 … on the stack; what was at 4 is lost. */
static int spread_inputs(lua_State *L, Host *h, Op op)
{
    const char *name = OPS[op].name;
    int n = 1;
    lua_settop(L, 3);
    if (tensor_at(L, h, 2)) {
        lua_pushvalue(L, 2);
    } else {
        n = bind_check_list(L, 2, name);
        luaL_checkstack(L, n + LUA_MINSTACK, "too many inputs");
        for (int i = 1; i <= n; i++) lua_rawgeti(L, 2, i);
    }
    if (OPS[op].inputs < 0 ? n >= 1 : n == OPS[op].inputs) return n;
    return bind_raise(L, SGL_EARG, NULL, "%s: %d inputs given", name, n);
}

/* Outside steps, is some position of the index not in [0, bound)? One that is still pending is not
 * looked at, unless all are. */
static bool is_outside(lua_State *L, Host *h, Tensor *index, Dim bound)
{
    if (!index->storage && !room_of(h)->positions_now) return false;
    if (tensor_realize(h, 1, &index) < 0) return bind_throw(L, h);
    const Storage *s = index->storage;
    const void *at = tensor_host(L, h, s);
    bool outside = false;
    for (int64_t i = 0; i < s->count && !outside; i++) {
        double position = ir_dtype_load(s->dtype, at, i);
        outside = position < 0 || position >= (double)bound;
    }
    return outside;
}

/* What has made `out` of the inputs at 4 … fails at its own place if positions that it reads are
 * outside; where it is read nobody would look for it. */
static void check_positions(lua_State *L, Host *h, Tensor *out, Dim bound)
{
    Tensor *index = tensor_at(L, h, 5);
    if (tensor_recording(h) || !index) return;
    if (!is_outside(L, h, index, bound) || tensor_realize(h, 1, &out) >= 0) return;
    tensor_set(out, NULL); /* or whatever runs all that is pending would fail with it */
    bind_throw(L, h);
}

void tensor_positions_now(Host *h, bool on) { room_of(h)->positions_now = on; }

/* core.apply(op, inputs, attrs) */
static int apply(lua_State *L)
{
    Host *h = bind_of(L);
    Op op = check_op(L, 1);
    int n = spread_inputs(L, h, op);
    if (ir_family_elementwise(OPS[op].family)) {
        for (int i = 0; i < 3; i++) lua_remove(L, 1);
        tensor_elementwise(L, h, op);
        return 1;
    }
    if (lua_isnil(L, 3)) {
        lua_newtable(L);
        lua_replace(L, 3);
    }
    luaL_checktype(L, 3, LUA_TTABLE);
    Node **in = bind_scratch(L, n + 1, sizeof *in);
    Tensor *out = tensor_new(L, h);
    Shape x = tensor_shape(tensor_check(L, h, 4, OPS[op].name));
    AttrBuf attrs;
    tensor_attrs_read(L, op, 3, &x, &attrs);
    Trace *tr = tensor_trace(L, h);
    for (int i = 0; i < n; i++) in[i] = tensor_node(L, h, 4 + i, OPS[op].name);
    if (OPS[op].family == FAM_comm && n == 1 && tensor_recording(h))
        n += (in[1] = ir_comm_last(tr->graph)) != NULL; /* all ranks keep one order */
    Node *made = build(tr->graph, op, n, in, &attrs);
    if (!made) return bind_throw(L, h);
    tensor_bind(out, tr, made);
    if (OPS[op].domain == DOM_INDEX) check_positions(L, h, out, x.dims[ir_attr_int(made, 0)]);
    return 1;
}

/* core.realize(list) */
static int realize(lua_State *L)
{
    Host *h = bind_of(L);
    int n;
    Tensor **list = tensor_list(L, h, 1, "realize", &n);
    if (tensor_recording(h))
        return bind_raise(L, SGL_ESTATE, NULL, "realize: not inside sgl.compile");
    base_err_clear(&h->cx->err);
    if (tensor_realize(h, n, list) < 0) return bind_throw(L, h);
    bind_events_flush(L, h);
    tensor_hint_memory(L, h);
    return 0;
}

/* core.half(list, n) -> nil where none of the n values is a tensor of f16 or bf16; else the dtype
 * of what a composite of them gives: theirs where all floats among them have it, else "f32". */
static int half(lua_State *L)
{
    Host *h = bind_of(L);
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer n = luaL_checkinteger(L, 2);
    luaL_argcheck(L, n <= LUAI_MAXSTACK, 2, "more values than a call can have");
    bool found = false;
    int dtype = -1;
    for (lua_Integer i = 1; i <= n; i++, lua_settop(L, 2)) {
        lua_rawgeti(L, 1, i);
        const Tensor *t = tensor_at(L, h, -1);
        if (!t || DTYPES[tensor_dtype(t)].class != CLASS_FLOAT) continue;
        Dtype own = tensor_dtype(t);
        found = found || own == DT_f16 || own == DT_bf16;
        dtype = dtype < 0 || dtype == (int)own ? (int)own : DT_f32;
    }
    if (!found) return 0;
    lua_pushstring(L, DTYPES[dtype].name);
    return 1;
}

const luaL_Reg TENSOR_APPLY[] = {
    {"apply", apply},
    {"half", half},
    {"realize", realize},
    {NULL, NULL},
};
