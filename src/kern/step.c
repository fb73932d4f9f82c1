/* step.c: what is known of the kinds of steps (step.def), and which buffers a step uses.
 *
 * Holds: a buffer that a step touches is among its uses, and one that it writes is said to be
 *        written: who orders steps that run beside each other relies on nothing else.
 */
#include "ir/custom.h"
#include "kern/step.h"

/* Where a kind of step has its buffers. */
enum { USE_KERNEL, USE_VIEWS, USE_PAIR, USE_NODE, USE_NONE };

const StepInfo STEPS[STEP_KINDS] = {
#define STEP(kind, name, views, uses, op, axis, flag, fails, doc)                                  \
    {name, views, USE_##uses, op, axis, flag, fails},
#include "kern/step.def"
#undef STEP
};

/* args[i], which the kernel's loads read and its stores write. */
static bool kernel_use(const Step *s, int i, StepUse *use)
{
    if (i >= s->nargs) return false;
    *use = (StepUse){.buffer = s->args[i]};
    for (int k = 0; k < s->kernel->ninst; k++) {
        const KernInst *t = &s->kernel->inst[k];
        bool touches = t->access >= 0 && s->kernel->access[t->access].arg == i;
        use->reads |= touches && t->code != KI_STORE;
        use->writes |= touches && t->code == KI_STORE;
    }
    return true;
}

static bool view_use(const Step *s, int i, StepUse *use)
{
    int views = STEPS[s->kind].views;
    if (i > views) return false;
    bool out = i == views;
    *use = (StepUse){out ? s->out.buffer : s->view[i].buffer, !out, out};
    return true;
}

static bool pair_use(const Step *s, int i, StepUse *use)
{
    if (i > 1) return false;
    *use = (StepUse){s->args[i], i == 0, i == 1};
    return true;
}

/* The inputs of the node come first. */
static bool node_use(const Step *s, int i, StepUse *use)
{
    if (i >= s->nargs) return false;
    *use = (StepUse){s->args[i], i < s->node->nin, i >= s->node->nin};
    return true;
}

static bool no_use(const Step *s, int i, StepUse *use)
{
    (void)s, (void)i, (void)use;
    return false;
}

bool kern_step_use(const Step *s, int i, StepUse *use)
{
    static bool (*const USES[])(const Step *s, int i, StepUse *use) = {
        [USE_KERNEL] = kernel_use, [USE_VIEWS] = view_use, [USE_PAIR] = pair_use,
        [USE_NODE] = node_use,     [USE_NONE] = no_use,
    };
    return USES[STEPS[s->kind].uses](s, i, use);
}

const char *kern_step_name(const Step *s)
{
    if (s->kind == STEP_CUSTOM) return ir_custom_name(s->node);
    return s->kind == STEP_KERNEL ? s->kernel->name : STEPS[s->kind].name;
}

StepKind kern_step_of(int op)
{
    int kind = 0;
    while (kind < STEP_KINDS && STEPS[kind].op != op) kind++;
    return (StepKind)kind;
}
