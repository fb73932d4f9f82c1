/* print_inst.c: instructions of a kernel as statements of a language like C.
 *
 * In:   a Printer: the kernel, the dialect, how numbers and reductions are said.
 * Out:  const float v7 = exp_f32(v6); or a store.
 * Holds: nothing here knows how the loops around the statements are made.
 */
#include <inttypes.h>
#include <stdio.h>
#include "kern/print_inst.h"

const char KERN_VARIABLES[LOOP_MAX_VARS + 1] = "ijklmnopqrst";

void kern_print_line(const Printer *p)
{
    for (int i = 0; i < p->depth; i++) base_str_put(p->out, "    ");
}

/* "3*i + j + 7"; what is 0 or 1 leaves no trace. */
static void put_affine(const Printer *p, const Affine *a)
{
    bool any = false;
    for (int v = 0; v < p->k->nvar; v++) {
        if (a->coef[v] == 0 || p->k->extent[v] == 1) continue;
        base_str_put(p->out, any ? " + " : "");
        if (a->coef[v] != 1) p->number(p, a->coef[v]);
        if (a->coef[v] != 1) base_str_put(p->out, "*");
        base_str_fmt(p->out, "%c", KERN_VARIABLES[v]);
        any = true;
    }
    if (a->base == 0 && any) return;
    base_str_put(p->out, any ? " + " : "");
    if (a->base == 0) base_str_put(p->out, "0");
    else p->number(p, a->base);
}

static void put_guards(const Printer *p, const Access *a)
{
    for (int g = 0; g < a->nguard; g++) {
        base_str_put(p->out, g ? " && " : "");
        p->number(p, a->guard[g].lo);
        base_str_put(p->out, " <= ");
        put_affine(p, &a->guard[g].at);
        base_str_put(p->out, " && ");
        put_affine(p, &a->guard[g].at);
        base_str_put(p->out, " < ");
        p->number(p, a->guard[g].hi);
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

static void put_reduce(const Printer *p, const KernInst *t) { p->reduce(p, t); }

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

void kern_print_inst(const Printer *p, int i)
{
    const KernInst *t = &p->k->inst[i];
    const char *name = DTYPES[t->dtype].name;
    kern_print_line(p);
    base_str_fmt(p->out, "const %s v%d = ", kern_c_type(p->f, (Dtype)t->dtype), i);
    if (rounds(t)) base_str_fmt(p->out, "cast_f32_to_%s(", name);
    PUT[t->code](p, t);
    base_str_put(p->out, rounds(t) ? ");\n" : ";\n");
}

void kern_print_store(const Printer *p, const KernInst *t)
{
    const Access *a = &p->k->access[t->access];
    const char *narrow = a->dtype == DT_f16    ? kern_c_fn(EXPR_NARROW_F16)
                         : a->dtype == DT_bf16 ? kern_c_fn(EXPR_NARROW_BF16)
                                               : NULL;
    kern_print_line(p);
    put_element(p, a);
    base_str_put(p->out, " = ");
    if (narrow) base_str_fmt(p->out, "%s(v%d);\n", narrow, t->a);
    else base_str_fmt(p->out, "v%d;\n", t->a);
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

void kern_print_find_moving(Printer *p)
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
void kern_print_wanted(const Printer *p)
{
    for (int i = p->k->ninst - 1; i >= 0; i--) {
        int of[3], n = operands(&p->k->inst[i], of);
        for (int j = 0; j < n && p->wanted[i] && p->moves[i]; j++) p->wanted[of[j]] = true;
    }
    for (int i = 0; i < p->k->ninst; i++)
        if (p->wanted[i] && p->moves[i] && p->k->inst[i].code != KI_STORE) kern_print_inst(p, i);
}

static bool is_stored(const Kernel *k, const Access *a)
{
    for (int i = 0; i < k->ninst; i++)
        if (k->inst[i].code == KI_STORE && &k->access[k->inst[i].access] == a) return true;
    return false;
}

/* A pointer for each buffer and type it is seen as. */
void kern_print_pointers(const Printer *p, const char *from)
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
        base_str_fmt(p->out, "    %s%s *a%d_%s = (%s%s *)%s[%d];\n", stored ? "" : "const ",
                     kern_c_memory(p->f, a->dtype), a->arg, DTYPES[a->dtype].name,
                     stored ? "" : "const ", kern_c_memory(p->f, a->dtype), from, a->arg);
    }
}
