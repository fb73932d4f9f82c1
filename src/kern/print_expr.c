/* print_expr.c: values as C functions, a line for each micro-op.
 *
 * In:   an Expr, a dialect of C.
 * Out:  text:
 *           static inline float softsign_f32(float x0)
 *           {
 *               const float t1 = fabsf(x0);
 *               …
 *               return t4;
 *           }
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "ir/math.h"
#include "kern/print_c.h"

const CDialect KERN_C = {
    .type = {"int", "uint8_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float",
             "double"},
    .function = "static inline ",
    .prelude =
        "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
        "static inline int32_t bits_of_f32(float x) { int32_t i; memcpy(&i, &x, 4); return i; }\n"
        "static inline float f32_of_bits(int32_t i) { float x; memcpy(&x, &i, 4); return x; }\n"
        "static inline uint64_t bits_of_f64(double x) { uint64_t i; memcpy(&i, &x, 8); return i; "
        "}\n"
        "static inline double f64_of_bits(uint64_t i) { double x; memcpy(&x, &i, 8); return x; }\n",
};

static const char *const SHORT[EXT_COUNT] = {"truth", "u8",  "u16", "i32", "u32",
                                             "i64",   "u64", "f32", "f64"};

static ExprType unsigned_of(ExprType type)
{
    return type == EXT_i32 ? EXT_u32 : type == EXT_i64 ? EXT_u64 : type;
}

/* Floats in hexadecimal, so that nothing is rounded. */
static void put_float(ExprType type, double v, Str *out)
{
    const char *f = type == EXT_f32 ? "f" : "";
    if (isinf(v)) base_str_put(out, v < 0 ? "-INFINITY" : "INFINITY");
    else if (v == floor(v) && fabs(v) < 1e6) base_str_fmt(out, "%.1f%s", v, f);
    else base_str_fmt(out, "%a%s", v, f);
}

void kern_print_bits(ExprType type, uint64_t bits, Str *out)
{
    double v = type == EXT_f32 ? (double)math_float((int32_t)bits) : math_float64(bits);
    switch (type) {
    case EXT_f32:
        if (v != v) base_str_fmt(out, "f32_of_bits((int32_t)0x%" PRIx32 ")", (uint32_t)bits);
        else put_float(type, v, out);
        break;
    case EXT_f64:
        if (v != v) base_str_fmt(out, "f64_of_bits(0x%" PRIx64 ")", bits);
        else put_float(type, v, out);
        break;
    case EXT_i32:
        if ((int32_t)bits == INT32_MIN) base_str_put(out, "INT32_MIN");
        else base_str_fmt(out, "%" PRId32, (int32_t)bits);
        break;
    case EXT_i64:
        if ((int64_t)bits == INT64_MIN) base_str_put(out, "INT64_MIN");
        else base_str_fmt(out, "INT64_C(%" PRId64 ")", (int64_t)bits);
        break;
    case EXT_u32:
        base_str_fmt(out, "0x%" PRIx32 "u", (uint32_t)bits);
        break;
    case EXT_u64:
        base_str_fmt(out, "UINT64_C(0x%" PRIx64 ")", bits);
        break;
    default:
        base_str_fmt(out, "%" PRIu64, bits);
    }
}

/* What stands for an operand: a constant, an input, an earlier line. */
static void put_operand(const Expr *e, int i, const char *const *input, Str *out)
{
    const ExprInst *t = &e->at[i];
    bool negative = false;
    if (t->code == EX_input && input) base_str_put(out, input[t->bits]);
    else if (t->code == EX_input) base_str_fmt(out, "x%d", (int)t->bits);
    else if (t->code != EX_const) base_str_fmt(out, "t%d", i);
    else {
        negative = (t->type == EXT_i32 || t->type == EXT_i64) && (int64_t)t->bits < 0;
        negative = negative || (t->type == EXT_f32 && t->bits >> 31) ||
                   (t->type == EXT_f64 && t->bits >> 63);
        base_str_put(out, negative ? "(" : "");
        kern_print_bits((ExprType)t->type, t->bits, out);
        base_str_put(out, negative ? ")" : "");
    }
}

/* Unsigned integers wrap by themselves. */
static void put_cast(const CDialect *d, int from, int to, Str *out)
{
    if (from != (int)unsigned_of((ExprType)from)) base_str_fmt(out, "(%s)", d->type[to]);
}

/* The text of a micro-op with its $ filled in. */
static void put_text(const CDialect *d, const Expr *e, const ExprInst *t, const char *text,
                     const char *const *input, Str *out)
{
    const int operand[3] = {t->a, t->b, t->c};
    for (const char *s = text; *s; s++) {
        if (*s != '$') {
            base_str_fmt(out, "%c", *s);
            continue;
        }
        switch (*++s) {
        case 't':
            base_str_put(out, d->type[t->type]);
            break;
        case 'u':
            put_cast(d, t->type, unsigned_of((ExprType)t->type), out);
            break;
        case 'w':
            put_cast(d, t->type, t->type, out);
            break;
        case 'f':
            base_str_put(out, t->type == EXT_f32 ? "f" : "");
            break;
        case 'n':
            base_str_put(out, SHORT[t->type]);
            break;
        case 'o':
            base_str_put(out, SHORT[e->at[t->a].type]);
            break;
        default:
            put_operand(e, operand[*s - 'a'], input, out);
        }
    }
}

static void put_micro(const CDialect *d, const Expr *e, int i, const char *const *input, Str *out)
{
    const ExprInst *t = &e->at[i];
    bool floats = e->at[t->a].type >= EXT_f32;
    if (t->code == EX_call) {
        const ExprCall *call = ir_expr_call((int)t->bits);
        base_str_fmt(out, "%s(", call->name);
        put_operand(e, t->a, input, out);
        if (call->operands > 1) base_str_put(out, ", ");
        if (call->operands > 1) put_operand(e, t->b, input, out);
        base_str_put(out, ")");
        return;
    }
    if (t->code == EX_table) {
        base_str_fmt(out, "%s[", ir_expr_table((int)t->bits)->name);
        put_operand(e, t->a, input, out);
        base_str_put(out, "]");
        return;
    }
    const char *text = floats ? d->floats[t->code] : d->integers[t->code];
    if (!text) text = floats ? MICROS[t->code].floats : MICROS[t->code].integers;
    put_text(d, e, t, text, input, out);
}

/* The tables that the value reads, once each. */
static void put_tables(const CDialect *d, const Expr *e, Str *out)
{
    uint64_t seen = 0;
    for (int i = 0; i < e->n; i++) {
        const ExprInst *t = &e->at[i];
        if (t->code != EX_table || (seen >> t->bits & 1)) continue;
        const ExprTable *table = ir_expr_table((int)t->bits);
        seen |= (uint64_t)1 << t->bits;
        base_str_fmt(out, "    static const %s %s[%d] = {", d->type[table->type], table->name,
                     table->n);
        for (int k = 0; k < table->n; k++) {
            base_str_put(out, k ? ", " : "");
            kern_print_bits(table->type, table->at[k], out);
        }
        base_str_put(out, "};\n");
    }
}

void kern_print_expr(const CDialect *d, const Expr *e, const char *name, Str *out)
{
    const ExprInst *last = &e->at[e->n - 1];
    base_str_fmt(out, "%s%s %s(", d->function, d->type[last->type], name);
    for (int i = 0; i < e->inputs; i++)
        base_str_fmt(out, "%s%s x%d", i ? ", " : "", d->type[e->input[i]], i);
    base_str_put(out, ")\n{\n");
    put_tables(d, e, out);
    for (int i = 0; i < e->n; i++) {
        if (e->at[i].code == EX_input || e->at[i].code == EX_const) continue;
        base_str_fmt(out, "    const %s t%d = ", d->type[e->at[i].type], i);
        put_micro(d, e, i, NULL, out);
        base_str_put(out, ";\n");
    }
    base_str_put(out, "    return ");
    put_operand(e, e->n - 1, NULL, out);
    base_str_put(out, ";\n}\n");
}

bool kern_print_inline(const CDialect *d, const Expr *e, const char *const *operand, Str *out)
{
    int micros = 0;
    for (int i = 0; i < e->n; i++) micros += e->at[i].code != EX_input && e->at[i].code != EX_const;
    if (micros > 1 || e->at[e->n - 1].code == EX_table) return false;
    if (micros == 0) put_operand(e, e->n - 1, operand, out);
    else put_micro(d, e, e->n - 1, operand, out);
    return true;
}
