/* kernel.c: a kernel's text.
 *
 * One line for the loops and one for each instruction:
 *     row_softmax ROW [48] | [64]
 *       0 f32 load  arg 0 at 64*i + j
 *       1 f32 reduce_max 0         (one value a row)
 */
#include "kern/kernel.h"
#include <inttypes.h>

static const char VAR_NAMES[LOOP_MAX_VARS + 1] = "ijklmnopqrst";
static const char *const MODES[] = {"MAP", "ROW", "LONG", "COL"};

static void put_affine(const Affine *a, int nvar, Str *out)
{
    bool any = false;
    for (int v = 0; v < nvar; v++) {
        if (a->coef[v] == 0) continue;
        base_str_put(out, any ? " + " : "");
        if (a->coef[v] != 1) base_str_fmt(out, "%" PRId64 "*", a->coef[v]);
        base_str_fmt(out, "%c", VAR_NAMES[v]);
        any = true;
    }
    if (a->base != 0 || !any) base_str_fmt(out, "%s%" PRId64, any ? " + " : "", a->base);
}

/* An access as text: which argument, at which place, under which guards, and what stands for
 * elements outside. */
static void put_access(const Kernel *k, const KernInst *t, Str *out)
{
    const Access *a = &k->access[t->access];
    if (a->arg >= 0) base_str_fmt(out, " arg %d", a->arg);
    if (t->code != KI_MASK) {
        base_str_put(out, " at ");
        put_affine(&a->at, k->nvar, out);
    }
    for (int g = 0; g < a->nguard; g++) {
        base_str_fmt(out, "%s %" PRId64 " <= ", g == 0 ? " if" : " and", a->guard[g].lo);
        put_affine(&a->guard[g].at, k->nvar, out);
        base_str_fmt(out, " < %" PRId64, a->guard[g].hi);
    }
    if (t->code == KI_LOAD && a->nguard > 0) base_str_fmt(out, " else %.9g", t->value);
}

static const char *const CODES[] = {
    [KI_LOAD] = "load", [KI_CONST] = "const", [KI_INDEX] = "index",
    [KI_RAND] = "rand", [KI_MASK] = "mask",   [KI_OP] = NULL,
    [KI_CAST] = "cast", [KI_REDUCE] = NULL,   [KI_STORE] = "store",
};

/* An instruction as text: its number, dtype, code and operands. */
static void put_inst(const Kernel *k, int i, Str *out)
{
    const KernInst *t = &k->inst[i];
    const int32_t operand[] = {t->a, t->b, t->c};
    const char *code = CODES[t->code] != NULL ? CODES[t->code] : OPS[t->op].name;
    base_str_fmt(out, "%s%5d %-4s %s", i == k->post ? "  then\n" : "", i, DTYPES[t->dtype].name,
                 code);
    if (t->code == KI_RAND) base_str_fmt(out, " draw %d word %d", t->b, t->c);
    int operands = t->code == KI_RAND ? 0 : t->code == KI_REDUCE ? 1 : 3;
    for (int o = 0; o < operands; o++)
        if (operand[o] >= 0) base_str_fmt(out, " %d", operand[o]);
    if (t->code == KI_REDUCE && t->b > 1) base_str_fmt(out, " blocks %d units %d", t->b, t->c);
    if (t->code == KI_CONST) base_str_fmt(out, " %.9g", t->value);
    if (t->access >= 0) put_access(k, t, out);
    base_str_put(out, t->scalar ? "  (a row)\n" : "\n");
}

void kern_print(const Kernel *k, Str *out)
{
    base_str_fmt(out, "%s %s [", k->name, MODES[k->mode]);
    for (int v = 0; v < k->nvar; v++) {
        const char *before = v == k->nouter && v > 0 ? "] | [" : v > 0 ? ", " : "";
        base_str_fmt(out, "%s%" PRId64, before, k->extent[v]);
    }
    base_str_put(out, "]\n");
    for (int i = 0; i < k->ninst; i++) put_inst(k, i, out);
}
