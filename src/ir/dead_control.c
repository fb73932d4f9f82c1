/* dead_control.c: control nodes without what nothing needs.
 *
 * In:    a control node with its results; which of them are live.
 * Out:   the same values: a cond whose predicate is known gives place to its branch; blocks lose
 *        outputs that nothing reads, carries that only serve themselves, and inputs that are left
 *        over; a carry that a step hands on as it is becomes a capture, a result that both branches
 *        hand on becomes that input; constants go into the blocks.
 * Holds: the condition of a loop stays; a control node keeps at least one input.
 */
#include "ir/build.h"
#include "ir/live.h"
#include "ir/result.h"

enum { GONE = -1 };

typedef struct Reduction {
    const Node *n;
    Control c;
    Graph *to;
    Node *const *in; /* in `to`, of the inputs of the blocks */
    int nin, nout;   /* inputs and outputs of the blocks */
    uint8_t *used;   /* by result of the node: is that result live? */
    uint8_t *need;   /* by output of the blocks */
    uint8_t *reads;  /* by input */
    int *handed;     /* by output: the input that it is in every block, or GONE */
    int *place;      /* by input: its new number, or GONE */
    Arena arena;
} Reduction;

static bool allocate(Reduction *t)
{
    size_t nin = (size_t)t->nin + 1, nout = (size_t)t->nout + 1, all = (size_t)t->c.nout + 1;
    t->used = base_arena_zero(&t->arena, all, 1);
    t->need = base_arena_zero(&t->arena, nout, 1);
    t->reads = base_arena_zero(&t->arena, nin, 1);
    t->handed = base_arena_zero(&t->arena, nout, sizeof *t->handed);
    t->place = base_arena_zero(&t->arena, nin, sizeof *t->place);
    return t->used && t->need && t->reads && t->handed && t->place;
}

/* The input that output k of the block is, or GONE. */
static int input_of(const Graph *block, int k)
{
    const Node *n = block->outputs.at[k].node;
    return n->op == OP_input ? (int)n->attr[0] : GONE;
}

static void find_handed(Reduction *t)
{
    for (int k = 0; k < t->nout; k++) {
        int i = input_of(t->c.block[0], k);
        bool both = !t->c.block[1] || input_of(t->c.block[1], k) == i;
        bool same_carry = t->c.op == OP_cond || (i == k && k < t->c.ncarry);
        t->handed[k] = both && same_carry ? i : GONE;
    }
}

/* Marks inputs that the needed outputs of a block read. */
static bool find_reads(Reduction *t, const Graph *block)
{
    ArenaMark start = base_arena_mark(&t->arena);
    uint8_t *mark = base_arena_zero(&t->arena, (size_t)block->nodes.n + 1, 1);
    Node **roots = base_arena_zero(&t->arena, (size_t)t->nout + 1, sizeof *roots);
    int n = 0;
    if (!mark || !roots) return false;
    for (int k = 0; k < t->nout; k++)
        if (t->need[k]) roots[n++] = block->outputs.at[k].node;
    ir_reachable(block, n, roots, mark);
    for (int i = 0; i < t->nin; i++) t->reads[i] |= mark[block->inputs.at[i].node->id];
    base_arena_reset(&t->arena, start);
    return true;
}

/* Outputs that are needed: those that are read, and carries that needed outputs read. */
static bool find_needs(Reduction *t)
{
    const Control *c = &t->c;
    for (int k = 0; k < t->nout; k++) {
        bool saved = k < c->ncarry && t->used[c->saved + k];
        bool condition = c->op == OP_loop && k == 0;
        t->need[k] = condition || (t->handed[k] == GONE && (t->used[k] || saved));
    }
    for (bool more = true; more;) {
        more = false;
        for (int b = 0; b < 2 && c->block[b]; b++)
            if (!find_reads(t, c->block[b])) return false;
        for (int i = 0; i < c->ncarry; i++) {
            if (!t->reads[i] || t->need[i] || t->handed[i] != GONE) continue;
            t->need[i] = more = true;
        }
    }
    return true;
}

/* The new place of each input, and how many of which kind are left. */
typedef struct Left {
    int carry, xs, all;
} Left;

static bool is_constant(const Reduction *t, int i)
{
    bool capture =
        t->c.op == OP_cond || i >= t->c.ncarry + t->c.nxs || (i < t->c.ncarry && !t->need[i]);
    return capture && t->in[i]->op == OP_const;
}

/* Numbers the inputs that stay: needed carries, slices that are read, then captures, to which
 * carries belong that no step changes. */
static Left place_inputs(Reduction *t)
{
    const Control *c = &t->c;
    Left left = {0};
    for (int i = 0; i < c->ncarry; i++) t->place[i] = t->need[i] ? left.all++ : GONE;
    left.carry = left.all;
    for (int i = c->ncarry; i < c->ncarry + c->nxs; i++)
        t->place[i] = t->reads[i] ? left.all++ : GONE;
    left.xs = left.all - left.carry;
    for (int i = 0; i < t->nin; i++) {
        bool capture = i >= c->ncarry + c->nxs || (i < c->ncarry && !t->need[i]);
        if (capture) t->place[i] = t->reads[i] && !is_constant(t, i) ? left.all++ : GONE;
    }
    if (left.all == 0 && c->op != OP_cond) t->place[0] = left.all++;
    return left;
}

static bool unchanged(const Reduction *t, const Left *left)
{
    if (left->all != t->nin) return false;
    for (int k = 0; k < t->nout; k++)
        if (!t->need[k]) return false;
    return true;
}

/* The trimmed block; NULL with the error set. */
static Graph *trimmed(Reduction *t, const Graph *block, const Left *left, Node *const *outer)
{
    Graph *g = ir_graph_new(t->to->cx);
    Node **args = base_arena_zero(&t->arena, (size_t)t->nin + 1, sizeof *args);
    Node **out = base_arena_zero(&t->arena, (size_t)t->nout + 1, sizeof *out);
    bool ok = g && args && out;
    for (int p = 0; p < left->all && ok; p++) {
        int slice = p >= left->carry && p < left->carry + left->xs;
        const Node *n = outer[p];
        Node *input = ir_input(g, INPUT_ARG, NULL, n->dtype, n->rank - slice, n->dims + slice);
        ok = input != NULL;
        for (int i = 0; i < t->nin; i++)
            if (t->place[i] == p) args[i] = input;
    }
    for (int i = 0; i < t->nin && ok; i++)
        if (t->reads[i] && t->place[i] == GONE)
            ok = (args[i] = ir_node_over(g, t->in[i], NULL)) != NULL;
    ok = ok && ir_block_splice(g, block, args, t->need, out) == SGL_OK;
    for (int k = 0; k < t->nout && ok; k++)
        if (t->need[k]) ok = ir_output(g, out[k], NULL) == SGL_OK;
    if (ok) return g;
    ir_graph_free(g);
    return NULL;
}

static int add_trimmed(Reduction *t, const Graph *block, const Left *left, Node *const *outer)
{
    if (!block) return 0;
    Graph *g = trimmed(t, block, left, outer);
    int number = g ? ir_block_add(t->to, g) : -1;
    ir_graph_free(g);
    return number;
}

/* How many of the first k outputs are needed: the new number of output k. */
static int new_output(const Reduction *t, int k)
{
    int n = 0;
    for (int i = 0; i < k; i++) n += t->need[i];
    return n;
}

static Node *repeated(const Reduction *t, Node *x)
{
    Dim dims[OP_MAX_RANK + 1] = {t->c.length};
    for (int d = 0; d < x->rank; d++) dims[d + 1] = x->dims[d];
    return ir_broadcast(x, x->rank + 1, dims);
}

/* The node that takes the place of the old one. */
static Node *smaller(const Reduction *t, const Left *left, Node *const *outer, const int number[2])
{
    const Control *c = &t->c;
    if (c->op == OP_cond) return ir_cond((Node *)t->in[-1], left->all, outer, number[0], number[1]);
    if (c->op == OP_scan)
        return ir_scan(left->all, outer, number[0], left->carry, left->xs, c->length, c->reverse);
    return ir_loop(left->all, outer, number[0], left->carry, c->length);
}

/* What result `out` is without the node: what the blocks hand on; NULL: the node computes it. */
static Node *known(const Reduction *t, int out)
{
    const Control *c = &t->c;
    int k = out >= c->saved ? out - c->saved : out;
    if (c->op == OP_cond) return t->need[out] ? NULL : t->in[t->handed[out]];
    if (out == c->count || k >= c->ncarry || t->need[k]) return NULL;
    return out < c->ncarry ? t->in[k] : repeated(t, t->in[k]);
}

/* Its number among the results of the smaller node. */
static int new_result(const Reduction *t, const Left *left, int out)
{
    const Control *c = &t->c;
    if (c->op == OP_cond) return new_output(t, out);
    if (out == c->count) return left->carry;
    if (out < c->saved) return new_output(t, out);
    return new_output(t, out - c->saved) + new_output(t, t->nout) + (c->op == OP_loop);
}

/* Makes the smaller node and puts its results, or what they are known to be, in the place of the
 * old ones. */
static int replace(Reduction *t, const Left *left, Node **made)
{
    Node **outer = base_arena_zero(&t->arena, (size_t)left->all + 1, sizeof *outer);
    if (!outer) return SGL_ENOMEM;
    for (int i = 0; i < t->nin; i++)
        if (t->place[i] != GONE) outer[t->place[i]] = t->in[i];
    int number[2];
    for (int b = 0; b < 2; b++) {
        number[b] = add_trimmed(t, t->c.block[b], left, outer);
        if (number[b] < 0) return SGL_ENOMEM;
    }
    Node *node = NULL;
    for (int out = 0; out < t->c.nout; out++) {
        if (!t->used[out]) continue;
        Node *n = known(t, out);
        if (t->to->cx->err.code) return SGL_ENOMEM;
        if (!n && !node && !(node = smaller(t, left, outer, number))) return SGL_ENOMEM;
        if (!n && !(n = ir_result(node, new_result(t, left, out)))) return SGL_ENOMEM;
        made[ir_result_find(t->n, out)->id] = n;
    }
    return 1;
}

/* The branch itself, for a predicate that is known or does not matter. */
static int take_branch(Reduction *t, const Graph *block, int64_t *room, Node **made)
{
    *room -= block->nodes.n;
    Node **out = base_arena_zero(&t->arena, (size_t)t->nout + 1, sizeof *out);
    if (!out || ir_block_splice(t->to, block, t->in, t->used, out) < 0) return SGL_ENOMEM;
    for (int k = 0; k < t->nout; k++)
        if (t->used[k]) made[ir_result_find(t->n, k)->id] = out[k];
    return 1;
}

int64_t ir_dead_control_room(const Graph *g)
{
    enum { LEAST = 1024, TIMES = 4 };
    int64_t n = g->nodes.n;
    for (int i = 0; i < g->blocks.n; i++) n += g->blocks.at[i]->nodes.n;
    return LEAST + TIMES * n;
}

static int copy_results(Reduction *t, Node *const *in, Node **made)
{
    Node *node = ir_node_over(t->to, t->n, in);
    for (int out = 0; out < t->c.nout && node; out++) {
        if (!t->used[out]) continue;
        Node *n = ir_result(node, out);
        if (!n) return SGL_ENOMEM;
        made[ir_result_find(t->n, out)->id] = n;
    }
    return node ? 0 : SGL_ENOMEM;
}

/* Tries the rules from the one that takes most away: a known branch, equal branches, then what
 * nothing needs. */
static int trim(Reduction *t, const uint8_t *live, Node *const *in, int64_t *room, Node **made)
{
    double known;
    if (!allocate(t)) return SGL_ENOMEM;
    for (int out = 0; out < t->c.nout; out++) {
        const Node *result = ir_result_find(t->n, out);
        t->used[out] = result && live[result->id];
    }
    if (t->c.op == OP_cond && *room > 0 && ir_const_value(in[0], &known))
        return take_branch(t, t->c.block[known ? 0 : 1], room, made);
    if (t->c.op == OP_cond && *room > 0 && t->c.block[0] == t->c.block[1])
        return take_branch(t, t->c.block[0], room, made);
    find_handed(t);
    if (!find_needs(t)) return SGL_ENOMEM;
    Left left = place_inputs(t);
    return unchanged(t, &left) ? copy_results(t, in, made) : replace(t, &left, made);
}

int ir_dead_control(const Node *n, const uint8_t *live, Graph *to, Node *const *in, int64_t *room,
                    Node **made)
{
    int first = n->op == OP_cond;
    Reduction t = {.n = n, .c = ir_control(n), .to = to, .in = in + first, .nin = n->nin - first};
    t.nout = t.c.block[0]->outputs.n;
    int rc = trim(&t, live, in, room, made);
    /* Its results are there, so that nobody asks for a node without a value. */
    for (int k = 0; k < t.c.nout && rc >= 0 && !made[n->id]; k++)
        if (t.used[k]) made[n->id] = made[ir_result_find(n, k)->id];
    base_arena_free(&t.arena);
    if (rc < 0 && !to->cx->err.code) base_fail(to->cx, rc, "out of memory for a block");
    return rc;
}
