/* graph.c: making graphs, nodes, inputs, outputs, assigns, effects and composites.
 *
 * Holds: a call that fails leaves the graph as it was. Hash-consing looks a node up by op, inputs
 *        and attributes before its shape is inferred: these three decide dtype and dims. While a
 *        graph is recorded it is for leaves, control nodes and results alone: two nodes may be
 *        equal for the sizes of one call only, and gradients must not depend on that.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/custom.h"
#include "ir/side.h"

Graph *ir_graph_new(Ctx *cx)
{
    Graph *g = base_mem_zero(1, sizeof *g);
    if (g) {
        g->cx = cx;
        g->refs = 1;
        Composite whole = {.name = "", .module = ""};
        if (vec_push(&g->composites, whole)) return g;
        base_mem_free(g);
    }
    base_no_memory(cx, "a graph");
    return NULL;
}

Graph *ir_graph_ref(Graph *g)
{
    g->refs++;
    return g;
}

void ir_graph_free(Graph *g)
{
    while (g && --g->refs == 0) {
        Graph *from = g->from;
        for (int i = 0; i < g->blocks.n; i++) ir_graph_free(g->blocks.at[i]);
        vec_free(&g->blocks);
        ir_side_free(g->side);
        vec_free(&g->losses);
        vec_free(&g->grads);
        base_arena_free(&g->arena);
        base_map_free(&g->index);
        vec_free(&g->nodes);
        vec_free(&g->inputs);
        vec_free(&g->outputs);
        vec_free(&g->assigns);
        vec_free(&g->effects);
        vec_free(&g->composites);
        base_mem_free(g);
        g = from;
    }
}

static int out_of_memory(Graph *g)
{
    return base_fail(g->cx, SGL_ENOMEM, "out of memory for the graph (%d nodes)", g->nodes.n);
}

/* What a node is before it has a place in memory. */
typedef struct Recipe {
    Op op;
    int nin, nattr;
    Node *const *in;
    const int64_t *attr;
} Recipe;

static uint64_t recipe_hash(const Recipe *r)
{
    int32_t head[2] = {r->op, r->nin};
    uint64_t h = base_hash(0, head, sizeof head);
    for (int i = 0; i < r->nin; i++) h = base_hash(h, &r->in[i]->id, sizeof r->in[i]->id);
    return r->nattr ? base_hash(h, r->attr, r->nattr * sizeof *r->attr) : h;
}

static bool recipe_is(const Recipe *r, const Node *n)
{
    if (n->op != r->op || n->nin != r->nin || n->nattr != r->nattr) return false;
    for (int i = 0; i < r->nin; i++)
        if (n->in[i] != r->in[i]) return false;
    return !r->nattr || memcmp(n->attr, r->attr, r->nattr * sizeof *r->attr) == 0;
}

/* Leaves take no gradient; the results of one node are found by their recipe. Calls that may give
 * something else each time stay apart. */
static bool is_shared(const Graph *g, const Recipe *r)
{
    Family family = OPS[r->op].family;
    if (family == FAM_leaf || family == FAM_control || family == FAM_result) return true;
    return g->shares && !(family == FAM_custom && ir_custom_random(ir_attr_text(r->attr[0])));
}

/* The node of this recipe, or NULL and in *key the free key where it belongs. Different recipes
 * with one hash stand behind each other at successive keys. */
static Node *consed(const Graph *g, const Recipe *r, uint64_t *key)
{
    uint64_t id;
    for (*key = recipe_hash(r); base_map_get(&g->index, *key, &id); ++*key)
        if (recipe_is(r, g->nodes.at[id])) return g->nodes.at[id];
    return NULL;
}

Node *ir_node_find(const Graph *g, Op op, int nin, Node *const *in, const int64_t *attr, int nattr)
{
    Recipe r = {op, nin, nattr, in, attr};
    uint64_t key;
    return consed(g, &r, &key);
}

static int recipe_check(Graph *g, const Recipe *r)
{
    const OpInfo *info = &OPS[r->op];
    if (r->nin > UINT16_MAX || r->nattr > UINT16_MAX)
        return base_fail(g->cx, SGL_EARG, "%s: %d inputs are more than %d", info->name, r->nin,
                         UINT16_MAX);
    if (info->inputs < 0 ? r->nin < 1 : r->nin != info->inputs)
        return base_fail(g->cx, SGL_EARG, "%s: %d inputs given", info->name, r->nin);
    for (int i = 0; i < r->nin; i++)
        if (r->in[i]->graph != g)
            return base_fail(g->cx, SGL_ESTATE, "%s: input %d belongs to another graph", info->name,
                             i + 1);
    return ir_attr_check(g->cx, r->op, r->attr, r->nattr);
}

/* No product of sizes in later stages may overflow; symbols, which are bound before these, are
 * taken at their least. */
static int shape_check(Graph *g, Op op, const Shape *s)
{
    int64_t count = 1;
    for (int d = 0; d < s->rank; d++) {
        if (!ir_dim_valid(g->cx, s->dims[d]))
            return base_fail(g->cx, SGL_ESHAPE, "%s: dim %d has no size", OPS[op].name, d + 1);
        int64_t lo = ir_dim_least(g->cx, s->dims[d]);
        if (lo < 0)
            return base_fail(g->cx, SGL_ESHAPE, "%s: dim %d of the result can be negative (%lld)",
                             OPS[op].name, d + 1, (long long)lo);
        if (lo > 0 && count > IR_MAX_COUNT / lo)
            return base_fail(g->cx, SGL_ESHAPE, "%s: the result has too many elements",
                             OPS[op].name);
        if (lo > 0) count *= lo;
    }
    return SGL_OK;
}

/* Gives the node its memory: inputs, dims and attributes lie behind it, one allocation for all.
 * Without memory nothing has changed. */
static Node *node_place(Graph *g, const Recipe *r, const Shape *s, uint64_t key)
{
    size_t inputs = r->nin * sizeof(Node *), dims = s->rank * sizeof(Dim);
    size_t attrs = r->nattr * sizeof *r->attr;
    ArenaMark mark = base_arena_mark(&g->arena);
    Node *n = base_arena_alloc(&g->arena, sizeof *n + inputs + dims + attrs);
    if (!n || !vec_reserve(&g->nodes, g->nodes.n + 1) ||
        (is_shared(g, r) && !base_map_set(&g->index, key, (uint64_t)g->nodes.n))) {
        base_arena_reset(&g->arena, mark);
        out_of_memory(g);
        return NULL;
    }
    char *behind = (char *)(n->in + r->nin);
    *n = (Node){.graph = g,
                .id = (uint32_t)g->nodes.n,
                .op = (uint16_t)r->op,
                .dtype = (uint8_t)s->dtype,
                .rank = (uint8_t)s->rank,
                .nin = (uint16_t)r->nin,
                .nattr = (uint16_t)r->nattr,
                .src = g->src,
                .composite = g->composite,
                .dims = (Dim *)behind,
                .attr = (int64_t *)(behind + dims),
                .origin = g->origin};
    if (inputs) memcpy(n->in, r->in, inputs);
    if (dims) memcpy(behind, s->dims, dims);
    if (attrs) memcpy(behind + dims, r->attr, attrs);
    g->nodes.at[g->nodes.n++] = n;
    return n;
}

Node *ir_node(Graph *g, Op op, int nin, Node *const *in, const int64_t *attr, int nattr)
{
    for (int i = 0; i < nin; i++)
        if (!in[i]) return NULL;
    Recipe r = {op, nin, nattr, in, attr};
    if (op == OP_input) {
        base_fail(g->cx, SGL_EARG, "input: made by ir_input alone");
        return NULL;
    }
    if (recipe_check(g, &r) < 0) return NULL;
    uint64_t key = 0;
    Node *same = is_shared(g, &r) ? consed(g, &r, &key) : NULL;
    if (same) return same;
    Shape s;
    if (ir_rules(g->cx, op)->shape(g->cx, op, nin, in, attr, &s) < 0 || shape_check(g, op, &s) < 0)
        return NULL;
    return node_place(g, &r, &s, key);
}

static const char *name_kept(Graph *g, const char *name)
{
    if (!name) name = "";
    const char *kept = base_intern(&g->cx->names, name, strlen(name));
    if (!kept) out_of_memory(g);
    return kept;
}

Node *ir_input(Graph *g, InputKind kind, const char *name, Dtype dtype, int rank, const Dim *dims)
{
    if (rank > OP_MAX_RANK) {
        base_fail(g->cx, SGL_ESHAPE, "input: %d dims, at most %d are supported", rank, OP_MAX_RANK);
        return NULL;
    }
    const char *kept = name_kept(g, name);
    int64_t index = g->inputs.n;
    Recipe r = {OP_input, 0, 1, NULL, &index};
    Shape s = {.dtype = dtype, .rank = rank};
    if (rank > 0) memcpy(s.dims, dims, rank * sizeof *dims);
    if (!kept || shape_check(g, OP_input, &s) < 0) return NULL;
    if (!vec_reserve(&g->inputs, g->inputs.n + 1)) {
        out_of_memory(g);
        return NULL;
    }
    uint64_t key;
    consed(g, &r, &key);
    Node *n = node_place(g, &r, &s, key);
    if (n) g->inputs.at[g->inputs.n++] = (GraphInput){.node = n, .name = kept, .kind = kind};
    return n;
}

int ir_input_name(Graph *g, const Node *input, const char *name)
{
    const char *kept = name_kept(g, name);
    if (!kept) return SGL_ENOMEM;
    g->inputs.at[input->attr[0]].name = kept;
    return SGL_OK;
}

int ir_output(Graph *g, Node *n, const char *name)
{
    if (!n) return g->cx->err.code;
    const char *kept = name_kept(g, name);
    if (!kept) return SGL_ENOMEM;
    GraphOutput out = {n, kept};
    return vec_push(&g->outputs, out) ? SGL_OK : out_of_memory(g);
}

/* A state keeps its type for good, so that programs and saved states need no check at each run. */
static int assign_check(Graph *g, const Node *input, const Node *value)
{
    if (input->op != OP_input || g->inputs.at[input->attr[0]].kind != INPUT_STATE)
        return base_fail(g->cx, SGL_EARG, "assign: only state can be assigned");
    if (input->dtype == value->dtype && ir_same_dims(input, value)) return SGL_OK;
    Str from = {0}, to = {0};
    ir_type_text(value, &from);
    ir_type_text(input, &to);
    int code = input->dtype == value->dtype ? SGL_ESHAPE : SGL_EDTYPE;
    base_fail(g->cx, code, "assign: the value is %s, the tensor %s", from.at ? from.at : "?",
              to.at ? to.at : "?");
    base_str_free(&from);
    base_str_free(&to);
    return code;
}

int ir_assign(Graph *g, Node *input, Node *value)
{
    if (!input || !value) return g->cx->err.code;
    int status = assign_check(g, input, value);
    if (status < 0) return status;
    GraphAssign a = {(int)input->attr[0], value};
    for (int i = 0; i < g->assigns.n; i++) {
        if (g->assigns.at[i].input != a.input) continue;
        g->assigns.at[i] = a;
        return SGL_OK;
    }
    return vec_push(&g->assigns, a) ? SGL_OK : out_of_memory(g);
}

const GraphEffect *ir_effect_find(const Graph *g, const char *channel)
{
    for (int i = 0; i < g->effects.n; i++)
        if (strcmp(g->effects.at[i].channel, channel) == 0) return &g->effects.at[i];
    return NULL;
}

int ir_effect(Graph *g, const char *channel, Node *last)
{
    if (!last) return g->cx->err.code;
    if (last->dtype != DT_i32 || last->rank)
        return base_fail(g->cx, SGL_EARG, "effect: the node is no effect");
    GraphEffect effect = {name_kept(g, channel), last};
    const GraphEffect *old = ir_effect_find(g, channel);
    if (!effect.channel) return SGL_ENOMEM;
    if (old) g->effects.at[old - g->effects.at] = effect;
    return old || vec_push(&g->effects, effect) ? SGL_OK : out_of_memory(g);
}

uint32_t ir_composite_begin(Graph *g, const char *name, int nin, Node *const *in)
{
    for (int i = 0; i < nin; i++)
        if (!in[i]) return 0;
    Composite r = {.name = name_kept(g, name),
                   .module = g->module ? g->module : "",
                   .parent = g->composite,
                   .src = g->src};
    uint32_t made = (uint32_t)g->composites.n;
    if (!r.name) return 0;
    if (!vec_push(&g->composites, r)) {
        out_of_memory(g);
        return 0;
    }
    if (ir_composite_fill(g, made, nin, in, NULL) < 0) {
        g->composites.n--;
        return 0;
    }
    return g->composite = made;
}

int ir_composite_fill(Graph *g, uint32_t composite, int nin, Node *const *in, Node *out)
{
    Composite *r = &g->composites.at[composite];
    Node **kept = nin ? base_arena_copy(&g->arena, in, nin * sizeof *in) : NULL;
    if (nin && !kept) return out_of_memory(g);
    r->nin = nin;
    r->in = kept;
    r->out = out;
    return SGL_OK;
}

void ir_composite_end(Graph *g, uint32_t composite, Node *out)
{
    if (composite == 0) return;
    g->composites.at[composite].out = out;
    g->composite = g->composites.at[composite].parent;
}
