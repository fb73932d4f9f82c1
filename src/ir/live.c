/* live.c: a graph anew without what nothing needs (live.h).
 *
 * Holds: values keep their bits. Rounds repeat until no control node loses anything: what one lost
 *        may be all that another was for.
 */
#include "ir/live.h"

enum { MAX_ROUNDS = 16 };

typedef struct Round {
    int64_t room; /* for nodes of blocks */
    int trimmed;  /* control nodes that lost something */
} Round;

/* Equal nodes are one as they are made (Graph.shares). */
static Node *remake(Rebuild *rb, const Node *n, Node **in)
{
    Round *round = rb->arg;
    if (!ir_is_control(n)) return ir_rebuild_same(rb, n, in);
    int rc = ir_dead_control(n, rb->nodes, rb->to, in, &round->room, rb->made);
    round->trimmed += rc > 0;
    return rc < 0 ? NULL : rb->made[n->id];
}

Graph *ir_live(const Graph *from, RebuildOrigin origin)
{
    Graph *now = NULL;
    Round round = {ir_dead_control_room(from), 1};
    for (int i = 0; round.trimmed && i < MAX_ROUNDS; i++) {
        round.trimmed = 0;
        Graph *next = now ? ir_rebuild_live(now, remake, ORIGIN_SAME, &round)
                          : ir_rebuild_live(from, remake, origin, &round);
        ir_graph_free(now);
        if (!next) return NULL;
        now = next;
    }
    return now;
}
