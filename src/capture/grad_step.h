/* grad_step.h: gradients that would leave a way out, because what lies on it is not recorded.
 *
 *   in a step   the way goes through what was recorded before the step
 * Holds: the answer for a step belongs to the tensors of a call, so it is a condition among the
 *        guards: each gradient in the step is one, and every later call is asked the same.
 */
#ifndef SGL_CAPTURE_GRAD_STEP_H
#define SGL_CAPTURE_GRAD_STEP_H
#include "capture/room.h"

/* Of a gradient of the node loss in the capture c by the tensors in the list at 2: breaks where it
 * would be too small. */
void capture_history_check(lua_State *L, Host *h, Capture *c, const Node *loss);
/* At the end of a capture, when all that the step reads is known. */
void capture_history_end(lua_State *L, Host *h, Capture *step);
#endif
