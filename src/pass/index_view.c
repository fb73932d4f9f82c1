/* index_view.c: questions about finished maps: offsets, equality, coverage, strided windows.
 *
 * In:   maps made by space.c.
 * Out:  facts; nothing here makes or changes a map but the walk of pass_index_view, in its own
 *       frozen space.
 */
#include "ir/dot.h"
#include "pass/index_map.h"
#include <string.h>

Affine pass_index_linear_in(const Node *n, const IndexMap *at, const Dim *dims, const Dim *start)
{
    Ctx *cx = n->graph->cx;
    Affine sum = {0};
    Num stride = 1;
    for (int i = n->rank - 1; i >= 0; i--) {
        Num base = at->dim[i].base;
        if (start) base = ir_num_add(cx, base, ir_num_of(start[i]));
        sum.base = ir_num_add(cx, sum.base, ir_num_mul(cx, base, stride));
        for (int v = 0; v < LOOP_MAX_VARS; v++)
            if (at->dim[i].coef[v] != 0)
                sum.coef[v] =
                    ir_num_add(cx, sum.coef[v], ir_num_mul(cx, at->dim[i].coef[v], stride));
        stride = ir_num_mul(cx, stride, ir_num_of(dims[i]));
    }
    return sum;
}

Affine pass_index_linear(const Node *n, const IndexMap *at)
{
    return pass_index_linear_in(n, at, n->dims, NULL);
}

static bool same_affine(const LoopNest *s, const Affine *a, const Affine *b)
{
    return a->base == b->base && memcmp(a->coef, b->coef, (size_t)s->nvar * sizeof *a->coef) == 0;
}

bool pass_index_same(const LoopNest *s, const IndexMap *a, const IndexMap *b)
{
    if (a == b) return true;
    if (a->rank != b->rank || a->nguard != b->nguard) return false;
    for (int i = 0; i < a->rank; i++)
        if (!same_affine(s, &a->dim[i], &b->dim[i])) return false;
    for (int g = 0; g < a->nguard; g++)
        if (a->guard[g].lo != b->guard[g].lo || a->guard[g].hi != b->guard[g].hi ||
            !same_affine(s, &a->guard[g].at, &b->guard[g].at))
            return false;
    return true;
}

bool pass_index_on_reduced(const LoopNest *s, const IndexMap *at)
{
    for (int v = 0; v < s->nvar; v++) {
        if (!s->reduced[v]) continue;
        for (int i = 0; i < at->rank; i++)
            if (at->dim[i].coef[v] != 0) return true;
        for (int g = 0; g < at->nguard; g++)
            if (at->guard[g].at.coef[v] != 0) return true;
    }
    return false;
}

Num pass_index_count(const LoopNest *s, bool reduced)
{
    Num count = 1;
    for (int v = 0; v < s->nvar; v++)
        if (s->reduced[v] == reduced) count = ir_num_mul(s->sizes->cx, count, s->extent[v]);
    return count;
}

/* The offsets visit 0 … count-1 once each when the strides, sorted, are a mixed radix: each is
 * the product of the extents before it. */
bool pass_index_covers(const LoopNest *s, const Node *n, const IndexMap *at)
{
    if (at->nguard > 0) return false;
    Affine linear = pass_index_linear(n, at);
    bool whole = pass_index_on_reduced(s, at);
    Num next = 1;
    int left = 0;
    for (int v = 0; v < s->nvar; v++) left += whole || !s->reduced[v];
    for (; left > 0; left--) {
        int found = -1;
        Num back = ir_num_neg(s->sizes->cx, next);
        for (int v = 0; v < s->nvar; v++)
            if ((linear.coef[v] == next || linear.coef[v] == back) && (whole || !s->reduced[v]))
                found = v;
        if (found < 0) return false;
        next = ir_num_mul(s->sizes->cx, next, s->extent[found]);
    }
    return next == pass_count(n);
}

/* One variable a dim, in row-major order: so a dim's stride is its variable's coefficient. */
static void strides_of(const Node *x, const Affine *linear, Node *base, StridedView *out)
{
    out->base = base;
    out->offset = linear->base;
    for (int i = 0, v = 0; i < x->rank; i++)
        out->stride[i] = x->dims[i] == 1 ? 0 : linear->coef[v++];
}

static bool is_contiguous(const Node *x, const Affine *linear)
{
    Num stride = 1;
    int v = 0;
    for (int i = 0; i < x->rank; i++) v += x->dims[i] != 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        if (x->dims[i] != 1 && linear->coef[--v] != stride) return false;
        stride = ir_num_mul(x->graph->cx, stride, ir_num_of(x->dims[i]));
    }
    return true;
}

/* Do the dims that shall be one have one stride? */
static bool is_joined(const Node *x, const Affine *linear, unsigned joined)
{
    Num next = NUM_FAIL; /* the stride that the dim before must have; NUM_FAIL: any */
    int v = 0;
    for (int i = 0; i < x->rank; i++) v += x->dims[i] != 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        if (!(joined >> i & 1)) next = NUM_FAIL;
        if (x->dims[i] == 1) continue;
        Num stride = linear->coef[--v];
        if (next != NUM_FAIL && stride != next) return false;
        next = ir_num_mul(x->graph->cx, stride, ir_num_of(x->dims[i]));
    }
    return true;
}

/* Bits of the dims [first, first + n) but the last. */
static unsigned joins(int first, int n) { return n < 2 ? 0 : ((1u << (n - 1)) - 1) << first; }

ViewForm pass_view_form(const Node *n, int input)
{
    if (n->op != OP_dot) return (ViewForm){.contiguous = true};
    DotDims d = ir_dot_dims(n);
    unsigned a = joins(d.batch, d.free) | joins(d.batch + d.free, d.inner);
    return (ViewForm){.joined = input == 0 ? a : joins(d.batch, d.inner)};
}

int pass_index_view(Sizes *sizes, Node *x, ViewForm form, Arena *scratch, StridedView *out)
{
    IndexMaps m = {.space.sizes = sizes, .arena = scratch, .frozen = true};
    ArenaMark mark = base_arena_mark(scratch);
    IndexMap *at;
    Node *n = x;
    pass_index_add(&m, x, ~0u, false);
    int rc = pass_index_identity(&m, x, 0, &at);
    if (rc == 1) {
        Affine linear = pass_index_linear(x, at);
        strides_of(x, &linear, x, out);
    }
    while (rc == 1 && ir_op(n)->family == FAM_movement && n->op != OP_concat && n->op != OP_fold &&
           !pass_is_empty(sizes, x)) {
        rc = pass_index_through(&m, n, at, &at);
        if (rc != 1 || at->nguard > 0) break;
        n = n->in[0];
        Affine linear = pass_index_linear(n, at);
        bool fits =
            form.contiguous ? is_contiguous(x, &linear) : is_joined(x, &linear, form.joined);
        if (fits) strides_of(x, &linear, n, out);
    }
    pass_index_free(&m);
    base_arena_reset(scratch, mark);
    return rc < 0 ? rc : 1;
}
