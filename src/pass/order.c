/* order.c: the order of execution.
 *
 * In:   a schedule after `fuse`: groups in any order, the nodes each reads and leaves.
 * Out:  the groups sorted, group_of renumbered; which of them run beside others (start.c).
 * Holds: a group runs after the groups whose nodes it reads. A group that computes the new value of
 *        a state runs after the other readers of the old one, and after all groups that may fail
 *        (fail.c), wherever no path forbids it, so that `plan` can write it in place.
 * Among the groups that may run next the one that leaves the least memory in use goes first; among
 * equals the user's order decides.
 */
#include "pass/pass.h"
#include "pass/plan.h"

typedef struct Edge {
    int to;
    struct Edge *next;
} Edge;

/* A group that may run, as it was when it was put on the heap. */
typedef struct Ready {
    int64_t gain;
    uint32_t position;
    int group;
} Ready;

typedef struct Order {
    Schedule *s;
    int n;
    Arena arena;             /* everything below */
    Edge **next;             /* by group: groups that must wait for it */
    int *waits;              /* by group: edges into it */
    int *stamp, now, *stack; /* of the search for a path; a group is pushed once */
    int *readers;            /* by node id of a root: groups still to read it, */
    int64_t *left;           /* and the sum of their numbers: the number of the last one */
    bool *kept;              /* by node id of a root: it never frees memory of the arena */
    bool *placed;            /* by group */
    bool *late;              /* by group: writes state, and no group that may fail waits for it */
    int failing;             /* groups that may fail, still to run */
    VEC(Ready) ready;        /* a heap; a group whose gain grew is in it again */
    VEC(int) held;           /* late ones, until there are none such */
} Order;

static bool add_edge(Order *o, int from, int to)
{
    Edge *e = base_arena_alloc(&o->arena, sizeof *e);
    if (!e) return false;
    *e = (Edge){to, o->next[from]};
    o->next[from] = e;
    o->waits[to]++;
    return true;
}

/* Is there a path from group `from` to group `to`? */
static bool reaches(Order *o, int from, int to)
{
    int depth = 0;
    o->now++;
    o->stack[depth++] = from;
    while (depth) {
        int t = o->stack[--depth];
        if (t == to) return true;
        for (const Edge *e = o->next[t]; e; e = e->next) {
            if (o->stamp[e->to] == o->now) continue;
            o->stamp[e->to] = o->now;
            o->stack[depth++] = e->to;
        }
    }
    return false;
}

static bool first_of_root(const Order *o, const Group *g, int k)
{
    const Node *root = pass_root(o->s, g->ins.at[k]);
    for (int i = 0; i < k; i++)
        if (pass_root(o->s, g->ins.at[i]) == root) return false;
    return true;
}

/* A group waits for those whose nodes it reads; counts the readers of each value, too. */
static bool add_data_edges(Order *o)
{
    for (int t = 0; t < o->n; t++) {
        const Group *g = &o->s->groups.at[t];
        for (int k = 0; k < g->ins.n; k++) {
            int from = o->s->group_of[g->ins.at[k]->id];
            if (from >= 0 && from != t && !add_edge(o, from, t)) return false;
            if (g->kind == GROUP_ALIAS || !first_of_root(o, g, k)) continue;
            uint32_t root = pass_root(o->s, g->ins.at[k])->id;
            o->readers[root]++;
            o->left[root] += t;
        }
    }
    return true;
}

/* `writer[id of a state]` is the group that computes its next value, or -1. */
static bool add_state_edges(Order *o, const int *writer)
{
    for (int t = 0; t < o->n; t++) {
        const Group *g = &o->s->groups.at[t];
        for (int k = 0; k < g->ins.n; k++) {
            int w = writer[pass_root(o->s, g->ins.at[k])->id];
            if (w < 0 || w == t) continue;
            if (!reaches(o, w, t) && !add_edge(o, t, w)) return false;
        }
    }
    return true;
}

/* Are there groups that may fail, then marks those to hold back. `back` is a sequence in which
 * groups come after those that they wait for; from its end it tells who is waited for. */
static void mark_late(Order *o, const int *writer, const int *back)
{
    const Graph *g = o->s->graph;
    for (int i = 0; i < g->inputs.n; i++) {
        int w = writer[g->inputs.at[i].node->id];
        if (w >= 0) o->late[w] = true;
    }
    for (int i = o->n - 1; i >= 0; i--) {
        int t = back[i];
        bool before = o->s->groups.at[t].fails;
        for (const Edge *e = o->next[t]; e && !before; e = e->next) before = o->stamp[e->to] < 0;
        o->failing += o->s->groups.at[t].fails;
        o->stamp[t] = before ? -1 : 0;
        if (before) o->late[t] = false;
    }
}

/* The groups in some order in which each comes after those that it waits for; how many there are.
 */
static int sequence_of(const Order *o, int *waits, int *sequence)
{
    int n = 0;
    for (int t = 0; t < o->n; t++)
        if (!(waits[t] = o->waits[t])) sequence[n++] = t;
    for (int i = 0; i < n; i++)
        for (const Edge *e = o->next[sequence[i]]; e; e = e->next)
            if (!--waits[e->to]) sequence[n++] = e->to;
    return n;
}

static bool find_late(Order *o, const int *writer)
{
    int *waits = base_arena_alloc(&o->arena, (size_t)o->n * sizeof *waits);
    int *sequence = base_arena_alloc(&o->arena, (size_t)o->n * sizeof *sequence);
    if (!waits || !sequence || !pass_find_failing(o->s)) return false;
    if (o->s->graph->assigns.n && sequence_of(o, waits, sequence) == o->n)
        mark_late(o, writer, sequence);
    return true;
}

/* Finds which group waits for which: for the data that it reads, and to write a state until its old
 * value has been read. Marks the nodes whose memory is not the arena's, too. */
static bool build(Order *o)
{
    const Graph *g = o->s->graph;
    size_t nodes = (size_t)g->nodes.n, groups = (size_t)o->n;
    o->next = base_arena_zero(&o->arena, groups, sizeof *o->next);
    o->waits = base_arena_zero(&o->arena, groups, sizeof *o->waits);
    o->stamp = base_arena_zero(&o->arena, groups, sizeof *o->stamp);
    o->stack = base_arena_alloc(&o->arena, (groups + 1) * sizeof *o->stack);
    o->late = base_arena_zero(&o->arena, groups, sizeof *o->late);
    o->readers = base_arena_zero(&o->arena, nodes, sizeof *o->readers);
    o->left = base_arena_zero(&o->arena, nodes, sizeof *o->left);
    o->kept = base_arena_zero(&o->arena, nodes, sizeof *o->kept);
    o->placed = base_arena_zero(&o->arena, groups, sizeof *o->placed);
    int *writer = base_arena_alloc(&o->arena, nodes * sizeof *writer);
    if (!o->next || !o->waits || !o->stamp || !o->stack || !o->late || !o->readers || !o->left ||
        !o->kept || !o->placed || !writer)
        return false;

    for (size_t i = 0; i < nodes; i++) writer[i] = -1;
    for (int i = 0; i < g->inputs.n; i++) o->kept[g->inputs.at[i].node->id] = true;
    for (int i = 0; i < g->outputs.n; i++)
        o->kept[pass_root(o->s, g->outputs.at[i].node)->id] = true;
    for (int i = 0; i < g->assigns.n; i++) {
        const GraphAssign *a = &g->assigns.at[i];
        const Node *value = pass_root(o->s, a->value);
        o->kept[value->id] = true;
        writer[g->inputs.at[a->input].node->id] = o->s->group_of[value->id];
    }
    return add_data_edges(o) && add_state_edges(o, writer) && find_late(o, writer);
}

/* Bytes of the arena that running group t frees, less those it takes. */
static int64_t gain(const Order *o, int t)
{
    const Group *g = &o->s->groups.at[t];
    int64_t bytes = 0;
    if (g->kind == GROUP_ALIAS) return 0;
    for (int k = 0; k < g->ins.n; k++) {
        const Node *root = pass_root(o->s, g->ins.at[k]);
        if (!o->kept[root->id] && o->readers[root->id] == 1 && first_of_root(o, g, k))
            bytes += (int64_t)pass_node_bytes(o->s, root);
    }
    for (int k = 0; k < g->outs.n; k++)
        if (!o->kept[g->outs.at[k]->id]) bytes -= (int64_t)pass_node_bytes(o->s, g->outs.at[k]);
    return bytes;
}

static uint32_t position(const Order *o, int t)
{
    const Group *g = &o->s->groups.at[t];
    return g->nodes.n ? g->nodes.at[g->nodes.n - 1]->id : 0;
}

/* Among equals the one that came first in the program goes first, so that the order is the same
 * each time. */
static bool before(const Ready *a, const Ready *b)
{
    if (a->gain != b->gain) return a->gain > b->gain;
    if (a->position != b->position) return a->position < b->position;
    return a->group < b->group;
}

static bool push(Order *o, int t)
{
    Ready r = {gain(o, t), position(o, t), t};
    if (!vec_push(&o->ready, r)) return false;
    int i = o->ready.n - 1;
    for (; i > 0 && before(&r, &o->ready.at[(i - 1) / 2]); i = (i - 1) / 2)
        o->ready.at[i] = o->ready.at[(i - 1) / 2];
    o->ready.at[i] = r;
    return true;
}

/* Takes the ready group that frees most. */
static int pop(Order *o)
{
    int best = o->ready.at[0].group, i = 0, child;
    Ready last = vec_pop(&o->ready);
    if (!o->ready.n) return best;
    for (; (child = 2 * i + 1) < o->ready.n; i = child) {
        const Ready *at = &o->ready.at[child];
        child += child + 1 < o->ready.n && before(at + 1, at);
        if (!before(&o->ready.at[child], &last)) break;
        o->ready.at[i] = o->ready.at[child];
    }
    o->ready.at[i] = last;
    return best;
}

static bool make_ready(Order *o, int t)
{
    return o->failing && o->late[t] ? vec_push(&o->held, t) : push(o, t);
}

static bool release_held(Order *o)
{
    bool ok = true;
    for (int i = 0; i < o->held.n && ok; i++) ok = push(o, o->held.at[i]);
    o->held.n = 0;
    return ok;
}

/* Group t has run: one reader less of what it read. The last reader of a value frees it, so it
 * gains. */
static bool has_read(Order *o, int t)
{
    const Group *g = &o->s->groups.at[t];
    for (int k = 0; k < g->ins.n && g->kind != GROUP_ALIAS; k++) {
        if (!first_of_root(o, g, k)) continue;
        uint32_t root = pass_root(o->s, g->ins.at[k])->id;
        o->left[root] -= t;
        if (--o->readers[root] != 1 || o->kept[root]) continue;
        int last = (int)o->left[root];
        if (!o->waits[last] && !make_ready(o, last)) return false;
    }
    return true;
}

/* sequence[i] becomes the i-th group to run; returns how many could be placed, or -1. */
static int choose(Order *o, int *sequence)
{
    int placed = 0;
    for (int t = 0; t < o->n; t++)
        if (!o->waits[t] && !make_ready(o, t)) return -1;
    while (o->ready.n) {
        int t = pop(o);
        if (o->placed[t]) continue;
        o->placed[t] = true;
        sequence[placed++] = t;
        if (!has_read(o, t)) return -1;
        for (const Edge *e = o->next[t]; e; e = e->next)
            if (--o->waits[e->to] == 0 && !make_ready(o, e->to)) return -1;
        if (o->s->groups.at[t].fails && --o->failing == 0 && !release_held(o)) return -1;
    }
    return placed;
}

/* Puts the groups into the sequence and renumbers what refers to them. */
static bool apply(Order *o, const int *sequence)
{
    Schedule *s = o->s;
    Group *sorted = base_arena_alloc(&o->arena, (size_t)o->n * sizeof *sorted);
    int *place = base_arena_alloc(&o->arena, (size_t)o->n * sizeof *place);
    if (!sorted || !place) return false;
    for (int i = 0; i < o->n; i++) {
        sorted[i] = s->groups.at[sequence[i]];
        place[sequence[i]] = i;
    }
    for (int i = 0; i < o->n; i++) s->groups.at[i] = sorted[i];
    for (int i = 0; i < s->graph->nodes.n; i++)
        if (s->group_of[i] >= 0) s->group_of[i] = place[s->group_of[i]];
    return true;
}

int pass_order(PassState *st)
{
    Order o = {.s = st->schedule, .n = st->schedule->groups.n};
    int code = SGL_OK, placed = -1;
    if (o.n == 0) return SGL_OK;

    int *sequence = base_arena_alloc(&o.arena, (size_t)o.n * sizeof *sequence);
    if (sequence && build(&o)) placed = choose(&o, sequence);
    if (placed < 0 || (placed == o.n && !apply(&o, sequence)))
        code = base_fail(st->cx, SGL_ENOMEM, "order: no memory to sort %d groups", o.n);
    else if (placed < o.n)
        code = base_fail(st->cx, SGL_EINTERN, "order: %d groups wait for each other", o.n - placed);
    if (code == SGL_OK) pass_start_groups(st->schedule, st->cx->streams);
    vec_free(&o.ready);
    vec_free(&o.held);
    base_arena_free(&o.arena);
    return code;
}
