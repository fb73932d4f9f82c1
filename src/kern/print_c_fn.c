/* print_c_fn.c: the functions that printed kernels call: values of ops, conversions, reductions.
 *
 * In:   a kernel; which functions the file has.
 * Out:  those it lacks, as text.
 * Holds: a reduction combines by the value of the binary op of its kind (sum: add), in the orders
 *        of rules N2 and N3 (kernel.h), which is what the loops of cpu/reduce_isa.c do.
 */
#include "kern/print_c.h"

static const char *const FN_NAMES[EXPR_FN_COUNT] = {
    [EXPR_WIDEN_F16] = "widen_f16",   [EXPR_WIDEN_BF16] = "widen_bf16",
    [EXPR_NARROW_F16] = "narrow_f16", [EXPR_NARROW_BF16] = "narrow_bf16",
    [EXPR_RAND_WORD] = "rand_word",   [EXPR_UNIFORM] = "uniform",
};

/* How reductions combine and what they start from, by type of register; real: f32 and f64. */
static const struct Fold {
    int op, by;
    const char *real, *i32, *i64, *u8;
} FOLDS[] = {
    {OP_sum, OP_add, "-0.0", "0", "0", "0"},
    {OP_prod, OP_mul, "1", "1", "1", "1"},
    {OP_reduce_max, OP_max, "-INFINITY", "INT32_MIN", "INT64_MIN", "0"},
    {OP_reduce_min, OP_min, "INFINITY", "INT32_MAX", "INT64_MAX", "UINT8_MAX"},
    {OP_argmax, OP_gt, "-INFINITY", "INT32_MIN", "INT64_MIN", "0"},
    {OP_argmin, OP_lt, "INFINITY", "INT32_MAX", "INT64_MAX", "UINT8_MAX"},
};

static const struct Fold *fold_of(int op)
{
    const struct Fold *f = FOLDS;
    while (f->op != op) f++;
    return f;
}

static const char *identity(const struct Fold *f, Dtype d)
{
    return d == DT_i32 ? f->i32 : d == DT_i64 ? f->i64 : d == DT_u8 ? f->u8 : f->real;
}

Dtype kern_c_register(Dtype d)
{
    static const Dtype of[DT_COUNT] = {
        [DT_bool] = DT_u8, [DT_u8] = DT_u8,    [DT_i32] = DT_i32, [DT_i64] = DT_i64,
        [DT_f16] = DT_f32, [DT_bf16] = DT_f32, [DT_f32] = DT_f32, [DT_f64] = DT_f64,
    };
    return of[d];
}

const char *kern_c_type(const CFile *f, Dtype d) { return f->d->type[ir_expr_type(d)]; }

const char *kern_c_memory(const CFile *f, Dtype d)
{
    return d == DT_f16 || d == DT_bf16 ? f->d->type[EXT_u16] : kern_c_type(f, d);
}

const char *kern_c_fn(ExprFn fn) { return FN_NAMES[fn]; }

bool kern_c_best(int op) { return op == OP_argmax || op == OP_argmin; }

/* Sums and products of u8 and bool are taken in i32. */
Dtype kern_c_accumulator(const KernInst *t)
{
    Dtype d = kern_c_register((Dtype)t->from);
    return d == DT_u8 && (t->op == OP_sum || t->op == OP_prod) ? DT_i32 : d;
}

/* ---- values ---- */

static void put_named(const CFile *f, const Expr *e, bool *known, Str *name, Str *out)
{
    if (e && !*known && !name->failed) {
        kern_print_expr(f->d, e, name->at, out);
        base_str_put(out, "\n");
        *known = true;
    }
    out->failed = out->failed || name->failed || !e;
    base_str_free(name);
}

static void need_op(CFile *f, int op, Dtype from, Str *out)
{
    Str name = {0};
    from = kern_c_register(from);
    base_str_fmt(&name, "%s_%s", OPS[op].name, DTYPES[from].name);
    put_named(f, ir_expr_op((Op)op, from), &f->op[op][from], &name, out);
}

static void need_cast(CFile *f, Dtype from, Dtype to, Str *out)
{
    Str name = {0};
    from = kern_c_register(from);
    base_str_fmt(&name, "cast_%s_to_%s", DTYPES[from].name, DTYPES[to].name);
    put_named(f, ir_expr_cast(from, to), &f->cast[from][to], &name, out);
}

static void need_fn(CFile *f, ExprFn fn, Str *out)
{
    Str name = {0};
    base_str_put(&name, FN_NAMES[fn]);
    put_named(f, ir_expr_fn(fn), &f->fn[fn], &name, out);
}

/* What a result of a 16-bit float goes through after each instruction. */
static void need_rounding(CFile *f, Dtype d, Str *out)
{
    if (d == DT_f16 || d == DT_bf16) need_cast(f, d, d, out);
}

static void need_memory(CFile *f, Dtype d, bool store, Str *out)
{
    if (d == DT_f16) need_fn(f, store ? EXPR_NARROW_F16 : EXPR_WIDEN_F16, out);
    if (d == DT_bf16) need_fn(f, store ? EXPR_NARROW_BF16 : EXPR_WIDEN_BF16, out);
}

/* ---- reductions ---- */

#define LANES IR_NUMBER_TEXT(IR_LANES)
#define ROW_CHUNK IR_NUMBER_TEXT(IR_ROW_CHUNK)
#define COLUMN_BLOCK IR_NUMBER_TEXT(IR_COLUMN_BLOCK)

/* $a: type, $n: its name, $o: op, $k: kind of order, $c: how two combine, $i: identity. */
static const char ROW_TEXT[] =
    "/* Rule N2, for a part of n elements of a row of `longest`: v is overwritten. */\n"
    "static $a row_$o_$n($a *v, int64_t n, int64_t longest)\n"
    "{\n"
    "    for (; longest >= " LANES "; longest = (longest + " ROW_CHUNK " - 1) / " ROW_CHUNK ") {\n"
    "        int64_t chunks = 0;\n"
    "        for (int64_t first = 0; first < n; first += " ROW_CHUNK ", chunks++) {\n"
    "            $a lane[" LANES "];\n"
    "            for (int l = 0; l < " LANES "; l++) lane[l] = $i;\n"
    "            for (int64_t j = 0; j < " ROW_CHUNK " && first + j < n; j++)\n"
    "                lane[j % " LANES "] = $c(lane[j % " LANES "], v[first + j]);\n"
    "            for (int half = " LANES " / 2; half >= 1; half /= 2)\n"
    "                for (int l = 0; l < half; l++) lane[l] = $c(lane[l], lane[l + half]);\n"
    "            v[chunks] = lane[0];\n"
    "        }\n"
    "        n = chunks;\n"
    "    }\n"
    "    $a a = $i;\n"
    "    for (int64_t j = 0; j < n; j++) a = $c(a, v[j]);\n"
    "    return a;\n"
    "}\n\n";
static const char COLUMN_TEXT[] =
    "/* Rule N3: v is overwritten. What a part lacks of the longest is neutral. */\n"
    "static $a column_$o_$n($a *v, int64_t n, int64_t longest)\n"
    "{\n"
    "    (void)longest;\n"
    "    if (n == 0) return $i;\n"
    "    do {\n"
    "        int64_t blocks = 0;\n"
    "        for (int64_t first = 0; first < n; first += " COLUMN_BLOCK ", blocks++) {\n"
    "            $a a = $i;\n"
    "            for (int64_t j = first; j < n && j < first + " COLUMN_BLOCK
    "; j++) a = $c(a, v[j]);\n"
    "            v[blocks] = a;\n"
    "        }\n"
    "        n = blocks;\n"
    "    } while (n > 1);\n"
    "    return v[0];\n"
    "}\n\n";
static const char TREE_TEXT[] =
    "/* Rule N6: blocks lo to hi of `blocks` over n elements in `units`. */\n"
    "static $a $k_$o_$n_tree($a *v, int64_t n, int64_t longest, int64_t blocks, int64_t units,\n"
    "                        int64_t lo, int64_t hi)\n"
    "{\n"
    "    if (hi - lo == 1) {\n"
    "        int64_t first = lo * units / blocks * (n / units);\n"
    "        return $k_$o_$n(v + first, hi * units / blocks * (n / units) - first, longest);\n"
    "    }\n"
    "    const $a left = $k_$o_$n_tree(v, n, longest, blocks, units, lo, (lo + hi) / 2);\n"
    "    const $a right = $k_$o_$n_tree(v, n, longest, blocks, units, (lo + hi) / 2, hi);\n"
    "    return $c(left, right);\n"
    "}\n\n";
static const char BEST_TEXT[] =
    "/* Rule N4: the first of equals; a NaN beats all but a NaN. */\n"
    "static int32_t $o_$n(const $a *v, int64_t n)\n"
    "{\n"
    "    $a best = $i;\n"
    "    int32_t at = 0;\n"
    "    for (int64_t j = 0; j < n; j++)\n"
    "        if ($c(v[j], best) || (v[j] != v[j] && best == best)) best = v[j], at = (int32_t)j;\n"
    "    return at;\n"
    "}\n\n";

static void put_fold(const CFile *f, const char *text, const struct Fold *fold, Dtype d,
                     const char *kind, Str *out)
{
    for (const char *s = text; *s; s++) {
        if (*s != '$') base_str_add(out, s, 1);
        else if (*++s == 'a') base_str_put(out, kern_c_type(f, d));
        else if (*s == 'n') base_str_put(out, DTYPES[d].name);
        else if (*s == 'o') base_str_put(out, OPS[fold->op].name);
        else if (*s == 'i') base_str_put(out, identity(fold, d));
        else if (*s == 'k') base_str_put(out, kind);
        else base_str_fmt(out, "%s_%s", OPS[fold->by].name, DTYPES[d].name);
    }
}

/* The function of a reduction, and of the tree that blocks of it meet in. */
static void need_reduce(CFile *f, const Kernel *k, const KernInst *t, Str *out)
{
    Dtype d = kern_c_accumulator(t);
    bool best = kern_c_best(t->op), column = k->mode == KERN_COL && !best;
    bool *known = &f->fold[column][t->op][d], *tree = &f->tree[column][t->op][d];
    const char *kind = column ? "column" : "row";
    const struct Fold *fold = fold_of(t->op);
    need_op(f, fold->by, d, out);
    if (f->d->fold) {
        bool *said = &f->fold[0][t->op][d];
        if (!*said) put_fold(f, f->d->fold, fold, d, "", out);
        *said = true;
        return;
    }
    if (!*known)
        put_fold(f, best ? BEST_TEXT : column ? COLUMN_TEXT : ROW_TEXT, fold, d, kind, out);
    if (!*tree && kern_blocks(t).n > 1) put_fold(f, TREE_TEXT, fold, d, kind, out);
    *known = true;
    *tree = *tree || kern_blocks(t).n > 1;
}

void kern_print_c_functions(CFile *f, const Kernel *k, Str *out)
{
    for (int i = 0; i < k->ninst; i++) {
        const KernInst *t = &k->inst[i];
        Dtype dtype = (Dtype)t->dtype, from = (Dtype)t->from;
        if (t->code == KI_LOAD || t->code == KI_STORE)
            need_memory(f, dtype, t->code == KI_STORE, out);
        else need_rounding(f, dtype, out);
        if (t->code == KI_OP) need_op(f, t->op, from, out);
        if (t->code == KI_CAST) need_cast(f, from, dtype, out);
        if (t->code == KI_REDUCE) need_reduce(f, k, t, out);
        if (t->code == KI_RAND) need_fn(f, EXPR_RAND_WORD, out);
        if (t->code == KI_RAND) need_fn(f, EXPR_UNIFORM, out);
    }
}
