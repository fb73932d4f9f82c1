/* print.c: values, names and attributes as text; what of a graph is worth printing.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ir/print.h"

static void mark_composites(const Graph *g, Live *l)
{
    for (int id = 0; id < g->nodes.n; id++)
        if (l->node[id]) l->composite[g->nodes.at[id]->composite] = 1;
    for (int r = g->composites.n - 1; r > 0; r--)
        if (l->composite[r]) l->composite[g->composites.at[r].parent] = 1;
    l->composite[0] = 1;
}

bool ir_live_find(const Graph *g, Live *out)
{
    int n = 0;
    size_t most = (size_t)(g->inputs.n + g->outputs.n + g->assigns.n + g->effects.n + 1);
    Node **roots = base_mem_alloc(most * sizeof *roots);
    out->node = base_mem_zero(g->nodes.n + 1, 1);
    out->composite = base_mem_zero(g->composites.n, 1);
    bool ok = roots && out->node && out->composite;
    if (ok) {
        for (int i = 0; i < g->inputs.n; i++) roots[n++] = g->inputs.at[i].node;
        for (int i = 0; i < g->outputs.n; i++) roots[n++] = g->outputs.at[i].node;
        for (int i = 0; i < g->assigns.n; i++) roots[n++] = g->assigns.at[i].value;
        for (int i = 0; i < g->effects.n; i++) roots[n++] = g->effects.at[i].last;
        ir_reachable(g, n, roots, out->node);
        mark_composites(g, out);
    } else {
        ir_live_free(out);
    }
    base_mem_free(roots);
    return ok;
}

void ir_live_free(Live *l)
{
    base_mem_free(l->node);
    base_mem_free(l->composite);
    *l = (Live){0};
}

void ir_print_value(Dtype dtype, double value, Str *out)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        base_str_put(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    if (dtype == DT_bool && (value == 0 || value == 1)) {
        base_str_put(out, value ? "true" : "false");
        return;
    }
    bool whole = value == rint(value) && fabs(value) < 1e15;
    for (int digits = 1; digits < 18 && !whole; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (ir_dtype_round(dtype, strtod(text, NULL)) == value) break;
    }
    if (whole) snprintf(text, sizeof text, "%.0f", value);
    for (char *c = text; *c; c++)
        if (!isdigit((unsigned char)*c) && !strchr("+-e", *c)) *c = '.';
    base_str_put(out, text);
}

void ir_print_quoted(const char *text, Str *out)
{
    base_str_put(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) base_str_fmt(out, "\\x%02x", c);
        else if (c == '"' || c == '\\') base_str_fmt(out, "\\%c", c);
        else base_str_add(out, text, 1);
    }
    base_str_put(out, "\"");
}

bool ir_print_is_plain(const char *text)
{
    const char *c = text;
    while (isalnum((unsigned char)*c) || (*c && strchr("_./+-", *c))) c++;
    return *text && !*c;
}

typedef void (*ItemPrinter)(const Node *n, int64_t word, Str *out);

static void print_integer(const Node *n, int64_t word, Str *out)
{
    (void)n;
    base_str_int(out, word);
}

static void print_axis(const Node *n, int64_t word, Str *out) { print_integer(n, word + 1, out); }

static void print_dim(const Node *n, int64_t word, Str *out)
{
    ir_dim_text(n->graph->cx, word, out);
}

static void print_dtype(const Node *n, int64_t word, Str *out)
{
    (void)n;
    base_str_put(out, DTYPES[word].name);
}

/* As the double it is: the parser meets it before the dtype. */
static void print_real(const Node *n, int64_t word, Str *out)
{
    (void)n;
    ir_print_value(DT_f64, ir_attr_double(word), out);
}

static void print_text(const Node *n, int64_t word, Str *out)
{
    (void)n;
    ir_print_quoted(ir_attr_text(word), out);
}

static void print_block(const Node *n, int64_t word, Str *out)
{
    (void)n;
    base_str_fmt(out, "$%lld", (long long)word);
}

static const ItemPrinter PRINTERS[] = {
#define ITEM(name) [ITEM_##name] = print_##name,
#define KIND(letter, item, list, absent)
#include "ir/attr.def"
#undef ITEM
#undef KIND
};

static void attr_print(const Node *n, const AttrKind *kind, const int64_t *at, Str *out)
{
    if (!kind->list) {
        PRINTERS[kind->item](n, at[0], out);
        return;
    }
    base_str_put(out, "[");
    for (int64_t i = 1; i <= at[0]; i++) {
        if (i > 1) base_str_put(out, ", ");
        PRINTERS[kind->item](n, at[i], out);
    }
    base_str_put(out, "]");
}

int ir_print_blocks(const Graph *g, const Live *live, uint32_t *number, int *order)
{
    int count = 0;
    for (int i = 0; i < g->blocks.n; i++) number[i] = UINT32_MAX;
    for (int id = 0; id < g->nodes.n && g->blocks.n; id++) {
        const Node *n = g->nodes.at[id];
        const char *schema = ir_schema(n);
        const int64_t *at = n->attr;
        AttrField f;
        if (!live->node[id] || ir_op(n)->family != FAM_control) continue;
        for (; ir_attr_next(&schema, &f); at += ir_attr_words(&f, at, n->nattr)) {
            if (f.kind->item != ITEM_block || number[*at] != UINT32_MAX) continue;
            number[*at] = (uint32_t)count;
            order[count++] = (int)*at;
        }
    }
    return count;
}

void ir_print_attrs(const Node *n, AttrFilter keep, const uint32_t *block, Str *out)
{
    const char *schema = ir_schema(n), *open = " {";
    const int64_t *at = n->attr;
    AttrField f;
    while (ir_attr_next(&schema, &f)) {
        int words = ir_attr_words(&f, at, (int)(n->attr + n->nattr - at));
        if (!ir_attr_default(&f, at) && (!keep || keep(&f))) {
            base_str_put(out, open);
            base_str_add(out, f.name, f.length);
            base_str_put(out, "=");
            int64_t renamed = f.kind->item == ITEM_block && block ? block[*at] : 0;
            attr_print(n, f.kind, f.kind->item == ITEM_block && block ? &renamed : at, out);
            open = ", ";
        }
        at += words;
    }
    if (*open == ',') base_str_put(out, "}");
}
