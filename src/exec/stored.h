/* stored.h: what the passes over the graph gave, kept on disk, so that the next process does
 * without them.
 *
 * Holds: a program made from an entry has the bits of one that was compiled: the entry has the
 *        graph after the last pass that changes it, and a digest of what the later passes made of
 *        it, which is checked again. What it takes, gives, assigns and effects is compared with the
 *        graph at hand, field by field, whoever wrote the entry. Positions in the source come from
 *        the graph at hand.
 */
#ifndef SGL_EXEC_STORED_H
#define SGL_EXEC_STORED_H
#include "exec/program.h"

/* Is it worth a look at the disk? Not for one of many combinations of sizes. */
bool exec_stored_wanted(const Graph *g);
/* All that the entry depends on; `text` is the graph's, or NULL. False: no memory. */
bool exec_stored_key(const Graph *g, const char *text, Str *key);
/* NULL: there is no entry, or not a good one; g is as before. Else g is below the schedule's graph,
 * as after the passes. */
Schedule *exec_stored_load(Graph *g, const Str *key, const ExecHooks *hooks, PassTimes *times);
void exec_stored_store(const Schedule *s, const Str *key);
#endif
