/* factor.c: the factors of a node, from the columns of its row (see factor.h).
 *
 * Holds: factors are numbered as dims of the result meet them, then as dims of the inputs do.
 */
#include "ir/factor.h"
#include <string.h>
#include "ir/attr.h"
#include "ir/dot.h"

typedef struct Maker {
    const Node *n;
    Factors *f;
    int8_t (*in)[OP_MAX_RANK];
    FactorKind kind;
} Maker;

enum { WHOLE = -1 };

static int factor(const Maker *m, FactorKind kind)
{
    m->f->kind[m->f->n] = (uint8_t)kind;
    return m->f->n++;
}

/* Dim `from` of input i and dim `to` of the result are one. */
static void keep(const Maker *m, int i, int from, int to)
{
    if (m->f->out[to] == WHOLE) m->f->out[to] = (int8_t)factor(m, FACTOR_keep);
    m->in[i][from] = m->f->out[to];
}

/* The dims of the op's first attribute, which is an axis or a list of them, as bits. */
static unsigned listed(const Node *n)
{
    const char *schema = OPS[n->op].attrs;
    unsigned dims = 0;
    AttrField f;
    int count = 1;
    if (!ir_attr_next(&schema, &f)) return 0;
    if (f.kind->item != ITEM_axis) return 0;
    const int64_t *axis = f.kind->list ? ir_attr_list(n, 0, &count) : n->attr;
    for (int i = 0; i < count; i++) dims |= 1u << axis[i];
    return dims;
}

static void same(const Maker *m)
{
    for (int i = 0; i < m->n->nin; i++)
        for (int d = 0; d < m->n->rank; d++) keep(m, i, d, d);
}

static void fresh(const Maker *m)
{
    for (int d = 0; d < m->n->rank; d++) m->f->out[d] = (int8_t)factor(m, FACTOR_new);
}

static void grow(const Maker *m)
{
    for (int d = 0; d < m->n->rank; d++) {
        if (m->n->in[0]->dims[d] == m->n->dims[d]) keep(m, 0, d, d);
        else m->f->out[d] = (int8_t)factor(m, FACTOR_new);
    }
}

static int skip_ones(const Node *n, int d)
{
    while (d < n->rank && n->dims[d] == 1) d++;
    return d;
}

/* Behind the run of dims from d on whose product is reached; sizes that are no numbers end with
 * the last dim, as the products of all are equal. */
static void run_end(const Node *x, const Node *y, int *i, int *j)
{
    int64_t px = x->dims[*i], py = y->dims[*j];
    bool known = x->dims[*i] == y->dims[*j];
    ++*i, ++*j;
    while (!known && px != py) {
        const Node *n = px < py ? x : y;
        int *at = px < py ? i : j;
        if (*at == n->rank || !ir_dim_is_const(px) || !ir_dim_is_const(py) ||
            !ir_dim_is_const(n->dims[*at])) {
            *i = x->rank, *j = y->rank;
            return;
        }
        *(px < py ? &px : &py) *= n->dims[(*at)++];
    }
}

static void groups(const Maker *m)
{
    const Node *x = m->n->in[0], *y = m->n;
    for (int i = skip_ones(x, 0), j = skip_ones(y, 0); i < x->rank && j < y->rank;) {
        keep(m, 0, i, j);
        run_end(x, y, &i, &j);
        i = skip_ones(x, i), j = skip_ones(y, j);
    }
}

static void permute(const Maker *m)
{
    int count;
    const int64_t *axis = ir_attr_list(m->n, 0, &count);
    for (int d = 0; d < count; d++) keep(m, 0, (int)axis[d], d);
}

/* A dim of another size is touched, and so is one in the list; dims behind, of windows, are too. */
static void touch(const Maker *m)
{
    unsigned dims = listed(m->n);
    for (int i = 0; i < m->n->nin; i++) {
        const Node *x = m->n->in[i];
        for (int d = 0; d < x->rank && d < m->n->rank; d++)
            if (!(dims >> d & 1) && x->dims[d] == m->n->dims[d]) keep(m, i, d, d);
    }
}

static void less(const Maker *m)
{
    const Node *x = m->n->in[0];
    unsigned dims = listed(m->n);
    for (int d = 0, to = 0; d < x->rank; d++)
        if (!(dims >> d & 1)) keep(m, 0, d, to++);
    for (int d = 0; d < x->rank && m->kind != FACTOR_fix; d++)
        if (dims >> d & 1) m->in[0][d] = (int8_t)factor(m, m->kind);
}

static void dot(const Maker *m)
{
    DotDims d = ir_dot_dims(m->n);
    int outer = d.batch + d.free;
    for (int i = 0; i < outer; i++) keep(m, 0, i, i);
    for (int i = 0; i < d.batch; i++) keep(m, 1, i, i);
    keep(m, 1, m->n->in[1]->rank - 1, outer);
    for (int i = 0; i < d.inner; i++)
        m->in[0][outer + i] = m->in[1][d.batch + i] = (int8_t)factor(m, m->kind);
}

/* The dims of x around the gathered one, and of what was gathered, which is input i or, for the
 * result itself, none. */
static void around(const Maker *m, int dim, int behind)
{
    for (int d = 0; d < m->n->in[0]->rank; d++)
        if (d != dim) keep(m, 0, d, d < dim ? d : d + behind);
}

static void gather(const Maker *m)
{
    int dim = (int)m->n->attr[0], index = m->n->in[1]->rank;
    around(m, dim, index - 1);
    for (int j = 0; j < index; j++) keep(m, 1, j, dim + j);
    m->in[0][dim] = (int8_t)factor(m, m->kind);
}

/* The updates' first index dim is summed over; x counts once, behind that sum. */
static void scatter(const Maker *m)
{
    const Node *x = m->n->in[0];
    int dim = (int)m->n->attr[0], index = m->n->in[1]->rank;
    around(m, dim, 0);
    m->f->out[dim] = m->in[0][dim] = (int8_t)factor(m, m->kind);
    for (int d = 0; d < x->rank; d++)
        if (d != dim) m->in[2][d < dim ? d : d + index - 1] = m->f->out[d];
    if (index) m->in[1][0] = m->in[2][dim] = (int8_t)factor(m, FACTOR_sum);
}

static void whole(const Maker *m) { (void)m; }

static const struct {
    const char *name;
    void (*make)(const Maker *);
} LAYOUTS[] = {
    [LAYOUT_same] = {"same", same},          [LAYOUT_fresh] = {"fresh", fresh},
    [LAYOUT_grow] = {"grow", grow},          [LAYOUT_groups] = {"groups", groups},
    [LAYOUT_permute] = {"permute", permute}, [LAYOUT_touch] = {"touch", touch},
    [LAYOUT_less] = {"less", less},          [LAYOUT_dot] = {"dot", dot},
    [LAYOUT_gather] = {"gather", gather},    [LAYOUT_scatter] = {"scatter", scatter},
    [LAYOUT_blocks] = {"blocks", whole},     [LAYOUT_whole] = {"whole", whole},
};

static const char *const KINDS[] = {
    [FACTOR_keep] = "keep", [FACTOR_new] = "new",   [FACTOR_fix] = "fix",
    [FACTOR_sum] = "sum",   [FACTOR_prod] = "prod", [FACTOR_max] = "max",
    [FACTOR_min] = "min",   [FACTOR_pick] = "pick", [FACTOR_own] = "own",
};

const char *ir_factor_name(FactorKind kind) { return KINDS[kind]; }
const char *ir_layout_name(FactorLayout layout) { return LAYOUTS[layout].name; }

void ir_factors(const Node *n, Factors *out, int8_t (*in)[OP_MAX_RANK])
{
    const OpInfo *op = &OPS[n->op];
    Maker m = {.n = n, .f = out, .in = in, .kind = op->kind};
    out->n = 0;
    memset(out->out, WHOLE, sizeof out->out);
    for (int i = 0; i < n->nin; i++) memset(in[i], WHOLE, sizeof in[i]);
    LAYOUTS[op->layout].make(&m);
}
