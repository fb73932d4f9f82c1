/* plan.c: buffers: where each materialised node lives, and for how long.
 *
 * In:   a schedule after `order`.
 * Out:  buffers, buffer_of, in_place, arena_bytes. Buffers 0 … are the graph's inputs, then its
 *       outputs, then those of the arena. A node whose memory is not the place it must end up in
 *       (an output that is an input or comes twice, an assign that is not in place) is copied by
 *       the program after the last group.
 * Holds: what a group that was started reads and writes is its own until it is waited for. An
 *        assign is in place only when nothing reads the old value after the group that writes
 *        the new one, and no group from that one on may fail. Assigns happen at once: the old
 *        value of a state that another state gets is saved first, in an arena buffer of the
 *        input's node.
 */
#include "pass/pass.h"
#include "pass/plan.h"

typedef struct Plan {
    Schedule *s;
    const Graph *g;
    int end;       /* the time of the final copies */
    int safe;      /* from this time on nothing fails any more */
    int *last;     /* by node id of a root: time of the last read; -1: never */
    uint8_t *mark; /* scratch of pass_reads_in_place */
} Plan;

Node *pass_root(const Schedule *s, Node *n)
{
    for (;;) {
        int g = s->group_of[n->id];
        if (g < 0 || s->groups.at[g].kind != GROUP_ALIAS) return n;
        n = s->groups.at[g].ins.at[0];
    }
}

size_t pass_node_bytes(const Schedule *s, const Node *n)
{
    return base_mem_align((size_t)pass_count_now(s->sizes, n) * DTYPES[n->dtype].bytes);
}

void pass_plan_sizes(Schedule *s)
{
    for (int i = 0; i < s->buffers.n; i++) {
        Buffer *b = &s->buffers.at[i];
        b->bytes = pass_node_bytes(s, b->node);
    }
    s->arena_bytes = pass_offsets(s->buffers.at, s->buffers.n, s->by_size);
}

static bool is_input(const Plan *p, const Node *root) { return p->s->group_of[root->id] < 0; }

static void read_at(Plan *p, Node *n, int time)
{
    int *last = &p->last[pass_root(p->s, n)->id];
    if (*last < time) *last = time;
}

/* The last step that may fail, and the last that reads each node's memory. Outputs and new values
 * of state are read after the end; aliases read nothing themselves. */
static void find_last_reads(Plan *p)
{
    const Graph *g = p->g;
    for (int i = 0; i < g->nodes.n; i++) p->last[i] = -1;
    for (int t = 0; t < p->end; t++) {
        const Group *group = &p->s->groups.at[t];
        if (group->fails) p->safe = group->until + 1;
        if (group->kind == GROUP_ALIAS) continue;
        for (int k = 0; k < group->ins.n; k++) read_at(p, group->ins.at[k], group->until);
    }
    for (int i = 0; i < g->outputs.n; i++) read_at(p, g->outputs.at[i].node, p->end);
    for (int i = 0; i < g->assigns.n; i++) {
        const GraphAssign *a = &g->assigns.at[i];
        Node *root = pass_root(p->s, a->value);
        if (root != g->inputs.at[a->input].node) read_at(p, root, p->end);
    }
}

static bool add_buffer(Plan *p, Node *n, BufferPlace place, int index, int first, int last)
{
    Buffer b = {.node = n, .place = place, .index = index, .first = first, .last = last};
    return vec_push(&p->s->buffers, b);
}

/* Buffers that the caller brings: inputs and outputs. An output that two names share has a
 * buffer each. */
static bool add_outside(Plan *p)
{
    const Graph *g = p->g;
    for (int i = 0; i < g->inputs.n; i++) {
        Node *n = g->inputs.at[i].node;
        p->s->buffer_of[n->id] = p->s->buffers.n;
        if (!add_buffer(p, n, BUF_INPUT, i, 0, p->end)) return false;
    }
    for (int i = 0; i < g->outputs.n; i++) {
        Node *root = pass_root(p->s, g->outputs.at[i].node);
        int *buffer = &p->s->buffer_of[root->id];
        if (*buffer < 0) *buffer = p->s->buffers.n;
        if (!add_buffer(p, root, BUF_OUTPUT, i, 0, p->end)) return false;
    }
    return true;
}

/* May the group that computes `value` write over the state `old`? */
static bool can_overwrite(Plan *p, const Node *old, const Node *value)
{
    int t = p->s->group_of[value->id];
    if (t < p->safe) return false;
    if (p->last[old->id] < t) return true;
    if (p->last[old->id] > t) return false;
    const Group *g = &p->s->groups.at[t];
    for (int k = 0; k < g->ins.n; k++) {
        Node *in = g->ins.at[k];
        if (pass_root(p->s, in) == old && !pass_reads_in_place(g, in, value, p->mark)) return false;
    }
    return true;
}

static void place_assigns(Plan *p)
{
    Schedule *s = p->s;
    for (int i = 0; i < p->g->assigns.n; i++) {
        const GraphAssign *a = &p->g->assigns.at[i];
        Node *old = p->g->inputs.at[a->input].node, *value = pass_root(s, a->value);
        if (is_input(p, value)) {
            s->in_place[i] = value == old;
        } else if (s->buffer_of[value->id] < 0 && can_overwrite(p, old, value)) {
            s->buffer_of[value->id] = s->buffer_of[old->id];
            s->in_place[i] = true;
        }
    }
}

/* Old values that the final copies would destroy before they are read. */
static bool add_saved(Plan *p)
{
    const Graph *g = p->g;
    bool ok = true;
    for (int i = 0; i < g->assigns.n; i++) p->mark[pass_root(p->s, g->assigns.at[i].value)->id] = 1;
    for (int i = 0; ok && i < g->assigns.n; i++) {
        Node *old = g->inputs.at[g->assigns.at[i].input].node;
        if (p->mark[old->id] && !p->s->in_place[i])
            ok = add_buffer(p, old, BUF_ARENA, 0, p->end, p->end);
    }
    for (int i = 0; i < g->assigns.n; i++) p->mark[pass_root(p->s, g->assigns.at[i].value)->id] = 0;
    return ok;
}

/* The arena buffer of a node that dies in group t and whose memory `out` may take, or -1. */
static int dying(Plan *p, const Group *g, int t, const Node *out)
{
    for (int k = 0; k < g->ins.n && p->last[out->id] > t; k++) {
        Node *in = g->ins.at[k];
        int b = p->s->buffer_of[in->id];
        const Buffer *buffer = &p->s->buffers.at[b];
        bool fits = buffer->place == BUF_ARENA && buffer->last == t;
        for (int j = 0; fits && j < g->ins.n; j++)
            if (p->s->buffer_of[g->ins.at[j]->id] == b)
                fits = pass_reads_in_place(g, g->ins.at[j], out, p->mark);
        if (fits) return b;
    }
    return -1;
}

/* Where the results of step t go: into a buffer that dies there and can be written in place, or
 * a new one in the arena. */
static bool place_outs(Plan *p, int t)
{
    Schedule *s = p->s;
    const Group *g = &s->groups.at[t];
    for (int k = 0; k < g->outs.n; k++) {
        Node *out = g->outs.at[k];
        if (s->buffer_of[out->id] >= 0) continue;
        int last = p->last[out->id] > g->until ? p->last[out->id] : g->until;
        int b = dying(p, g, t, out);
        s->buffer_of[out->id] = b >= 0 ? b : s->buffers.n;
        if (b < 0 && !add_buffer(p, out, BUF_ARENA, 0, t, last)) return false;
        if (b >= 0) s->buffers.at[b].last = last;
    }
    return true;
}

static bool place_groups(Plan *p)
{
    Schedule *s = p->s;
    for (int t = 0; t < p->end; t++) {
        const Group *g = &s->groups.at[t];
        if (g->kind == GROUP_ALIAS)
            s->buffer_of[g->nodes.at[0]->id] = s->buffer_of[g->ins.at[0]->id];
        else if (!place_outs(p, t)) return false;
    }
    return true;
}

static bool allocate(Plan *p)
{
    Schedule *s = p->s;
    size_t nodes = (size_t)p->g->nodes.n;
    if (!s->buffer_of) s->buffer_of = base_mem_alloc((nodes + 1) * sizeof *s->buffer_of);
    if (!s->in_place) s->in_place = base_mem_zero((size_t)p->g->assigns.n + 1, sizeof *s->in_place);
    p->last = base_mem_alloc((nodes + 1) * sizeof *p->last);
    p->mark = base_mem_zero(nodes + 1, 1);
    if (!s->buffer_of || !s->in_place || !p->last || !p->mark) return false;
    for (size_t i = 0; i < nodes; i++) s->buffer_of[i] = -1;
    s->buffers.n = 0;
    return true;
}

static bool plan(Plan *p)
{
    if (!allocate(p)) return false;
    find_last_reads(p);
    if (!add_outside(p)) return false;
    place_assigns(p);
    if (!add_saved(p) || !place_groups(p)) return false;
    p->s->by_size = base_mem_alloc(((size_t)p->s->buffers.n + 1) * sizeof *p->s->by_size);
    if (!p->s->by_size) return false;
    pass_plan_sizes(p->s);
    return true;
}

int pass_plan(PassState *st)
{
    Plan p = {.s = st->schedule, .g = st->schedule->graph, .end = st->schedule->groups.n};
    bool done = plan(&p);
    base_mem_free(p.last);
    base_mem_free(p.mark);
    return done ? SGL_OK : base_fail(st->cx, SGL_ENOMEM, "plan: no memory for %d groups", p.end);
}
