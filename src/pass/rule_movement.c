/* rule_movement.c: rules of casts, movements and reductions. They compute nothing, so the bits
 * stay by themselves; what has to be shown is that the elements arrive at the same places.
 */
#include <string.h>
#include "ir/build.h"
#include "pass/rule.h"

static bool is_cast(const Node *x) { return x->op == OP_cast; }
static bool is_reshape(const Node *x) { return x->op == OP_reshape; }
static bool is_permute(const Node *x) { return x->op == OP_permute; }
static bool is_broadcast(const Node *x) { return x->op == OP_broadcast; }
static bool is_flip(const Node *x) { return x->op == OP_flip; }

/* Significand bits and largest exponent of what a dtype holds exactly. */
static const struct {
    int digits, exponent;
} HOLDS[DT_COUNT] = {
    [DT_bool] = {1, 1},  [DT_u8] = {8, 8},     [DT_i32] = {31, 32},  [DT_i64] = {63, 64},
    [DT_f16] = {11, 16}, [DT_bf16] = {8, 128}, [DT_f32] = {24, 128}, [DT_f64] = {53, 1024},
};

/* Every value of `from` is one of `to`: more digits and exponents, and no class lower. */
static bool holds_all(Dtype to, Dtype from)
{
    if (DTYPES[to].class < DTYPES[from].class) return false;
    return HOLDS[to].digits >= HOLDS[from].digits && HOLDS[to].exponent >= HOLDS[from].exponent;
}

static Node *one_cast(Node *n)
{
    Node *inner = n->in[0]->in[0];
    return holds_all(n->in[0]->dtype, inner->dtype) ? ir_cast(inner, n->dtype) : NULL;
}

static Node *x_if_same(Node *n)
{
    return ir_same_dims(n, n->in[0]) && n->dtype == n->in[0]->dtype ? n->in[0] : NULL;
}

static Node *one_reshape(Node *n) { return ir_reshape(n->in[0]->in[0], n->rank, n->dims); }

static Node *one_broadcast(Node *n) { return ir_broadcast(n->in[0]->in[0], n->rank, n->dims); }

/* Runs of dims that a permutation keeps side by side, in their order. */
static int count_runs(int count, const int *axes)
{
    int runs = count > 0;
    for (int d = 1; d < count; d++) runs += axes[d] != axes[d - 1] + 1;
    return runs;
}

/* Two stay two where the outer one keeps dims side by side that together they part: a product that
 * sums over these dims as one can read the inner one as it lies, but not what is below it. */
static Node *one_permute(Node *n)
{
    int count, axes[OP_MAX_RANK], first[OP_MAX_RANK];
    const int64_t *outer = ir_attr_list(n, 0, &count);
    const int64_t *inner = ir_attr_list(n->in[0], 0, &count);
    for (int d = 0; d < count; d++) {
        first[d] = (int)outer[d];
        axes[d] = (int)inner[outer[d]];
    }
    if (count_runs(count, axes) > count_runs(count, first)) return NULL;
    return ir_permute(n->in[0]->in[0], axes);
}

/* Dims of size 1 may change places with any: the elements keep their order. */
static Node *reshape_for_permute(Node *n)
{
    int count;
    const int64_t *axes = ir_attr_list(n, 0, &count), *last = NULL;
    for (int d = 0; d < count; d++) {
        if (n->dims[d] == 1) continue;
        if (last && axes[d] < *last) return NULL;
        last = &axes[d];
    }
    return ir_reshape(n->in[0], n->rank, n->dims);
}

static Node *slice_of_all(Node *n)
{
    int count;
    const int64_t *start = ir_attr_list(n, 0, &count), *step = ir_attr_list(n, 2, &count);
    for (int d = 0; d < count; d++)
        if (start[d] != 0 || step[d] != 1) return NULL;
    return x_if_same(n);
}

static Node *flip_of_ones(Node *n)
{
    int count, left = 0, axes[OP_MAX_RANK];
    const int64_t *given = ir_attr_list(n, 0, &count);
    for (int i = 0; i < count; i++)
        if (n->dims[given[i]] != 1) axes[left++] = (int)given[i];
    return left < count ? ir_flip(n->in[0], left, axes) : NULL;
}

static Node *flip_back(Node *n)
{
    const Node *inner = n->in[0];
    bool same = n->nattr == inner->nattr && !memcmp(n->attr, inner->attr, n->nattr * 8);
    return same ? inner->in[0] : NULL;
}

static Node *reduce_of_ones(Node *n)
{
    int count;
    const int64_t *axes = ir_attr_list(n, 0, &count);
    for (int i = 0; i < count; i++)
        if (n->in[0]->dims[axes[i]] != 1) return NULL;
    return ir_reshape(ir_cast(n->in[0], n->dtype), n->rank, n->dims);
}

/* A cumulative sum starts from 0, and 0 + -0 is 0. */
static Node *plus_zero(Node *x)
{
    bool is_float = DTYPES[x->dtype].class == CLASS_FLOAT;
    return is_float ? ir_add(x, ir_const_like(x, 0)) : x;
}

static Node *cumsum_of_ones(Node *n)
{
    if (n->dims[ir_attr_int(n, 0)] != 1) return NULL;
    return plus_zero(ir_cast(n->in[0], n->dtype));
}

static Node *only_input(Node *n) { return n->nin == 1 ? n->in[0] : NULL; }

const Rule PASS_MOVEMENT_RULES[] = {
    {OP_cast, NULL, NULL, x_if_same, "it has the dtype"},
    {OP_cast, is_cast, NULL, one_cast, "the first cast keeps every value"},
    {OP_reshape, NULL, NULL, x_if_same, "it has the dims"},
    {OP_reshape, is_reshape, NULL, one_reshape, "row-major order stays in between"},
    {OP_permute, is_permute, NULL, one_permute, "two permutations are one"},
    {OP_permute, NULL, NULL, reshape_for_permute, "only dims of size 1 change places"},
    {OP_broadcast, NULL, NULL, x_if_same, "it has the dims"},
    {OP_broadcast, is_broadcast, NULL, one_broadcast, "repeating twice is repeating"},
    {OP_slice, NULL, NULL, slice_of_all, "nothing is left out"},
    {OP_pad, NULL, NULL, x_if_same, "nothing is added"},
    {OP_flip, NULL, NULL, flip_of_ones, "one element has no order"},
    {OP_flip, is_flip, NULL, flip_back, "reversed twice"},
    {OP_concat, NULL, NULL, only_input, "nothing is joined"},
    {OP_sum, NULL, NULL, reduce_of_ones, "the sum of one element"},
    {OP_prod, NULL, NULL, reduce_of_ones, "the product of one element"},
    {OP_reduce_max, NULL, NULL, reduce_of_ones, "the largest of one element"},
    {OP_reduce_min, NULL, NULL, reduce_of_ones, "the smallest of one element"},
    {OP_cumsum, NULL, NULL, cumsum_of_ones, "the sum of one element"},
    {0},
};
