/* live.c: control flow without what nothing needs, before anything else.
 *
 * In:    any verified graph.
 * Out:   the same inputs, outputs, assigns and effects; blocks without results that nobody reads.
 * Holds: a graph without blocks stays as it is: `simplify`, which makes it anew, leaves out the
 *        dead and makes equal nodes one as it goes. With blocks that would come too late, as its
 *        rules would be tried on what is to go.
 */
#include "ir/live.h"
#include "pass/pass.h"

int pass_live(PassState *st)
{
    if (!st->graph->blocks.n) return SGL_OK;
    Graph *made = ir_live(st->graph, ORIGIN_NODE);
    if (!made) return st->cx->err.code;
    made->from = st->graph;
    st->graph = made;
    return SGL_OK;
}
