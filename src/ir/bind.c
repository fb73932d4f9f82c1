/* bind.c: symbolic dims replaced by sizes, node by node through the builders' own rules.
 *
 * Every dim of an input and every attribute of kind D is evaluated; all other dims follow by the
 * shape rules, so what holds for a static graph holds for this one. A size becomes a constant, and
 * what only moves or casts a constant is folded as the builders fold it: the same nodes as if
 * the function had been recorded with these sizes.
 * Holds: inputs, outputs, assigns and composites keep their numbers; blocks are bound with the same
 *        values.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/bind.h"
#include "ir/build.h"
#include "ir/control.h"
#include "ir/rebuild.h"

typedef struct Binding {
    Graph *to;
    const int64_t *values;        /* by number of the symbol */
    int64_t *block;               /* by number of a block: that in the new graph + 1, or 0 */
    int64_t attr[ATTR_MAX_WORDS]; /* of the node that is being made */
} Binding;

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

/* The block at this number of n's graph, bound too, in the new graph: once, however many nodes run
 * it, since blocks may share others level for level. */
static int64_t bind_block(const Binding *b, const Node *n, int64_t number)
{
    if (b->block[number]) return b->block[number] - 1;
    Graph *block = ir_bind(n->graph->blocks.at[number], b->values);
    int64_t made = block ? ir_block_add(b->to, block) : b->to->cx->err.code;
    if (block) ir_graph_free(block);
    if (made >= 0) b->block[number] = made + 1;
    return made;
}

/* The attributes of n with their dims evaluated, in b->attr. */
static int bind_attrs(Binding *b, const Node *n)
{
    const char *schema = ir_schema(n);
    const int64_t *at = n->attr, *end = n->attr + n->nattr;
    int status = SGL_OK;
    if (n->nattr) memcpy(b->attr, n->attr, n->nattr * sizeof *n->attr);
    for (AttrField f; status == SGL_OK && ir_attr_next(&schema, &f);) {
        int words = ir_attr_words(&f, at, (int)(end - at));
        int64_t *out = b->attr + (at - n->attr);
        if (f.kind->item == ITEM_dim)
            status = bind_dims(b, (int)at[0], at + 1, out + 1, n->op == OP_size);
        if (f.kind->item == ITEM_block && (*out = bind_block(b, n, *at)) < 0) status = (int)*out;
        at += words;
    }
    return status;
}

/* A size, moved or cast. */
static bool is_size(const Node *n)
{
    while (n->op == OP_reshape || n->op == OP_broadcast || n->op == OP_cast) n = n->in[0];
    return n->op == OP_size;
}

/* What the builders fold when a constant goes through: a size is one only now. */
static Node *bind_folded(Binding *b, const Node *n, Node *const *in)
{
    const int64_t *w = b->attr;
    if (n->op == OP_size) return ir_const(b->to, (Dtype)n->dtype, 0, NULL, (double)w[1]);
    if (n->nin != 1 || in[0]->op != OP_const || !is_size(n->in[0])) return NULL;
    if (n->op == OP_reshape)
        return ir_const(b->to, (Dtype)n->dtype, (int)w[0], w + 1, ir_attr_float(in[0], 0));
    if (n->op == OP_broadcast) return ir_broadcast(in[0], (int)w[0], w + 1);
    return n->op == OP_cast ? ir_cast(in[0], (Dtype)w[0]) : NULL;
}

static Node *bind_node(Rebuild *rb, const Node *n, Node **in)
{
    Binding *b = rb->arg;
    Dim dims[OP_MAX_RANK];
    if (n->op == OP_input)
        return bind_dims(b, n->rank, n->dims, dims, false) < 0 ? NULL
                                                               : ir_rebuild_input(rb, n, dims);
    if (bind_attrs(b, n) < 0) return NULL;
    Node *folded = bind_folded(b, n, in);
    if (folded || b->to->cx->err.code) return folded;
    return ir_node(b->to, (Op)n->op, n->nin, in, b->attr, n->nattr);
}

/* A node that does not fit these sizes: the error says where it was made. */
static Node *bind_or_say_where(Rebuild *rb, const Node *n, Node **in)
{
    Node *made = bind_node(rb, n, in);
    if (made) return made;
    Err *e = &rb->to->cx->err;
    SrcPos at = base_src_pos(rb->to->cx, n->src);
    Err why = *e;
    if (at.line < 1 || e->code == SGL_ENOMEM) return NULL;
    base_err_clear(e);
    base_err_set(e, why.code, "%.1500s (%s:%d)", why.text, at.file, at.line);
    if (why.hint[0]) base_err_hint(e, "%s", why.hint);
    return NULL;
}

Graph *ir_bind(const Graph *g, const int64_t *value_of_symbol)
{
    Binding b = {.to = ir_graph_new(g->cx),
                 .values = value_of_symbol,
                 .block = base_mem_zero((size_t)g->blocks.n + 1, sizeof *b.block)};
    if (b.to && !b.block) {
        base_no_memory(g->cx, "a graph");
        ir_graph_free(b.to);
        b.to = NULL;
    }
    if (b.to) b.to->bound = true;
    Graph *made =
        ir_rebuild_graph(&(Rebuild){.from = g, .to = b.to, .remake = bind_or_say_where, .arg = &b});
    base_mem_free(b.block);
    return made;
}
