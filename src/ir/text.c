/* text.c: the text form of a graph that parse.c reads back.
 *
 * One thing a line, in this order; axes and positions count from 1:
 *   graph
 *   dim batch 1 64 8                              symbol, range, multiple
 *   block $0                                      what control nodes run: the lines of a graph,
 *     input %0 arg "" f32[3]                      with numbers of its own
 *     output %0 ""
 *   end
 *   composite @1 "gelu" in @0 module "1.act" # …     composites; @0 is the graph; the module's path
 *   input %0 arg "x" f32[batch, 3] batch 1 @1 # … kind, name, type, samples, composite unless @0
 *   %3 = sum(%2) {dims=[2]} : f32[2] @1 # …       nodes in topological order
 *   call @1(%0) = %3                              what a composite was called on and gave
 *   output %3 "loss"
 *   assign %1 = %3
 *   effect %4                                     the last print or assert
 *   effect %7 "comm"                              the last effect of another channel
 *   loss %5                                       where forward ends
 *   grad %6 of %1                                 which value is whose gradient
 * Holds: nodes that nothing needs are left out, and numbers count what is there, so the text
 *        depends on the meaning and not on how the graph came about; parsing it and printing
 *        again gives the same text.
 */
#include <string.h>
#include "ir/print.h"
#include "ir/text.h"

typedef struct Printer {
    const Graph *g;
    Str *out;
    Live live;
    int indent;
    bool plain;          /* without sources */
    int32_t *number;     /* of nodes, by id; -1: left out */
    uint32_t *composite; /* of composites */
    uint32_t *block;     /* of blocks */
    int *blocks;         /* those that are needed, in the order of their numbers */
    int nblock;
} Printer;

/* Begins a line. */
static void put_word(const Printer *p, const char *word)
{
    for (int i = 0; i < p->indent; i++) base_str_put(p->out, " ");
    base_str_put(p->out, word);
}

static int number_nodes(const Graph *g, const Live *live, int32_t *number)
{
    int32_t n = 0;
    for (int id = 0; id < g->nodes.n; id++) number[id] = -1;
    for (int i = 0; i < g->inputs.n; i++) number[g->inputs.at[i].node->id] = n++;
    for (int id = 0; id < g->nodes.n; id++)
        if (live->node[id] && g->nodes.at[id]->op != OP_input) number[id] = n++;
    return n;
}

int ir_text_numbers(const Graph *g, int32_t *number)
{
    Live live;
    if (!ir_live_find(g, &live))
        return base_fail(g->cx, SGL_ENOMEM, "out of memory for the numbers of %d nodes",
                         g->nodes.n);
    int n = number_nodes(g, &live, number);
    ir_live_free(&live);
    return n;
}

static void number_all(Printer *p)
{
    const Graph *g = p->g;
    uint32_t r = 0;
    number_nodes(g, &p->live, p->number);
    for (int i = 0; i < g->composites.n; i++)
        if (p->live.composite[i]) p->composite[i] = r++;
    p->nblock = ir_print_blocks(g, &p->live, p->block, p->blocks);
}

static void put_source(const Printer *p, Src src)
{
    if (!src || p->plain) return;
    SrcPos pos = base_src_pos(p->g->cx, src);
    base_str_put(p->out, " # ");
    if (ir_print_is_plain(pos.file)) base_str_put(p->out, pos.file);
    else ir_print_quoted(pos.file, p->out);
    base_str_put(p->out, ":");
    base_str_int(p->out, pos.line);
}

static void put_refs(const Printer *p, int n, Node *const *in)
{
    const char *between = "%";
    base_str_put(p->out, "(");
    for (int i = 0; i < n; i++) {
        if (!p->live.node[in[i]->id]) continue;
        base_str_put(p->out, between);
        base_str_int(p->out, p->number[in[i]->id]);
        between = ", %";
    }
    base_str_put(p->out, ")");
}

static void put_place(const Printer *p, const Node *n)
{
    if (n->composite) {
        base_str_put(p->out, " @");
        base_str_int(p->out, p->composite[n->composite]);
    }
    put_source(p, n->src);
    base_str_put(p->out, "\n");
}

/* Declares the symbols that live nodes use, also among their attributes, so that a text can be
 * read by another context. */
static void put_symbols(const Printer *p)
{
    const Ctx *cx = p->g->cx;
    int count = ir_dim_symbol_count(cx);
    uint8_t *used = count ? base_mem_zero(count, 1) : NULL;
    int *found = count ? base_mem_alloc(count * sizeof *found) : NULL;
    if (count && (!used || !found)) p->out->failed = true;
    for (int id = 0; count && id < p->g->nodes.n && !p->out->failed; id++) {
        Dim dims[IR_NODE_DIMS];
        int n = p->live.node[id] ? ir_node_dims(p->g->nodes.at[id], dims) : 0;
        for (int d = 0; d < n; d++)
            for (int k = ir_dim_symbols(cx, dims[d], found, count); k > 0; k--)
                used[found[k - 1]] = 1;
    }
    for (int i = 0; i < count && !p->out->failed; i++) {
        const DimSymbol *s = ir_dim_symbol_at(cx, i);
        if (!used[i]) continue;
        put_word(p, "dim ");
        base_str_fmt(p->out, "%s %lld %lld %lld\n", s->name, (long long)s->lo, (long long)s->hi,
                     (long long)s->multiple);
    }
    base_mem_free(used);
    base_mem_free(found);
}

/* A line for each composite that something live is in; they come before the nodes, which name
 * them. */
static void put_composites(const Printer *p)
{
    for (int i = 1; i < p->g->composites.n; i++) {
        const Composite *r = &p->g->composites.at[i];
        if (!p->live.composite[i]) continue;
        put_word(p, "composite ");
        base_str_fmt(p->out, "@%u ", p->composite[i]);
        ir_print_quoted(r->name, p->out);
        base_str_fmt(p->out, " in @%u", p->composite[r->parent]);
        if (*r->module) {
            base_str_put(p->out, " module ");
            ir_print_quoted(r->module, p->out);
        }
        put_source(p, r->src);
        base_str_put(p->out, "\n");
    }
}

static void put_inputs(const Printer *p)
{
    for (int i = 0; i < p->g->inputs.n; i++) {
        const GraphInput *in = &p->g->inputs.at[i];
        put_word(p, "input ");
        base_str_fmt(p->out, "%%%d %s ", p->number[in->node->id],
                     in->kind == INPUT_STATE ? "state" : "arg");
        ir_print_quoted(in->name, p->out);
        base_str_put(p->out, " ");
        ir_type_text(in->node, p->out);
        if (in->batch) base_str_fmt(p->out, " batch %d", in->batch);
        put_place(p, in->node);
    }
}

/* A line for each live node; inputs have had theirs. */
static void put_nodes(const Printer *p)
{
    for (int id = 0; id < p->g->nodes.n; id++) {
        const Node *n = p->g->nodes.at[id];
        if (!p->live.node[id] || n->op == OP_input) continue;
        put_word(p, "%");
        base_str_int(p->out, p->number[id]);
        base_str_put(p->out, " = ");
        base_str_put(p->out, OPS[n->op].name);
        put_refs(p, n->nin, n->in);
        ir_print_attrs(n, NULL, p->block, p->out);
        base_str_put(p->out, " : ");
        ir_type_text(n, p->out);
        put_place(p, n);
    }
}

static void put_effects(const Printer *p)
{
    for (int i = 0; i < p->g->effects.n; i++) {
        const GraphEffect *e = &p->g->effects.at[i];
        put_word(p, "effect ");
        base_str_fmt(p->out, "%%%d", p->number[e->last->id]);
        if (strcmp(e->channel, IR_HOST) != 0) {
            base_str_put(p->out, " ");
            ir_print_quoted(e->channel, p->out);
        }
        base_str_put(p->out, "\n");
    }
}

/* Of nodes that are left out nothing is told. */
static void put_marks(const Printer *p)
{
    const Graph *g = p->g;
    for (int i = 0; i < g->losses.n; i++) {
        int32_t loss = p->number[g->losses.at[i]->id];
        if (loss < 0) continue;
        put_word(p, "loss ");
        base_str_fmt(p->out, "%%%d\n", loss);
    }
    for (int i = 0; i < g->grads.n; i++) {
        int32_t value = p->number[g->grads.at[i].value->id], of = p->number[g->grads.at[i].of->id];
        if (value < 0 || of < 0) continue;
        put_word(p, "grad ");
        base_str_fmt(p->out, "%%%d of %%%d\n", value, of);
    }
}

/* What refers to nodes that are all there now: calls of composites, outputs, assigns, effects. */
static void put_ends(const Printer *p)
{
    const Graph *g = p->g;
    for (int i = 1; i < g->composites.n; i++) {
        const Composite *r = &g->composites.at[i];
        if (!p->live.composite[i]) continue;
        put_word(p, "call ");
        base_str_fmt(p->out, "@%u", p->composite[i]);
        put_refs(p, r->nin, r->in);
        if (r->out && p->live.node[r->out->id])
            base_str_fmt(p->out, " = %%%d", p->number[r->out->id]);
        base_str_put(p->out, "\n");
    }
    for (int i = 0; i < g->outputs.n; i++) {
        put_word(p, "output ");
        base_str_fmt(p->out, "%%%d ", p->number[g->outputs.at[i].node->id]);
        ir_print_quoted(g->outputs.at[i].name, p->out);
        base_str_put(p->out, "\n");
    }
    for (int i = 0; i < g->assigns.n; i++) {
        put_word(p, "assign ");
        base_str_fmt(p->out, "%%%d = %%%d\n",
                     p->number[g->inputs.at[g->assigns.at[i].input].node->id],
                     p->number[g->assigns.at[i].value->id]);
    }
    put_marks(p);
    put_effects(p);
}

static void put_graph(const Graph *g, int indent, bool plain, Str *out);

static void put_blocks(const Printer *p)
{
    for (int i = 0; i < p->nblock; i++) {
        put_word(p, "block ");
        base_str_fmt(p->out, "$%d\n", i);
        put_graph(p->g->blocks.at[p->blocks[i]], p->indent + 2, p->plain, p->out);
        put_word(p, "end\n");
    }
}

/* The lines of a graph, or of a block inside one, which is indented. Without memory `out` is
 * failed. */
static void put_graph(const Graph *g, int indent, bool plain, Str *out)
{
    Printer p = {.g = g, .out = out, .indent = indent, .plain = plain};
    p.number = base_mem_zero(g->nodes.n + 1, sizeof *p.number);
    p.composite = base_mem_zero(g->composites.n, sizeof *p.composite);
    p.block = base_mem_zero(g->blocks.n + 1, sizeof *p.block);
    p.blocks = base_mem_zero(g->blocks.n + 1, sizeof *p.blocks);
    if (p.number && p.composite && p.block && p.blocks && ir_live_find(g, &p.live)) {
        number_all(&p);
        put_symbols(&p);
        put_blocks(&p);
        put_composites(&p);
        put_inputs(&p);
        put_nodes(&p);
        put_ends(&p);
        ir_live_free(&p.live);
    } else {
        out->failed = true;
    }
    base_mem_free(p.number);
    base_mem_free(p.composite);
    base_mem_free(p.block);
    base_mem_free(p.blocks);
}

void ir_print(const Graph *g, Str *out)
{
    base_str_put(out, "graph\n");
    put_graph(g, 0, false, out);
}

void ir_print_plain(const Graph *g, Str *out)
{
    base_str_put(out, "graph\n");
    put_graph(g, 0, g->blocks.n == 0, out);
}
