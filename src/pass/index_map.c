/* index_map.c: variables of an index space and the maps over them (see space.h).
 *
 * In:   movement nodes and reductions, from a kernel's roots down.
 * Out:  for each node the position it is read at, affine in the variables.
 * Holds: every map in IndexMaps.made speaks of the current variables; a split rewrites all.
 * The rule of each movement op is a row of THROUGH.
 */
#include "pass/index_map.h"
#include <string.h>

static IndexMap *new_map(IndexMaps *m, int rank, int nguard)
{
    size_t dims = (size_t)rank * sizeof(Affine), guards = (size_t)nguard * sizeof(Guard);
    IndexMap *map = base_arena_zero(m->arena, 1, sizeof *map + dims + guards);
    if (map == NULL || !vec_push(&m->made, map)) return NULL;
    map->rank = rank;
    map->nguard = nguard;
    map->dim = (Affine *)(map + 1);
    map->guard = (Guard *)(map->dim + rank);
    return map;
}

void pass_index_free(IndexMaps *m) { vec_free(&m->made); }

bool pass_index_add(IndexMaps *m, const Node *n, unsigned axes, bool reduced)
{
    LoopNest *s = &m->space;
    for (int i = 0; i < n->rank; i++) {
        if (!(axes >> i & 1) || n->dims[i] == 1) continue;
        if (s->nvar == LOOP_MAX_VARS) return false;
        s->extent[s->nvar] = ir_num_of(n->dims[i]);
        s->reduced[s->nvar++] = reduced;
    }
    return true;
}

int pass_index_identity(IndexMaps *m, const Node *n, int first, IndexMap **out)
{
    *out = new_map(m, n->rank, 0);
    if (*out == NULL) return SGL_ENOMEM;
    for (int i = 0, v = first; i < n->rank; i++)
        if (n->dims[i] != 1) (*out)->dim[i].coef[v++] = 1;
    return 1;
}

/* Variable v of extent e is inner + extent_inner * outer. */
static void split_affine(Ctx *cx, Affine *a, int nvar, int v, Num inner)
{
    memmove(a->coef + v + 2, a->coef + v + 1, (size_t)(nvar - v - 1) * sizeof *a->coef);
    a->coef[v + 1] = a->coef[v];
    a->coef[v] = ir_num_mul(cx, a->coef[v], inner);
}

bool pass_index_split(IndexMaps *m, int v, Num inner)
{
    LoopNest *s = &m->space;
    Ctx *cx = s->sizes->cx;
    Num outer;
    if (m->frozen || s->nvar == LOOP_MAX_VARS) return false;
    if (!ir_num_quotient(cx, s->extent[v], inner, &outer)) return false;
    for (int i = 0; i < m->made.n; i++) {
        IndexMap *map = m->made.at[i];
        for (int d = 0; d < map->rank; d++) split_affine(cx, &map->dim[d], s->nvar, v, inner);
        for (int g = 0; g < map->nguard; g++)
            split_affine(cx, &map->guard[g].at, s->nvar, v, inner);
    }
    size_t behind = (size_t)(s->nvar - v - 1);
    memmove(s->extent + v + 2, s->extent + v + 1, behind * sizeof *s->extent);
    memmove(s->reduced + v + 2, s->reduced + v + 1, behind * sizeof *s->reduced);
    s->extent[v + 1] = inner;
    s->extent[v] = outer;
    s->reduced[v + 1] = s->reduced[v];
    s->nvar++;
    return true;
}

/* The sign of a coefficient that is not 0: 1, -1, or 0 where none is proved. */
static int sign_of(Ctx *cx, Num a)
{
    return ir_num_least(cx, a, 0) ? 1 : ir_num_below(cx, a, 1) ? -1 : 0;
}

/* Is a from 0 to below `size` for every point of the space? */
static bool affine_inside(const LoopNest *s, const Affine *a, Num size)
{
    Ctx *cx = s->sizes->cx;
    Num lo = a->base, hi = a->base;
    for (int v = 0; v < s->nvar; v++) {
        if (a->coef[v] == 0) continue;
        Num far = ir_num_mul(cx, a->coef[v], ir_num_sub(cx, s->extent[v], 1));
        int sign = sign_of(cx, a->coef[v]);
        if (sign == 0) return false;
        if (sign < 0) lo = ir_num_add(cx, lo, far);
        else hi = ir_num_add(cx, hi, far);
    }
    return ir_num_least(cx, lo, 0) && ir_num_below(cx, hi, size);
}

static Affine affine_scaled(Ctx *cx, const Affine *a, Num by, Num plus)
{
    Affine r;
    r.base = ir_num_add(cx, ir_num_mul(cx, a->base, by), plus);
    for (int v = 0; v < LOOP_MAX_VARS; v++) r.coef[v] = ir_num_mul(cx, a->coef[v], by);
    return r;
}

static void affine_add(Ctx *cx, Affine *to, const Affine *a, Num times)
{
    to->base = ir_num_add(cx, to->base, ir_num_mul(cx, a->base, times));
    for (int v = 0; v < LOOP_MAX_VARS; v++)
        to->coef[v] = ir_num_add(cx, to->coef[v], ir_num_mul(cx, a->coef[v], times));
}

/* What a variable of coefficient c does to the digit [stride, stride * extent) it starts in. The
 * first digit has no end: what lies outside it lies outside a guard. */
enum { DIGIT_FAIL, DIGIT_FITS, DIGIT_SPLIT };
/* Which digit of a row-major position the stride c of a variable moves, if it is one alone
 * (FITS) or two between which the variable can be cut (SPLIT). */
static int digit_of(Ctx *cx, Num c, Num extent, int n, const Dim *dims, int *digit, Num *inner)
{
    Num a = sign_of(cx, c) < 0 ? ir_num_neg(cx, c) : c, stride = 1, outer;
    Num far = ir_num_mul(cx, a, ir_num_sub(cx, extent, 1));
    for (int k = n - 1; k >= 0; k--) {
        Num end = ir_num_mul(cx, stride, ir_num_of(dims[k]));
        bool whole = ir_num_quotient(cx, c, stride, inner);
        *digit = k;
        if (whole && (k == 0 || ir_num_below(cx, far, end))) return DIGIT_FITS;
        if (k > 0 && !ir_num_below(cx, a, end)) { /* if in none further on, no quotient is exact */
            stride = end;
            continue;
        }
        bool splits = whole && ir_num_quotient(cx, end, a, inner) &&
                      ir_num_quotient(cx, extent, *inner, &outer);
        return splits ? DIGIT_SPLIT : DIGIT_FAIL;
    }
    return DIGIT_FAIL;
}

/* The constant part `rest` of a position as the digit of a dim and what is left for those before
 * it; false: that is not known for all sizes. */
static bool cut_digit(Ctx *cx, Num *rest, Num dim, Num *digit)
{
    if (ir_num_plain(*rest) && ir_num_plain(dim)) {
        *digit = *rest % dim;
        if (*digit < 0) *digit += dim;
        *rest = (*rest - *digit) / dim;
        return true;
    }
    *digit = 0;
    if (ir_num_quotient(cx, *rest, dim, rest)) return true;
    if (!ir_num_least(cx, *rest, 0) || !ir_num_below(cx, *rest, dim)) return false;
    *digit = *rest;
    *rest = 0;
    return true;
}

/* Writes the row-major position `at` in dims as one affine a dim. 2: a variable was split, which
 * outdated `at`; begin again. */
enum { AGAIN = 2 };
/* An affine position taken apart into one for each dim of a reshape, variable by variable. 0: it
 * cannot be; the group ends here. */
static int to_digits(IndexMaps *m, const Affine *at, int n, const Dim *dims, Affine *out)
{
    const LoopNest *s = &m->space;
    Ctx *cx = s->sizes->cx;
    memset(out, 0, (size_t)n * sizeof *out);
    if (n == 1) {
        out[0] = *at;
        return 1;
    }
    for (int v = 0; v < s->nvar; v++) {
        int digit = 0;
        Num c = 0;
        if (at->coef[v] == 0) continue;
        switch (digit_of(cx, at->coef[v], s->extent[v], n, dims, &digit, &c)) {
        case DIGIT_FITS:
            out[digit].coef[v] = c;
            break;
        case DIGIT_SPLIT:
            return pass_index_split(m, v, c) ? AGAIN : 0;
        default:
            return 0;
        }
    }
    Num rest = at->base;
    for (int k = n - 1; k > 0; k--) {
        Num dim = ir_num_of(dims[k]);
        if (!cut_digit(cx, &rest, dim, &out[k].base)) return 0;
        if (!affine_inside(s, &out[k], dim)) return 0; /* it carries into the next digit */
    }
    out[0].base = rest;
    return 1;
}

static Num next_dim(const Node *n, int *i) { return *i < n->rank ? ir_num_of(n->dims[(*i)++]) : 1; }

/* Moves i and j behind the shortest runs of dims of equal product. The sizes at hand say which run
 * to make longer; both nodes have equally many elements, so the runs that reach the ends are equal
 * in any case. */
static void equal_runs(const LoopNest *s, const Node *x, const Node *n, int *i, int *j)
{
    Ctx *cx = s->sizes->cx;
    Num pi = next_dim(x, i), pj = next_dim(n, j);
    while (pi != pj && (*i < x->rank || *j < n->rank)) {
        bool longer = pass_size_guess(s->sizes, pi) < pass_size_guess(s->sizes, pj);
        if (*j == n->rank || (longer && *i < x->rank)) pi = ir_num_mul(cx, pi, next_dim(x, i));
        else pj = ir_num_mul(cx, pj, next_dim(n, j));
    }
}

/* Cuts both lists of dims into runs of equal product; inside a run positions are row-major. */
static int reshape_digits(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    const Node *x = n->in[0];
    Ctx *cx = m->space.sizes->cx;
    int i = 0, j = 0;
    while (i < x->rank || j < n->rank) {
        int i0 = i, j0 = j;
        equal_runs(&m->space, x, n, &i, &j);
        Affine run = {0};
        Num stride = 1;
        for (int k = j - 1; k >= j0; k--) {
            affine_add(cx, &run, &at->dim[k], stride);
            stride = ir_num_mul(cx, stride, ir_num_of(n->dims[k]));
        }
        int rc = i == i0 ? 1 : to_digits(m, &run, i - i0, x->dims + i0, out->dim + i0);
        if (rc != 1) return rc;
    }
    return 1;
}

static int through_reshape(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    int rc;
    while ((rc = reshape_digits(m, n, at, out)) == AGAIN)
        ;
    return rc;
}

static int through_permute(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    int rank;
    const int64_t *axis = ir_attr_list(n, 0, &rank);
    for (int i = 0; i < rank; i++) out->dim[axis[i]] = at->dim[i];
    return 1;
}

static int through_broadcast(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    for (int i = 0; i < n->rank; i++)
        if (n->in[0]->dims[i] == n->dims[i]) out->dim[i] = at->dim[i];
    return 1;
}

static int through_slice(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    int count;
    const int64_t *start = ir_attr_list(n, 0, &count), *step = ir_attr_list(n, 2, &count);
    for (int i = 0; i < n->rank; i++)
        out->dim[i] = affine_scaled(n->graph->cx, &at->dim[i], step[i], ir_num_of(start[i]));
    return 1;
}

static int through_flip(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    int count;
    const int64_t *axis = ir_attr_list(n, 0, &count);
    for (int i = 0; i < n->rank; i++) out->dim[i] = at->dim[i];
    for (int i = 0; i < count; i++) {
        Num last = ir_num_sub(n->graph->cx, ir_num_of(n->dims[axis[i]]), 1);
        out->dim[axis[i]] = affine_scaled(n->graph->cx, &at->dim[axis[i]], -1, last);
    }
    return 1;
}

static int through_window(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    int count, rank = n->in[0]->rank;
    const int64_t *axis = ir_attr_list(n, 0, &count), *stride = ir_attr_list(n, 2, &count),
                  *dilation = ir_attr_list(n, 3, &count);
    for (int i = 0; i < rank; i++) out->dim[i] = at->dim[i];
    for (int i = 0; i < count; i++) {
        out->dim[axis[i]] = affine_scaled(n->graph->cx, &at->dim[axis[i]], stride[i], 0);
        affine_add(n->graph->cx, &out->dim[axis[i]], &at->dim[rank + i], dilation[i]);
    }
    return 1;
}

/* The guards of `out` beyond those of the node itself: kept only where they can fail. */
static int through_pad(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    int count;
    const int64_t *lo = ir_attr_list(n, 0, &count);
    Ctx *cx = n->graph->cx;
    for (int i = 0; i < n->rank; i++) {
        Num size = ir_num_of(n->in[0]->dims[i]);
        out->dim[i] = at->dim[i];
        out->dim[i].base = ir_num_sub(cx, at->dim[i].base, ir_num_of(lo[i]));
        if (affine_inside(&m->space, &out->dim[i], size)) continue;
        if (out->nguard == LOOP_MAX_GUARDS) return 0;
        out->guard[out->nguard++] = (Guard){out->dim[i], 0, size};
    }
    return 1;
}

static int through_barrier(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    for (int i = 0; i < n->rank; i++) out->dim[i] = at->dim[i];
    return 1;
}

typedef int (*ThroughFn)(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap *out);
static const ThroughFn THROUGH[OP_COUNT] = {
    [OP_reshape] = through_reshape,
    [OP_permute] = through_permute,
    [OP_broadcast] = through_broadcast,
    [OP_slice] = through_slice,
    [OP_pad] = through_pad,
    [OP_flip] = through_flip,
    [OP_window] = through_window,
    [OP_barrier] = through_barrier,
};

int pass_index_through(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap **out)
{
    int room = at->nguard + (n->op == OP_pad ? n->rank : 0);
    IndexMap *map = new_map(m, n->in[0]->rank, room);
    if (map == NULL) return SGL_ENOMEM;
    map->nguard = at->nguard;
    for (int g = 0; g < at->nguard; g++) map->guard[g] = at->guard[g];
    *out = map;
    int rc = THROUGH[n->op](m, n, at, map);
    if (rc != 1) m->made.n--;
    return rc;
}

unsigned pass_reduce_axes(const Node *n)
{
    int count;
    unsigned axes = 0;
    const int64_t *axis = ir_attr_list(n, 0, &count);
    for (int i = 0; i < count; i++) axes |= 1u << axis[i];
    return axes;
}

Num pass_reduce_length(const Node *n)
{
    unsigned axes = pass_reduce_axes(n);
    Num length = 1;
    for (int i = 0; i < n->in[0]->rank; i++)
        if (axes >> i & 1) length = ir_num_mul(n->graph->cx, length, ir_num_of(n->in[0]->dims[i]));
    return length;
}

static Affine reduced_position(const LoopNest *s)
{
    Affine at = {0};
    Num stride = 1;
    for (int v = s->nvar - 1; v >= 0; v--)
        if (s->reduced[v]) {
            at.coef[v] = stride;
            stride = ir_num_mul(s->sizes->cx, stride, s->extent[v]);
        }
    return at;
}

int pass_index_reduce(IndexMaps *m, const Node *n, const IndexMap *at, IndexMap **out)
{
    const Node *x = n->in[0];
    unsigned axes = pass_reduce_axes(n);
    Dim dims[OP_MAX_RANK];
    Affine digit[OP_MAX_RANK];
    int count = 0, rc;
    for (int i = 0; i < x->rank; i++)
        if (axes >> i & 1) dims[count++] = x->dims[i];
    do {
        Affine row = reduced_position(&m->space);
        rc = count == 0 ? 1 : to_digits(m, &row, count, dims, digit);
    } while (rc == AGAIN);
    if (rc != 1) return rc;
    *out = new_map(m, x->rank, 0);
    if (*out == NULL) return SGL_ENOMEM;
    for (int i = 0, kept = 0, reduced = 0; i < x->rank; i++)
        (*out)->dim[i] = axes >> i & 1 ? digit[reduced++] : at->dim[kept++];
    return 1;
}
