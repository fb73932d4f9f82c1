/* live.c: a graph anew without what nothing needs (live.h).
 *
 * Holds: values keep their bits. Rounds repeat until no control node loses anything: what one lost
 *        may be all that another was for.
 */
#include "ir/live.h"

enum { MAX_ROUNDS = 16 };

/* Equal nodes are one as they are made (Graph.shares). */
static Node *remake(Rebuild *rb, const Node *n, Node **in)
{
    int *trimmed = rb->arg;
    if (!ir_is_control(n)) return ir_rebuild_same(rb, n, in);
    int rc = ir_dead_control(n, rb->nodes, rb->to, in, rb->made);
    *trimmed += rc > 0;
    return rc < 0 ? NULL : rb->made[n->id];
}

Graph *ir_live(const Graph *from, RebuildOrigin origin)
{
    Graph *now = NULL;
    int trimmed = 1;
    for (int round = 0; trimmed && round < MAX_ROUNDS; round++) {
        trimmed = 0;
        Graph *next = now ? ir_rebuild_live(now, remake, ORIGIN_SAME, &trimmed)
                          : ir_rebuild_live(from, remake, origin, &trimmed);
        ir_graph_free(now);
        if (!next) return NULL;
        now = next;
    }
    return now;
}
