/* debug.c: compiling, and what the knob `debug` prints of it on stderr.
 *
 *   1  one line with the sizes and times of each program     4  the groups of nodes
 *   2  the graph before the passes                           5  buffers and their places
 *   3  the graph after simplify                              6  kernels
 *   7  each step of each run with its time
 */
#include <stdio.h>
#include "exec/debug.h"
#include "ir/text.h"

enum { TIMES = 1, CAPTURED, SIMPLIFIED, FUSED, PLANNED, KERNELS, STEPS };

static int level(const Ctx *cx) { return (int)cx->knobs.value[KNOB_debug]; }

/* Debug output is a courtesy: without memory for it, it is left out. */
static void put(const char *title, Str *s)
{
    if (!s->failed && s->at) fprintf(stderr, "-- %s\n%s", title, s->at);
    base_str_free(s);
}

static void put_graph(const char *title, const Graph *g, int kernels)
{
    Str s = {0};
    ir_show(g, kernels, &s);
    put(title, &s);
}

static void put_level(const Program *p, const char *name)
{
    Str s = {0};
    exec_program_print(p, name, &s);
    put(name, &s);
}

static void put_times(const ProgramInfo *info)
{
    fprintf(stderr, "-- program: %d nodes, %d steps, %d kernels, %d dots, %zu bytes, %.2f ms",
            info->nodes, info->steps, info->kernels, info->dots, info->arena_bytes,
            info->compile_seconds * 1e3);
    for (int i = 0; i < info->passes.n; i++)
        fprintf(stderr, "%s %s %.2f", i ? "," : " in", info->passes.name[i],
                info->passes.seconds[i] * 1e3);
    fputc('\n', stderr);
}

/* Compiles, and prints of each stage what the level of the setting asks for. */
Program *exec_debug_compile(Graph *g, const char *text)
{
    if (!g) return NULL;
    Ctx *cx = g->cx;
    if (level(cx) >= CAPTURED) put_graph("captured", g, -1);
    Program *p = exec_compile(g, text);
    if (!p) return NULL;
    const ProgramInfo *info = exec_program_info(p);
    if (level(cx) >= SIMPLIFIED) put_graph("simplified", exec_program_graph(p), info->kernels);
    if (level(cx) >= FUSED) put_level(p, "fused");
    if (level(cx) >= PLANNED) put_level(p, "plan");
    if (level(cx) >= KERNELS) put_level(p, "kernels");
    if (level(cx) >= TIMES) put_times(info);
    return p;
}

static void put_step(void *arg, const Program *p, int step, double seconds)
{
    Str s = {0};
    (void)arg;
    exec_step_print(p, step, &s);
    if (!s.failed && s.at) fprintf(stderr, "%9.1f us  %s", seconds * 1e6, s.at);
    base_str_free(&s);
}

int exec_debug_watch(Ctx *cx)
{
    ExecHooks hooks = {.step = level(cx) >= STEPS ? put_step : NULL};
    return exec_hooks_set(cx, hooks);
}
