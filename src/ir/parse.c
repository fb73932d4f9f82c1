/* parse.c: reads the text form that text.c describes.
 *
 * In:    any text, hostile too.
 * Out:   a graph that passes the verifier, or NULL with line and column in the error.
 * Holds: nodes are made by ir_node, so every shape is inferred anew; the type in the text only
 *        has to agree. Memory is in proportion to the text.
 */
#include <stdlib.h>
#include <string.h>
#include "ir/attr.h"
#include "ir/control.h"
#include "ir/custom.h"
#include "ir/dim_table.h"
#include "ir/mark.h"
#include "ir/scan.h"
#include "ir/text.h"
#include "ir/verify.h"

typedef VEC(Node *) Refs;
typedef struct Parser {
    Scan s;
    Graph *g;
    Map node;      /* number in the text → id */
    Map composite; /* number in the text → composite */
    Map block;     /* number in the text → block */
    int depth;     /* of blocks around it */
    Map dim;       /* address of a name → number of the symbol */
} Parser;
enum { MAX_DEPTH = 200 }; /* more than functions in a step can nest */

static bool no_memory(Parser *p)
{
    base_no_memory(p->g->cx, "a parsed graph");
    return false;
}

/* "%3" or "@2", only what the text defined before. */
static bool read_number(Parser *p, const char *sigil, const Map *map, uint64_t *out)
{
    int64_t number;
    if (!ir_scan_need(&p->s, sigil) || !ir_scan_int(&p->s, &number)) return false;
    if (base_map_get(map, (uint64_t)number, out)) return true;
    return ir_scan_fail(&p->s, "%s%lld is not defined", sigil, (long long)number);
}

static bool read_ref(Parser *p, Node **out)
{
    uint64_t id;
    if (!read_number(p, "%", &p->node, &id)) return false;
    *out = p->g->nodes.at[id];
    return true;
}

static bool read_refs(Parser *p, Refs *out)
{
    Node *n;
    if (!ir_scan_need(&p->s, "(")) return false;
    if (ir_scan_take(&p->s, ")")) return true;
    do {
        if (!read_ref(p, &n)) return false;
        if (!vec_push(out, n)) return no_memory(p);
    } while (ir_scan_take(&p->s, ","));
    return ir_scan_need(&p->s, ")");
}

static bool define(Parser *p, Map *map, int64_t number, uint64_t value)
{
    uint64_t old;
    if (number < 0 || base_map_get(map, (uint64_t)number, &old))
        return ir_scan_fail(&p->s, "the number %lld is defined twice", (long long)number);
    return base_map_set(map, (uint64_t)number, value) || no_memory(p);
}

static bool item_dim(Parser *p, int64_t *out)
{
    ir_scan_blanks(&p->s);
    *out = ir_dim_parse(p->s.cx, &p->s.at);
    return *out != DIM_FAIL || ir_scan_fail(&p->s, "a dim expected");
}

static bool item_axis(Parser *p, int64_t *out)
{
    if (!ir_scan_int(&p->s, out)) return false;
    if (*out < 1) return ir_scan_fail(&p->s, "dims count from 1");
    --*out;
    return true;
}

static bool item_integer(Parser *p, int64_t *out) { return ir_scan_int(&p->s, out); }

static bool item_dtype(Parser *p, int64_t *out)
{
    char word[16];
    if (!ir_scan_word(&p->s, word, sizeof word, "a dtype")) return false;
    *out = ir_dtype_find(word);
    return *out >= 0 || ir_scan_fail(&p->s, "'%s' is not a dtype", word);
}

static bool item_block(Parser *p, int64_t *out)
{
    uint64_t number;
    if (!read_number(p, "$", &p->block, &number)) return false;
    *out = (int64_t)number;
    return true;
}

typedef bool (*ItemReader)(Parser *, int64_t *);

/* "[a, b]", at most OP_MAX_RANK items; -1: failed. */
static int read_list(Parser *p, ItemReader item, int64_t *out)
{
    int n = 0;
    if (!ir_scan_need(&p->s, "[")) return -1;
    if (ir_scan_take(&p->s, "]")) return 0;
    do {
        if (n == OP_MAX_RANK) {
            ir_scan_fail(&p->s, "more than %d dims", OP_MAX_RANK);
            return -1;
        }
        if (!item(p, &out[n++])) return -1;
    } while (ir_scan_take(&p->s, ","));
    return ir_scan_need(&p->s, "]") ? n : -1;
}

/* "f32[2, 3]" */
static bool read_type(Parser *p, Shape *out)
{
    int64_t dtype;
    if (!item_dtype(p, &dtype)) return false;
    out->dtype = (Dtype)dtype;
    out->rank = read_list(p, item_dim, out->dims);
    return out->rank >= 0;
}

static bool item_real(Parser *p, int64_t *out)
{
    double value;
    if (!ir_scan_double(&p->s, &value)) return false;
    *out = ir_attr_real_word(value);
    return true;
}

static bool item_text(Parser *p, int64_t *out)
{
    Str text = {0};
    bool ok = ir_scan_quoted(&p->s, &text);
    *out = ok ? ir_attr_text_word(p->s.cx, text.at) : 0;
    base_str_free(&text);
    return *out != 0;
}

static const ItemReader READERS[] = {
#define ITEM(name) [ITEM_##name] = item_##name,
#define KIND(letter, item, list, absent)
#include "ir/attr.def"
#undef ITEM
#undef KIND
};

static bool read_attr(Parser *p, const AttrKind *kind, AttrBuf *b)
{
    int64_t items[OP_MAX_RANK];
    int n = kind->list ? read_list(p, READERS[kind->item], items) : READERS[kind->item](p, items);
    if (n < 0 || (!kind->list && n == 0)) return false;
    if (kind->list) ir_attr_put_list(b, n, items);
    else ir_attr_put(b, items[0]);
    return true;
}

/* Does the text go on with this attribute? Stays where it is. */
static bool stands_next(Parser *p, const char *before, const AttrField *f)
{
    Scan s = p->s;
    if (!ir_scan_take(&s, before)) return false;
    ir_scan_blanks(&s);
    if (strncmp(s.at, f->name, (size_t)f->length) != 0) return false;
    s.at += f->length;
    return ir_scan_take(&s, "=");
}

/* One attribute, behind "{" or ",". */
static bool read_field(Parser *p, const AttrField *f, AttrBuf *b)
{
    char name[32];
    if (!ir_scan_word(&p->s, name, sizeof name, "an attribute")) return false;
    if (strlen(name) != (size_t)f->length || memcmp(name, f->name, f->length) != 0)
        return ir_scan_fail(&p->s, "attribute '%.*s' expected", f->length, f->name);
    return ir_scan_need(&p->s, "=") && read_attr(p, f->kind, b);
}

/* What follows the name of a registered op: the attributes of its row. */
static bool begin_custom(Parser *p, const AttrBuf *b, const char **schema)
{
    const char *name = ir_attr_text(b->word[0]);
    AttrField f;
    *schema = ir_custom_schema(name);
    if (*schema) return ir_attr_next(schema, &f);
    ir_custom_missing(p->s.cx, name);
    return ir_scan_fail(&p->s, "no op");
}

/* "{start=[0], stop=[2]}": the attributes of the schema, in its order; those with a default may be
 * missing. The name of a registered op may be in b already. */
static bool read_attrs(Parser *p, Op op, AttrBuf *b)
{
    const char *schema = OPS[op].attrs, *before = "{";
    AttrField f;
    if (b->n && !begin_custom(p, b, &schema)) return false;
    while (ir_attr_next(&schema, &f)) {
        if (f.optional && !stands_next(p, before, &f)) {
            ir_attr_put(b, f.fallback);
            continue;
        }
        if (!ir_scan_need(&p->s, before) || !read_field(p, &f, b)) return false;
        if (op == OP_custom && b->n == 1 && !begin_custom(p, b, &schema)) return false;
        before = ",";
    }
    return *before == '{' || ir_scan_need(&p->s, "}");
}

/* "# train.lua:4" */
static bool read_source(Parser *p)
{
    Str file = {0};
    int64_t line = 0;
    p->g->src = 0;
    if (!ir_scan_take(&p->s, "#")) return true;
    ir_scan_blanks(&p->s);
    bool ok = true;
    if (*p->s.at == '"') {
        ok = ir_scan_quoted(&p->s, &file);
    } else {
        size_t n = strcspn(p->s.at, ": \n");
        base_str_add(&file, p->s.at, n);
        p->s.at += n;
    }
    ok = ok && ir_scan_need(&p->s, ":") && ir_scan_int(&p->s, &line);
    if (ok && (line < 0 || line > INT32_MAX)) ok = ir_scan_fail(&p->s, "no such line");
    if (file.failed) ok = no_memory(p);
    if (ok) p->g->src = base_src(p->g->cx, file.at ? file.at : "", (int)line, NULL);
    if (ok && !p->g->src) ok = no_memory(p);
    base_str_free(&file);
    return ok;
}

/* "@1 # train.lua:4": where the next node stands. */
static bool read_place(Parser *p)
{
    uint64_t composite = 0;
    ir_scan_blanks(&p->s);
    if (*p->s.at == '@' && !read_number(p, "@", &p->composite, &composite)) return false;
    p->g->composite = (uint32_t)composite;
    return read_source(p);
}

static bool same_type(const Node *n, const Shape *s)
{
    return n->dtype == s->dtype && n->rank == s->rank &&
           (!s->rank || !memcmp(n->dims, s->dims, s->rank * sizeof *s->dims));
}

static bool make_node(Parser *p, int64_t number, Op op, const Refs *in, const AttrBuf *b)
{
    Shape type;
    if (!ir_scan_need(&p->s, ":") || !read_type(p, &type) || !read_place(p)) return false;
    Node *n = ir_attr_node(p->g, op, in->n, in->at, b);
    if (!n) return ir_scan_fail(&p->s, "no node");
    if (same_type(n, &type)) return define(p, &p->node, number, n->id);
    Str s = {0};
    ir_type_text(n, &s);
    ir_scan_fail(&p->s, "%s gives %s, not the type in the text", ir_custom_name(n),
                 s.at ? s.at : "?");
    base_str_free(&s);
    return false;
}

/* "%3 = sum(%2) {dims=[2]} : f32[2] @1 # train.lua:4", behind the "%". */
static bool parse_node(Parser *p)
{
    int64_t number;
    char name[32];
    AttrBuf b = {0};
    Refs in = {0};
    if (!ir_scan_int(&p->s, &number) || !ir_scan_need(&p->s, "=") ||
        !ir_scan_word(&p->s, name, sizeof name, "an op"))
        return false;
    int op = ir_op_find(name);
    if (op < 0) return ir_scan_fail(&p->s, "'%s' is not an op", name);
    bool ok = read_refs(p, &in) && read_attrs(p, op, &b) && make_node(p, number, op, &in, &b);
    vec_free(&in);
    return ok;
}

/* "input %0 arg "x" f32[8, 3] batch 1 @1 # train.lua:4", behind the word. */
static bool parse_input(Parser *p)
{
    int64_t number;
    Shape type;
    Str name = {0};
    if (!ir_scan_need(&p->s, "%") || !ir_scan_int(&p->s, &number)) return false;
    InputKind kind = ir_scan_take(&p->s, "state") ? INPUT_STATE : INPUT_ARG;
    if (kind == INPUT_ARG && !ir_scan_need(&p->s, "arg")) return false;
    int64_t batch = -1;
    bool ok = ir_scan_quoted(&p->s, &name) && read_type(p, &type) &&
              (!ir_scan_take(&p->s, "batch ") || item_axis(p, &batch)) && read_place(p);
    Node *n = ok ? ir_input(p->g, kind, name.at, type.dtype, type.rank, type.dims) : NULL;
    base_str_free(&name);
    if (!n || (batch >= 0 && ir_mark_batch(p->g, n, batch) < 0))
        return ir_scan_fail(&p->s, "no input");
    return define(p, &p->node, number, n->id);
}

/* "dim batch 1 64 8". The context may know the symbol already, with the same range; a text may
 * declare it once. */
static bool parse_dim(Parser *p)
{
    char name[64];
    int64_t range[3];
    if (!ir_scan_word(&p->s, name, sizeof name, "a name")) return false;
    for (int i = 0; i < 3; i++)
        if (!ir_scan_int(&p->s, &range[i])) return false;
    Ctx *cx = p->s.cx;
    if (ir_dim_symbol(cx, name, range[0], range[1], range[2]) == DIM_FAIL)
        return ir_scan_fail(&p->s, "no dim");
    uint64_t at = (uint64_t)ir_dim_symbol_find(cx, name, strlen(name)), old = at;
    uint64_t key = (uint64_t)(uintptr_t)ir_dim_symbol_at(cx, (int)at)->name;
    base_map_get(&p->dim, key, &old);
    if (old != at) return ir_scan_fail(&p->s, "dim '%s' is declared twice", name);
    return base_map_set(&p->dim, key, at) || no_memory(p);
}

/* module "blocks.1.attention": of the composite that begins next. */
static bool read_module(Parser *p)
{
    Str path = {0};
    if (!ir_scan_take(&p->s, "module ")) return ir_mark_module(p->g, NULL) == SGL_OK;
    bool ok = ir_scan_quoted(&p->s, &path) && ir_mark_module(p->g, path.at) == SGL_OK;
    base_str_free(&path);
    return ok;
}

/* "composite @1 "gelu" in @0 # train.lua:4", behind the word. What it was called on follows in a
 * line "call", when the nodes are there. */
static bool parse_composite(Parser *p)
{
    int64_t number;
    uint64_t parent;
    Str name = {0};
    uint32_t made = 0;
    if (!ir_scan_need(&p->s, "@") || !ir_scan_int(&p->s, &number)) return false;
    if (ir_scan_quoted(&p->s, &name) && ir_scan_need(&p->s, "in") &&
        read_number(p, "@", &p->composite, &parent) && read_module(p) && read_source(p)) {
        p->g->composite = (uint32_t)parent;
        made = ir_composite_begin(p->g, name.at, 0, NULL);
    }
    base_str_free(&name);
    return made && define(p, &p->composite, number, made);
}

static bool parse_call(Parser *p)
{
    uint64_t composite;
    Refs in = {0};
    Node *out = NULL;
    bool ok = read_number(p, "@", &p->composite, &composite) && read_refs(p, &in) &&
              (!ir_scan_take(&p->s, "=") || read_ref(p, &out)) &&
              ir_composite_fill(p->g, (uint32_t)composite, in.n, in.at, out) == SGL_OK;
    vec_free(&in);
    return ok;
}

static bool parse_output(Parser *p)
{
    Node *n;
    Str name = {0};
    bool ok =
        read_ref(p, &n) && ir_scan_quoted(&p->s, &name) && ir_output(p->g, n, name.at) == SGL_OK;
    base_str_free(&name);
    return ok;
}

static bool parse_assign(Parser *p)
{
    Node *input, *value;
    if (!read_ref(p, &input) || !ir_scan_need(&p->s, "=") || !read_ref(p, &value)) return false;
    return ir_assign(p->g, input, value) == SGL_OK || ir_scan_fail(&p->s, "no assign");
}

/* effect %4, effect %7 "comm" */
static bool parse_effect(Parser *p)
{
    Node *n;
    Str channel = {0};
    bool ok = read_ref(p, &n);
    if (ok && ir_scan_end(&p->s)) base_str_put(&channel, IR_HOST);
    else ok = ok && ir_scan_quoted(&p->s, &channel);
    const char *name = channel.at ? channel.at : "";
    if (ok && ir_effect_find(p->g, name))
        ok = ir_scan_fail(&p->s, "the channel '%s' has its last effect already", name);
    ok = ok && (ir_effect(p->g, name, n) == SGL_OK || ir_scan_fail(&p->s, "no effect"));
    base_str_free(&channel);
    return ok;
}

static bool parse_loss(Parser *p)
{
    Node *n;
    return read_ref(p, &n) && (ir_mark_loss(p->g, n) == SGL_OK || ir_scan_fail(&p->s, "no loss"));
}

static bool parse_grad(Parser *p)
{
    Node *value, *of;
    if (!read_ref(p, &value) || !ir_scan_need(&p->s, "of") || !read_ref(p, &of)) return false;
    return ir_mark_grad(p->g, value, of) == SGL_OK || ir_scan_fail(&p->s, "no gradient");
}

static bool parse_lines(Parser *p);

static void forget(Parser *p)
{
    base_map_free(&p->node);
    base_map_free(&p->composite);
    base_map_free(&p->block);
    base_map_free(&p->dim);
}

/* The lines up to "end" are a graph of their own. */
static bool parse_block(Parser *p)
{
    int64_t number;
    if (!ir_scan_need(&p->s, "$") || !ir_scan_int(&p->s, &number) || !ir_scan_line(&p->s))
        return false;
    if (p->depth == MAX_DEPTH) return ir_scan_fail(&p->s, "more than %d blocks deep", MAX_DEPTH);
    Parser inner = {.s = p->s, .g = ir_graph_new(p->s.cx), .depth = p->depth + 1};
    if (!inner.g) return false;
    bool ok = parse_lines(&inner);
    p->s = inner.s;
    ok = ok && (ir_verify(inner.g) == SGL_OK || ir_scan_fail(&p->s, "no block"));
    int made = ok ? ir_block_add(p->g, inner.g) : -1;
    forget(&inner);
    ir_graph_free(inner.g);
    return made >= 0 && define(p, &p->block, number, (uint64_t)made);
}

static const struct {
    const char *word;
    bool (*parse)(Parser *);
} STATEMENTS[] = {
    {"%", parse_node},         {"input ", parse_input},
    {"dim ", parse_dim},       {"composite ", parse_composite},
    {"call ", parse_call},     {"output ", parse_output},
    {"assign ", parse_assign}, {"effect ", parse_effect},
    {"block ", parse_block},   {"loss ", parse_loss},
    {"grad ", parse_grad},
};

static bool parse_line(Parser *p)
{
    int count = sizeof STATEMENTS / sizeof *STATEMENTS, i = 0;
    if (ir_scan_end(&p->s)) return true;
    while (i < count && !ir_scan_take(&p->s, STATEMENTS[i].word)) i++;
    if (i == count) return ir_scan_fail(&p->s, "unknown line");
    return STATEMENTS[i].parse(p);
}

/* Up to the text's end, or in a block to its own. */
static bool parse_lines(Parser *p)
{
    if (!base_map_set(&p->composite, 0, 0)) return no_memory(p);
    bool ended = false;
    while (*p->s.at && !(ended = p->depth && ir_scan_take(&p->s, "end")))
        if (!parse_line(p) || !ir_scan_line(&p->s)) return false;
    if (p->depth && !ended) return ir_scan_fail(&p->s, "a block has no end");
    p->g->src = 0;
    p->g->composite = 0;
    return true;
}

static bool parse_all(Parser *p)
{
    return ir_scan_need(&p->s, "graph") && ir_scan_line(&p->s) && parse_lines(p) &&
           ir_verify(p->g) == SGL_OK;
}

static Scan scan_of(Ctx *cx, const char *text)
{
    return (Scan){.cx = cx, .at = text, .line_start = text, .line = 1};
}

int ir_parse_attrs(Graph *g, Op op, const char *text, AttrBuf *b)
{
    Parser p = {.s = scan_of(g->cx, text), .g = g};
    bool ok = read_attrs(&p, op, b) &&
              (ir_scan_end(&p.s) || ir_scan_fail(&p.s, "something follows the attributes"));
    return ok ? SGL_OK : g->cx->err.code;
}

Graph *ir_parse(Ctx *cx, const char *text)
{
    Parser p = {.s = scan_of(cx, text), .g = ir_graph_new(cx)};
    if (!p.g) return NULL;
    bool ok = parse_all(&p);
    forget(&p);
    if (ok) return p.g;
    ir_graph_free(p.g);
    return NULL;
}
