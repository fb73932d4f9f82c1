/* stage.c: what can be shown of a compiled program: a stage is a name and its printer.
 */
#include <string.h>
#include "exec/program_type.h"

static const struct Stage {
    const char *name;
    void (*print)(const Program *p, Str *out);
    bool whole; /* prints the blocks itself */
} STAGES[] = {
    {"fused", exec_print_groups, false},
    {"plan", exec_print_plan, false},
    {"kernels", exec_print_kernels, false},
    {"c", exec_program_c, true},
};

const char *exec_stage_name(int i)
{
    return i < (int)(sizeof STAGES / sizeof *STAGES) ? STAGES[i].name : NULL;
}

void exec_program_print(const Program *p, const char *stage, Str *out)
{
    const struct Stage *s = STAGES;
    while (strcmp(s->name, stage) != 0) s++;
    s->print(p, out);
    for (int i = 0; i < exec_calls_count(p->calls) && !s->whole; i++) {
        base_str_fmt(out, "block $%d\n", i);
        exec_program_print(exec_calls_at(p->calls, i), stage, out);
        base_str_put(out, "end\n");
    }
}
