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

static Node *simplified(Rebuild *rb, const Node *n, Node **in)
{
    int *fired = rb->arg;
    if (!ir_is_control(n)) {
        Node *made = ir_rebuild_same(rb, n, in);
        return made && n->op != OP_input ? simplest(made, fired) : made;
    }
    int trimmed = ir_dead_control(n, rb->nodes, rb->to, in, rb->made);
    *fired += trimmed > 0;
    return trimmed < 0 ? NULL : rb->made[n->id];
}

int pass_simplify(PassState *st)
{
    Graph *given = st->graph, *now = given;
    bool again = true;
    for (int round = 0; again && round < MAX_ROUNDS; round++) {
        int fired = 0;
        Remake remake = round < MAX_ROUNDS - 1 ? simplified : NULL;
        RebuildOrigin origin = now == given ? ORIGIN_NODE : ORIGIN_SAME;
        Graph *next = ir_rebuild_live(now, remake, origin, &fired);
        if (now != given) ir_graph_free(now);
        if (!next) return st->cx->err.code;
        now = next;
        again = fired > 0;
    }
    now->from = given;
    st->graph = now;
    return SGL_OK;
}
