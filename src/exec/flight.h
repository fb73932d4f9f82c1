/* flight.h: steps in flight: what stands around the steps of groups that run beside others.
 *
 * SGL_ENOMEM where a step finds no memory; groups that run in order get no steps.
 */
#ifndef SGL_EXEC_FLIGHT_H
#define SGL_EXEC_FLIGHT_H
#include "kern/step.h"

/* Before the steps of the group (or groups.n: the end): waits for those that it needs. */
int exec_flight_wait(const Schedule *s, int group, StepVec *steps);
/* Before the steps of a group that is started, and behind them: they begin at step `first`. */
int exec_flight_begin(const Schedule *s, int group, StepVec *steps);
int exec_flight_end(const Schedule *s, int group, int first, StepVec *steps);
#endif
