/* program_c.c: a program as one C file.
 *
 * Out:  each kernel as a function, and
 *           int sgl_run(void *const *in, void *const *out,
 *                       int (*other)(int step, void *const *buffer))
 *       which runs the steps in order over the inputs' and outputs' memory; 0, or what was not 0.
 *       Kernels and copies are loops there. For any other step (a matrix product, a gather, a call
 *       of a block) it calls `other`, beside a comment that says what the step is.
 * Holds: blocks follow as functions sgl_run_b0_, …; nothing calls them but what `other` does.
 */
#include "base/mem.h"
#include "exec/program_type.h"
#include "kern/print_c.h"

/* Letters, digits and '_' of a kernel's name; composites may have others. */
static void put_name(const Program *p, const char *prefix, int kernel, Str *out)
{
    base_str_fmt(out, "%sk%d_", prefix, kernel);
    for (const char *s = p->steps.at[kernel].kernel->name; *s; s++) {
        bool fits =
            (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
        base_str_fmt(out, "%c", fits ? *s : '_');
    }
}

/* The first step with the same kernel, by whose number it is called. */
static int first_with(const Program *p, int step)
{
    int i = 0;
    while (p->steps.at[i].kernel != p->steps.at[step].kernel) i++;
    return i;
}

static void put_kernels(const Program *p, const char *prefix, CFile *f, Str *out)
{
    for (int i = 0; i < p->steps.n; i++) {
        const Step *s = &p->steps.at[i];
        Str name = {0};
        if (s->kind != STEP_KERNEL || first_with(p, i) != i) continue;
        put_name(p, prefix, i, &name);
        base_str_put(out, "/* ");
        exec_step_print(p, i, out);
        kern_print(s->kernel, out);
        base_str_put(out, " */\n");
        if (name.failed) out->failed = true;
        else kern_print_c(f, s->kernel, name.at, out);
        base_str_put(out, "\n");
        base_str_free(&name);
    }
}

static void put_buffers(const Program *p, Str *out)
{
    const Schedule *s = p->schedule;
    base_str_fmt(out, "    static _Alignas(64) char arena[%zu];\n", s->arena_bytes + 1);
    base_str_put(out, "    void *const b[] = {\n");
    for (int i = 0; i < s->buffers.n; i++) {
        const Buffer *b = &s->buffers.at[i];
        if (b->place == BUF_ARENA) base_str_fmt(out, "        arena + %zu,\n", b->offset);
        else base_str_fmt(out, "        %s[%d],\n", b->place == BUF_INPUT ? "in" : "out", b->index);
    }
    base_str_put(out, "        NULL,\n    };\n    int rc = 0;\n"
                      "    (void)in, (void)out, (void)other, (void)arena;\n");
}

static void put_step(const Program *p, const char *prefix, int step, Str *out)
{
    const Step *s = &p->steps.at[step];
    if (s->kind == STEP_KERNEL) {
        base_str_put(out, "    if ((rc = ");
        put_name(p, prefix, first_with(p, step), out);
        base_str_put(out, "((void *const[]){");
        for (int i = 0; i < s->nargs; i++) base_str_fmt(out, "%sb[%d]", i ? ", " : "", s->args[i]);
        base_str_put(out, s->nargs ? "})) != 0) return rc;\n" : "NULL})) != 0) return rc;\n");
    } else if (s->kind == STEP_COPY) {
        base_str_fmt(out, "    memcpy(b[%d], b[%d], %lld);\n", s->args[1], s->args[0],
                     (long long)s->bytes);
    } else {
        base_str_fmt(out, "    if ((rc = other(%d, b)) != 0) return rc; /* ", step);
        exec_step_print(p, step, out);
        base_str_put(out, "    */\n");
    }
}

static void put_program(const Program *p, const char *prefix, CFile *f, Str *out)
{
    put_kernels(p, prefix, f, out);
    base_str_fmt(out,
                 "int sgl_run%s%s(void *const *in, void *const *out,\n"
                 "            int (*other)(int step, void *const *buffer))\n{\n",
                 prefix[0] ? "_" : "", prefix);
    put_buffers(p, out);
    for (int i = 0; i < p->steps.n; i++) put_step(p, prefix, i, out);
    base_str_put(out, "    return rc;\n}\n\n");
    for (int i = 0; i < exec_calls_count(p->calls); i++) {
        Str inner = {0};
        base_str_fmt(&inner, "%sb%d_", prefix, i);
        if (inner.failed) out->failed = true;
        else put_program(exec_calls_at(p->calls, i), inner.at, f, out);
        base_str_free(&inner);
    }
}

void exec_program_c(const Program *p, Str *out)
{
    CFile *f = base_mem_zero(1, sizeof *f);
    if (!f) {
        out->failed = true;
        return;
    }
    f->d = &KERN_C;
    base_str_put(out, KERN_C.prelude);
    base_str_put(out, "\n");
    put_program(p, "", f, out);
    base_mem_free(f);
}
