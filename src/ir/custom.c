/* custom.c: the table of registered ops (custom.h).
 *
 * In:    rows of users, of which any field may be wrong.
 * Holds: a row in the table is well formed: a name, counts in range, a schema that attr.c can read
 *        without looking further. Rows are published by `count`, so readers need no lock.
 */
#include "ir/custom.h"
#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_MAX = 256, NAME_MAX = 63, SCHEMA_MAX = 384, WORDS_MAX = 48 };

static struct {
    const sgl_op *op;
    char schema[SCHEMA_MAX + 16];
} table[OPS_MAX];
static _Atomic int count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static int place_of(const char *name)
{
    int n = atomic_load_explicit(&count, memory_order_acquire), i = 0;
    while (name && i < n && strcmp(table[i].op->name, name) != 0) i++;
    return name && i < n ? i : -1;
}

const sgl_op *ir_custom_find(const char *name)
{
    int i = place_of(name);
    return i < 0 ? NULL : table[i].op;
}

const char *ir_custom_schema(const char *name)
{
    int i = place_of(name);
    return i < 0 ? NULL : table[i].schema;
}

int ir_custom_missing(Ctx *cx, const char *name)
{
    base_fail(cx, SGL_EARG, "no op '%s' is registered", name ? name : "?");
    base_err_hint(&cx->err, "load the library that brings it first: sgl.load_ops(path) or, in C, "
                            "sgl_op_load and sgl_op_register");
    return SGL_EARG;
}

/* ---- what a row may be */

static int refuse(Err *e, const sgl_op *op, const char *what)
{
    return base_err_set(e, SGL_EARG, "op '%.*s': %s", NAME_MAX, op->name, what);
}

static bool is_name(const char *name)
{
    size_t n = 0;
    if (!name || !(isalpha((unsigned char)*name) || *name == '_')) return false;
    while (isalnum((unsigned char)name[n]) || (name[n] && strchr("_.", name[n]))) n++;
    return !name[n] && n <= NAME_MAX;
}

/* Is the text behind "=" a default that an attribute of this kind can have? */
static bool is_default(char kind, const char *text, size_t n)
{
    char word[32], *end;
    if (strchr("LDP", kind)) return n == 2 && memcmp(text, "[]", 2) == 0;
    if (!strchr("IF", kind) || n == 0 || n >= sizeof word) return false;
    memcpy(word, text, n);
    word[n] = 0;
    if (kind == 'I') strtoll(word, &end, 10);
    else strtod(word, &end);
    return !*end;
}

/* A field "by:F=1" of n characters; what is wrong with it, or NULL. */
static const char *field_fault(const char *at, size_t n, bool *optional)
{
    size_t name = 0;
    while (name < n && (isalnum((unsigned char)at[name]) || at[name] == '_')) name++;
    if (name == 0 || name > 30 || isdigit((unsigned char)*at) || name + 1 >= n || at[name] != ':')
        return "attributes are \"name:kind name:kind …\"";
    if (name == 2 && memcmp(at, "op", 2) == 0) return "no attribute is called 'op'";
    if (!strchr("IFSTAPLD", at[name + 1])) return "kinds of attributes are I F S T A P L D";
    bool last = n > name + 2;
    if (last && (at[name + 2] != '=' || !is_default(at[name + 1], at + name + 3, n - name - 3)))
        return "I and F may have a number behind '=', and lists \"[]\"";
    if (*optional && !last) return "attributes with a default are the last ones";
    *optional = last;
    return NULL;
}

/* Is a field of this name among those before it? */
static bool comes_twice(const char *attrs, const char *at)
{
    size_t n = strcspn(at, ":") + 1;
    for (const char *s = attrs; s < at; s += strcspn(s, " ") + 1)
        if (strncmp(s, at, n) == 0) return true;
    return false;
}

/* Is the schema one that attr.c can read, whatever it says? */
static int check_attrs(const sgl_op *op, Err *e)
{
    const char *at = op->attrs ? op->attrs : "";
    int fields = 0, words = 1;
    bool optional = false;
    if (strlen(at) > SCHEMA_MAX) return refuse(e, op, "the attributes are too long");
    while (*at) {
        size_t n = strcspn(at, " ");
        const char *fault = field_fault(at, n, &optional);
        if (!fault && comes_twice(op->attrs, at)) fault = "an attribute is there twice";
        if (fault) return refuse(e, op, fault);
        words += strchr("LDP", at[strcspn(at, ":") + 1]) ? OP_MAX_RANK + 1 : 1;
        fields++;
        at += n + (at[n] == ' ');
    }
    if (fields > SGL_OP_ATTRS || words > WORDS_MAX)
        return refuse(e, op, "at most 16 attributes are possible, 3 of them lists");
    return SGL_OK;
}

static int check_runs(const sgl_op *op, Err *e)
{
    int n = 0;
    while (n < SGL_OP_BACKENDS && op->run[n].backend) n++;
    for (int i = 0; i < n; i++) {
        if (!op->run[i].run) return refuse(e, op, "a backend has no function");
        for (int j = 0; j < i; j++)
            if (strcmp(op->run[i].backend, op->run[j].backend) == 0)
                return refuse(e, op, "a backend is there twice");
    }
    return n ? SGL_OK : refuse(e, op, "no backend has a function: run = { { \"cpu\", fn } }");
}

/* Everything about a row that could be wrong. */
static int check_row(const sgl_op *op, Err *e)
{
    if (!op) return base_err_set(e, SGL_EARG, "sgl_op_register: no row");
    if (!is_name(op->name)) {
        base_err_set(e, SGL_EARG, "an op cannot be called '%.*s'", NAME_MAX,
                     op->name ? op->name : "");
        base_err_hint(e, "letters, digits, '_' and '.', at most %d, no digit first", NAME_MAX);
        return SGL_EARG;
    }
    int inputs = op->inputs, outputs = op->outputs;
    if (inputs == 0 || inputs < -1 || inputs > SGL_OP_INPUTS)
        return refuse(e, op, "inputs are 1 to 16, or -1 for any number of these");
    if (outputs < 1 || outputs > SGL_OP_OUTPUTS) return refuse(e, op, "outputs are 1 to 8");
    if (op->flags & ~(unsigned)(SGL_OP_ELEMENTWISE | SGL_OP_RANDOM))
        return refuse(e, op, "there is no such flag");
    if (inputs > 0 && op->rows >> inputs)
        return refuse(e, op, "rows name an input that is not there");
    int code = check_attrs(op, e);
    return code ? code : check_runs(op, e);
}

/* ---- adding one */

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

/* A library that is loaded at two places, or twice, brings the same row again. */
static bool same_row(const sgl_op *a, const sgl_op *b)
{
    bool same = same_text(a->attrs, b->attrs) && a->inputs == b->inputs &&
                a->outputs == b->outputs && a->flags == b->flags && a->rows == b->rows &&
                a->shape == b->shape && a->gradient == b->gradient && a->reference == b->reference;
    for (int i = 0; same && i < SGL_OP_BACKENDS; i++)
        same = a->run[i].run == b->run[i].run && same_text(a->run[i].backend, b->run[i].backend);
    return same;
}

/* With the lock held. */
static int add(const sgl_op *op, Err *e)
{
    int n = atomic_load_explicit(&count, memory_order_relaxed), at = place_of(op->name);
    if (at >= 0 && same_row(table[at].op, op)) return SGL_OK;
    if (at >= 0) return refuse(e, op, "another op of this name is registered already");
    if (n == OPS_MAX) return refuse(e, op, "256 ops are registered, which is all there can be");
    table[n].op = op;
    strcpy(table[n].schema, OPS[OP_custom].attrs);
    if (op->attrs && *op->attrs) strcat(strcat(table[n].schema, " "), op->attrs);
    atomic_store_explicit(&count, n + 1, memory_order_release);
    return SGL_OK;
}

int ir_custom_register(const sgl_op *op, Err *e)
{
    int code = check_row(op, e);
    if (code < 0) return code;
    pthread_mutex_lock(&adding);
    code = add(op, e);
    pthread_mutex_unlock(&adding);
    return code;
}

/* ---- what can be asked */

static const char *name_of(const Node *n)
{
    return (const char *)(intptr_t)n->attr[0]; /* as ir_attr_text: attr.c asks here */
}

const sgl_op *ir_custom_op(const Node *n)
{
    return n->op == OP_custom ? ir_custom_find(name_of(n)) : NULL;
}

const char *ir_custom_name(const Node *n)
{
    return n->op == OP_custom ? name_of(n) : ir_op(n)->name;
}

bool ir_custom_random(const char *name)
{
    const sgl_op *op = ir_custom_find(name);
    return op && op->flags & SGL_OP_RANDOM;
}

bool ir_custom_any(const Graph *g, unsigned flags)
{
    for (int id = 0; id < g->nodes.n; id++) {
        const sgl_op *op = ir_custom_op(g->nodes.at[id]);
        if (op && (op->flags & flags) == flags) return true;
    }
    for (int i = 0; i < g->blocks.n; i++)
        if (ir_custom_any(g->blocks.at[i], flags)) return true;
    return false;
}

CustomRun ir_custom_run(const sgl_op *op, const char *backend)
{
    for (int i = 0; i < SGL_OP_BACKENDS && op->run[i].backend; i++)
        if (strcmp(op->run[i].backend, backend) == 0) return op->run[i].run;
    return NULL;
}
