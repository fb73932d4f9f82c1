/* sizes.c: the C interface: sizes that the inputs of a run decide.
 *
 * Holds: a program has one set of values at a time. Values that give other bits need another
 *        program (exec_program_fits), which takes the place of the first.
 */
#include <string.h>
#include "capi/api.h"
#include "ir/solve.h"

static int64_t middle(const DimSymbol *s)
{
    int64_t least = s->lo > 1 ? s->lo : 2, up = (least + s->multiple - 1) / s->multiple;
    return up * s->multiple <= s->hi ? up * s->multiple : s->lo;
}

static bool is_symbolic(const Graph *g)
{
    for (int i = 0; i < g->inputs.n; i++)
        for (int d = 0; d < g->inputs.at[i].node->rank; d++)
            if (!ir_dim_is_const(g->inputs.at[i].node->dims[d])) return true;
    return false;
}

int capi_sizes_begin(sgl_program *p, const Graph *g)
{
    int n = ir_dim_symbol_count(p->cx);
    if (!is_symbolic(g)) return SGL_OK;
    p->values = base_mem_zero((size_t)n + 1, sizeof *p->values);
    if (!p->values) return base_fail(p->cx, SGL_ENOMEM, "no memory for the sizes of a program");
    p->nvalues = n;
    for (int i = 0; i < n; i++) p->values[i] = middle(ir_dim_symbol_at(p->cx, i));
    return SGL_OK;
}

SizeValues capi_sizes(const sgl_program *p) { return (SizeValues){p->values, p->nvalues}; }

/* The shapes of all inputs: the caller's, and those of the state, which have no symbols. */
static Shape *shapes_of(const Graph *g, const sgl_array *in)
{
    Shape *list = base_mem_zero((size_t)g->inputs.n + 1, sizeof *list);
    for (int i = 0, a = 0; list && i < g->inputs.n; i++) {
        const Node *n = g->inputs.at[i].node;
        bool given = g->inputs.at[i].kind == INPUT_ARG;
        list[i] = (Shape){.dtype = (Dtype)n->dtype, .rank = n->rank};
        memcpy(list[i].dims, given ? in[a].dims : n->dims, n->rank * sizeof *n->dims);
        a += given;
    }
    return list;
}

int capi_sizes_read(sgl_program *p, const Graph *g, const sgl_array *in)
{
    if (!p->values) return 0;
    Shape *list = shapes_of(g, in);
    if (!list) return base_fail(p->cx, SGL_ENOMEM, "no memory for the sizes of a run");
    int n = ir_dim_symbol_count(p->cx);
    int64_t *values = ir_solve(g, list);
    base_mem_free(list);
    if (!values) return p->cx->err.code;
    bool same = n == p->nvalues && !memcmp(values, p->values, (size_t)n * sizeof *values);
    base_mem_free(p->values);
    p->values = values;
    p->nvalues = n;
    return !same;
}

sgl_array capi_type_now(const sgl_program *p, const Node *n)
{
    sgl_array a = sgl_view((sgl_dtype)n->dtype, NULL, n->rank, n->dims);
    for (int d = 0; p->values && d < n->rank; d++)
        a.dims[d] = ir_dim_eval(p->cx, n->dims[d], p->values);
    return a;
}
