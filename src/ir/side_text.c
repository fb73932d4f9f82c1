/* side_text.c: notes about nodes as text, by the numbers that the text of the graph has.
 */
#include "ir/attr.h"
#include "ir/side.h"
#include "ir/text.h"

/* One note as a line; of a node that has no number in the text, nothing. */
static void print_note(const Graph *g, int i, const int32_t *number, Str *out)
{
    uint32_t node;
    int count;
    const int64_t *words;
    const char *kind = ir_side_at(g, i, &node, &count, &words);
    if (number[node] < 0) return;
    bool text = ir_side_is_text((SideKind)ir_side_find(kind));
    base_str_fmt(out, "side %%%d %s [", number[node], kind);
    for (int k = 0; k < count; k++) {
        if (k) base_str_put(out, ", ");
        if (text) base_str_fmt(out, "\"%s\"", ir_attr_text(words[k]));
        else base_str_fmt(out, "%lld", (long long)words[k]);
    }
    base_str_put(out, "]\n");
}

void ir_side_print(const Graph *g, Str *out)
{
    int32_t *number = base_mem_alloc(((size_t)g->nodes.n + 1) * sizeof *number);
    bool numbered = number && ir_text_numbers(g, number) >= 0;
    if (!numbered) out->failed = true;
    for (int i = 0; numbered && i < ir_side_count(g); i++) print_note(g, i, number, out);
    base_mem_free(number);
}
