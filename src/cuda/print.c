/* print.c: kernel IR as CUDA C: its loop nest over threads and warps.
 *
 * In:   a kernel with plain numbers.
 * Out:  a plan: the body of a function of q, the functions it calls, the numbers q.n.
 * The kept variables are spread over threads (MAP, COL) or warps (ROW, LONG), so that a reduction
 * is a loop of its thread, or of its warp. As in printed C each loop computes anew what it needs;
 * stores come last.
 * Holds: the text depends on the kernel and on which of its numbers are 0 or 1, not on their
 *        values; and on whether 32 bits hold every index.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "cuda/cuda.h"

enum { MAP_BLOCK = 256, ROW_BLOCK = 128, COL_BLOCK = 128, WARP = 32 };

typedef struct Text {
    Printer p; /* first: what its functions are given */
    CudaPlan *plan;
    const char *index; /* the type of indices */
    bool rows;         /* a warp each */
    bool failed;
} Text;

/* A number as a parameter: n7. */
static void put_number(const Printer *p, Num n)
{
    Text *t = p->arg;
    t->failed |= !vec_push(&t->plan->numbers, (int64_t)n);
    base_str_fmt(p->out, "n%d", t->plan->numbers.n - 1);
}

/* What a reduction's struct is called: sum_f32. */
static void put_struct(const Printer *p, const KernInst *t)
{
    base_str_fmt(p->out, "%s_%s", OPS[t->op].name, DTYPES[kern_c_accumulator(t)].name);
}

static void put_reduce(const Printer *p, const KernInst *t)
{
    int i = (int)(t - p->k->inst);
    if (kern_blocks(t).n > 1) base_str_fmt(p->out, "s%d.end()", i);
    else base_str_fmt(p->out, "r%d.end(e%d)", i, i);
}

static int64_t count(const Kernel *k, int first, int last)
{
    int64_t n = 1;
    for (int v = first; v < last; v++) n *= k->extent[v];
    return n;
}

/* The variables of a range from their place in it, row-major. */
static void put_variables(const Text *t, const char *place, int first, int last)
{
    const Printer *p = &t->p;
    int left = 0;
    for (int v = first; v < last; v++) left += p->k->extent[v] != 1;
    if (left == 0) return;
    if (left > 1) {
        kern_print_line(p);
        base_str_fmt(p->out, "%s rest_%s = %s;\n", t->index, place, place);
    }
    for (int v = last - 1; v >= first; v--) {
        if (p->k->extent[v] == 1) continue;
        kern_print_line(p);
        base_str_fmt(p->out, "const %s %c = ", t->index, KERN_VARIABLES[v]);
        if (left == 1 && v + 1 > first) {
            bool alone = true;
            for (int u = first; u < last; u++) alone = alone && (u == v || p->k->extent[u] == 1);
            base_str_fmt(p->out, alone ? "%s;\n" : "rest_%s;\n", place);
        } else {
            base_str_fmt(p->out, "rest_%s %% ", place);
            p->number(p, p->k->extent[v]);
            base_str_put(p->out, ";\n");
            kern_print_line(p);
            base_str_fmt(p->out, "rest_%s /= n%d;\n", place, t->plan->numbers.n - 1);
        }
        left--;
    }
}

/* The loop over elements [from, to) of the inner variables; the body follows. */
static void open_inner(Text *t, const char *from, const char *to)
{
    Printer *p = &t->p;
    kern_print_line(p);
    if (t->rows)
        base_str_fmt(p->out, "for (%s e0 = %s; e0 < %s; e0 += 32) {\n", t->index, from, to);
    else base_str_fmt(p->out, "for (%s e = %s; e < %s; e++) {\n", t->index, from, to);
    p->depth++;
    if (t->rows) {
        kern_print_line(p);
        base_str_fmt(p->out, "const %s e = e0 + lane;\n", t->index);
        kern_print_line(p);
        base_str_fmt(p->out, "if (e < %s) {\n", to);
        p->depth++;
    }
    put_variables(t, "e", p->inner, p->inner_end);
}

/* Closes the part of one element, then what all lanes do after 32 of them, then the loop. */
static void close_element(Text *t)
{
    if (!t->rows) return;
    t->p.depth--;
    kern_print_line(&t->p);
    base_str_put(t->p.out, "}\n");
}

static void close_loop(Text *t)
{
    t->p.depth--;
    kern_print_line(&t->p);
    base_str_put(t->p.out, "}\n");
}

/* Reduction i of `n` elements in all: declares it, in blocks with a loop around. */
static void put_reduction(Text *t, int i)
{
    Printer *p = &t->p;
    const KernInst *k = &p->k->inst[i];
    const Blocks b = kern_blocks(k);
    const int64_t all = count(p->k, p->inner, p->inner_end);
    const char *best = kern_c_best(k->op) ? "Best" : "";
    char from[32] = "0", to[32];
    kern_print_line(p);
    base_str_fmt(p->out, "const %s e%d = ", t->index, i);
    p->number(p, all);
    base_str_put(p->out, ";\n");
    snprintf(to, sizeof to, "e%d", i);
    if (b.n > 1) {
        kern_print_line(p);
        base_str_put(p->out, "Tree<");
        put_struct(p, k);
        base_str_fmt(p->out, "> s%d;\n", i);
        kern_print_line(p);
        base_str_fmt(p->out, "for (int b = 0; b < %" PRId64 "; b++) {\n", b.n);
        p->depth++;
        kern_print_line(p);
        base_str_fmt(p->out,
                     "const %s from = (int64_t)b * %" PRId64 " / %" PRId64 " * (e%d / %" PRId64
                     "), to = ((int64_t)b + 1) * %" PRId64 " / %" PRId64 " * (e%d / %" PRId64
                     ");\n",
                     t->index, b.units, b.n, i, b.units, b.units, b.n, i, b.units);
        snprintf(from, sizeof from, "from");
        snprintf(to, sizeof to, "to");
    }
    kern_print_line(p);
    base_str_fmt(p->out, "%s%s<", t->rows ? "Row" : "Column", best);
    put_struct(p, k);
    base_str_fmt(p->out, "> r%d(", i);
    p->number(p, b.n > 1 ? ir_block_longest(b, all) : all);
    base_str_put(p->out, ");\n");
    open_inner(t, from, to);
    memset(p->wanted, 0, (size_t)p->k->ninst);
    p->wanted[k->a] = true;
    kern_print_wanted(p);
    kern_print_line(p);
    base_str_fmt(p->out, "r%d.take(v%d, e);\n", i, k->a);
    close_element(t);
    if (t->rows) {
        kern_print_line(p);
        base_str_fmt(p->out, "r%d.next(e0 + 32 - %s, %s - %s);\n", i, from, to, from);
    }
    close_loop(t);
    if (b.n > 1) {
        kern_print_line(p);
        base_str_fmt(p->out, "s%d.put(r%d.end(to - from), b, %" PRId64 ");\n", i, i, b.n);
        close_loop(t);
    }
    kern_print_inst(p, i);
}

/* Stores that move, in one loop; then those that do not, by one lane. */
static void put_stores(Text *t)
{
    Printer *p = &t->p;
    int moving = 0, resting = 0;
    memset(p->wanted, 0, (size_t)p->k->ninst);
    for (int i = 0; i < p->k->ninst; i++) {
        if (p->k->inst[i].code != KI_STORE) continue;
        p->wanted[i] = p->moves[i];
        moving += p->moves[i];
        resting += !p->moves[i];
    }
    if (moving) {
        kern_print_line(p);
        base_str_fmt(p->out, "const %s all = ", t->index);
        p->number(p, count(p->k, p->inner, p->inner_end));
        base_str_put(p->out, ";\n");
        open_inner(t, "0", "all");
        kern_print_wanted(p);
        for (int i = 0; i < p->k->ninst; i++)
            if (p->k->inst[i].code == KI_STORE && p->moves[i]) kern_print_store(p, &p->k->inst[i]);
        close_element(t);
        close_loop(t);
    }
    if (!resting) return;
    if (t->rows) {
        kern_print_line(p);
        base_str_put(p->out, "if (lane == 0) {\n");
        p->depth++;
    }
    for (int i = 0; i < p->k->ninst; i++)
        if (p->k->inst[i].code == KI_STORE && !p->moves[i]) kern_print_store(p, &p->k->inst[i]);
    if (t->rows) close_loop(t);
}

/* The loop over points, and in it what is kept, reduced and stored. */
static void put_body(Text *t)
{
    Printer *p = &t->p;
    const int unit = t->rows ? WARP : 1;
    kern_print_line(p);
    base_str_fmt(p->out, "const %s points = ", t->index);
    p->number(p, count(p->k, p->kept, p->kept_end));
    base_str_put(p->out, ";\n");
    if (t->rows) base_str_put(p->out, "    const int lane = threadIdx.x & 31;\n");
    base_str_fmt(p->out,
                 "    for (%s t = (blockIdx.x * (%s)blockDim.x + threadIdx.x) / %d; t < points;\n"
                 "         t += (%s)gridDim.x * blockDim.x / %d) {\n",
                 t->index, t->index, unit, t->index, unit);
    p->depth++;
    put_variables(t, "t", p->kept, p->kept_end);
    for (int i = 0; i < p->k->ninst; i++) {
        const KernInst *k = &p->k->inst[i];
        if (k->code == KI_REDUCE) put_reduction(t, i);
        else if (k->code != KI_STORE && !p->moves[i]) kern_print_inst(p, i);
    }
    put_stores(t);
    close_loop(t);
}

/* ---- how large indices become */

static int64_t size_of(int64_t x) { return x < 0 ? -x : x; }

static int64_t reach(const Kernel *k, const Affine *a)
{
    int64_t most = size_of(a->base);
    for (int v = 0; v < k->nvar; v++)
        if (k->extent[v] > 1) most += size_of(a->coef[v]) * (k->extent[v] - 1);
    return most;
}

/* Do 32 bits hold every index, and a step of the loops beyond? */
static bool is_small(const Kernel *k)
{
    const int64_t most = INT32_MAX / 4;
    if (count(k, 0, k->nvar) > most) return false;
    for (int i = 0; i < k->naccess; i++) {
        const Access *a = &k->access[i];
        if (reach(k, &a->at) > most) return false;
        for (int g = 0; g < a->nguard; g++)
            if (reach(k, &a->guard[g].at) > most || size_of(a->guard[g].lo) > most ||
                size_of(a->guard[g].hi) > most)
                return false;
    }
    return true;
}

/* ---- the plan */

/* What the body names comes before it. */
static void put_whole(Text *t, Str *body)
{
    CudaPlan *plan = t->plan;
    t->p.out = &plan->text;
    kern_print_pointers(&t->p, "q.a");
    for (int i = 0; i < plan->numbers.n; i++)
        base_str_fmt(&plan->text, "    const %s n%d = (%s)q.n[%d];\n", t->index, i, t->index, i);
    if (body->failed || t->failed) plan->text.failed = true;
    else base_str_add(&plan->text, body->at, body->n);
}

/* How many threads, and how they are cut into blocks. */
static void set_threads(const Text *t)
{
    const Kernel *k = t->p.k;
    t->plan->block = t->rows ? ROW_BLOCK : k->mode == KERN_COL ? COL_BLOCK : MAP_BLOCK;
    t->plan->threads = count(k, t->p.kept, t->p.kept_end) * (t->rows ? WARP : 1);
}

int cuda_plan_kernel(Ctx *cx, const Step *s, CudaPlan *out)
{
    const Kernel *k = s->kernel;
    Str body = {0};
    Text t = {.p = {.k = k,
                    .out = &body,
                    .kept_end = k->nvar,
                    .number = put_number,
                    .reduce = put_reduce},
              .plan = out,
              .index = is_small(k) ? "int" : "int64_t",
              .rows = k->mode == KERN_ROW || k->mode == KERN_LONG};
    CFile *f = base_mem_zero(1, sizeof *f);
    Printer *p = &t.p;
    p->arg = &t;
    if (t.rows) p->kept_end = k->nouter;
    if (k->mode == KERN_COL) p->kept = k->nouter;
    p->inner = k->mode == KERN_COL ? 0 : p->kept_end;
    p->inner_end = k->mode == KERN_COL ? k->nouter : k->nvar;
    p->moves = base_mem_zero((size_t)k->ninst + 1, sizeof *p->moves);
    p->wanted = base_mem_zero((size_t)k->ninst + 1, sizeof *p->wanted);
    bool fits = f && p->moves && p->wanted;
    for (int i = 0; i < s->nargs; i++) fits = fits && vec_push(&out->buffers, s->args[i]);
    if (fits) {
        f->d = &CUDA_DIALECT;
        p->f = f;
        p->depth = 1;
        kern_print_c_functions(f, k, &out->functions);
        kern_print_find_moving(p);
        put_body(&t);
        put_whole(&t, &body);
        set_threads(&t);
        snprintf(out->name, sizeof out->name, "%s", k->name);
    }
    base_str_free(&body);
    base_mem_free(f);
    base_mem_free(p->moves);
    base_mem_free(p->wanted);
    if (!fits || out->text.failed || out->functions.failed)
        return base_no_memory(cx, "a CUDA kernel");
    return SGL_OK;
}
