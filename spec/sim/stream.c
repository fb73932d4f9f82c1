/* stream.c: streams, events, captures and graphs.
 *
 * What a stream is given waits in its queue until somebody waits for it. Whose turn it is then is
 * drawn by the seed; whether an order is certain is worked out when work is given, so what is
 * reported does not depend on the seed.
 */
#include "stream.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Stream *streams[SIM_ACTORS];
static Clock host; /* what the host has waited for */
static Deed *deeds;
static uint32_t ndeeds, deeds_cap, launches;

static void join(Clock *to, const Clock *from)
{
    for (int i = 0; i < SIM_ACTORS; i++)
        if (from->at[i] > to->at[i]) to->at[i] = from->at[i];
}

/* ---- deeds */

uint32_t sim_deed_new(const Deed *d)
{
    if (ndeeds + 1 >= deeds_cap) {
        deeds_cap = deeds_cap * 2 + 1024;
        deeds = realloc(deeds, deeds_cap * sizeof *deeds);
        if (!deeds) abort();
    }
    deeds[++ndeeds] = *d;
    return ndeeds;
}

const Deed *sim_deed(uint32_t id) { return &deeds[id]; }

bool sim_before(uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0) return true;
    const Deed *x = &deeds[a], *y = &deeds[b];
    if (x->launch && x->launch == y->launch) return y->before[x->node / 64] >> (x->node % 64) & 1;
    return y->knows.at[x->stream] >= x->when;
}

static void name_deed(Deed *d, const Op *o)
{
    static const char *const names[] = {"kernel", "copy in", "copy out", "copy", "memset",
                                        "free",   "record",  "wait",     "graph"};
    const char *what = o->kind == OP_KERNEL ? o->kernel->name : names[o->kind];
    if (*o->label) snprintf(d->name, sizeof d->name, "%.60s of %.90s", what, o->label);
    else snprintf(d->name, sizeof d->name, "%.150s", what);
}

/* ---- streams */

Stream *sim_stream_new(void)
{
    for (int i = 0; i < SIM_ACTORS; i++) {
        if (streams[i]) continue;
        Stream *s = streams[i] = calloc(1, sizeof *s);
        if (!s) abort();
        s->number = i;
        s->tail = &s->head;
        join(&s->clock, &host);
        return s;
    }
    return NULL;
}

void sim_stream_free(Stream *s)
{
    sim_drain(s);
    streams[s->number] = NULL;
    free(s);
}

int sim_forbid(const char *call)
{
    for (int i = 0; i < SIM_ACTORS; i++) {
        if (!streams[i] || !streams[i]->capture) continue;
        streams[i]->spoilt = true;
        sim_log("capture spoilt by %s", call);
        return CUDA_CAPTURE_UNSUPPORTED;
    }
    return 0;
}

/* ---- doing it */

static void copy_op(const Op *o)
{
    void *to = o->kind == OP_OUT ? o->host : sim_range(o->to, o->bytes, true);
    const void *from = o->kind == OP_IN    ? o->params ? o->params : o->host
                       : o->kind == OP_SET ? NULL
                                           : sim_range(o->from, o->bytes, false);
    if (to && o->kind == OP_SET) memset(to, o->value, o->bytes);
    else if (to && from) memmove(to, from, o->bytes);
}

static void do_op(const Op *o, uint32_t deed)
{
    switch (o->kind) {
    case OP_KERNEL:
        sim_run_grid(o->kernel, o->grid, o->size, o->dynamic, o->params, deed);
        break;
    case OP_FREE:
        sim_free(o->to);
        break;
    case OP_RECORD:
        if (o->version > o->event->done) o->event->done = o->version;
        break;
    case OP_WAIT:
    case OP_GRAPH:
        break;
    default:
        sim_now = (Toucher){.deed = deed};
        copy_op(o);
        sim_now = (Toucher){0};
    }
}

static bool can_run(const Graph *g, const bool *done, int node)
{
    for (int i = 0; i < g->node[node].ndep; i++)
        if (!done[g->node[node].dep[i]]) return false;
    return !done[node];
}

/* The nodes of a graph, each a deed, in an order that their dependencies allow. */
static void do_graph(const Op *o, int stream)
{
    const Graph *g = o->graph;
    bool *done = calloc((size_t)g->n + 1, 1);
    int launch = (int)++launches;
    if (!done) abort();
    for (int left = g->n; left > 0 && !sim_error; left--) {
        int k = (int)sim_random((uint32_t)g->n);
        while (!can_run(g, done, k)) k = (k + 1) % g->n;
        Deed d = {
            .stream = stream, .when = o->when, .launch = launch, .node = k, .knows = o->knows};
        d.before = g->before + (size_t)k * (size_t)g->words;
        name_deed(&d, &g->node[k]);
        do_op(&g->node[k], sim_deed_new(&d));
        done[k] = true;
    }
    free(done);
}

/* Does the first op of a stream that can go on; false: none can. */
static bool step(Stream *only)
{
    Stream *ready[SIM_ACTORS];
    int n = 0;
    for (int i = 0; i < SIM_ACTORS; i++) {
        Stream *s = streams[i];
        if (!s || !s->head || (only && s != only)) continue;
        if (s->head->kind == OP_WAIT && s->head->event->done < s->head->version) continue;
        ready[n++] = s;
    }
    if (n == 0) return false;
    Stream *s = ready[sim_random((uint32_t)n)];
    Op *o = s->head;
    s->head = o->next;
    if (!s->head) s->tail = &s->head;
    if (o->kind == OP_GRAPH) do_graph(o, s->number);
    else do_op(o, o->deed);
    free(o->params);
    free(o);
    return true;
}

int sim_drain(Stream *s)
{
    while (s->head && !sim_error)
        if ((sim_seeded() || !step(s)) && !step(NULL)) {
            sim_report("stream", "it waits for an event that nobody records");
            return CUDA_TIMEOUT;
        }
    join(&host, &s->clock);
    return sim_error;
}

int sim_drain_all(void)
{
    int code = 0;
    for (int i = 0; i < SIM_ACTORS; i++)
        if (streams[i] && !code) code = sim_drain(streams[i]);
    return code;
}

/* ---- giving it */

static int add_dep(Stream *s, int node)
{
    for (int i = 0; i < s->ndep; i++)
        if (s->dep[i] == node) return 0;
    if (s->ndep == OP_DEPS) abort();
    s->dep[s->ndep++] = node;
    return 0;
}

/* To the graph that the stream is captured into. */
static int give_capture(Stream *s, Op o)
{
    Graph *g = s->capture;
    if (s->spoilt) {
        free(o.params);
        return CUDA_CAPTURE_INVALIDATED;
    }
    if (o.kind == OP_RECORD) {
        o.event->captured = g;
        memcpy(o.event->dep, s->dep, sizeof s->dep);
        o.event->ndep = s->ndep;
        return 0;
    }
    if (o.kind == OP_WAIT) {
        if (o.event->captured != g) {
            s->spoilt = true;
            return CUDA_CAPTURE_ISOLATION;
        }
        for (int i = 0; i < o.event->ndep; i++) add_dep(s, o.event->dep[i]);
        return 0;
    }
    if (g->n == g->cap) {
        g->cap = g->cap * 2 + 64;
        g->node = realloc(g->node, (size_t)g->cap * sizeof *g->node);
        if (!g->node) abort();
    }
    memcpy(o.dep, s->dep, sizeof s->dep);
    o.ndep = s->ndep;
    s->dep[0] = g->n;
    s->ndep = 1;
    g->node[g->n++] = o;
    return 0;
}

int sim_give(Stream *s, Op o)
{
    if (sim_error) {
        free(o.params);
        return sim_error;
    }
    if (s->capture) return give_capture(s, o);
    if (o.kind == OP_WAIT && o.event->captured) { /* the stream joins the capture */
        s->capture = o.event->captured;
        s->origin = s->spoilt = false;
        s->ndep = o.event->ndep;
        memcpy(s->dep, o.event->dep, sizeof s->dep);
        return 0;
    }
    join(&s->clock, &host);
    o.when = ++s->clock.at[s->number];
    if (o.kind == OP_RECORD) {
        o.version = ++o.event->recorded;
        o.event->captured = NULL;
        o.event->clock = s->clock;
    }
    if (o.kind == OP_WAIT) {
        o.version = o.event->recorded;
        join(&s->clock, &o.event->clock);
    }
    o.knows = s->clock;
    if (o.kind != OP_GRAPH) {
        Deed d = {.stream = s->number, .when = o.when, .knows = s->clock};
        name_deed(&d, &o);
        o.deed = sim_deed_new(&d);
    }
    Op *kept = malloc(sizeof *kept);
    if (!kept) abort();
    *kept = o;
    kept->next = NULL;
    *s->tail = kept;
    s->tail = &kept->next;
    return 0;
}

/* ---- captures and graphs */

int sim_capture_begin(Stream *s)
{
    if (s->capture) return CUDA_CAPTURE_INVALIDATED;
    s->capture = calloc(1, sizeof *s->capture);
    if (!s->capture) abort();
    s->origin = true;
    s->spoilt = false;
    s->ndep = 0;
    return 0;
}

/* For each node a bit for each that comes before it; nodes stand in such an order already. */
static void find_before(Graph *g)
{
    g->words = g->n / 64 + 1;
    free(g->before);
    g->before = calloc((size_t)(g->n + 1) * (size_t)g->words, sizeof *g->before);
    if (!g->before) abort();
    for (int k = 0; k < g->n; k++) {
        uint64_t *of = g->before + (size_t)k * (size_t)g->words;
        for (int i = 0; i < g->node[k].ndep; i++) {
            int d = g->node[k].dep[i];
            const uint64_t *from = g->before + (size_t)d * (size_t)g->words;
            for (int word = 0; word < g->words; word++) of[word] |= from[word];
            of[d / 64] |= UINT64_C(1) << (d % 64);
        }
    }
}

/* Is every node that the stream ended with before the end of the origin? */
static bool is_joined(const Graph *g, const Stream *origin, const Stream *s)
{
    for (int i = 0; i < s->ndep; i++) {
        bool found = false;
        for (int k = 0; k < origin->ndep && !found; k++) {
            int end = origin->dep[k], d = s->dep[i];
            found = end == d ||
                    g->before[(size_t)end * (size_t)g->words + (size_t)d / 64] >> (d % 64) & 1;
        }
        if (!found) return false;
    }
    return true;
}

int sim_capture_end(Stream *s, Graph **out)
{
    Graph *g = s->capture;
    bool spoilt = s->spoilt, joined = true;
    *out = NULL;
    if (!g || !s->origin) return CUDA_CAPTURE_UNMATCHED;
    find_before(g);
    for (int i = 0; i < SIM_ACTORS; i++) {
        Stream *x = streams[i];
        if (!x || x == s || x->capture != g) continue;
        spoilt |= x->spoilt;
        joined = joined && is_joined(g, s, x);
        x->capture = NULL;
    }
    s->capture = NULL;
    if (!spoilt && joined) {
        *out = g;
        return 0;
    }
    sim_log("capture failed: %s", spoilt ? "spoilt" : "a stream was not joined");
    sim_graph_free(g);
    return spoilt ? CUDA_CAPTURE_INVALIDATED : CUDA_CAPTURE_UNJOINED;
}

Graph *sim_graph_copy(const Graph *g)
{
    Graph *c = calloc(1, sizeof *c);
    if (!c) abort();
    *c = (Graph){.n = g->n, .cap = g->n};
    c->node = calloc((size_t)g->n + 1, sizeof *c->node);
    if (!c->node) abort();
    for (int i = 0; i < g->n; i++) {
        Op *o = &c->node[i];
        *o = g->node[i];
        if (!o->params) continue;
        o->params = malloc(o->bytes + 1);
        if (!o->params) abort();
        memcpy(o->params, g->node[i].params, o->bytes);
    }
    find_before(c);
    return c;
}

void sim_graph_free(Graph *g)
{
    for (int i = 0; i < g->n; i++) free(g->node[i].params);
    free(g->node);
    free(g->before);
    free(g);
}
