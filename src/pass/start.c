/* start.c: which groups run beside the others, on a device that has a second stream.
 *
 * In:   a schedule in its order; how many streams the device has that the program is for.
 * Out:  Group.stream and Group.until.
 * Holds: a group that is started reads and writes nothing that a group before `until` writes, since
 *        those that need its results come later and `plan` keeps its memory for it until then. On a
 *        device with one stream nothing is started.
 * Groups that only move data start: they wait for memory and not for arithmetic, so what others
 * compute in the meantime is free. One whose result the next group reads stays in order.
 */
#include "pass/plan.h"

enum { SIDE_STREAM = 1 };

static bool only_moves(const Group *g)
{
    bool moves = g->kind == GROUP_CONCAT || g->kind == GROUP_MAP;
    for (int i = 0; moves && i < g->nodes.n; i++)
        moves = ir_op(g->nodes.at[i])->family == FAM_movement;
    return moves;
}

static bool reads_of(const Schedule *s, const Group *reader, const Group *g)
{
    for (int i = 0; i < reader->ins.n; i++) {
        const Node *root = pass_root(s, reader->ins.at[i]);
        for (int k = 0; k < g->outs.n; k++)
            if (root == g->outs.at[k]) return true;
    }
    return false;
}

/* The first group that needs what group t makes, or the end. */
static int first_reader(const Schedule *s, int t)
{
    int u = t + 1;
    while (u < s->groups.n && (s->groups.at[u].kind == GROUP_ALIAS ||
                               !reads_of(s, &s->groups.at[u], &s->groups.at[t])))
        u++;
    return u;
}

void pass_start_groups(Schedule *s, int streams)
{
    for (int t = 0; t < s->groups.n; t++) {
        Group *g = &s->groups.at[t];
        g->stream = 0;
        g->until = t;
        if (streams <= SIDE_STREAM || !only_moves(g)) continue;
        int reader = first_reader(s, t);
        if (reader <= t + 1) continue;
        g->stream = SIDE_STREAM;
        g->until = reader;
    }
}
