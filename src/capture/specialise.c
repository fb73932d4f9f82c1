/* specialise.c: one captured graph with symbolic dims, run at any sizes.
 *
 * In:   the storages of a run's inputs.
 * Out:  a program that serves their sizes (exec_program_fits), and these sizes. Mostly there is one
 *        program for all; sizes that are treated in another way, such as a sum that is too long for
 *        a tile, get one more.
 * Holds: programs held are bounded by number; their bytes are the cache's, which may free
 *        some and make them again.
 */
#include <string.h>
#include "base/clock.h"
#include "capture/dynamic.h"
#include "ir/bind.h"
#include "tensor/cache.h"
#include "tensor/dim.h"
#include "ir/check.h"
#include "ir/solve.h"
#include "tensor/trace.h"

enum { MOST_INSTANCES = 16 };

typedef struct Special {
    CacheEntry *entry; /* held */
    uint64_t used;
    int64_t *values; /* for ranks: the sizes that it was made for; NULL: for all that it serves */
    int nvalues;
    Part part; /* with it */
} Special;

struct Dynamic {
    Cache *cache; /* borrowed */
    Graph *graph;
    Str text; /* of it, for the keys of its programs */
    DimGuards guards;
    int64_t *values; /* of the last inputs */
    SizeValues sizes;
    Special at[MOST_INSTANCES];
    int n;
    uint64_t clock;
    DynamicInfo info;
};

static const char *input_name(const Graph *g, int i)
{
    const char *name = g->inputs.at[i].name;
    return name && name[0] ? name : "?";
}

/* ---- programs ---- */

/* Every symbol of the graph must be the size of an input. */
static int check_symbols(const Graph *g)
{
    Ctx *cx = g->cx;
    int count = ir_dim_symbol_count(cx), *found = base_mem_zero(count + 1, sizeof *found);
    uint8_t *bound = base_mem_zero(count + 1, 1), *used = base_mem_zero(count + 1, 1);
    int status = found && bound && used ? SGL_OK : SGL_ENOMEM;
    if (status < 0) base_fail(cx, SGL_ENOMEM, "out of memory for the dims of a step");
    for (int i = 0; i < g->inputs.n && status == SGL_OK; i++)
        for (int k = 0; k < g->inputs.at[i].node->rank; k++) {
            int symbol = ir_dim_plain(cx, g->inputs.at[i].node->dims[k]);
            if (symbol >= 0) bound[symbol] = 1;
        }
    for (int id = 0; id < g->nodes.n && status == SGL_OK; id++) {
        Dim dims[IR_NODE_DIMS];
        int n = ir_node_dims(g->nodes.at[id], dims);
        for (int k = 0; k < n; k++)
            for (int m = ir_dim_symbols(cx, dims[k], found, count); m > 0; m--)
                used[found[m - 1]] = 1;
    }
    for (int s = 0; s < count && status == SGL_OK; s++)
        if (used[s] && !bound[s])
            status = base_fail(cx, SGL_ESHAPE,
                               "dim '%s' is the size of no input by itself, so a "
                               "run cannot know it",
                               ir_dim_symbol_at(cx, s)->name);
    base_mem_free(found);
    base_mem_free(bound);
    base_mem_free(used);
    return status;
}

Dynamic *capture_dynamic_new(Host *h, Graph *g, DimGuards *guards)
{
    Dynamic *d = base_mem_zero(1, sizeof *d);
    if (!d) {
        ir_graph_free(g);
        base_fail(h->cx, SGL_ENOMEM, "out of memory for a step");
        return NULL;
    }
    d->cache = tensor_programs(h);
    d->graph = g;
    d->guards = *guards;
    *guards = (DimGuards){0};
    if (check_symbols(g) == SGL_OK && tensor_cache_text(g, &d->text) >= 0) return d;
    capture_dynamic_free(d, true);
    return NULL;
}

static void special_drop(Dynamic *d, int i, bool drop)
{
    exec_cache_release(d->cache, d->at[i].entry, drop);
    capture_part_free(&d->at[i].part);
    base_mem_free(d->at[i].values);
    d->at[i] = d->at[--d->n];
}

void capture_dynamic_free(Dynamic *d, bool drop)
{
    if (!d) return;
    while (d->n) special_drop(d, d->n - 1, drop);
    base_mem_free(d->values);
    base_mem_free(d->guards.at);
    base_str_free(&d->text);
    ir_graph_free(d->graph);
    base_mem_free(d);
}

const Graph *capture_dynamic_graph(const Dynamic *d) { return d->graph; }

const DimGuards *capture_dynamic_guards(const Dynamic *d) { return &d->guards; }

bool capture_dynamic_fits(Host *h, const Dynamic *d, const Shape *list)
{
    int which;
    int64_t *values = ir_solve(d->graph, list);
    bool fits = !values || tensor_guards_hold(h->cx, &d->guards, values, &which);
    if (h->cx->err.code != SGL_ENOMEM) base_err_clear(&h->cx->err);
    base_mem_free(values);
    return fits;
}

DynamicInfo capture_dynamic_info(const Dynamic *d)
{
    DynamicInfo info = d->info;
    info.specialisations = d->n;
    return info;
}

/* Makes room for one more: the least recently used goes. */
static void make_room(Dynamic *d)
{
    int oldest = 0;
    if (d->n < MOST_INSTANCES) return;
    for (int i = 1; i < d->n; i++)
        if (d->at[i].used < d->at[oldest].used) oldest = i;
    special_drop(d, oldest, true);
}

static Graph *copy_of(const CacheRecipe *r) { return tensor_copy_whole(r->arg); }

/* The entry for a graph that was captured; the recipe gives it away once. */
static Graph *graph_itself(const CacheRecipe *r)
{
    Graph **at = r->arg, *g = *at;
    *at = NULL;
    return g;
}

CacheEntry *capture_entry(Host *h, Graph *g)
{
    Str text = {0};
    int plain = tensor_cache_text(g, &text);
    CacheRecipe r = {.text = &text, .plain = (size_t)plain, .graph = graph_itself, .arg = &g};
    CacheEntry *e = plain < 0 ? NULL : tensor_cache_captured(h, &r);
    base_str_free(&text);
    ir_graph_free(g);
    return e;
}

/* Does the program of the entry serve the sizes? One that the cache freed can be made to. */
static bool serves(const Dynamic *d, CacheEntry *e)
{
    const Program *p = exec_cache_program(d->cache, e);
    return !p || exec_program_fits(p, &d->sizes);
}

/* Was it made for these sizes and for the settings at hand? */
static bool is_for(const Dynamic *d, const Special *s)
{
    return s->values && capture_part_holds(d->graph->cx, &s->part) && s->nvalues == d->sizes.n &&
           memcmp(s->values, d->values, (size_t)s->nvalues * sizeof *s->values) == 0;
}

/* For ranks: the graph with these sizes is cut like one that was captured with them. */
static Special *special_of_ranks(Host *h, Dynamic *d, const char *const *place)
{
    for (int i = 0; i < d->n; i++)
        if (is_for(d, &d->at[i])) return &d->at[i];
    size_t bytes = (size_t)d->sizes.n * sizeof *d->values;
    Special s = {.values = base_mem_alloc(bytes + 1), .nvalues = d->sizes.n};
    Graph *g = s.values ? ir_bind(d->graph, d->values) : NULL;
    if (!s.values) base_no_memory(h->cx, "the sizes of a step");
    else memcpy(s.values, d->values, bytes);
    if (g) g = capture_part_make(&s.part, g, place);
    if (g) s.entry = capture_entry(h, g);
    if (s.entry) {
        make_room(d);
        d->at[d->n] = s;
        return &d->at[d->n++];
    }
    capture_part_free(&s.part);
    base_mem_free(s.values);
    return NULL;
}

/* Among those held, the one used last is asked first. */
static Special *special_find(Dynamic *d)
{
    for (int i = d->n - 1; i >= 0; i--)
        if (d->at[i].values) special_drop(d, i, false); /* ranks and exact mode are over */
    Special *found = NULL;
    for (int i = 0; i < d->n; i++)
        if (!found || d->at[i].used > found->used) found = &d->at[i];
    if (!found || serves(d, found->entry)) return found;
    found = NULL;
    for (int i = 0; i < d->n && !found; i++)
        if (serves(d, d->at[i].entry)) found = &d->at[i];
    return found;
}

/* The first program of the graph that serves the sizes, by number; compiled if there is none. */
static Special *special_add(Host *h, Dynamic *d)
{
    CacheRecipe r = {.text = &d->text, .sizes = &d->sizes, .graph = copy_of, .arg = d->graph};
    CacheEntry *entry = tensor_cache_captured(h, &r);
    while (entry && !serves(d, entry)) {
        exec_cache_release(d->cache, entry, false);
        r.variant++;
        entry = tensor_cache_captured(h, &r);
    }
    if (!entry) return NULL;
    make_room(d);
    d->at[d->n] = (Special){.entry = entry};
    return &d->at[d->n++];
}

static int check_dtypes(const Graph *g, Storage *const *in)
{
    for (int i = 0; i < g->inputs.n; i++)
        if (in[i]->dtype != (Dtype)g->inputs.at[i].node->dtype)
            return base_fail(g->cx, SGL_EDTYPE, "input '%s' is %s, the step was captured for %s",
                             input_name(g, i), DTYPES[in[i]->dtype].name,
                             DTYPES[g->inputs.at[i].node->dtype].name);
    return SGL_OK;
}

/* The sizes of the symbols for a call with these storages; NULL with the error set. */
static int64_t *solve(const Graph *g, Storage *const *in)
{
    Shape *list = base_mem_zero((size_t)g->inputs.n + 1, sizeof *list);
    if (!list) {
        base_fail(g->cx, SGL_ENOMEM, "out of memory for sizes");
        return NULL;
    }
    for (int i = 0; i < g->inputs.n; i++) {
        list[i] = (Shape){.dtype = in[i]->dtype, .rank = in[i]->rank};
        if (in[i]->rank) memcpy(list[i].dims, in[i]->dims, in[i]->rank * sizeof *in[i]->dims);
    }
    int64_t *values = ir_solve(g, list);
    base_mem_free(list);
    return values;
}

CacheEntry *capture_dynamic_entry(Host *h, Dynamic *d, Storage *const *in, const char *const *place)
{
    if (check_dtypes(d->graph, in) < 0) return NULL;
    int count = ir_dim_symbol_count(h->cx), which;
    int64_t *values = solve(d->graph, in);
    if (!values) return NULL;
    if (!tensor_guards_hold(h->cx, &d->guards, values, &which)) {
        SrcPos at = base_src_pos(h->cx, d->guards.at[which].src);
        base_fail(h->cx, SGL_ESTATE, "a comparison of sizes (%s:%d) has another result here",
                  at.file, at.line);
        base_mem_free(values);
        return NULL;
    }
    bool same = d->values && d->sizes.n <= count &&
                !memcmp(d->values, values, (size_t)d->sizes.n * sizeof *values);
    d->info.bindings += !same;
    base_mem_free(d->values);
    d->values = values;
    d->sizes = (SizeValues){values, count};
    bool ranks = capture_part_asked(h->cx);
    Special *found = ranks ? special_of_ranks(h, d, place) : special_find(d);
    if (!found && !ranks) found = special_add(h, d);
    if (found) found->used = ++d->clock;
    return found ? found->entry : NULL;
}

/* The one that ran last; NULL: none did. */
static Special *latest_of(const Dynamic *d)
{
    const Special *latest = d->n ? &d->at[0] : NULL;
    for (int i = 1; i < d->n; i++)
        if (d->at[i].used > latest->used) latest = &d->at[i];
    return (Special *)(uintptr_t)latest;
}

Part *capture_dynamic_part(Dynamic *d)
{
    Special *latest = latest_of(d);
    return latest && latest->values ? &latest->part : NULL;
}

int capture_dynamic_bind(Dynamic *d, Program *p)
{
    double start = base_clock();
    if (capture_dynamic_part(d)) return SGL_OK;
    int code = exec_program_resize(p, &d->sizes);
    d->info.bind_seconds += base_clock() - start;
    return code;
}

const SizeValues *capture_dynamic_sizes(const Dynamic *d)
{
    const Special *latest = latest_of(d);
    return latest && latest->values ? NULL : &d->sizes;
}

CacheEntry *capture_dynamic_latest(const Dynamic *d)
{
    const Special *latest = latest_of(d);
    return latest ? latest->entry : NULL;
}
