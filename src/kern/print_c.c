/* print_c.c: a kernel as a C function: its loop nest, point by point.
 *
 * In:   a kernel.
 * Out:  static int row_softmax(void *const *arg) { … }
 * The loops that keep a result's place (all of a MAP, the rows of ROW and LONG, the lanes of COL)
 * are outside. In them stand, in the order of the kernel, the instructions with one value there.
 * A reduction is a loop over the reduced variables that fills an array, and a function that reduces
 * the array; stores along the reduced variables are one more such loop. Each loop computes what it
 * needs anew, which gives the same bits. Stores come last, as in the tile interpreter.
 */
#include <inttypes.h>
#include <string.h>
#include "base/mem.h"
#include "kern/print_inst.h"

static void put_number(const Printer *p, Num n) { base_str_fmt(p->out, "%" PRId64, n); }

/* Elements that a reduction takes. */
static int64_t length(const Printer *p)
{
    int64_t n = 1;
    for (int v = p->inner; v < p->inner_end; v++) n *= p->k->extent[v];
    return n;
}

static void put_reduce(const Printer *p, const KernInst *t)
{
    const Blocks b = kern_blocks(t);
    const char *kind = kern_c_best(t->op) ? "" : p->k->mode == KERN_COL ? "column_" : "row_";
    base_str_fmt(p->out, "%s%s_%s%s(r%d, n", kind, OPS[t->op].name,
                 DTYPES[kern_c_accumulator(t)].name, b.n > 1 ? "_tree" : "", (int)(t - p->k->inst));
    if (b.n > 1)
        base_str_fmt(p->out, ", %" PRId64 ", %" PRId64 ", %" PRId64 ", 0, %" PRId64,
                     ir_block_longest(b, length(p)), b.n, b.units, b.n);
    else if (!kern_c_best(t->op)) base_str_put(p->out, ", n");
    base_str_put(p->out, ")");
}

/* ---- loops ---- */

static void open_loops(Printer *p, int first, int last)
{
    for (int v = first; v < last; v++) {
        if (p->k->extent[v] == 1) continue;
        kern_print_line(p);
        base_str_fmt(p->out, "for (int64_t %c = 0; %c < %" PRId64 "; %c++) {\n", KERN_VARIABLES[v],
                     KERN_VARIABLES[v], p->k->extent[v], KERN_VARIABLES[v]);
        p->depth++;
    }
}

static void close_loops(Printer *p, int first, int last)
{
    for (int v = first; v < last; v++) {
        if (p->k->extent[v] == 1) continue;
        p->depth--;
        kern_print_line(p);
        base_str_put(p->out, "}\n");
    }
}

/* Instruction i is a reduction: the loop that fills r<i>. */
static void put_reduction(Printer *p, int i)
{
    const KernInst *t = &p->k->inst[i];
    memset(p->wanted, 0, (size_t)p->k->ninst);
    p->wanted[t->a] = true;
    kern_print_line(p);
    base_str_put(p->out, "n = 0;\n");
    open_loops(p, p->inner, p->inner_end);
    kern_print_wanted(p);
    kern_print_line(p);
    base_str_fmt(p->out, "r%d[n++] = v%d;\n", i, t->a);
    close_loops(p, p->inner, p->inner_end);
    kern_print_inst(p, i);
}

/* Stores that move, in one loop; then those that do not. */
static void put_stores(Printer *p)
{
    int moving = 0;
    memset(p->wanted, 0, (size_t)p->k->ninst);
    for (int i = 0; i < p->k->ninst; i++) {
        p->wanted[i] = p->k->inst[i].code == KI_STORE && p->moves[i];
        moving += p->wanted[i];
    }
    if (moving > 0) {
        open_loops(p, p->inner, p->inner_end);
        kern_print_wanted(p);
        for (int i = 0; i < p->k->ninst; i++)
            if (p->k->inst[i].code == KI_STORE && p->moves[i]) kern_print_store(p, &p->k->inst[i]);
        close_loops(p, p->inner, p->inner_end);
    }
    for (int i = 0; i < p->k->ninst; i++)
        if (p->k->inst[i].code == KI_STORE && !p->moves[i]) kern_print_store(p, &p->k->inst[i]);
}

static void put_body(Printer *p)
{
    open_loops(p, p->kept, p->kept_end);
    for (int i = 0; i < p->k->ninst; i++) {
        const KernInst *t = &p->k->inst[i];
        if (t->code == KI_REDUCE) put_reduction(p, i);
        else if (t->code != KI_STORE && !p->moves[i]) kern_print_inst(p, i);
    }
    put_stores(p);
    close_loops(p, p->kept, p->kept_end);
}

/* ---- the function ---- */

/* One piece of memory holds an array for each reduction. */
static bool put_arrays(const Printer *p)
{
    int64_t n = length(p);
    int reductions = 0;
    for (int i = 0; i < p->k->ninst; i++) reductions += p->k->inst[i].code == KI_REDUCE;
    if (reductions == 0) return false;
    base_str_fmt(p->out,
                 "    int64_t n = %" PRId64 ";\n"
                 "    char *memory = malloc((size_t)n * %d);\n"
                 "    if (!memory) return -1;\n",
                 n, reductions * 8);
    for (int i = 0, at = 0; i < p->k->ninst; i++) {
        const KernInst *t = &p->k->inst[i];
        if (t->code != KI_REDUCE) continue;
        const char *type = kern_c_type(p->f, kern_c_accumulator(t));
        base_str_fmt(p->out, "    %s *r%d = (%s *)(memory + %" PRId64 ");\n", type, i, type,
                     n * 8 * at++);
    }
    return true;
}

static void put_function(Printer *p, const char *name)
{
    base_str_fmt(p->out, "static int %s(void *const *arg)\n{\n", name);
    kern_print_pointers(p, "arg");
    bool arrays = put_arrays(p);
    p->depth = 1;
    kern_print_find_moving(p);
    put_body(p);
    base_str_put(p->out, arrays ? "    free(memory);\n    return 0;\n}\n" : "    return 0;\n}\n");
}

void kern_print_c(CFile *f, const Kernel *k, const char *name, Str *out)
{
    Printer p = {.f = f,
                 .k = k,
                 .out = out,
                 .kept_end = k->nvar,
                 .number = put_number,
                 .reduce = put_reduce};
    if (k->mode == KERN_ROW || k->mode == KERN_LONG) p.kept_end = k->nouter;
    if (k->mode == KERN_COL) p.kept = k->nouter;
    p.inner = k->mode == KERN_COL ? 0 : p.kept_end;
    p.inner_end = k->mode == KERN_COL ? k->nouter : k->nvar;
    p.moves = base_mem_zero((size_t)k->ninst + 1, sizeof *p.moves);
    p.wanted = base_mem_zero((size_t)k->ninst + 1, sizeof *p.wanted);
    kern_print_c_functions(f, k, out);
    if (p.moves && p.wanted) put_function(&p, name);
    else out->failed = true;
    base_mem_free(p.moves);
    base_mem_free(p.wanted);
}
