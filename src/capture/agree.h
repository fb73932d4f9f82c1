/* agree.h: before a step first runs: do all ranks mean the same?
 */
#ifndef SGL_CAPTURE_AGREE_H
#define SGL_CAPTURE_AGREE_H
#include "capture/ranks.h"
#include "shard/shard.h"

/* Notes what the ranks must have in common beside the captured graph: the plan, and the exchanges
 * of the part that was made. */
void capture_agree_note(Part *p, const ShardPlan *plan, const Graph *made);
/* Are the step and its inputs the same on all ranks? They call it together. */
int capture_agree(Ctx *cx, const Part *p, Storage *const *in);
#endif
