/* hash.c: a graph's meaning as one number.
 *
 * Holds: it depends on what is computed from the inputs, by their position, kind and type; not on
 *        names, ids, sources, composites, or the order in which nodes were made.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/dim_table.h"
#include "ir/text.h"

static uint64_t mix(uint64_t h, uint64_t word) { return base_hash(h, &word, sizeof word); }

/* An expression's number is the context's own, so its parts stand for it. */
static uint64_t mix_dim(uint64_t h, const Ctx *cx, Dim d)
{
    DimExpr e = ir_dim_expr(cx, d);
    h = mix(mix(h, (uint64_t)e.constant), (uint64_t)e.n);
    for (int i = 0; i < e.n; i++) {
        const DimSymbol *s = ir_dim_symbol_at(cx, (int)e.term[i].symbol);
        h = base_hash(mix(h, (uint64_t)e.term[i].by), s->name, strlen(s->name));
    }
    return h;
}

/* One word of an attribute: numbers of the context's or graph's own do not count. */
typedef uint64_t (*WordHash)(uint64_t h, const Node *n, int64_t word);

static uint64_t hash_integer(uint64_t h, const Node *n, int64_t word)
{
    return (void)n, mix(h, (uint64_t)word);
}

static uint64_t hash_dim(uint64_t h, const Node *n, int64_t word)
{
    return mix_dim(h, n->graph->cx, word);
}

static uint64_t hash_text(uint64_t h, const Node *n, int64_t word)
{
    const char *text = ir_attr_text(word);
    return (void)n, base_hash(h, text, strlen(text));
}

static uint64_t hash_block(uint64_t h, const Node *n, int64_t word)
{
    return mix(h, n->graph->blocks.at[word]->hash);
}

#define hash_real hash_integer
#define hash_dtype hash_integer
#define hash_axis hash_integer

static const WordHash HASHES[] = {
#define ITEM(name) [ITEM_##name] = hash_##name,
#define KIND(letter, item, list, absent)
#include "ir/attr.def"
#undef ITEM
#undef KIND
};

static uint64_t mix_attrs(uint64_t h, const Node *n)
{
    const char *schema = ir_schema(n);
    const int64_t *at = n->attr;
    AttrField f;
    while (ir_attr_next(&schema, &f)) {
        int words = ir_attr_words(&f, at, (int)(n->attr + n->nattr - at));
        for (int i = ir_attr_default(&f, at) ? words : 0; i < words; i++)
            h = f.kind->list && i == 0 ? mix(h, (uint64_t)at[i])
                                       : HASHES[f.kind->item](h, n, at[i]);
        at += words;
    }
    return h;
}

static uint64_t node_hash(const Node *n, const uint64_t *by_id)
{
    uint64_t h = mix(mix(n->op, n->dtype), n->rank);
    for (int d = 0; d < n->rank; d++) h = mix_dim(h, n->graph->cx, n->dims[d]);
    for (int i = 0; i < n->nin; i++) h = mix(h, by_id[n->in[i]->id]);
    return mix_attrs(h, n);
}

uint64_t ir_graph_hash(const Graph *g)
{
    uint64_t h = mix((uint64_t)g->inputs.n, (uint64_t)g->outputs.n), assigns = 0;
    uint64_t *by_id = base_mem_alloc((g->nodes.n + 1) * sizeof *by_id);
    if (!by_id) {
        base_no_memory(g->cx, "the hash of a graph");
        return 0;
    }
    for (int id = 0; id < g->nodes.n; id++) by_id[id] = node_hash(g->nodes.at[id], by_id);
    for (int i = 0; i < g->inputs.n; i++)
        h = mix(mix(h, g->inputs.at[i].kind), by_id[g->inputs.at[i].node->id]);
    for (int i = 0; i < g->outputs.n; i++) h = mix(h, by_id[g->outputs.at[i].node->id]);
    for (int i = 0; i < g->assigns.n; i++) /* a sum: their order means nothing */
        assigns += mix((uint64_t)g->assigns.at[i].input, by_id[g->assigns.at[i].value->id]);
    for (int i = 0; i < g->effects.n; i++) {
        const GraphEffect *e = &g->effects.at[i];
        assigns += base_hash(by_id[e->last->id], e->channel, strlen(e->channel));
    }
    base_mem_free(by_id);
    return mix(h, assigns);
}
