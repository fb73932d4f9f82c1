/* solve.c: the values of a graph's symbolic sizes, read off the inputs of a run.
 *
 * In:   the shapes of the inputs.
 * Out:  a value for each symbol.
 * Holds: a symbol has one value in a run, in its range and of its multiple, whatever inputs it is a
 *        size of.
 */
#include "ir/solve.h"
#include "ir/check.h"
#include "base/mem.h"

static const char *input_name(const Graph *g, int i)
{
    const char *name = g->inputs.at[i].name;
    return name && name[0] ? name : "?";
}

/* A declaration to paste: the range with `v` in it, or the multiple above it. No dim begins below
 * 1. */
static void suggest_range(Ctx *cx, const DimSymbol *s, int64_t v)
{
    int64_t m = s->multiple, up = v + (m - v % m) % m;
    int64_t lo = up < s->lo ? up : s->lo, hi = up > s->hi ? up : s->hi;
    if (v < 1)
        base_err_hint(&cx->err,
                      "a declared dim is at least 1: leave calls without elements out, or "
                      "compile the function for them without this spec");
    else if (m > 1)
        base_err_hint(
            &cx->err,
            "declare it wider: sgl.dim(\"%s\", { min = %lld, max = %lld, multiple = %lld })",
            s->name, (long long)lo, (long long)hi, (long long)m);
    else
        base_err_hint(&cx->err, "declare it wider: sgl.dim(\"%s\", { min = %lld, max = %lld })",
                      s->name, (long long)lo, (long long)hi);
}

static void suggest_multiple(Ctx *cx, const DimSymbol *s, int64_t v)
{
    int64_t down = v / s->multiple * s->multiple, up = down + s->multiple;
    if (down < s->lo) base_err_hint(&cx->err, "pad the input to %lld", (long long)up);
    else if (up > s->hi) base_err_hint(&cx->err, "cut the input to %lld", (long long)down);
    else
        base_err_hint(&cx->err, "pad the input to %lld, or cut it to %lld", (long long)up,
                      (long long)down);
}

/* Refuses a size that its symbol cannot have, and says which declaration would take it. */
static int check_value(Ctx *cx, const DimSymbol *s, int64_t v, const char *input, int dim)
{
    int64_t down = v - v % s->multiple, up = down + s->multiple;
    bool near = up >= s->lo && down <= s->hi && (up <= s->hi || down >= s->lo);
    if (v % s->multiple && near) {
        base_fail(cx, SGL_ESHAPE, "dim '%s' is %lld by dim %d of '%s', not a multiple of %lld",
                  s->name, (long long)v, dim + 1, input, (long long)s->multiple);
        suggest_multiple(cx, s, v);
    } else if (v < s->lo || v > s->hi) {
        base_fail(cx, SGL_ESHAPE,
                  "dim '%s' is %lld by dim %d of '%s', outside its range %lld to %lld", s->name,
                  (long long)v, dim + 1, input, (long long)s->lo, (long long)s->hi);
        suggest_range(cx, s, v);
    }
    return cx->err.code;
}

/* Two inputs that give a dim two sizes. */
static int disagree(const Graph *g, const DimSymbol *s, int64_t known, int first, int64_t v, int i,
                    int d)
{
    base_fail(g->cx, SGL_ESHAPE, "dim '%s' is %lld by '%s' but %lld by dim %d of '%s'", s->name,
              (long long)known, input_name(g, first), (long long)v, d + 1, input_name(g, i));
    base_err_hint(&g->cx->err, "pass inputs of one size there, or give '%s' a sgl.dim of its own",
                  input_name(g, i));
    return g->cx->err.code;
}

/* Reads symbols off the sizes of one input; from[k] says which input gave symbol k, for the
 * message when another disagrees. */
static int solve_input(const Graph *g, int i, const Shape *is, int64_t *values, int *from)
{
    Ctx *cx = g->cx;
    const Node *n = g->inputs.at[i].node;
    if (is->rank != n->rank)
        return base_fail(cx, SGL_ESHAPE, "input '%s' has %d dims, the step was captured for %d",
                         input_name(g, i), is->rank, n->rank);
    for (int d = 0; d < n->rank; d++) {
        int symbol = ir_dim_plain(cx, n->dims[d]);
        if (symbol < 0) continue;
        const DimSymbol *s = ir_dim_symbol_at(cx, symbol);
        int64_t v = is->dims[d];
        if (from[symbol] && values[symbol] != v)
            return disagree(g, s, values[symbol], from[symbol] - 1, v, i, d);
        if (check_value(cx, s, v, input_name(g, i), d) < 0) return cx->err.code;
        values[symbol] = v;
        from[symbol] = i + 1;
    }
    return SGL_OK;
}

/* Sizes that are expressions follow from the symbols. */
static int check_input(const Graph *g, int i, const Shape *is, const int64_t *values)
{
    Ctx *cx = g->cx;
    const Node *n = g->inputs.at[i].node;
    for (int d = 0; d < n->rank; d++) {
        int64_t size = ir_dim_eval(cx, n->dims[d], values);
        if (size == is->dims[d]) continue;
        if (ir_dim_is_const(n->dims[d]))
            return base_fail(cx, SGL_ESHAPE, "dim %d of '%s' is %lld, it must be %lld", d + 1,
                             input_name(g, i), (long long)is->dims[d], (long long)size);
        return base_fail(cx, SGL_ESHAPE, "dim %d of '%s' is %lld, it must be %s = %lld", d + 1,
                         input_name(g, i), (long long)is->dims[d], ir_dim_name(cx, n->dims[d]).at,
                         (long long)size);
    }
    return SGL_OK;
}

int64_t *ir_solve(const Graph *g, const Shape *list)
{
    size_t count = (size_t)ir_dim_symbol_count(g->cx) + 1;
    int64_t *values = base_mem_zero(count, sizeof *values);
    int *from = base_mem_zero(count, sizeof *from);
    int status = values && from ? SGL_OK : base_fail(g->cx, SGL_ENOMEM, "out of memory for sizes");
    for (int i = 0; i < g->inputs.n && status == SGL_OK; i++)
        status = solve_input(g, i, &list[i], values, from);
    for (int i = 0; i < g->inputs.n && status == SGL_OK; i++)
        status = check_input(g, i, &list[i], values);
    base_mem_free(from);
    if (status == SGL_OK) return values;
    base_mem_free(values);
    return NULL;
}
