/* bind.c: symbolic dims replaced by sizes, node by node through the builders' own rules.
 *
 * Every dim of an input and every attribute of kind D is evaluated; all other dims follow by the
 * shape rules, so what holds for a static graph holds for this one. A size becomes a constant, and
 * what only moves or casts a constant is folded as the builders fold it: the same nodes as if
 * the function had been recorded with these sizes.
 * Holds: inputs, outputs, assigns and regions keep their numbers; blocks are bound with the same
 *        values.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/bind.h"
#include "ir/build.h"
#include "ir/control.h"

typedef struct Binding {
    const Graph *from;
    Graph *to;
    const int64_t *values;
    Node **made;       /* by id */
    VEC(Node *) in;    /* scratch */
    VEC(int64_t) attr; /* scratch */
} Binding;

static int no_memory(const Binding *b)
{
    return base_fail(b->to->cx, SGL_ENOMEM, "out of memory for a graph");
}

/* `any`: as numbers, which may be below 0, not as sizes. */
static int bind_dims(const Binding *b, int n, const Dim *dims, Dim *out, bool any)
{
    Ctx *cx = b->to->cx;
    for (int i = 0; i < n; i++) {
        out[i] = ir_dim_is_const(dims[i]) ? dims[i] : ir_dim_eval(cx, dims[i], b->values);
        if (any || out[i] >= 0) continue;
        Str s = {0};
        ir_dim_text(cx, dims[i], &s);
        base_fail(cx, SGL_ESHAPE, "the size %s is below 0 here", s.at ? s.at : "?");
        base_str_free(&s);
        return SGL_ESHAPE;
    }
    return SGL_OK;
}

/* The block at this number, bound too, in the new graph. */
static int64_t bind_block(const Binding *b, int64_t number)
{
    Graph *block = ir_bind(b->from->blocks.at[number], b->values);
    int64_t made = block ? ir_block_add(b->to, block) : b->to->cx->err.code;
    if (block) ir_graph_free(block);
    return made;
}

/* The attributes of n with their dims evaluated, in b->attr. */
static int bind_attrs(Binding *b, const Node *n)
{
    const char *schema = OPS[n->op].attrs;
    const int64_t *at = n->attr, *end = n->attr + n->nattr;
    int status = SGL_OK;
    if (!vec_reserve(&b->attr, n->nattr + 1)) return no_memory(b);
    if (n->nattr) memcpy(b->attr.at, n->attr, n->nattr * sizeof *n->attr);
    for (AttrField f; status == SGL_OK && ir_attr_next(&schema, &f);) {
        int words = ir_attr_words(f.kind, at, (int)(end - at));
        int64_t *out = b->attr.at + (at - n->attr);
        if (f.kind == 'D') status = bind_dims(b, (int)at[0], at + 1, out + 1, n->op == OP_size);
        if (f.kind == 'G' && (*out = bind_block(b, *at)) < 0) status = (int)*out;
        at += words;
    }
    return status;
}

static Node *bind_input(Binding *b, const Node *n)
{
    const GraphInput *input = &b->from->inputs.at[n->attr[0]];
    Dim dims[OP_MAX_RANK];
    if (bind_dims(b, n->rank, n->dims, dims, false) < 0) return NULL;
    return ir_input(b->to, input->kind, input->name, (Dtype)n->dtype, n->rank, dims);
}

/* A size, moved or cast. */
static bool is_size(const Node *n)
{
    while (n->op == OP_reshape || n->op == OP_broadcast || n->op == OP_cast) n = n->in[0];
    return n->op == OP_size;
}

/* What the builders fold when a constant goes through: a size is one only now. */
static Node *bind_folded(Binding *b, const Node *n)
{
    const int64_t *w = b->attr.at;
    if (n->op == OP_size) return ir_const(b->to, (Dtype)n->dtype, 0, NULL, (double)w[1]);
    if (n->nin != 1 || b->in.at[0]->op != OP_const || !is_size(n->in[0])) return NULL;
    if (n->op == OP_reshape)
        return ir_const(b->to, (Dtype)n->dtype, (int)w[0], w + 1, ir_attr_float(b->in.at[0], 0));
    if (n->op == OP_broadcast) return ir_broadcast(b->in.at[0], (int)w[0], w + 1);
    return n->op == OP_cast ? ir_cast(b->in.at[0], (Dtype)w[0]) : NULL;
}

static Node *bind_node(Binding *b, const Node *n)
{
    Graph *to = b->to;
    to->src = n->src;
    to->region = n->region;
    if (n->op == OP_input) return bind_input(b, n);
    if (!vec_reserve(&b->in, n->nin + 1)) {
        no_memory(b);
        return NULL;
    }
    for (int i = 0; i < n->nin; i++) b->in.at[i] = b->made[n->in[i]->id];
    if (bind_attrs(b, n) < 0) return NULL;
    Node *folded = bind_folded(b, n);
    if (folded || to->cx->err.code) return folded;
    return ir_node(to, (Op)n->op, n->nin, b->in.at, b->attr.at, n->nattr);
}

/* Says where the node that does not fit these sizes was made. */
static int node_failed(const Binding *b, const Node *n)
{
    Err *e = &b->to->cx->err;
    SrcPos at = base_src_pos(b->to->cx, n->src);
    Err why = *e;
    if (at.line < 1 || e->code == SGL_ENOMEM) return e->code;
    base_err_clear(e);
    base_err_set(e, why.code, "%.1500s (%s:%d)", why.text, at.file, at.line);
    if (why.hint[0]) base_err_hint(e, "%s", why.hint);
    return why.code;
}

static int bind_regions(Binding *b, bool ends)
{
    int status = SGL_OK;
    for (int r = 1; r < b->from->regions.n && status == SGL_OK; r++) {
        const Region *old = &b->from->regions.at[r];
        if (!ends) {
            b->to->region = old->parent;
            b->to->src = old->src;
            if (!ir_region_begin(b->to, old->name, 0, NULL)) status = b->to->cx->err.code;
            continue;
        }
        if (!vec_reserve(&b->in, old->nin + 1)) return no_memory(b);
        for (int i = 0; i < old->nin; i++) b->in.at[i] = b->made[old->in[i]->id];
        status = ir_region_fill(b->to, (uint32_t)r, old->nin, b->in.at,
                                old->out ? b->made[old->out->id] : NULL);
    }
    return status;
}

static int bind_ends(Binding *b)
{
    const Graph *g = b->from;
    int status = bind_regions(b, true);
    for (int i = 0; i < g->outputs.n && status == SGL_OK; i++)
        status = ir_output(b->to, b->made[g->outputs.at[i].node->id], g->outputs.at[i].name);
    for (int i = 0; i < g->assigns.n && status == SGL_OK; i++) {
        const GraphAssign *a = &g->assigns.at[i];
        status = ir_assign(b->to, b->to->inputs.at[a->input].node, b->made[a->value->id]);
    }
    if (g->effect && status == SGL_OK) status = ir_effect(b->to, b->made[g->effect->id]);
    b->to->region = 0;
    b->to->src = 0;
    return status;
}

static int bind(Binding *b)
{
    const Graph *g = b->from;
    int status = bind_regions(b, false);
    for (int id = 0; id < g->nodes.n && status == SGL_OK; id++) {
        b->made[id] = bind_node(b, g->nodes.at[id]);
        if (!b->made[id]) status = node_failed(b, g->nodes.at[id]);
    }
    return status == SGL_OK ? bind_ends(b) : status;
}

Graph *ir_bind(const Graph *g, const int64_t *value_of_symbol)
{
    Binding b = {.from = g, .to = ir_graph_new(g->cx), .values = value_of_symbol};
    if (!b.to) return NULL;
    b.to->bound = true;
    b.made = base_mem_zero((size_t)g->nodes.n + 1, sizeof *b.made);
    int status = b.made ? bind(&b) : no_memory(&b);
    base_mem_free(b.made);
    vec_free(&b.in);
    vec_free(&b.attr);
    if (status == SGL_OK) return b.to;
    ir_graph_free(b.to);
    return NULL;
}
