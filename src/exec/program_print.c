/* program_print.c: a program as text for people, at three depths.
 *
 * Out:  "fused": the groups with what they compute; "plan": the buffers with their lives and
 *       offsets; "kernels": the steps, and the instructions of each kernel.
 */
#include <string.h>
#include "exec/program_type.h"
#include "ir/custom.h"

static const char *const GROUP_NAMES[] = {
    [GROUP_MAP] = "map",   [GROUP_REDUCE] = "reduce", [GROUP_CONCAT] = "concat",
    [GROUP_DOT] = "dot",   [GROUP_INDEX] = "index",   [GROUP_ALIAS] = "alias",
    [GROUP_CALL] = "call",
};
static const char *const PLACE_NAMES[] = {
    [BUF_ARENA] = "arena",
    [BUF_INPUT] = "input",
    [BUF_OUTPUT] = "output",
};

static void put_nodes(const NodeVec *nodes, Str *out)
{
    for (int i = 0; i < nodes->n; i++) base_str_fmt(out, " %%%u", nodes->at[i]->id);
}

void exec_print_groups(const Program *p, Str *out)
{
    const Schedule *s = p->schedule;
    for (int i = 0; i < s->groups.n; i++) {
        const Group *g = &s->groups.at[i];
        base_str_fmt(out, "group %d %s: ", i, GROUP_NAMES[g->kind]);
        put_nodes(&g->outs, out);
        base_str_put(out, "  from");
        put_nodes(&g->ins, out);
        base_str_put(out, "\n");
        for (int k = 0; k < g->nodes.n; k++) {
            const Node *n = g->nodes.at[k];
            base_str_fmt(out, "    %%%u = %s ", n->id, ir_custom_name(n));
            ir_type_text(n, out);
            for (int a = 0; a < n->nin; a++) base_str_fmt(out, " %%%u", n->in[a]->id);
            base_str_put(out, "\n");
        }
    }
}

void exec_print_plan(const Program *p, Str *out)
{
    const Schedule *s = p->schedule;
    const Graph *g = s->graph;
    for (int i = 0; i < s->buffers.n; i++) {
        const Buffer *b = &s->buffers.at[i];
        base_str_fmt(out, "buffer %d %s ", i, PLACE_NAMES[b->place]);
        if (b->place == BUF_ARENA) base_str_fmt(out, "at %zu, ", b->offset);
        else base_str_fmt(out, "%d, ", b->index + 1);
        base_str_fmt(out, "%zu bytes, groups %d to %d: %%%u ", b->bytes, b->first, b->last,
                     b->node->id);
        ir_type_text(b->node, out);
        base_str_put(out, "\n");
    }
    for (int i = 0; i < g->assigns.n; i++)
        base_str_fmt(out, "input %d gets %%%u%s\n", g->assigns.at[i].input + 1,
                     g->assigns.at[i].value->id, s->in_place[i] ? " in place" : " by a copy");
    base_str_fmt(out, "arena %zu bytes\n", s->arena_bytes);
}

static void put_view(const View *v, Str *out)
{
    base_str_fmt(out, " b%d+%lld:%s[", v->buffer, (long long)v->offset, DTYPES[v->dtype].name);
    for (int i = 0; i < v->rank; i++)
        base_str_fmt(out, "%s%lld*%lld", i ? ", " : "", (long long)v->extent[i],
                     (long long)v->stride[i]);
    base_str_put(out, "]");
}

/* The op, the buffers it reads and writes, the blocks it runs. */
static void print_call(const Program *p, int step, Str *out)
{
    const Step *s = &p->steps.at[step];
    int block[2], n = 0;
    if (s->kind == STEP_CALL) n = exec_calls_of(p->calls, step, block);
    base_str_fmt(out, " %s", ir_custom_name(s->node));
    for (int i = 0; i < s->nargs; i++) {
        if (i == s->node->nin) base_str_put(out, " to");
        if (s->args[i] >= 0) base_str_fmt(out, " b%d", s->args[i]);
    }
    for (int i = 0; i < n; i++) base_str_fmt(out, "%s $%d", i ? "," : " runs", block[i]);
}

void exec_step_print(const Program *p, int step, Str *out)
{
    const Step *s = &p->steps.at[step];
    base_str_fmt(out, "step %d %s", step, STEPS[s->kind].name);
    if (s->kind == STEP_KERNEL) {
        base_str_fmt(out, " %s", s->kernel->name);
        for (int i = 0; i < s->nargs; i++) base_str_fmt(out, " b%d", s->args[i]);
    } else if (s->kind == STEP_CALL || s->kind == STEP_CUSTOM) {
        print_call(p, step, out);
    } else if (s->kind == STEP_COPY) {
        base_str_fmt(out, " b%d to b%d, %lld bytes", s->args[0], s->args[1], (long long)s->bytes);
    } else if (s->kind == STEP_RECORD || s->kind == STEP_WAIT) {
        base_str_fmt(out, " event %d, stream %d", s->event, s->stream);
    } else {
        for (int i = 0; i < STEPS[s->kind].views; i++) put_view(&s->view[i], out);
        base_str_put(out, " to");
        put_view(&s->out, out);
    }
    if (s->stream && s->kind != STEP_RECORD && s->kind != STEP_WAIT)
        base_str_fmt(out, " on stream %d", s->stream);
    SrcPos pos = base_src_pos(p->cx, s->node ? s->node->src : 0);
    if (pos.line > 0) base_str_fmt(out, "  (%s:%d)", pos.file, pos.line);
    base_str_put(out, "\n");
}

void exec_print_kernels(const Program *p, Str *out)
{
    for (int i = 0; i < p->steps.n; i++) {
        exec_step_print(p, i, out);
        if (p->steps.at[i].kind == STEP_KERNEL) kern_print(p->steps.at[i].kernel, out);
    }
}
