/* stored.c: entries of the disk cache: a digest, where each node came from, the graph's text.
 *
 *   schedule <digest of groups and buffers>
 *   origins <count> <by node: the number of its origin in the captured graph, or -1> …
 *   graph …
 * The key names the version and the sources of the product, the settings that change programs, and
 * the captured graph without positions: equal keys are equal programs.
 */
#include "exec/stored.h"
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "exec/disk.h"
#include "ir/custom.h"
#include "ir/text.h"
#include "sgl.h"

#ifndef SGL_SOURCES /* the Makefile's checksum of the sources */
#define SGL_SOURCES "?"
#endif

bool exec_stored_wanted(const Graph *g)
{
    if (g->bound || g->nodes.n < g->cx->knobs.value[KNOB_cache_min_nodes]) return false;
    /* Nothing says whether a registered op is what it was in another process. */
    return exec_disk_folder(g->cx) && !ir_custom_any(g, 0);
}

bool exec_stored_key(const Graph *g, const char *text, Str *key)
{
    base_str_put(key, "sgl " SGL_VERSION " " SGL_SOURCES "\n");
    for (int id = 0; id < KNOB_COUNT; id++) {
        if (!KNOBS[id].key) continue;
        base_str_fmt(key, "%s ", KNOBS[id].name);
        base_knob_text(&g->cx->knobs, (KnobId)id, key);
        base_str_put(key, "\n");
    }
    if (g->part) base_str_put(key, "part\n");
    if (text) base_str_put(key, text);
    else ir_print_plain(g, key);
    return !key->failed;
}

/* ---- the digest: numbers of the text stand for nodes, so it does not depend on dead ones */

typedef struct Digest {
    uint64_t h;
    const int32_t *number;
} Digest;

static void mix(Digest *d, int64_t word) { d->h = base_hash(d->h, &word, sizeof word); }

static void mix_nodes(Digest *d, const NodeVec *nodes)
{
    mix(d, nodes->n);
    for (int i = 0; i < nodes->n; i++) mix(d, d->number[nodes->at[i]->id]);
}

static void mix_loop(Digest *d, const Loop *l)
{
    mix(d, l->mode);
    mix(d, l->part);
    for (int v = 0; v < l->space.nvar; v++) {
        mix(d, l->space.extent[v]);
        mix(d, l->space.reduced[v]);
    }
    for (int i = 0; i < l->nroot; i++) {
        const IndexMap *at = l->root[i].at;
        mix(d, d->number[l->root[i].node->id]);
        d->h = base_hash(d->h, at->dim, (size_t)at->rank * sizeof *at->dim);
    }
}

/* What the passes decided, as one number: an entry on disk must lead to the same schedule as it
 * did when it was written. */
static uint64_t digest(const Schedule *s, const int32_t *number)
{
    Digest d = {0, number};
    for (int i = 0; i < s->groups.n; i++) {
        const Group *g = &s->groups.at[i];
        mix(&d, g->kind);
        mix_nodes(&d, &g->nodes);
        mix_nodes(&d, &g->ins);
        mix_nodes(&d, &g->outs);
        for (int k = 0; k < g->nloop; k++) mix_loop(&d, &g->loop[k]);
    }
    for (int i = 0; i < s->buffers.n; i++) {
        const Buffer *b = &s->buffers.at[i];
        const int64_t words[] = {b->place, b->index, (int64_t)b->bytes, (int64_t)b->offset};
        d.h = base_hash(d.h, words, sizeof words);
    }
    for (int i = 0; i < s->graph->assigns.n; i++) mix(&d, s->in_place[i]);
    mix(&d, (int64_t)s->arena_bytes);
    return d.h;
}

static int32_t *numbers_of(const Graph *g)
{
    int32_t *number = base_mem_alloc(((size_t)g->nodes.n + 1) * sizeof *number);
    if (number && ir_text_numbers(g, number) >= 0) return number;
    base_mem_free(number);
    return NULL;
}

/* ---- storing */

/* The captured graph, below the graphs that the passes made of it one after the other. */
static const Graph *captured_of(const Graph *g)
{
    while (g->from) g = g->from;
    return g;
}

static const Node *captured_origin(const Graph *g, const Node *n)
{
    for (; n && g->from; g = g->from) n = n->origin;
    return n;
}

/* By number in the text. */
static void put_origins(const Graph *g, const int32_t *number, const int32_t *captured, Str *out)
{
    VEC(int32_t) origin = {0};
    int n = 0;
    for (int id = 0; id < g->nodes.n; id++) n += number[id] >= 0;
    if (!vec_reserve(&origin, n + 1)) out->failed = true;
    for (int id = 0; id < g->nodes.n && !out->failed; id++) {
        const Node *from = captured_origin(g, g->nodes.at[id]);
        if (number[id] >= 0) origin.at[number[id]] = from ? captured[from->id] : -1;
    }
    base_str_fmt(out, "origins %d", n);
    for (int i = 0; i < n && !out->failed; i++) base_str_fmt(out, " %d", origin.at[i]);
    base_str_put(out, "\n");
    vec_free(&origin);
}

void exec_stored_store(const Schedule *s, const Str *key)
{
    Ctx *cx = s->graph->cx;
    Str body = {0};
    int32_t *number = numbers_of(s->graph);
    int32_t *from = number ? numbers_of(captured_of(s->graph)) : NULL;
    if (from) {
        base_str_fmt(&body, "schedule %016llx\n", (unsigned long long)digest(s, number));
        put_origins(s->graph, number, from, &body);
        ir_print_plain(s->graph, &body);
        if (!body.failed) exec_disk_write(cx, key->at, key->n, body.at, body.n);
    }
    base_mem_free(number);
    base_mem_free(from);
    base_str_free(&body);
}

/* ---- loading */

/* The nodes of the captured graph by their numbers in its text. */
static const Node **by_number(const Graph *g, int *n)
{
    int32_t *number = numbers_of(g);
    const Node **nodes = number ? base_mem_zero((size_t)g->nodes.n + 1, sizeof *nodes) : NULL;
    *n = 0;
    for (int id = 0; nodes && id < g->nodes.n; id++) {
        if (number[id] < 0) continue;
        nodes[number[id]] = g->nodes.at[id];
        if (number[id] >= *n) *n = number[id] + 1;
    }
    base_mem_free(number);
    return nodes;
}

/* A fresh graph's ids are its numbers. */
static bool set_origins(Graph *g, const Graph *captured, char *text)
{
    int known;
    const Node **node = by_number(captured, &known);
    bool fine = node && strtol(text, &text, 10) == g->nodes.n;
    for (int id = 0; id < g->nodes.n && fine; id++) {
        char *before = text;
        long number = strtol(text, &text, 10);
        const Node *origin = number >= 0 && number < known ? node[number] : NULL;
        fine = text != before && (origin || number == -1);
        g->nodes.at[id]->origin = origin;
        g->nodes.at[id]->src = origin ? origin->src : 0;
    }
    base_mem_free(node);
    return fine && *text == '\n';
}

static bool same_type(const Node *a, const Node *b)
{
    return a->dtype == b->dtype && ir_same_dims(a, b);
}

static bool same_text(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

static bool same_inputs(const Graph *g, const Graph *asked)
{
    bool same = g->inputs.n == asked->inputs.n;
    for (int i = 0; i < g->inputs.n && same; i++) {
        const GraphInput *a = &g->inputs.at[i], *b = &asked->inputs.at[i];
        same = a->kind == b->kind && a->batch == b->batch && same_text(a->name, b->name) &&
               same_type(a->node, b->node);
    }
    return same;
}

static bool same_outputs(const Graph *g, const Graph *asked)
{
    bool same = g->outputs.n == asked->outputs.n;
    for (int k = 0; k < g->outputs.n && same; k++) {
        const GraphOutput *a = &g->outputs.at[k], *b = &asked->outputs.at[k];
        same = same_text(a->name, b->name) && same_type(a->node, b->node);
    }
    return same;
}

static bool same_assigns(const Graph *g, const Graph *asked)
{
    bool same = g->assigns.n == asked->assigns.n;
    for (int i = 0; i < g->assigns.n && same; i++)
        same = g->assigns.at[i].input == asked->assigns.at[i].input;
    return same;
}

static bool same_effects(const Graph *g, const Graph *asked)
{
    bool same = g->effects.n == asked->effects.n;
    for (int i = 0; i < g->effects.n && same; i++)
        same = same_text(g->effects.at[i].channel, asked->effects.at[i].channel);
    return same;
}

/* What a program of the entry takes and gives must be what callers of the captured graph hand over
 * and take: they have no more buffers than that. Passes leave all of it as it was. NULL, or what
 * differs. */
static const char *difference(const Graph *g, const Graph *asked)
{
    static const struct {
        bool (*same)(const Graph *g, const Graph *asked);
        const char *reason;
    } FIELDS[] = {
        {same_inputs, "its inputs and states are not those of the step"},
        {same_outputs, "its outputs are not those of the step"},
        {same_assigns, "it assigns other states than the step"},
        {same_effects, "its effects are not those of the step"},
    };
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (!FIELDS[i].same(g, asked)) return FIELDS[i].reason;
    return NULL;
}

/* NULL with the reason; no reason: no memory. */
static Schedule *revive(Graph *captured, char *body, const ExecHooks *hooks, PassTimes *times,
                        const char **reason)
{
    Ctx *cx = captured->cx;
    char *rest;
    uint64_t want = strtoull(body + strlen("schedule "), &rest, 16);
    char *origins = strstr(rest, "\norigins "), *text = origins ? strchr(origins + 1, '\n') : NULL;
    *reason = "its head is not known";
    if (strncmp(body, "schedule ", strlen("schedule ")) != 0 || !text) return NULL;
    Graph *g = ir_parse(cx, text + 1);
    *reason = cx->err.code == SGL_ENOMEM ? NULL : "its graph cannot be read";
    if (!g) return NULL;
    Schedule *s = NULL;
    *reason = difference(g, captured);
    if (!*reason && !set_origins(g, captured, origins + strlen("\norigins ")))
        *reason = "its origins do not fit";
    if (!*reason) {
        s = pass_schedule(g, times, hooks->pass, hooks->arg);
    } else {
        ir_graph_free(g);
    }
    if (!s) return NULL;
    int32_t *number = numbers_of(s->graph);
    bool same = number && digest(s, number) == want;
    if (number && !same) *reason = "the passes make something else of it";
    base_mem_free(number);
    if (same) return s;
    pass_schedule_free(s);
    return NULL;
}

Schedule *exec_stored_load(Graph *g, const Str *key, const ExecHooks *hooks, PassTimes *times)
{
    size_t size;
    double start = base_clock();
    const char *reason;
    PassTimes made = {.n = 1, .name = {"load"}};
    char *body = exec_disk_read(g->cx, key->at, key->n, &size);
    if (!body) return NULL;
    Schedule *s = revive(g, body, hooks, &made, &reason);
    base_mem_free(body);
    if (!s) {
        base_err_clear(&g->cx->err);
        if (reason) exec_disk_damaged(g->cx, key->at, key->n, reason);
        return NULL;
    }
    s->graph->from = g;
    made.seconds[0] = base_clock() - start;
    for (int i = 1; i < made.n; i++) made.seconds[0] -= made.seconds[i];
    made.nodes[0] = s->graph->nodes.n;
    *times = made;
    return s;
}
