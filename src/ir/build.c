/* build.c: builders of elementwise ops, constants, casts, reductions, products and indexing.
 *
 * In:    nodes of one graph; a NULL among them gives NULL.
 * Out:   the node, or NULL with the context's error set.
 * Holds: elementwise inputs reach ir_node with one dtype and the same dims; a constant stays a
 *        constant under cast and broadcast, so numbers in scripts cost no nodes.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/build.h"

#define UNARY(name, types, value, grad, domain, onnx, doc)                                         \
    Node *ir_##name(Node *x) { return x ? ir_elementwise(x->graph, OP_##name, 1, &x) : NULL; }
#define TEST(name, types, value, domain, onnx, doc)                                                \
    UNARY(name, types, value, NULL, domain, onnx, doc)
#define BINARY(name, types, value, gx, gy, domain, onnx, doc)                                      \
    Node *ir_##name(Node *x, Node *y)                                                              \
    {                                                                                              \
        Node *in[] = {x, y};                                                                       \
        return x && y ? ir_elementwise(x->graph, OP_##name, 2, in) : NULL;                         \
    }
#define COMPARE(name, types, value, domain, onnx, doc)                                             \
    BINARY(name, types, value, NULL, NULL, domain, onnx, doc)
#define SELECT(name, types, value, domain, onnx, doc)                                              \
    Node *ir_##name(Node *x, Node *y, Node *z)                                                     \
    {                                                                                              \
        Node *in[] = {x, y, z};                                                                    \
        return x && y && z ? ir_elementwise(x->graph, OP_##name, 3, in) : NULL;                    \
    }
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)
#include "ir/op.def"
#include "ir/op_undef.h"

static const char *text(const Str *s) { return s->at ? s->at : ""; }

/* "f32[3, 4] and f32[2, 4]" */
static void types_text(int n, Node *const *in, Str *out)
{
    for (int i = 0; i < n; i++) {
        if (i) base_str_put(out, i == n - 1 ? " and " : ", ");
        ir_type_text(in[i], out);
    }
}

static int broadcast_fail(Op op, int nin, Node *const *in, int d, Dim a, Dim b)
{
    Ctx *cx = in[0]->graph->cx;
    Str types = {0}, left = {0}, right = {0};
    types_text(nin, in, &types);
    ir_dim_text(cx, a, &left);
    ir_dim_text(cx, b, &right);
    base_fail(cx, SGL_ESHAPE, "%s: shapes do not broadcast: %s (dim %d: %s against %s)",
              OPS[op].name, text(&types), d + 1, text(&left), text(&right));
    if (ir_dim_is_const(a) != ir_dim_is_const(b))
        base_err_hint(&cx->err,
                      "dim %d has the symbolic size %s: make the other tensor with that "
                      "size, from t.shape, in place of %s",
                      d + 1, text(ir_dim_is_const(a) ? &right : &left),
                      text(ir_dim_is_const(a) ? &left : &right));
    else if (ir_dim_plain(cx, a) >= 0 && ir_dim_plain(cx, b) >= 0)
        base_err_hint(&cx->err,
                      "%s and %s are two dims: if they are always equal, use one sgl.dim for both "
                      "in the specs",
                      text(&left), text(&right));
    base_err_hint(&cx->err,
                  "sizes must be equal or 1, counted from the last dim: reshape, transpose "
                  "or unsqueeze one of them");
    base_str_free(&types);
    base_str_free(&left);
    base_str_free(&right);
    return SGL_ESHAPE;
}

/* The dims that all inputs broadcast to: compared from the right, 1 gives way. */
static int common_dims(Op op, int nin, Node *const *in, Shape *out)
{
    out->rank = 0;
    for (int i = 0; i < nin; i++)
        if (in[i]->rank > out->rank) out->rank = in[i]->rank;
    for (int d = 0; d < out->rank; d++) {
        out->dims[d] = 1;
        for (int i = 0; i < nin; i++) {
            int own = d - (out->rank - in[i]->rank);
            Dim size = own < 0 ? 1 : in[i]->dims[own];
            if (size == 1 || size == out->dims[d]) continue;
            if (out->dims[d] != 1) return broadcast_fail(op, nin, in, d, out->dims[d], size);
            out->dims[d] = size;
        }
    }
    return SGL_OK;
}

/* The dtype that inputs from `first` on are promoted to, such that the op takes it. */
static int common_dtype(Op op, int first, int nin, Node *const *in, Dtype *out)
{
    Ctx *cx = in[0]->graph->cx;
    int types = OPS[op].types;
    *out = in[first]->dtype;
    for (int i = first + 1; i < nin; i++) *out = ir_dtype_promote(*out, in[i]->dtype);
    if (DTYPES[*out].class & types) return SGL_OK;
    if (types & CLASS_INT) *out = DT_i32;
    else if (types & CLASS_FLOAT) *out = DT_f32;
    else {
        Str s = {0};
        types_text(nin, in, &s);
        base_fail(cx, SGL_EDTYPE, "%s: needs bool, got %s", OPS[op].name, text(&s));
        base_err_hint(&cx->err, "compare first: x:ne(0) is true where x is not zero");
        base_str_free(&s);
        return SGL_EDTYPE;
    }
    return SGL_OK;
}

static int select_check(Op op, int nin, Node *const *in)
{
    if (OPS[op].family != FAM_select || in[0]->dtype == DT_bool) return SGL_OK;
    Ctx *cx = in[0]->graph->cx;
    Str s = {0};
    types_text(nin, in, &s);
    base_fail(cx, SGL_EDTYPE, "%s: the condition must be bool, got %s", OPS[op].name, text(&s));
    base_err_hint(&cx->err, "compare first: x:ne(0) is true where x is not zero");
    base_str_free(&s);
    return SGL_EDTYPE;
}

/* Broadcasts are made from the last input to the first, each for its own use: so gradients reach
 * what is broadcast in the order in which they would without one, which is how they reach it when
 * a symbolic size is 1. */
static Node *elementwise_over(Graph *g, Op op, int nin, Node **in, const Shape *s)
{
    for (int i = nin - 1; i >= 0; i--)
        if (in[i] && !ir_has_dims(in[i], s->rank, s->dims))
            in[i] = ir_broadcast(in[i], s->rank, s->dims);
    return ir_node(g, op, nin, in, NULL, 0);
}

Node *ir_elementwise(Graph *g, Op op, int nin, Node *const *in)
{
    Shape s;
    Node *ready[3];
    int first = OPS[op].family == FAM_select ? 1 : 0;
    for (int i = 0; i < nin; i++)
        if (!in[i]) return NULL;
    if (nin != OPS[op].inputs || !ir_family_elementwise(OPS[op].family)) {
        base_fail(g->cx, SGL_EARG, "%s: %d inputs given", OPS[op].name, nin);
        return NULL;
    }
    if (select_check(op, nin, in) < 0 || common_dtype(op, first, nin, in, &s.dtype) < 0 ||
        common_dims(op, nin, in, &s) < 0)
        return NULL;
    for (int i = 0; i < nin; i++) ready[i] = i < first ? in[i] : ir_cast(in[i], s.dtype);
    return elementwise_over(g, op, nin, ready, &s);
}

Node *ir_const(Graph *g, Dtype dtype, int rank, const Dim *dims, double value)
{
    AttrBuf b = {0};
    ir_attr_put_real(&b, ir_dtype_round(dtype, value));
    ir_attr_put_list(&b, rank, dims);
    ir_attr_put(&b, dtype);
    return ir_attr_node(g, OP_const, 0, NULL, &b);
}

Node *ir_integer(Graph *g, int64_t v)
{
    const int64_t exact = INT64_C(1) << 53;
    if (v >= -exact && v <= exact) return ir_const(g, DT_i64, 0, NULL, (double)v);
    Node *high = ir_const(g, DT_i64, 0, NULL, (double)(v >> 32));
    Node *low = ir_const(g, DT_i64, 0, NULL, (double)(v & 0xffffffff));
    return ir_add(ir_mul(high, ir_const(g, DT_i64, 0, NULL, 0x1p32)), low);
}

Node *ir_const_like(const Node *n, double value)
{
    return n ? ir_const(n->graph, n->dtype, n->rank, n->dims, value) : NULL;
}

static AttrBuf iota_attrs(Dtype dtype, int rank, const Dim *dims, int axis)
{
    AttrBuf b = {0};
    ir_attr_put(&b, axis);
    ir_attr_put_list(&b, rank, dims);
    ir_attr_put(&b, dtype);
    return b;
}

Node *ir_iota(Graph *g, Dtype dtype, int rank, const Dim *dims, int axis)
{
    AttrBuf b = iota_attrs(dtype, rank, dims, axis);
    return ir_attr_node(g, OP_iota, 0, NULL, &b);
}

Node *ir_iota_from(Graph *g, Dtype dtype, int rank, const Dim *dims, int axis, Dim start)
{
    AttrBuf b = iota_attrs(dtype, rank, dims, axis);
    ir_attr_put_list(&b, 1, &start);
    return ir_attr_node(g, OP_iota, 0, NULL, &b);
}

Node *ir_size(Graph *g, Dtype dtype, Dim of)
{
    if (of == DIM_FAIL) return NULL;
    if (ir_dim_is_const(of)) return ir_const(g, dtype, 0, NULL, (double)of);
    AttrBuf b = {0};
    ir_attr_put_list(&b, 1, &of);
    ir_attr_put(&b, dtype);
    return ir_attr_node(g, OP_size, 0, NULL, &b);
}

static AttrBuf rand_attrs(int rank, const Dim *dims, int draw, int word)
{
    AttrBuf b = {0};
    ir_attr_put(&b, draw);
    ir_attr_put(&b, word);
    ir_attr_put_list(&b, rank, dims);
    return b;
}

Node *ir_rand(Node *state, int rank, const Dim *dims, int draw, int word)
{
    if (!state) return NULL;
    AttrBuf b = rand_attrs(rank, dims, draw, word);
    return ir_attr_node(state->graph, OP_rand, 1, &state, &b);
}

Node *ir_rand_part(Node *state, int rank, const Dim *dims, int draw, int word, const Dim *global,
                   const Dim *start)
{
    if (!state) return NULL;
    AttrBuf b = rand_attrs(rank, dims, draw, word);
    ir_attr_put_list(&b, rank, global);
    ir_attr_put_list(&b, rank, start);
    return ir_attr_node(state->graph, OP_rand, 1, &state, &b);
}

Node *ir_cast(Node *x, Dtype dtype)
{
    if (!x || x->dtype == dtype) return x;
    if (x->op == OP_const) return ir_const(x->graph, dtype, x->rank, x->dims, ir_attr_float(x, 0));
    AttrBuf b = {0};
    ir_attr_put(&b, dtype);
    return ir_attr_node(x->graph, OP_cast, 1, &x, &b);
}

/* Order and repetition of reduced axes mean nothing, so equal reductions become one node. */
Node *ir_reduce(Node *x, Op op, int n, const int *axes)
{
    if (!x || n == 0) return x;
    int64_t sorted[OP_MAX_RANK];
    AttrBuf b = {.bad = n > OP_MAX_RANK};
    for (int i = 0; i < n && !b.bad; i++) {
        int at = i;
        for (; at > 0 && sorted[at - 1] > axes[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = axes[i];
    }
    if (!b.bad) ir_attr_put_list(&b, n, sorted);
    return ir_attr_node(x->graph, op, 1, &x, &b);
}

Node *ir_dot(Node *a, Node *b) { return ir_dot_inner(a, b, 1, (Blocks){1, 1}); }

Node *ir_dot_inner(Node *a, Node *b, int inner, Blocks blocks)
{
    if (!a || !b) return NULL;
    AttrBuf attrs = {0};
    ir_attr_put(&attrs, blocks.n);
    ir_attr_put(&attrs, blocks.units);
    ir_attr_put(&attrs, inner);
    Dtype dtype = ir_dtype_promote(a->dtype, b->dtype);
    if (DTYPES[dtype].bytes == 1) dtype = DT_i32; /* as a sum of bool or u8 */
    Node *in[] = {ir_cast(a, dtype), ir_cast(b, dtype)};
    return in[0] && in[1] ? ir_attr_node(a->graph, OP_dot, 2, in, &attrs) : NULL;
}

static Node *along_axis(Op op, int nin, Node *const *in, int axis, int extra, bool has_extra)
{
    AttrBuf b = {0};
    ir_attr_put(&b, axis);
    if (has_extra) ir_attr_put(&b, extra);
    return in[0] ? ir_attr_node(in[0]->graph, op, nin, in, &b) : NULL;
}

Node *ir_gather(Node *x, Node *index, int axis)
{
    Node *in[] = {x, index};
    return along_axis(OP_gather, 2, in, axis, 0, false);
}

Node *ir_scatter_add(Node *x, Node *index, Node *updates, int axis)
{
    Node *in[] = {x, index, updates};
    return along_axis(OP_scatter_add, 3, in, axis, 0, false);
}

Node *ir_cumsum(Node *x, int axis, bool reverse)
{
    return along_axis(OP_cumsum, 1, &x, axis, reverse, true);
}

Node *ir_in_blocks(Node *n, Blocks blocks)
{
    if (!n) return NULL;
    AttrBuf b = {.n = n->nattr};
    int at = ir_attr_place(n, "blocks");
    if (at < 0) {
        base_fail(n->graph->cx, SGL_EARG, "%s: it has no blocks", ir_op(n)->name);
        return NULL;
    }
    memcpy(b.word, n->attr, n->nattr * sizeof *n->attr);
    b.word[at] = blocks.n;
    b.word[at + 1] = blocks.units;
    return ir_attr_node(n->graph, n->op, n->nin, n->in, &b);
}

Node *ir_sum_to(Node *x, const Node *like)
{
    if (!x || !like || ir_same_dims(x, like)) return x && like ? x : NULL;
    int axes[OP_MAX_RANK], n = 0, added = x->rank - like->rank;
    for (int d = 0; d < x->rank; d++)
        if (d < added || (like->dims[d - added] == 1 && x->dims[d] != 1)) axes[n++] = d;
    return ir_reshape(ir_reduce(x, OP_sum, n, axes), like->rank, like->dims);
}
