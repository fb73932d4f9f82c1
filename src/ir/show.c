/* show.c: a graph for people, one line a node, composites folded.
 *
 *   graph (x: f32[2, 3]) -> f32[2]        4 nodes, 1 kernel, 0 breaks
 *     %1 = mul x, 2          : f32[2, 3]      stdin:1
 *     %2 = gelu %1 {         : f32[2, 3]      stdin:1    composite, 8 primitives
 *     %3 = sum %2 {dims=[2]} : f32[2]         stdin:1
 *
 * Constants stand where they are used; inputs go by their names. A composite whose result is
 * needed is one line at its result; a node inside it that others read too is %line.number. Blocks
 * follow, in the same form.
 * Holds: nodes are the lines and the inputs, so their number in the header can be counted.
 */
#include <stdio.h>
#include <string.h>
#include "ir/print.h"
#include "ir/text.h"

typedef struct Line {
    const Node *node;
    uint32_t composite; /* the composite it stands for; 0: the node itself */
    Str left, type, source;
} Line;

typedef struct Show {
    const Graph *g;
    Live live;
    uint8_t *ends;   /* by id: an output or assigned value, so shown in any case */
    uint32_t *fold;  /* by composite: the outermost folded composite around it; 0: none */
    uint32_t *line;  /* by id: number of its line, or of its composite's; 0: none */
    uint32_t *block; /* numbers of blocks */
    int *blocks, nblock;
    int indent;
    VEC(Line) lines;
    bool failed;
} Show;

static const char *text(const Str *s) { return s->at ? s->at : ""; }

static bool inside(const Show *s, uint32_t composite, uint32_t around)
{
    while (composite > around) composite = s->g->composites.at[composite].parent;
    return composite == around;
}

/* Parents have smaller numbers, so one walk finds the outermost. */
static void find_folds(Show *s)
{
    for (int r = 1; r < s->g->composites.n; r++) {
        const Composite *composite = &s->g->composites.at[r];
        const Node *out = composite->out;
        bool folds = out && s->live.node[out->id] && inside(s, out->composite, (uint32_t)r);
        s->fold[r] = s->fold[composite->parent];
        if (!s->fold[r] && folds) s->fold[r] = (uint32_t)r;
    }
}

static bool inlined(const Show *s, const Node *n)
{
    double value;
    return !s->ends[n->id] && ir_const_value(n, &value);
}

static void find_lines(Show *s)
{
    for (int id = 0; id < s->g->nodes.n; id++) {
        const Node *n = s->g->nodes.at[id];
        uint32_t composite = s->fold[n->composite];
        if (!s->live.node[id] || n->op == OP_input) continue;
        if (composite ? s->g->composites.at[composite].out != n : inlined(s, n)) continue;
        Line l = {.node = n, .composite = composite};
        if (!vec_push(&s->lines, l)) s->failed = true;
        s->line[id] = (uint32_t)s->lines.n;
    }
}

/* The number of a node in its composite, counting live nodes from 1. */
static int place_inside(const Show *s, const Node *n, uint32_t composite)
{
    int place = 0;
    for (uint32_t id = 0; id <= n->id; id++)
        place += s->live.node[id] && s->fold[s->g->nodes.at[id]->composite] == composite;
    return place;
}

/* What people read for a node: an input's name, the number of a line, a constant's value, or a
 * place inside a composite. */
static void put_ref(const Show *s, const Node *n, Str *out)
{
    double value;
    uint32_t composite = s->fold[n->composite];
    if (n->op == OP_input) {
        const char *name = s->g->inputs.at[n->attr[0]].name;
        if (*name) base_str_put(out, name);
        else base_str_fmt(out, "input%lld", (long long)n->attr[0] + 1);
    } else if (s->line[n->id]) {
        base_str_fmt(out, "%%%u", s->line[n->id]);
    } else if (ir_const_value(n, &value)) {
        ir_print_value((Dtype)n->dtype, value, out);
    } else {
        base_str_fmt(out, "%%%u.%d", s->line[s->g->composites.at[composite].out->id],
                     place_inside(s, n, composite));
    }
}

/* The type beside it says dims and dtype already. */
static bool worth_showing(const AttrField *f)
{
    AttrItem item = f->kind->item;
    return item != ITEM_dtype && !(item == ITEM_dim && strncmp(f->name, "dims", 4) == 0);
}

/* The first column: the number, the op or composite, what it reads, and the attributes that say
 * something. */
static void put_left(const Show *s, int number, Line *l)
{
    const Composite *r = &s->g->composites.at[l->composite];
    const Node *n = l->node;
    int nin = l->composite ? r->nin : n->nin;
    Node *const *in = l->composite ? r->in : n->in;
    const char *between = " ";
    base_str_fmt(&l->left, "%%%d = %s", number, l->composite ? r->name : OPS[n->op].name);
    for (int i = 0; i < nin; i++) {
        if (!s->live.node[in[i]->id]) continue;
        base_str_put(&l->left, between);
        put_ref(s, in[i], &l->left);
        between = ", ";
    }
    if (l->composite) base_str_put(&l->left, " {");
    else ir_print_attrs(n, worth_showing, s->block, &l->left);
}

static void put_source(const Show *s, Line *l)
{
    Src src = l->composite ? s->g->composites.at[l->composite].src : l->node->src;
    if (!src) return;
    SrcPos pos = base_src_pos(s->g->cx, src);
    base_str_fmt(&l->source, "%s:%d", pos.file, pos.line);
}

/* Nodes that compute the composite's result inside it, its constants too. */
static int primitives(Show *s, uint32_t composite)
{
    const Graph *g = s->g;
    int count = 0;
    uint32_t top = g->composites.at[composite].out->id;
    uint8_t *need = base_mem_zero(top + 1, 1);
    if (!need) {
        s->failed = true;
        return 0;
    }
    need[top] = 1;
    for (uint32_t id = top + 1; id-- > 0;) {
        const Node *n = g->nodes.at[id];
        if (!need[id] || !(inside(s, n->composite, composite) || n->op == OP_const)) continue;
        count++;
        for (int i = 0; i < n->nin; i++) need[n->in[i]->id] = 1;
    }
    base_mem_free(need);
    return count;
}

/* The first line: arguments with their types, results, and how large the graph is. */
static void put_header(const Show *s, const char *name, int kernels, Str *out)
{
    const Graph *g = s->g;
    const char *between = "";
    int state = 0, nodes = s->lines.n + g->inputs.n;
    base_str_fmt(out, "%*s%s (", s->indent, "", name);
    for (int i = 0; i < g->inputs.n; i++) {
        if (g->inputs.at[i].kind == INPUT_STATE) {
            state++;
            continue;
        }
        base_str_put(out, between);
        put_ref(s, g->inputs.at[i].node, out);
        base_str_put(out, ": ");
        ir_type_text(g->inputs.at[i].node, out);
        between = ", ";
    }
    if (state) base_str_fmt(out, "%s%d state", *between ? "; " : "", state);
    base_str_put(out, ") -> ");
    for (int i = 0; i < g->outputs.n; i++) {
        if (i) base_str_put(out, ", ");
        ir_type_text(g->outputs.at[i].node, out);
    }
    base_str_fmt(out, "        %d node%s", nodes, nodes == 1 ? "" : "s");
    if (kernels >= 0) base_str_fmt(out, ", %d kernel%s", kernels, kernels == 1 ? "" : "s");
    base_str_put(out, s->indent ? "\n" : ", 0 breaks\n");
}

static void put_line(Show *s, const Line *l, const int width[3], Str *out)
{
    int typed = *text(&l->source) ? width[1] + 6 : 0, placed = l->composite ? width[2] + 4 : 0;
    base_str_fmt(out, "%*s%-*s : %-*s", s->indent + 2, "", width[0], text(&l->left), typed,
                 text(&l->type));
    base_str_fmt(out, "%-*s", placed, text(&l->source));
    if (l->composite) {
        int n = primitives(s, l->composite);
        base_str_fmt(out, "composite, %d primitive%s", n, n == 1 ? "" : "s");
    }
    base_str_put(out, "\n");
}

static void show(const Graph *g, const char *name, int kernels, int indent, Str *out);

static void put_blocks(const Show *s, Str *out)
{
    char name[32];
    for (int i = 0; i < s->nblock; i++) {
        snprintf(name, sizeof name, "block $%d", i);
        show(s->g->blocks.at[s->blocks[i]], name, -1, s->indent + 2, out);
    }
}

/* All lines are made before the first is put out, because columns are as wide as their widest
 * cell. */
static void put_all(Show *s, const char *name, int kernels, Str *out)
{
    int width[3] = {0};
    put_header(s, name, kernels, out);
    for (int i = 0; i < s->lines.n; i++) {
        Line *l = &s->lines.at[i];
        put_left(s, i + 1, l);
        ir_type_text(l->node, &l->type);
        put_source(s, l);
        const Str *columns[3] = {&l->left, &l->type, &l->source};
        for (int c = 0; c < 3; c++) {
            s->failed = s->failed || columns[c]->failed;
            if ((int)columns[c]->n > width[c]) width[c] = (int)columns[c]->n;
        }
    }
    for (int i = 0; i < s->lines.n; i++) put_line(s, &s->lines.at[i], width, out);
    for (int i = 0; i < s->g->assigns.n; i++) {
        const GraphAssign *a = &s->g->assigns.at[i];
        base_str_put(out, "  ");
        put_ref(s, s->g->inputs.at[a->input].node, out);
        base_str_put(out, " := ");
        put_ref(s, a->value, out);
        base_str_put(out, "\n");
    }
    put_blocks(s, out);
}

static void mark_ends(Show *s)
{
    for (int i = 0; i < s->g->outputs.n; i++) s->ends[s->g->outputs.at[i].node->id] = 1;
    for (int i = 0; i < s->g->assigns.n; i++) s->ends[s->g->assigns.at[i].value->id] = 1;
    for (int i = 0; i < s->g->effects.n; i++) s->ends[s->g->effects.at[i].last->id] = 1;
}

/* One graph or block for people. Memory that is missing makes `out` failed, not the program. */
static void show(const Graph *g, const char *name, int kernels, int indent, Str *out)
{
    Show s = {.g = g, .indent = indent};
    s.ends = base_mem_zero(g->nodes.n + 1, 1);
    s.fold = base_mem_zero(g->composites.n, sizeof *s.fold);
    s.line = base_mem_zero(g->nodes.n + 1, sizeof *s.line);
    s.block = base_mem_zero(g->blocks.n + 1, sizeof *s.block);
    s.blocks = base_mem_zero(g->blocks.n + 1, sizeof *s.blocks);
    if (s.ends && s.fold && s.line && s.block && s.blocks && ir_live_find(g, &s.live)) {
        s.nblock = ir_print_blocks(g, &s.live, s.block, s.blocks);
        mark_ends(&s);
        find_folds(&s);
        find_lines(&s);
        if (!s.failed) put_all(&s, name, kernels, out);
    } else {
        s.failed = true;
    }
    if (s.failed) out->failed = true;
    for (int i = 0; i < s.lines.n; i++) {
        base_str_free(&s.lines.at[i].left);
        base_str_free(&s.lines.at[i].type);
        base_str_free(&s.lines.at[i].source);
    }
    vec_free(&s.lines);
    ir_live_free(&s.live);
    base_mem_free(s.ends);
    base_mem_free(s.fold);
    base_mem_free(s.line);
    base_mem_free(s.block);
    base_mem_free(s.blocks);
}

void ir_show(const Graph *g, int kernels, Str *out) { show(g, "graph", kernels, 0, out); }
