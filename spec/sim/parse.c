/* parse.c: PTX text, as NVRTC writes it, to instructions.
 *
 * Holds: every operand is a register; numbers and what belongs to a thread (%tid.x) are registers
 *        that are set when a warp starts. What is not known is an error that names it and its line.
 */
#include "sim.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 2048, MOST_LABELS = 4096, MOST_PARTS = 16 };

typedef struct Name {
    char text[96];
    int first, count;
} Name; /* registers %r0 … */
typedef struct Place {
    char text[96];
    uint64_t at;
    int kernel;
} Place; /* a variable's address */
typedef struct Label {
    char text[96];
    int inst;
} Label;

typedef struct Parse {
    const char *at;
    int line;
    bool failed;
    Module *m;
    Kernel *k; /* NULL: outside kernels */
    Name name[MOST_NAMES];
    int nname;
    Place place[512];
    int nplace;
    Label label[MOST_LABELS], wanted[MOST_LABELS];
    int nlabel, nwanted;
    char params[64][96];
} Parse;

static void fail(Parse *p, const char *what, const char *text)
{
    if (p->failed) return;
    p->failed = true;
    fprintf(stderr, "simulated device: PTX line %d: %s '%s'\n", p->line, what, text);
}

/* ---- words */

static void skip_space(Parse *p)
{
    for (;;) {
        if (*p->at == '\n') p->line++;
        if (isspace((unsigned char)*p->at)) p->at++;
        else if (p->at[0] == '/' && p->at[1] == '/') p->at += strcspn(p->at, "\n");
        else if (p->at[0] == '/' && p->at[1] == '*') {
            for (; *p->at && !(p->at[0] == '*' && p->at[1] == '/'); p->at++)
                p->line += *p->at == '\n';
            p->at += *p->at ? 2 : 0;
        } else return;
    }
}

/* Up to one of the ends, which is passed; nested brackets count as one. */
static void take_until(Parse *p, const char *ends, char *to, size_t size)
{
    size_t n = 0;
    for (; *p->at && !strchr(ends, *p->at); p->at++) {
        p->line += *p->at == '\n';
        if (n + 1 < size) to[n++] = *p->at;
    }
    if (*p->at) p->at++;
    to[n] = 0;
}

static char *trimmed(char *s)
{
    while (isspace((unsigned char)*s)) s++;
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1])) s[--n] = 0;
    return s;
}

/* Cuts at commas outside brackets. */
static int cut(char *s, char sep, char **part, int most)
{
    int n = 0, depth = 0;
    char *from = s;
    for (;; s++) {
        depth += (*s == '{' || *s == '[') - (*s == '}' || *s == ']');
        if (*s && (*s != sep || depth > 0)) continue;
        bool last = !*s;
        *s = 0;
        from = trimmed(from);
        if (*from && n < most) part[n++] = from;
        if (last) return n;
        from = s + 1;
    }
}

/* ---- types */

static const struct {
    const char *text;
    Type type;
} TYPE_NAMES[] = {
    {"u8", T_u8},   {"s8", T_s8},     {"b8", T_u8},     {"u16", T_u16},    {"s16", T_s16},
    {"b16", T_u16}, {"u32", T_u32},   {"s32", T_s32},   {"b32", T_u32},    {"u64", T_u64},
    {"s64", T_s64}, {"b64", T_u64},   {"f16", T_f16},   {"bf16", T_bf16},  {"f32", T_f32},
    {"f64", T_f64}, {"pred", T_pred}, {"f16x2", T_u32}, {"bf16x2", T_u32},
};

static int type_of(const char *text)
{
    for (size_t i = 0; i < sizeof TYPE_NAMES / sizeof *TYPE_NAMES; i++)
        if (strcmp(TYPE_NAMES[i].text, text) == 0) return TYPE_NAMES[i].type;
    return -1;
}

/* ---- registers */

static int new_registers(Parse *p, const char *text, int count)
{
    if (p->nname == MOST_NAMES || p->k->nreg + count > INT16_MAX) {
        fail(p, "too many registers with", text);
        return 0;
    }
    Name *n = &p->name[p->nname++];
    snprintf(n->text, sizeof n->text, "%s", text);
    n->first = p->k->nreg;
    n->count = count;
    p->k->nreg += count;
    return n->first;
}

static int find_register(const Parse *p, const char *text)
{
    size_t n = strlen(text), digits = n;
    while (digits && isdigit((unsigned char)text[digits - 1])) digits--;
    for (int i = p->nname; i-- > 0;) {
        const Name *r = &p->name[i];
        if (strcmp(r->text, text) == 0 && r->count == 1) return r->first;
        if (digits < n && strlen(r->text) == digits && memcmp(r->text, text, digits) == 0) {
            int k = atoi(text + digits);
            if (k < r->count) return r->first + k;
        }
    }
    return -1;
}

static int fixed(Parse *p, int special, uint64_t value)
{
    Kernel *k = p->k;
    for (int i = 0; i < k->nfixed; i++)
        if (k->fixed[i].special == special && k->fixed[i].value == value) return k->fixed[i].reg;
    if (k->nfixed == k->nfixed_cap) {
        k->nfixed_cap = k->nfixed_cap * 2 + 32;
        k->fixed = realloc(k->fixed, (size_t)k->nfixed_cap * sizeof *k->fixed);
        if (!k->fixed) abort();
    }
    k->fixed[k->nfixed++] = (Fixed){(int16_t)k->nreg, (int16_t)special, value};
    return k->nreg++;
}

static const char *const SPECIAL_NAMES[SPECIALS] = {
    "%tid.x",   "%tid.y",   "%tid.z",    "%ntid.x",   "%ntid.y",   "%ntid.z", "%ctaid.x",
    "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid",
};

static const Place *find_place(const Parse *p, const char *text)
{
    for (int i = p->nplace; i-- > 0;)
        if (strcmp(p->place[i].text, text) == 0) return &p->place[i];
    return NULL;
}

static bool number(const char *s, uint64_t *out)
{
    char *end;
    if (s[0] == '0' && (s[1] == 'f' || s[1] == 'F' || s[1] == 'd' || s[1] == 'D'))
        *out = strtoull(s + 2, &end, 16);
    else if (*s == '-') *out = (uint64_t)strtoll(s, &end, 0);
    else *out = strtoull(s, &end, 0);
    if (end != s && (*end == 'U' || *end == 'u')) end++;
    return end != s && *end == 0;
}

/* The register of an operand, whatever it is. */
static int operand(Parse *p, const char *text)
{
    uint64_t value;
    int r = find_register(p, text);
    if (r >= 0) return r;
    for (int i = 0; i < SPECIALS; i++)
        if (strcmp(SPECIAL_NAMES[i], text) == 0) return fixed(p, i, 0);
    if (number(text, &value)) return fixed(p, -1, value);
    for (int i = 0; i < p->k->nparam; i++)
        if (strcmp(p->params[i], text) == 0) return fixed(p, -1, (uint64_t)p->k->param_at[i]);
    if (strcmp(text, "WARP_SZ") == 0) return fixed(p, -1, WARP);
    const Place *v = find_place(p, text);
    if (v) return fixed(p, -1, v->at);
    if (strcmp(text, "_") == 0) return new_registers(p, "_", 1);
    fail(p, "operand", text);
    return 0;
}

/* ---- instructions */

static Inst *add(Parse *p, Inst i)
{
    Kernel *k = p->k;
    if (k->ninst == k->ninst_cap) {
        k->ninst_cap = k->ninst_cap * 2 + 64;
        k->inst = realloc(k->inst, (size_t)k->ninst_cap * sizeof *k->inst);
        if (!k->inst) abort();
    }
    k->inst[k->ninst] = i;
    return &k->inst[k->ninst++];
}

static void push(Parse *p, Inst *i, int reg)
{
    if (i->n == INST_OPERANDS) fail(p, "too many operands", "");
    else i->r[i->n++] = (int16_t)reg;
}

/* "{a, b}" or "a" */
static void push_all(Parse *p, Inst *i, char *text)
{
    char *part[MOST_PARTS];
    if (*text != '{') {
        push(p, i, operand(p, text));
        return;
    }
    text[strlen(text) - 1] = 0;
    int n = cut(text + 1, ',', part, MOST_PARTS);
    for (int k = 0; k < n; k++) push(p, i, operand(p, part[k]));
}

/* "[name+8]": the register of the base, or -1, and the offset. */
static int address(Parse *p, Inst *i, char *text)
{
    char *end = strchr(text, ']'), *plus;
    uint64_t value = 0;
    if (*text != '[' || !end) {
        fail(p, "address", text);
        return -1;
    }
    *end = 0;
    text = trimmed(text + 1);
    if ((plus = strchr(text, '+'))) {
        *plus = 0;
        i->offset = strtoll(plus + 1, NULL, 0);
        text = trimmed(text);
    }
    for (int k = 0; p->k && k < p->k->nparam; k++)
        if (strcmp(p->params[k], text) == 0) {
            i->offset += p->k->param_at[k];
            return -1;
        }
    const Place *v = find_place(p, text);
    if (v || number(text, &value)) {
        i->offset += (int64_t)(v ? v->at : value);
        return -1;
    }
    return operand(p, text);
}

static const struct {
    const char *text;
    uint32_t mod;
} MODS[] = {
    {"to", MOD_TO},   {"hi", MOD_HI},     {"wide", MOD_WIDE},     {"sat", MOD_SAT},
    {"rni", MOD_RNI}, {"rmi", MOD_RMI},   {"rpi", MOD_RPI},       {"rzi", MOD_RZI},
    {"up", MOD_UP},   {"down", MOD_DOWN}, {"bfly", MOD_BFLY},     {"idx", MOD_IDX},
    {"and", MOD_AND}, {"or", MOD_OR},     {"xor", MOD_XOR},       {"trans", MOD_TRANS},
    {"any", MOD_ANY}, {"all", MOD_ALL},   {"ballot", MOD_BALLOT}, {"add", MOD_ADD},
    {"min", MOD_MIN}, {"max", MOD_MAX},   {"exch", MOD_EXCH},     {"cas", MOD_CAS},
    {"l", MOD_LEFT},  {"r", MOD_RIGHT},
};
static const struct {
    const char *text;
    Space space;
} SPACES[] = {
    {"global", SPACE_GLOBAL}, {"shared", SPACE_SHARED}, {"local", SPACE_LOCAL},
    {"param", SPACE_PARAM},   {"const", SPACE_GLOBAL},
};

/* What an instruction's name says. Types are the last words: to, then from. */
typedef struct Word {
    char *part[MOST_PARTS];
    int n;
} Word;

static bool says(const Word *w, const char *what)
{
    for (int i = 1; i < w->n; i++)
        if (strcmp(w->part[i], what) == 0) return true;
    return false;
}

static void read_name(const Word *w, Inst *i)
{
    int types[2] = {-1, -1}, n = 0;
    for (int k = 1; k < w->n; k++) {
        int t = type_of(w->part[k]);
        if (t >= 0 && n < 2) types[n++] = t;
        for (size_t m = 0; m < sizeof MODS / sizeof *MODS; m++)
            if (strcmp(MODS[m].text, w->part[k]) == 0) i->mods |= MODS[m].mod;
        for (size_t m = 0; m < sizeof SPACES / sizeof *SPACES; m++)
            if (strcmp(SPACES[m].text, w->part[k]) == 0) i->space = (uint8_t)SPACES[m].space;
        if (strcmp(w->part[k], "v2") == 0) i->width = 2;
        if (strcmp(w->part[k], "v4") == 0) i->width = 4;
    }
    i->type = (uint8_t)(n ? types[0] : T_u32);
    i->from = (uint8_t)(n > 1 ? types[1] : i->type);
}

static void want_label(Parse *p, const char *text)
{
    if (p->nwanted == MOST_LABELS) {
        fail(p, "too many branches at", text);
        return;
    }
    Label *l = &p->wanted[p->nwanted++];
    snprintf(l->text, sizeof l->text, "%s", text);
    l->inst = p->k->ninst;
}

static void find(Parse *p, Inst *i, const char *name, const char *shown)
{
    i->fn = sim_inst_find(name, (Type)i->type, (Type)i->from, i->mods);
    if (!i->fn) fail(p, "an instruction that is not simulated:", shown);
}

/* Instructions whose operands are no plain list. True: it was one. */
static bool read_special(Parse *p, const Word *w, Inst *i, char **a, int n, const char *shown)
{
    const char *name = w->part[0];
    if (strcmp(name, "bra") == 0) {
        i->control = C_BRANCH;
        want_label(p, a[0]);
    } else if (strcmp(name, "ret") == 0 || strcmp(name, "exit") == 0) {
        i->control = C_RETURN;
    } else if ((strcmp(name, "bar") == 0 || strcmp(name, "barrier") == 0) && !says(w, "warp")) {
        i->control = C_BARRIER;
    } else if (strcmp(name, "bar") == 0) {
        i->control = C_WARP;
        push(p, i, operand(p, a[0]));
        find(p, i, "bar.warp", shown);
    } else if (strcmp(name, "ld") == 0 || strcmp(name, "st") == 0) {
        bool store = *name == 's';
        push_all(p, i, a[store]);
        push(p, i, address(p, i, a[!store]));
        find(p, i, name, shown);
    } else if (strcmp(name, "atom") == 0 || strcmp(name, "red") == 0) {
        bool red = *name == 'r';
        push(p, i, red ? -1 : operand(p, a[0]));
        push(p, i, address(p, i, a[!red]));
        for (int k = 2 - red; k < n; k++) push(p, i, operand(p, a[k]));
        find(p, i, name, shown);
    } else if (strcmp(name, "shfl") == 0) {
        char *also = strchr(a[0], '|');
        if (also) *also = 0;
        i->control = C_WARP;
        push(p, i, operand(p, trimmed(a[0])));
        push(p, i, also ? operand(p, trimmed(also + 1)) : -1);
        for (int k = 1; k < n; k++) push(p, i, operand(p, a[k]));
        find(p, i, name, shown);
    } else if (strcmp(name, "mov") == 0 && (*a[0] == '{' || *a[1] == '{')) {
        bool from = *a[0] == '{';
        push(p, i, operand(p, a[from]));
        push_all(p, i, a[!from]);
        find(p, i, from ? "unpack" : "pack", shown);
    } else {
        return false;
    }
    return true;
}

/* The name under which inst.c knows it. */
static void plain_name(const Word *w, const Inst *i, int n, char name[32])
{
    const char *base = w->part[0];
    bool product = strcmp(base, "mul") == 0 || strcmp(base, "mad") == 0;
    if (product && says(w, "wide")) snprintf(name, 32, "%s.wide", base);
    else if (product && says(w, "hi")) snprintf(name, 32, "%s.hi", base);
    else if (product && says(w, "lo")) snprintf(name, 32, "%s.lo", base);
    else if (strcmp(base, "setp") == 0) snprintf(name, 32, "setp.%s", w->part[1]);
    else if (strcmp(base, "cvt") == 0 && n == 3) snprintf(name, 32, "cvt.pair");
    else snprintf(name, 32, "%s", base);
    (void)i;
}

static void read_inst(Parse *p, char *text)
{
    char shown[160], name[32], *operands, *a[MOST_PARTS];
    Inst i = {.guard = -1, .width = 1, .line = p->line};
    text = trimmed(text);
    snprintf(shown, sizeof shown, "%s", text);
    if (*text == '@') {
        char *end = text + strcspn(text, " \t\n");
        *end = 0;
        i.unless = text[1] == '!';
        i.guard = (int16_t)operand(p, text + 1 + i.unless);
        text = trimmed(end + 1);
    }
    operands = text + strcspn(text, " \t\n");
    if (*operands) *operands++ = 0;
    Word w = {.n = 0};
    w.n = cut(text, '.', w.part, MOST_PARTS);
    int n = cut(operands, ',', a, MOST_PARTS);
    read_name(&w, &i);
    if (!read_special(p, &w, &i, a, n, shown)) {
        if (strcmp(w.part[0], "vote") == 0) i.control = C_WARP;
        if (strcmp(w.part[0], "cvt") == 0 && says(&w, "bf16x2")) i.mods |= MOD_BF16;
        for (int k = 0; k < n; k++) push_all(p, &i, a[k]);
        plain_name(&w, &i, n, name);
        find(p, &i, name, shown);
    }
    if (!p->failed) add(p, i);
}

/* ---- declarations */

/* ".reg .b32 %r<8>" */
static void read_registers(Parse *p, char *text)
{
    char *part[MOST_PARTS], *at = strchr(text + 4, '.');
    if (!at) return;
    at += strcspn(at, " \t");
    int n = cut(at, ',', part, MOST_PARTS);
    for (int i = 0; i < n; i++) {
        char *count = strchr(part[i], '<');
        if (count) *count = 0;
        new_registers(p, part[i], count ? atoi(count + 1) : 1);
    }
}

/* The name, the size and the alignment of "… .align 4 .b8 name[64]". */
static size_t read_variable(Parse *p, char *text, char name[96], size_t *align)
{
    char *a = strstr(text, ".align"), *open = strchr(text, '[');
    size_t count = open ? (size_t)strtoull(open + 1, NULL, 0) : 1;
    if (open) *open = 0;
    *align = a ? (size_t)atoi(a + 6) : 1;
    text = trimmed(text);
    char *from = text + strlen(text);
    while (from > text && !isspace((unsigned char)from[-1])) from--;
    snprintf(name, 96, "%s", from);
    char *type = from;
    while (type > text && type[-1] != '.') type--;
    int t = -1;
    char word[16];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(type, " \t"), type);
    if ((t = type_of(word)) < 0) fail(p, "type of a variable", word);
    return t < 0 ? 0 : count * (size_t)TYPE_BYTES[t];
}

static void add_place(Parse *p, const char *name, uint64_t at)
{
    if (p->nplace == 512) {
        fail(p, "too many variables at", name);
        return;
    }
    Place *v = &p->place[p->nplace++];
    snprintf(v->text, sizeof v->text, "%s", name);
    v->at = at;
    v->kernel = p->k != NULL;
}

/* The values of an array: bytes, or words of its type. */
static void fill(uint64_t at, size_t bytes, char *values)
{
    char *part[4096];
    uint8_t *to = sim_range(at, bytes, true);
    if (!to) return;
    memset(to, 0, bytes);
    if (!values) return;
    int n = cut(values, ',', part, 4096);
    size_t each = n ? bytes / (size_t)n : 1;
    while (each & (each - 1)) each &= each - 1;
    for (int i = 0; i < n && each <= 8; i++) {
        uint64_t v = 0;
        number(part[i], &v);
        memcpy(to + (size_t)i * each, &v, each);
    }
}

static size_t aligned(size_t at, size_t align)
{
    return align ? (at + align - 1) / align * align : at;
}

static void read_declaration(Parse *p, char *text)
{
    char name[96], *values = strchr(text, '=');
    size_t align;
    if (values) {
        *values = 0;
        values = strchr(values + 1, '{');
        if (values) values[strlen(values) - 1] = 0, values++;
    }
    bool shared = strstr(text, ".shared"), local = strstr(text, ".local");
    size_t bytes = read_variable(p, text, name, &align);
    if (p->failed) return;
    if (shared && p->k) {
        p->k->shared = aligned(p->k->shared, align);
        add_place(p, name, p->k->shared);
        p->k->shared += bytes;
    } else if (local && p->k) {
        p->k->local = aligned(p->k->local, align);
        add_place(p, name, p->k->local);
        p->k->local = aligned(p->k->local + bytes, 16);
    } else if (shared) {
        fail(p, "shared memory outside a kernel:", name);
    } else {
        uint64_t at = sim_alloc(bytes);
        fill(at, bytes, values);
        add_place(p, name, at);
    }
}

/* ".param .align 8 .b8 name[64]" of each parameter, up to the ')'. */
static void read_params(Parse *p)
{
    char text[512];
    int at = 0;
    for (bool more = true; more && !p->failed;) {
        size_t align;
        char name[96];
        size_t length = strcspn(p->at, ",)");
        more = p->at[length] == ',';
        take_until(p, ",)", text, sizeof text);
        if (!*trimmed(text)) break;
        size_t bytes = read_variable(p, text, name, &align);
        if (p->k->nparam == 64) fail(p, "too many parameters of", p->k->name);
        if (p->failed) return;
        if (align < 2) align = bytes < 8 ? bytes : 8;
        at = (int)aligned((size_t)at, align);
        snprintf(p->params[p->k->nparam], sizeof p->params[0], "%s", name);
        p->k->param_at[p->k->nparam] = at;
        p->k->param_bytes[p->k->nparam++] = (int)bytes;
        at += (int)bytes;
    }
}

static void read_entry(Parse *p)
{
    char text[256];
    Module *m = p->m;
    m->kernel = realloc(m->kernel, (size_t)(m->n + 1) * sizeof *m->kernel);
    if (!m->kernel) abort();
    p->k = &m->kernel[m->n++];
    *p->k = (Kernel){0};
    p->nname = p->nlabel = p->nwanted = 0;
    while (p->nplace && p->place[p->nplace - 1].kernel) p->nplace--;
    take_until(p, "(", text, sizeof text);
    snprintf(p->k->name, sizeof p->k->name, "%s", trimmed(text));
    read_params(p);
    take_until(p, "{", text, sizeof text);
    const char *most = strstr(text, ".maxntid");
    if (most) p->k->max_threads = atoi(most + 8);
}

static void end_entry(Parse *p)
{
    for (int i = 0; i < p->nwanted && !p->failed; i++) {
        int to = -1;
        for (int k = 0; k < p->nlabel; k++)
            if (strcmp(p->label[k].text, p->wanted[i].text) == 0) to = p->label[k].inst;
        if (to < 0) fail(p, "label", p->wanted[i].text);
        else p->k->inst[p->wanted[i].inst].offset = to;
    }
    add(p, (Inst){.control = C_RETURN, .guard = -1});
    p->k = NULL;
}

/* One statement inside a kernel: a label, a declaration or an instruction. */
static void read_statement(Parse *p, char *text, size_t size)
{
    size_t n = strcspn(p->at, ";:{}\n");
    if (p->at[n] == ':' && p->at[n + 1] != ':' && n < 96) {
        take_until(p, ":", text, size);
        Label *l = &p->label[p->nlabel];
        if (p->nlabel == MOST_LABELS) fail(p, "too many labels at", text);
        else
            p->nlabel++, snprintf(l->text, sizeof l->text, "%s", trimmed(text)),
                l->inst = p->k->ninst;
        return;
    }
    take_until(p, ";", text, size);
    if (strncmp(text, ".reg", 4) == 0) read_registers(p, text);
    else if (strncmp(text, ".shared", 7) == 0 || strncmp(text, ".local", 6) == 0)
        read_declaration(p, text);
    else if (*text != '.') read_inst(p, text);
}

static void read_all(Parse *p, char *text, size_t size)
{
    int depth = 0;
    while (skip_space(p), *p->at && !p->failed) {
        if (p->k && *p->at == '{') depth++, p->at++;
        else if (p->k && *p->at == '}') {
            p->at++;
            if (depth-- == 0) end_entry(p), depth = 0;
        } else if (p->k) read_statement(p, text, size);
        else if (strncmp(p->at, ".version", 8) == 0 || strncmp(p->at, ".target", 7) == 0 ||
                 strncmp(p->at, ".address_size", 13) == 0)
            p->at += strcspn(p->at, "\n");
        else if (strncmp(p->at, ".visible", 8) == 0 || strncmp(p->at, ".weak", 5) == 0)
            p->at += strcspn(p->at, " \t\n");
        else if (strncmp(p->at, ".entry", 6) == 0) p->at += 6, read_entry(p);
        else if (strncmp(p->at, ".func", 5) == 0) fail(p, "a function that is called:", p->at);
        else {
            take_until(p, ";", text, size);
            read_declaration(p, text);
        }
    }
}

Module *sim_parse(const char *ptx)
{
    enum { STATEMENT = 1 << 18 };
    Parse *p = calloc(1, sizeof *p);
    char *text = malloc(STATEMENT);
    Module *m = calloc(1, sizeof *m);
    if (!p || !text || !m) abort();
    p->at = ptx;
    p->line = 1;
    p->m = m;
    read_all(p, text, STATEMENT);
    if (p->failed) {
        sim_module_free(m);
        m = NULL;
    }
    free(text);
    free(p);
    return m;
}

void sim_module_free(Module *m)
{
    for (int i = 0; i < m->n; i++) free(m->kernel[i].inst), free(m->kernel[i].fixed);
    free(m->kernel);
    free(m);
}
