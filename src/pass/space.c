/* space.c: variables of an index space and the maps over them (see space.h).
 *
 * In:   movement nodes and reductions, from a kernel's roots down.
 * Out:  for each node the position it is read at, affine in the variables.
 * Holds: every map in SpaceMaps.made speaks of the current variables; a split rewrites all.
 * The rule of each movement op is a row of THROUGH.
 */
#include "pass/space.h"
#include <string.h>

static IndexMap *new_map(SpaceMaps *m, int rank, int nguard)
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

void pass_space_free(SpaceMaps *m) { vec_free(&m->made); }

bool pass_space_add(SpaceMaps *m, const Node *n, unsigned axes, bool reduced)
{
    Space *s = &m->space;
    for (int i = 0; i < n->rank; i++) {
        if (!(axes >> i & 1) || n->dims[i] == 1) continue;
        if (s->nvar == SPACE_MAX_VARS) return false;
        s->extent[s->nvar] = n->dims[i];
        s->reduced[s->nvar++] = reduced;
    }
    return true;
}

int pass_space_identity(SpaceMaps *m, const Node *n, int first, IndexMap **out)
{
    *out = new_map(m, n->rank, 0);
    if (*out == NULL) return SGL_ENOMEM;
    for (int i = 0, v = first; i < n->rank; i++)
        if (n->dims[i] != 1) (*out)->dim[i].coef[v++] = 1;
    return 1;
}

/* Variable v of extent e is inner + extent_inner * outer. */
static void split_affine(Affine *a, int nvar, int v, int64_t inner)
{
    memmove(a->coef + v + 2, a->coef + v + 1, (size_t)(nvar - v - 1) * sizeof *a->coef);
    a->coef[v + 1] = a->coef[v];
    a->coef[v] *= inner;
}

bool pass_space_split(SpaceMaps *m, int v, int64_t inner)
{
    Space *s = &m->space;
    if (m->frozen || s->nvar == SPACE_MAX_VARS) return false;
    for (int i = 0; i < m->made.n; i++) {
        IndexMap *map = m->made.at[i];
        for (int d = 0; d < map->rank; d++) split_affine(&map->dim[d], s->nvar, v, inner);
        for (int g = 0; g < map->nguard; g++) split_affine(&map->guard[g].at, s->nvar, v, inner);
    }
    size_t behind = (size_t)(s->nvar - v - 1);
    memmove(s->extent + v + 2, s->extent + v + 1, behind * sizeof *s->extent);
    memmove(s->reduced + v + 2, s->reduced + v + 1, behind * sizeof *s->reduced);
    s->extent[v + 1] = inner;
    s->extent[v] /= inner;
    s->reduced[v + 1] = s->reduced[v];
    s->nvar++;
    return true;
}

static void affine_range(const Space *s, const Affine *a, int64_t *lo, int64_t *hi)
{
    *lo = *hi = a->base;
    for (int v = 0; v < s->nvar; v++) {
        int64_t far = a->coef[v] * (s->extent[v] - 1);
        *(far < 0 ? lo : hi) += far;
    }
}

static Affine affine_scaled(const Affine *a, int64_t by, int64_t plus)
{
    Affine r;
    r.base = a->base * by + plus;
    for (int v = 0; v < SPACE_MAX_VARS; v++) r.coef[v] = a->coef[v] * by;
    return r;
}

static void affine_add(Affine *to, const Affine *a, int64_t times)
{
    to->base += a->base * times;
    for (int v = 0; v < SPACE_MAX_VARS; v++) to->coef[v] += a->coef[v] * times;
}

/* What a variable of coefficient c does to the digit [stride, stride * extent) it starts in. The
 * first digit has no end: what lies outside it lies outside a guard. */
enum { DIGIT_FAIL, DIGIT_FITS, DIGIT_SPLIT };
static int digit_of(int64_t c, int64_t extent, int n, const Dim *dims, int *digit, int64_t *inner)
{
    int64_t a = c < 0 ? -c : c, stride = 1;
    for (int k = n - 1; k >= 0; stride *= dims[k--]) {
        int64_t end = stride * dims[k];
        if (a >= end && k > 0) continue;
        if (a % stride != 0) return DIGIT_FAIL;
        *digit = k;
        *inner = c / stride;
        if (a * (extent - 1) < end || k == 0) return DIGIT_FITS;
        *inner = end / a;
        return end % a == 0 && extent % *inner == 0 ? DIGIT_SPLIT : DIGIT_FAIL;
    }
    return DIGIT_FAIL;
}

/* Writes the row-major position `at` in dims as one affine a dim. 2: a variable was split, which
 * outdated `at`; begin again. */
enum { AGAIN = 2 };
static int to_digits(SpaceMaps *m, const Affine *at, int n, const Dim *dims, Affine *out)
{
    const Space *s = &m->space;
    memset(out, 0, (size_t)n * sizeof *out);
    if (n == 1) {
        out[0] = *at;
        return 1;
    }
    for (int v = 0; v < s->nvar; v++) {
        int digit = 0;
        int64_t c = 0;
        if (at->coef[v] == 0) continue;
        switch (digit_of(at->coef[v], s->extent[v], n, dims, &digit, &c)) {
        case DIGIT_FITS:
            out[digit].coef[v] = c;
            break;
        case DIGIT_SPLIT:
            return pass_space_split(m, v, c) ? AGAIN : 0;
        default:
            return 0;
        }
    }
    int64_t rest = at->base;
    for (int k = n - 1; k > 0; k--) {
        int64_t lo, hi, digit = rest % dims[k];
        out[k].base = digit < 0 ? digit + dims[k] : digit;
        rest = (rest - out[k].base) / dims[k];
        affine_range(s, &out[k], &lo, &hi);
        if (lo < 0 || hi >= dims[k]) /* it carries into the next digit */
            return 0;
    }
    out[0].base = rest;
    return 1;
}

/* Cuts both lists of dims into runs of equal product; inside a run positions are row-major. */
static int reshape_digits(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    const Node *x = n->in[0];
    int i = 0, j = 0;
    while (i < x->rank || j < n->rank) {
        int i0 = i, j0 = j;
        int64_t pi = i < x->rank ? x->dims[i++] : 1, pj = j < n->rank ? n->dims[j++] : 1;
        while (pi != pj)
            if (pi < pj) pi *= x->dims[i++];
            else pj *= n->dims[j++];
        Affine run = {0};
        for (int k = j - 1, stride = 0; k >= j0; k--) {
            pj = stride++ == 0 ? 1 : pj * n->dims[k + 1];
            affine_add(&run, &at->dim[k], pj);
        }
        int rc = i == i0 ? 1 : to_digits(m, &run, i - i0, x->dims + i0, out->dim + i0);
        if (rc != 1) return rc;
    }
    return 1;
}

static int through_reshape(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    int rc;
    while ((rc = reshape_digits(m, n, at, out)) == AGAIN)
        ;
    return rc;
}

static int through_permute(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    int rank;
    const int64_t *axis = ir_attr_list(n, 0, &rank);
    for (int i = 0; i < rank; i++) out->dim[axis[i]] = at->dim[i];
    return 1;
}

static int through_broadcast(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    for (int i = 0; i < n->rank; i++)
        if (n->in[0]->dims[i] == n->dims[i]) out->dim[i] = at->dim[i];
    return 1;
}

static int through_slice(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    int count;
    const int64_t *start = ir_attr_list(n, 0, &count), *step = ir_attr_list(n, 2, &count);
    for (int i = 0; i < n->rank; i++) out->dim[i] = affine_scaled(&at->dim[i], step[i], start[i]);
    return 1;
}

static int through_flip(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    int count;
    const int64_t *axis = ir_attr_list(n, 0, &count);
    for (int i = 0; i < n->rank; i++) out->dim[i] = at->dim[i];
    for (int i = 0; i < count; i++)
        out->dim[axis[i]] = affine_scaled(&at->dim[axis[i]], -1, n->dims[axis[i]] - 1);
    return 1;
}

static int through_window(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    int count, rank = n->in[0]->rank;
    const int64_t *axis = ir_attr_list(n, 0, &count), *stride = ir_attr_list(n, 2, &count),
                  *dilation = ir_attr_list(n, 3, &count);
    for (int i = 0; i < rank; i++) out->dim[i] = at->dim[i];
    for (int i = 0; i < count; i++) {
        out->dim[axis[i]] = affine_scaled(&at->dim[axis[i]], stride[i], 0);
        affine_add(&out->dim[axis[i]], &at->dim[rank + i], dilation[i]);
    }
    return 1;
}

/* The guards of `out` beyond those of the node itself: kept only where they can fail. */
static int through_pad(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    int count;
    const int64_t *lo = ir_attr_list(n, 0, &count);
    for (int i = 0; i < n->rank; i++) {
        int64_t min, max, size = n->in[0]->dims[i];
        out->dim[i] = affine_scaled(&at->dim[i], 1, -lo[i]);
        affine_range(&m->space, &out->dim[i], &min, &max);
        if (min >= 0 && max < size) continue;
        if (out->nguard == SPACE_MAX_GUARDS) return 0;
        out->guard[out->nguard++] = (Guard){out->dim[i], 0, size};
    }
    return 1;
}

static int through_barrier(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out)
{
    (void)m;
    for (int i = 0; i < n->rank; i++) out->dim[i] = at->dim[i];
    return 1;
}

typedef int (*ThroughFn)(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap *out);
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

int pass_space_through(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap **out)
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

int64_t pass_reduce_length(const Node *n)
{
    unsigned axes = pass_reduce_axes(n);
    int64_t length = 1;
    for (int i = 0; i < n->in[0]->rank; i++) length *= axes >> i & 1 ? n->in[0]->dims[i] : 1;
    return length;
}

static Affine reduced_position(const Space *s)
{
    Affine at = {0};
    int64_t stride = 1;
    for (int v = s->nvar - 1; v >= 0; v--)
        if (s->reduced[v]) {
            at.coef[v] = stride;
            stride *= s->extent[v];
        }
    return at;
}

int pass_space_reduce(SpaceMaps *m, const Node *n, const IndexMap *at, IndexMap **out)
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
