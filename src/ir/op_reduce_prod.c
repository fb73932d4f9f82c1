/* op_reduce_prod.c: the gradient of a product: dy times the product of all other elements.
 *
 * Dividing the product by the element is wrong at zeros, so the products of all others are built
 * by a binary tree of about 10·log2(n) nodes over the n elements, padded with ones to a power of
 * two:
 *   up:    P[0] = x, P[l+1][i] = P[l][2i] · P[l][2i+1]
 *   down:  E[top] = dy, E[l][2i] = E[l+1][i] · P[l][2i+1], E[l][2i+1] = E[l+1][i] · P[l][2i]
 * Holds: right with any number of zeros; only the reduced dims must be static.
 */
#include <string.h>
#include "ir/build.h"
#include "ir/check.h"
#include "ir/rules.h"

enum { MAX_LEVELS = 60 };

/* x as [kept dims…, n] and the way back. */
typedef struct Tail {
    int kept;
    int axes[OP_MAX_RANK];
    Dim dims[OP_MAX_RANK + 2];
    int64_t n;
} Tail;

/* Moves the reduced dims to the end and makes one of them, over which products from both sides
 * can be taken; its length must be a number. */
static int tail_of(const Node *n, Tail *t)
{
    const Node *x = n->in[0];
    unsigned gone = ir_listed_dims(n);
    memset(t, 0, sizeof *t);
    t->n = 1;
    for (int i = 0; i < x->rank; i++)
        if (!(gone >> i & 1)) {
            t->axes[t->kept] = i;
            t->dims[t->kept++] = x->dims[i];
        }
    for (int i = 0, at = t->kept; i < x->rank; i++)
        if (gone >> i & 1) {
            if (x->dims[i] < 0) {
                Ctx *cx = x->graph->cx;
                base_fail(cx, SGL_EUNSUP,
                          "prod: no gradient over dim %d, whose size %s is symbolic.", i + 1,
                          ir_dim_name(cx, x->dims[i]).at);
                base_err_hint(&cx->err,
                              "leave the dim out of sgl.spec: each size gets its program");
                return SGL_EUNSUP;
            }
            t->axes[at++] = i;
            t->n *= x->dims[i];
        }
    return 0;
}

/* x as [kept…, n], or as [kept…, n, width] where width is not 0. */
static Node *with_tail(Node *x, Tail *t, int64_t n, int64_t width)
{
    t->dims[t->kept] = n;
    t->dims[t->kept + 1] = width;
    return ir_reshape(x, t->kept + 1 + (width > 0), t->dims);
}

/* x [kept…, n] with ones behind, n becomes a power of two. */
static Node *pad_with_ones(Node *x, const Tail *t, int64_t n)
{
    Dim lo[OP_MAX_RANK] = {0}, hi[OP_MAX_RANK] = {0};
    hi[t->kept] = n - t->n;
    return n == t->n ? x : ir_pad(x, lo, hi, 1);
}

static Node *half_of(Node *pairs, const Tail *t, int which)
{
    Dim start[OP_MAX_RANK] = {0}, stop[OP_MAX_RANK];
    if (!pairs) return NULL;
    memcpy(stop, pairs->dims, pairs->rank * sizeof *stop);
    start[t->kept + 1] = which;
    stop[t->kept + 1] = which + 1;
    return ir_slice(pairs, start, stop, NULL);
}

/* dy · product of the others, as [kept…, n] */
static Node *others(Node *x, Node *dy, Tail *t)
{
    Node *pairs[MAX_LEVELS];
    Dim start[OP_MAX_RANK] = {0};
    int top = 0, last = t->kept + 1;
    int64_t n = 1;
    while (n < t->n) n *= 2;
    Node *p = pad_with_ones(x, t, n), *e = with_tail(dy, t, 1, 0);
    for (int64_t m = n / 2; m > 0; m /= 2, top++) {
        pairs[top] = with_tail(p, t, m, 2);
        p = with_tail(ir_mul(half_of(pairs[top], t, 0), half_of(pairs[top], t, 1)), t, m, 0);
    }
    for (int64_t m = 1; m < n; m *= 2) {
        Node *neighbours = ir_flip(pairs[--top], 1, &last);
        e = with_tail(ir_mul(with_tail(e, t, m, 1), neighbours), t, 2 * m, 0);
    }
    t->dims[t->kept] = t->n;
    return n == t->n ? e : ir_slice(e, start, t->dims, NULL);
}

int ir_grad_prod(Node *n, Node *dy, Node **dx)
{
    Tail t;
    Node *x = n->in[0];
    Dim moved[OP_MAX_RANK];
    int back[OP_MAX_RANK], rc = tail_of(n, &t);
    if (rc) return rc;
    if (t.n == 0) {
        dx[0] = ir_const_like(x, 0);
        return ir_built(n, dx[0]);
    }
    for (int i = 0; i < x->rank; i++) {
        moved[i] = x->dims[t.axes[i]];
        back[t.axes[i]] = i;
    }
    Node *flat = with_tail(ir_permute(x, t.axes), &t, t.n, 0);
    dx[0] = ir_permute(ir_reshape(others(flat, dy, &t), x->rank, moved), back);
    return ir_built(n, dx[0]);
}
