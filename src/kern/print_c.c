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
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "kern/print_c.h"

typedef struct Printer {
    const CFile *f;
    const Kernel *k;
    Str *out;
    int kept, kept_end, inner, inner_end; /* ranges of variables */
    bool *moves;                          /* by instruction: changes along the inner variables */
    bool *wanted;                         /* of the loop that is printed */
    int depth;
} Printer;

static const char NAMES[LOOP_MAX_VARS + 1] = "ijklmnopqrst";

static void line(const Printer *p)
{
    for (int i = 0; i < p->depth; i++) base_str_put(p->out, "    ");
}

static void put_affine(const Printer *p, const Affine *a)
{
    bool any = false;
    for (int v = 0; v < p->k->nvar; v++) {
        if (a->coef[v] == 0 || p->k->extent[v] == 1) continue;
        base_str_put(p->out, any ? " + " : "");
        if (a->coef[v] != 1) base_str_fmt(p->out, "%" PRId64 "*", a->coef[v]);
        base_str_fmt(p->out, "%c", NAMES[v]);
        any = true;
    }
    if (a->base != 0 || !any) base_str_fmt(p->out, "%s%" PRId64, any ? " + " : "", a->base);
}

static void put_guards(const Printer *p, const Access *a)
{
    for (int g = 0; g < a->nguard; g++) {
        base_str_fmt(p->out, "%s%" PRId64 " <= ", g ? " && " : "", a->guard[g].lo);
        put_affine(p, &a->guard[g].at);
        base_str_put(p->out, " && ");
        put_affine(p, &a->guard[g].at);
        base_str_fmt(p->out, " < %" PRId64, a->guard[g].hi);
    }
    if (a->nguard == 0) base_str_put(p->out, "1");
}

static void put_element(const Printer *p, const Access *a)
{
    base_str_fmt(p->out, "a%d_%s[", a->arg, DTYPES[a->dtype].name);
    put_affine(p, &a->at);
    base_str_put(p->out, "]");
}

/* A number of the dtype as a constant of its register. */
static void put_value(const Printer *p, Dtype d, double value)
{
    uint64_t bits = 0;
    Dtype reg = kern_c_register(d);
    ir_dtype_store(reg, &bits, 0, ir_dtype_round(d, value));
    kern_print_bits(ir_expr_type(d), bits, p->out);
}

/* ---- one function for each code: what its value is ---- */

static void put_load(const Printer *p, const KernInst *t)
{
    const Access *a = &p->k->access[t->access];
    bool f16 = a->dtype == DT_f16, narrow = f16 || a->dtype == DT_bf16;
    if (a->nguard > 0) put_guards(p, a);
    if (a->nguard > 0) base_str_put(p->out, " ? ");
    if (narrow) base_str_fmt(p->out, "%s(", kern_c_fn(f16 ? EXPR_WIDEN_F16 : EXPR_WIDEN_BF16));
    put_element(p, a);
    if (narrow) base_str_put(p->out, ")");
    if (a->nguard == 0) return;
    base_str_put(p->out, " : ");
    put_value(p, a->dtype, t->value);
}

static void put_const(const Printer *p, const KernInst *t)
{
    put_value(p, (Dtype)t->dtype, t->value);
}

static void put_index(const Printer *p, const KernInst *t)
{
    base_str_fmt(p->out, "(%s)(", kern_c_type(p->f, (Dtype)t->dtype));
    put_affine(p, &p->k->access[t->access].at);
    base_str_put(p->out, ")");
}

static void put_rand(const Printer *p, const KernInst *t)
{
    const Access *a = &p->k->access[t->access];
    base_str_fmt(p->out, "%s(%s(a%d_i64[0], a%d_i64[1] + %d, 0, ", kern_c_fn(EXPR_UNIFORM),
                 kern_c_fn(EXPR_RAND_WORD), a->arg, a->arg, t->b);
    put_affine(p, &a->at);
    base_str_fmt(p->out, ", %d))", t->c);
}

static void put_mask(const Printer *p, const KernInst *t)
{
    put_guards(p, &p->k->access[t->access]);
}

/* In place where it is one micro-op, else a call. */
static void put_applied(const Printer *p, const Expr *e, const KernInst *t, const char *name)
{
    char text[3][16];
    const int operand[3] = {t->a, t->b, t->c};
    const char *names[3] = {text[0], text[1], text[2]};
    for (int i = 0; i < 3; i++) snprintf(text[i], sizeof text[i], "v%d", operand[i]);
    if (!e || kern_print_inline(p->f->d, e, names, p->out)) return;
    base_str_fmt(p->out, "%s(", name);
    for (int i = 0; i < e->inputs; i++) base_str_fmt(p->out, "%s%s", i ? ", " : "", names[i]);
    base_str_put(p->out, ")");
}

static void put_op(const Printer *p, const KernInst *t)
{
    Dtype from = kern_c_register((Dtype)t->from);
    char name[48];
    snprintf(name, sizeof name, "%s_%s", OPS[t->op].name, DTYPES[from].name);
    put_applied(p, ir_expr_op((Op)t->op, from), t, name);
}

static void put_cast(const Printer *p, const KernInst *t)
{
    Dtype from = kern_c_register((Dtype)t->from);
    char name[48];
    snprintf(name, sizeof name, "cast_%s_to_%s", DTYPES[from].name, DTYPES[t->dtype].name);
    put_applied(p, ir_expr_cast(from, (Dtype)t->dtype), t, name);
}

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

static void (*const PUT[])(const Printer *, const KernInst *) = {
    [KI_LOAD] = put_load, [KI_CONST] = put_const, [KI_INDEX] = put_index, [KI_RAND] = put_rand,
    [KI_MASK] = put_mask, [KI_OP] = put_op,       [KI_CAST] = put_cast,   [KI_REDUCE] = put_reduce,
};

/* Rule N1: a result has its dtype. Loads and casts have it already. */
static bool rounds(const KernInst *t)
{
    return (t->dtype == DT_f16 || t->dtype == DT_bf16) &&
           (t->code == KI_OP || t->code == KI_REDUCE || t->code == KI_INDEX || t->code == KI_RAND);
}

static void put_inst(const Printer *p, int i)
{
    const KernInst *t = &p->k->inst[i];
    const char *name = DTYPES[t->dtype].name;
    line(p);
    base_str_fmt(p->out, "const %s v%d = ", kern_c_type(p->f, (Dtype)t->dtype), i);
    if (rounds(t)) base_str_fmt(p->out, "cast_f32_to_%s(", name);
    PUT[t->code](p, t);
    base_str_put(p->out, rounds(t) ? ");\n" : ";\n");
}

static void put_store(const Printer *p, const KernInst *t)
{
    const Access *a = &p->k->access[t->access];
    const char *narrow = a->dtype == DT_f16    ? kern_c_fn(EXPR_NARROW_F16)
                         : a->dtype == DT_bf16 ? kern_c_fn(EXPR_NARROW_BF16)
                                               : NULL;
    line(p);
    put_element(p, a);
    base_str_put(p->out, " = ");
    if (narrow) base_str_fmt(p->out, "%s(v%d);\n", narrow, t->a);
    else base_str_fmt(p->out, "v%d;\n", t->a);
}

/* ---- loops ---- */

static void open_loops(Printer *p, int first, int last)
{
    for (int v = first; v < last; v++) {
        if (p->k->extent[v] == 1) continue;
        line(p);
        base_str_fmt(p->out, "for (int64_t %c = 0; %c < %" PRId64 "; %c++) {\n", NAMES[v], NAMES[v],
                     p->k->extent[v], NAMES[v]);
        p->depth++;
    }
}

static void close_loops(Printer *p, int first, int last)
{
    for (int v = first; v < last; v++) {
        if (p->k->extent[v] == 1) continue;
        p->depth--;
        line(p);
        base_str_put(p->out, "}\n");
    }
}

static int operands(const KernInst *t, int of[3])
{
    of[0] = t->a;
    of[1] = t->b;
    of[2] = t->c;
    return t->code == KI_OP ? OPS[t->op].inputs
                            : t->code == KI_CAST || t->code == KI_STORE || t->code == KI_REDUCE;
}

static bool depends(const Printer *p, const Access *a)
{
    for (int v = p->inner; v < p->inner_end; v++) {
        if (p->k->extent[v] == 1) continue;
        if (a->at.coef[v] != 0) return true;
        for (int g = 0; g < a->nguard; g++)
            if (a->guard[g].at.coef[v] != 0) return true;
    }
    return false;
}

static void find_moving(Printer *p)
{
    for (int i = 0; i < p->k->ninst; i++) {
        const KernInst *t = &p->k->inst[i];
        int of[3], n = operands(t, of);
        p->moves[i] = t->access >= 0 && depends(p, &p->k->access[t->access]);
        for (int j = 0; j < n && t->code != KI_REDUCE; j++)
            p->moves[i] = p->moves[i] || p->moves[of[j]];
    }
}

/* The moving instructions that the wanted ones need, in order. */
static void put_wanted(const Printer *p)
{
    for (int i = p->k->ninst - 1; i >= 0; i--) {
        int of[3], n = operands(&p->k->inst[i], of);
        for (int j = 0; j < n && p->wanted[i] && p->moves[i]; j++) p->wanted[of[j]] = true;
    }
    for (int i = 0; i < p->k->ninst; i++)
        if (p->wanted[i] && p->moves[i] && p->k->inst[i].code != KI_STORE) put_inst(p, i);
}

/* Instruction i is a reduction: the loop that fills r<i>. */
static void put_reduction(Printer *p, int i)
{
    const KernInst *t = &p->k->inst[i];
    memset(p->wanted, 0, (size_t)p->k->ninst);
    p->wanted[t->a] = true;
    line(p);
    base_str_put(p->out, "n = 0;\n");
    open_loops(p, p->inner, p->inner_end);
    put_wanted(p);
    line(p);
    base_str_fmt(p->out, "r%d[n++] = v%d;\n", i, t->a);
    close_loops(p, p->inner, p->inner_end);
    put_inst(p, i);
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
        put_wanted(p);
        for (int i = 0; i < p->k->ninst; i++)
            if (p->k->inst[i].code == KI_STORE && p->moves[i]) put_store(p, &p->k->inst[i]);
        close_loops(p, p->inner, p->inner_end);
    }
    for (int i = 0; i < p->k->ninst; i++)
        if (p->k->inst[i].code == KI_STORE && !p->moves[i]) put_store(p, &p->k->inst[i]);
}

static void put_body(Printer *p)
{
    open_loops(p, p->kept, p->kept_end);
    for (int i = 0; i < p->k->ninst; i++) {
        const KernInst *t = &p->k->inst[i];
        if (t->code == KI_REDUCE) put_reduction(p, i);
        else if (t->code != KI_STORE && !p->moves[i]) put_inst(p, i);
    }
    put_stores(p);
    close_loops(p, p->kept, p->kept_end);
}

/* ---- the function ---- */

static bool is_stored(const Kernel *k, const Access *a)
{
    for (int i = 0; i < k->ninst; i++)
        if (k->inst[i].code == KI_STORE && &k->access[k->inst[i].access] == a) return true;
    return false;
}

/* A pointer for each buffer and type it is seen as. */
static void put_pointers(const Printer *p)
{
    for (int i = 0; i < p->k->naccess; i++) {
        const Access *a = &p->k->access[i];
        bool known = a->arg < 0, stored = is_stored(p->k, a);
        for (int j = 0; j < p->k->naccess; j++) {
            const Access *b = &p->k->access[j];
            if (b->arg != a->arg || b->dtype != a->dtype) continue;
            known = known || j < i;
            stored = stored || is_stored(p->k, b);
        }
        if (known) continue;
        base_str_fmt(p->out, "    %s%s *a%d_%s = arg[%d];\n", stored ? "" : "const ",
                     kern_c_memory(p->f, a->dtype), a->arg, DTYPES[a->dtype].name, a->arg);
    }
}

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
    put_pointers(p);
    bool arrays = put_arrays(p);
    p->depth = 1;
    find_moving(p);
    put_body(p);
    base_str_put(p->out, arrays ? "    free(memory);\n    return 0;\n}\n" : "    return 0;\n}\n");
}

void kern_print_c(CFile *f, const Kernel *k, const char *name, Str *out)
{
    Printer p = {.f = f, .k = k, .out = out, .kept_end = k->nvar};
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
