/* report.c: events of compiling and running.
 *
 * Holds: texts are made only when somebody wants the event, and one that finds no memory is left
 *        out: telling never fails.
 */
#include "exec/report.h"
#include "exec/program_type.h"

enum { FUSED_MIN = 3, LIST_MAX = 400 };

void exec_report_compile(Ctx *cx, const Program *p, bool in_memory, double ms)
{
    const ProgramInfo none = {.cache = "none"}, *info = p ? &p->info : &none;
    obs_event(cx, OBS_compile_end, ms, OBS_TEXT("backend", exec_backend(cx)->name),
              OBS_BOOL("ok", p != NULL), OBS_INT("nodes", info->nodes),
              OBS_INT("kernels", info->kernels), OBS_INT("steps", info->steps),
              OBS_INT("dots", info->dots), OBS_NUMBER("fusion_ratio", exec_fusion_ratio(info)),
              OBS_INT("bytes", info->bytes), OBS_TEXT("cache", in_memory ? "memory" : info->cache));
}

/* Constants, positions and the like are no ops that were fused: they have no inputs. */
static int count_ops(const Group *g)
{
    int ops = 0;
    for (int i = 0; i < g->nodes.n; i++) ops += g->nodes.at[i]->nin > 0;
    return ops;
}

/* A node that several groups compute for themselves belongs to the first. */
void exec_fusion_count(const Schedule *s, int *ops, int *fused)
{
    *ops = *fused = 0;
    for (int i = 0; i < s->groups.n; i++) {
        const Group *g = &s->groups.at[i];
        bool company = g->kind != GROUP_ALIAS && count_ops(g) > 1;
        for (int k = 0; k < g->nodes.n; k++) {
            const Node *n = g->nodes.at[k];
            if (n->nin == 0 || s->group_of[n->id] != i) continue;
            ++*ops;
            *fused += company;
        }
    }
}

double exec_fusion_ratio(const ProgramInfo *info)
{
    return info->ops ? (double)info->fused / info->ops : 0;
}

static void tell_group(const Program *p, const Group *g, const char *name)
{
    Str list = {0};
    for (int i = 0; i < g->nodes.n && list.n < LIST_MAX; i++)
        if (g->nodes.at[i]->nin > 0)
            base_str_fmt(&list, "%s%s", list.n ? " " : "", ir_op(g->nodes.at[i])->name);
    obs_event(p->cx, OBS_fusion_apply, -1, OBS_TEXT("name", name), OBS_INT("ops", count_ops(g)),
              OBS_TEXT("list", list.failed ? "" : list.at));
    base_str_free(&list);
}

void exec_report_group(const Program *p, int group, int first)
{
    const Group *g = &p->schedule->groups.at[group];
    if (!obs_wanted(p->cx, OBS_fusion_apply) || count_ops(g) < FUSED_MIN) return;
    for (int i = first; i < p->steps.n; i++)
        if (p->steps.at[i].kind == STEP_KERNEL) {
            tell_group(p, g, p->steps.at[i].kernel->name);
            return;
        }
}

void exec_report_step(const Program *p, int step, double seconds)
{
    const Step *s = &p->steps.at[step];
    obs_event(p->cx, OBS_step_end, seconds * 1e3, OBS_INT("step", step),
              OBS_TEXT("name", kern_step_name(s)));
}

void exec_report_run(const Program *p, double ms)
{
    obs_event(p->cx, OBS_run_end, ms, OBS_INT("steps", p->info.steps),
              OBS_INT("kernels", p->info.kernels));
}
