/* attr.c: reading, checking and writing encoded attributes (attr.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ir/attr.h"
#include "ir/custom.h"

static const AttrKind KINDS[] = {
#define ITEM(name)
#define KIND(letter, item, list, absent) {#letter[0], list, ITEM_##item, ABSENT_##absent},
#include "ir/attr.def"
#undef ITEM
#undef KIND
};

static const AttrKind *kind_of(char letter)
{
    const AttrKind *k = KINDS;
    while (k->letter != letter) k++;
    return k;
}

const char *ir_attr_schema(Op op, const int64_t *attr, int nattr)
{
    const char *own = op == OP_custom && nattr > 0 ? ir_custom_schema(ir_attr_text(attr[0])) : NULL;
    return own ? own : OPS[op].attrs;
}

bool ir_attr_next(const char **schema, AttrField *out)
{
    const char *at = *schema;
    while (*at == ' ') at++;
    const char *colon = strchr(at, ':');
    if (!colon) return false;
    bool optional = colon[2] == '=';
    *out = (AttrField){at, (int)(colon - at), kind_of(colon[1]), optional, 0};
    if (optional) /* "[]": a count of 0 */
        out->fallback = out->kind->item == ITEM_real && !out->kind->list
                            ? ir_attr_real_word(strtod(colon + 3, NULL))
                            : strtoll(colon + 3, NULL, 10);
    *schema = colon + 2 + (optional ? strcspn(colon + 2, " ") : 0);
    return true;
}

bool ir_attr_default(const AttrField *f, const int64_t *at)
{
    return f->optional && at[0] == f->fallback;
}

int ir_attr_words(const AttrField *f, const int64_t *at, int left)
{
    if (left < 1) return -1;
    if (!f->kind->list) return 1;
    return at[0] < 0 || at[0] > left - 1 ? -1 : (int)at[0] + 1;
}

/* ---- what may come from outside, by what a word means */

static bool check_integer(const Ctx *cx, int64_t word) { return (void)cx, (void)word, true; }
static bool check_real(const Ctx *cx, int64_t word) { return (void)cx, (void)word, true; }
static bool check_text(const Ctx *cx, int64_t word) { return (void)cx, word != 0; }
static bool check_block(const Ctx *cx, int64_t word) { return (void)cx, word >= 0; }
static bool check_dim(const Ctx *cx, int64_t word) { return ir_dim_valid(cx, word); }

static bool check_axis(const Ctx *cx, int64_t word)
{
    return (void)cx, word >= 0 && word < OP_MAX_RANK;
}

static bool check_dtype(const Ctx *cx, int64_t word)
{
    return (void)cx, word >= 0 && word < DT_COUNT;
}

static bool (*const CHECKS[])(const Ctx *, int64_t) = {
#define ITEM(name) [ITEM_##name] = check_##name,
#define KIND(letter, item, list, absent)
#include "ir/attr.def"
#undef ITEM
#undef KIND
};

static bool well_formed(const Ctx *cx, const AttrField *f, const int64_t *at)
{
    if (!f->kind->list) return CHECKS[f->kind->item](cx, at[0]);
    if (at[0] > OP_MAX_RANK) return false;
    for (int64_t i = 1; i <= at[0]; i++)
        if (!CHECKS[f->kind->item](cx, at[i])) return false;
    return true;
}

int ir_attr_check(Ctx *cx, Op op, const int64_t *attr, int nattr)
{
    const char *schema = ir_attr_schema(op, attr, nattr);
    AttrField f;
    int used = 0;
    if (op == OP_custom && nattr > 0 && !ir_custom_find(ir_attr_text(attr[0])))
        return ir_custom_missing(cx, ir_attr_text(attr[0]));
    while (ir_attr_next(&schema, &f)) {
        int words = ir_attr_words(&f, attr + used, nattr - used);
        if (words < 0 || !well_formed(cx, &f, attr + used))
            return base_fail(cx, SGL_EARG, "%s: '%.*s' is out of range", OPS[op].name, f.length,
                             f.name);
        used += words;
    }
    if (used != nattr)
        return base_fail(cx, SGL_EARG, "%s: %d words of attributes, not %d", OPS[op].name, nattr,
                         used);
    return SGL_OK;
}

/* The words of attribute `which`. */
static const int64_t *find(const Node *n, int which)
{
    const char *schema = ir_schema(n);
    const int64_t *at = n->attr, *end = n->attr + n->nattr;
    AttrField f;
    for (int i = 0; ir_attr_next(&schema, &f); i++) {
        if (i == which) return at;
        at += ir_attr_words(&f, at, (int)(end - at));
    }
    return NULL;
}

int ir_attr_place(const Node *n, const char *name)
{
    const char *schema = ir_schema(n);
    int at = 0;
    for (AttrField f; ir_attr_next(&schema, &f);) {
        if ((int)strlen(name) == f.length && !memcmp(name, f.name, (size_t)f.length)) return at;
        at += ir_attr_words(&f, n->attr + at, n->nattr - at);
    }
    return -1;
}

int64_t ir_attr_int(const Node *n, int which) { return *find(n, which); }

double ir_attr_double(int64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

double ir_attr_float(const Node *n, int which) { return ir_attr_double(*find(n, which)); }

const int64_t *ir_attr_list(const Node *n, int which, int *count)
{
    const int64_t *at = find(n, which);
    *count = (int)at[0];
    return at + 1;
}

void ir_attr_put(AttrBuf *b, int64_t word)
{
    if (b->n == ATTR_MAX_WORDS) b->bad = true;
    else b->word[b->n++] = word;
}

int64_t ir_attr_real_word(double value)
{
    int64_t word;
    if (isnan(value)) value = NAN;
    memcpy(&word, &value, sizeof word);
    return word;
}

void ir_attr_put_real(AttrBuf *b, double value) { ir_attr_put(b, ir_attr_real_word(value)); }

int64_t ir_attr_text_word(Ctx *cx, const char *text)
{
    const char *kept = base_intern(&cx->names, text, strlen(text));
    if (!kept) base_no_memory(cx, "a text");
    return (int64_t)(intptr_t)kept;
}

const char *ir_attr_text(int64_t word) { return (const char *)(intptr_t)word; }

void ir_attr_put_list(AttrBuf *b, int n, const int64_t *items)
{
    if (n < 0 || n > OP_MAX_RANK) {
        b->bad = true;
        return;
    }
    ir_attr_put(b, n);
    for (int i = 0; i < n; i++) ir_attr_put(b, items[i]);
}

/* The defaults of the fields that the n words end before. */
static void complete(Op op, AttrBuf *b)
{
    const char *schema = ir_attr_schema(op, b->word, b->n);
    int at = 0;
    for (AttrField f; ir_attr_next(&schema, &f);) {
        if (at == b->n && f.optional) ir_attr_put(b, f.fallback);
        int words = ir_attr_words(&f, b->word + at, b->n - at);
        if (words < 0) return;
        at += words;
    }
}

Node *ir_attr_node(Graph *g, Op op, int nin, Node *const *in, const AttrBuf *given)
{
    AttrBuf all = *given, *b = &all;
    if (!b->bad) complete(op, b);
    if (!b->bad) return ir_node(g, op, nin, in, b->word, b->n);
    base_fail(g->cx, SGL_ESHAPE, "%s: more than %d dims are not supported", OPS[op].name,
              OP_MAX_RANK);
    return NULL;
}
