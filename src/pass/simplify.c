/* simplify.c: rebuilds the graph with constants folded, rules applied and dead nodes left out.
 *
 * In:    any verified graph.
 * Out:   a graph with the same inputs (unused ones too), outputs, assigns and live composites; its
 *        `from` is the graph that came in, and origins point there.
 * Holds: the values of outputs and assigns keep their bits. Rounds repeat until no rule fires;
 *        the last round only drops what the rules left behind.
 */
#include "pass/pass.h"
#include "pass/simplify.h"

enum { MAX_ROUNDS = 16, MAX_STEPS = 16 };

static bool same_type(const Node *a, const Node *b)
{
    return a->dtype == b->dtype && ir_same_dims(a, b);
}

/* The end of the chain of replacements that starts at n. */
static Node *simplest(Node *n, int *fired)
{
    for (int step = 0; step < MAX_STEPS; step++) {
        Node *next = pass_fold_constant(n);
        if (!next) next = pass_apply_rules(n);
        if (!next || next == n || !same_type(next, n)) break;
        ++*fired;
        n = next;
    }
    return n->graph->cx->err.code ? NULL : n;
}

typedef struct Round {
    int64_t room; /* for nodes of blocks */
    int fired;    /* rules */
} Round;

static Node *simplified(Rebuild *rb, const Node *n, Node **in)
{
    Round *round = rb->arg;
    if (!ir_is_control(n)) {
        Node *made = ir_rebuild_same(rb, n, in);
        return made && n->op != OP_input ? simplest(made, &round->fired) : made;
    }
    int trimmed = ir_dead_control(n, rb->nodes, rb->to, in, &round->room, rb->made);
    round->fired += trimmed > 0;
    return trimmed < 0 ? NULL : rb->made[n->id];
}

int pass_simplify(PassState *st)
{
    Graph *given = st->graph, *now = given;
    Round round = {ir_dead_control_room(given), 1};
    for (int i = 0; round.fired && i < MAX_ROUNDS; i++) {
        round.fired = 0;
        Remake remake = i < MAX_ROUNDS - 1 ? simplified : NULL;
        RebuildOrigin origin = now == given ? ORIGIN_NODE : ORIGIN_SAME;
        Graph *next = ir_rebuild_live(now, remake, origin, &round);
        if (now != given) ir_graph_free(now);
        if (!next) return st->cx->err.code;
        now = next;
    }
    now->from = given;
    st->graph = now;
    return SGL_OK;
}
