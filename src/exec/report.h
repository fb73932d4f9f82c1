/* report.h: what compiling and running tell of themselves as events (obs/event.def).
 */
#ifndef SGL_EXEC_REPORT_H
#define SGL_EXEC_REPORT_H
#include "exec/program.h"
#include "obs/obs.h"

/* p is ready, or NULL: it could not be made. */
void exec_report_compile(Ctx *cx, const Program *p, bool in_memory, double ms);
/* How many ops (nodes with inputs) there are, and how many of them have company in their group. */
void exec_fusion_count(const Schedule *s, int *ops, int *fused);
/* The share of those, 0 to 1. */
double exec_fusion_ratio(const ProgramInfo *info);
/* The group was lowered to the steps from `first` on. */
void exec_report_group(const Program *p, int group, int first);
void exec_report_step(const Program *p, int step, double seconds);
void exec_report_run(const Program *p, double ms);
#endif
