/* history.h: gradients that would leave a way out, because what lies on it is not recorded.
 *
 *   outside captures   the way goes through a run of a program
 *   in a step          the way goes through what was recorded before the step
 * Holds: the answer for a step belongs to the tensors of a call, so it is a guard: each gradient in
 *        the step is a History, and every later call is asked the same.
 */
#ifndef SGL_CAPTURE_HISTORY_H
#define SGL_CAPTURE_HISTORY_H
#include "watch/guard.h"

/* Of a gradient of the node loss in the capture c (NULL: outside) by the tensors in the list at 2:
 * raises, or breaks, where it would be too small. */
void capture_history_check(lua_State *L, Host *h, struct Capture *c, Node *loss);
/* At the end of a capture, when all that the step reads is known. */
void capture_history_end(lua_State *L, Host *h, struct Capture *step);

/* Is the answer for a call with the arguments in the list at `leaves` that of the capture? */
bool capture_history_holds(lua_State *L, Host *h, History *r, int leaves);
/* Puts what it says into the table on the top; `states`: the list of its tensors. */
void capture_history_put(lua_State *L, Host *h, const History *r, int states);
int capture_history_slot(const History *r); /* of that list in the guards */
void capture_history_free(History *r);
#endif
