/* parse.c: PTX text, as NVRTC writes it: words, declarations, kernels and what they call.
 *
 * Holds: every operand is a register; numbers and what belongs to a thread (%tid.x) are registers
 *        that are set when a warp starts. What is not known is an error that names it and its line.
 */
#include "parse.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_parse_fail(Parse *p, const char *what, const char *text)
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

char *sim_parse_trimmed(char *s)
{
    while (isspace((unsigned char)*s)) s++;
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1])) s[--n] = 0;
    return s;
}

/* Cuts at commas outside brackets. */
int sim_parse_cut(char *s, char sep, char **part, int most)
{
    int n = 0, depth = 0;
    char *from = s;
    for (;; s++) {
        depth += (*s == '{' || *s == '[') - (*s == '}' || *s == ']');
        if (*s && (*s != sep || depth > 0)) continue;
        bool last = !*s;
        *s = 0;
        from = sim_parse_trimmed(from);
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

int sim_parse_type(const char *text)
{
    for (size_t i = 0; i < sizeof TYPE_NAMES / sizeof *TYPE_NAMES; i++)
        if (strcmp(TYPE_NAMES[i].text, text) == 0) return TYPE_NAMES[i].type;
    return -1;
}

/* ---- registers */

int sim_parse_registers(Parse *p, const char *text, int count)
{
    if (p->nname == MOST_NAMES || p->k->nreg + count > INT16_MAX) {
        sim_parse_fail(p, "too many registers with", text);
        return 0;
    }
    Name *n = &p->name[p->nname++];
    snprintf(n->text, sizeof n->text, "%s", text);
    n->first = p->k->nreg;
    n->count = count;
    p->k->nreg += count;
    return n->first;
}

int sim_parse_find(const Parse *p, const char *text)
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

const Place *sim_parse_place(const Parse *p, const char *text)
{
    for (int i = p->nplace; i-- > 0;)
        if (strcmp(p->place[i].text, text) == 0) return &p->place[i];
    return NULL;
}

bool sim_parse_number(const char *s, uint64_t *out)
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
int sim_parse_operand(Parse *p, const char *text)
{
    uint64_t value;
    int r = sim_parse_find(p, text);
    if (r >= 0) return r;
    for (int i = 0; i < SPECIALS; i++)
        if (strcmp(SPECIAL_NAMES[i], text) == 0) return fixed(p, i, 0);
    if (sim_parse_number(text, &value)) return fixed(p, -1, value);
    for (int i = 0; i < p->k->nparam; i++)
        if (strcmp(p->params[i], text) == 0) return fixed(p, -1, (uint64_t)p->k->param_at[i]);
    if (strcmp(text, "WARP_SZ") == 0) return fixed(p, -1, WARP);
    const Place *v = sim_parse_place(p, text);
    if (v) return fixed(p, -1, v->at);
    if (strcmp(text, "_") == 0) return sim_parse_registers(p, "_", 1);
    sim_parse_fail(p, "operand", text);
    return 0;
}

/* ---- declarations */

/* ".reg .b32 %r<8>" */
static void read_registers(Parse *p, char *text)
{
    char *part[MOST_PARTS], *at = strchr(text + 4, '.');
    if (!at) return;
    at += strcspn(at, " \t");
    int n = sim_parse_cut(at, ',', part, MOST_PARTS);
    for (int i = 0; i < n; i++) {
        char *count = strchr(part[i], '<');
        if (count) *count = 0;
        sim_parse_registers(p, part[i], count ? atoi(count + 1) : 1);
    }
}

/* The name, the size and the alignment of "… .align 4 .b8 name[64]". */
static size_t read_variable(Parse *p, char *text, char name[96], size_t *align)
{
    char *a = strstr(text, ".align"), *open = strchr(text, '[');
    size_t count = open ? (size_t)strtoull(open + 1, NULL, 0) : 1;
    if (open) *open = 0;
    *align = a ? (size_t)atoi(a + 6) : 1;
    text = sim_parse_trimmed(text);
    char *from = text + strlen(text);
    while (from > text && !isspace((unsigned char)from[-1])) from--;
    snprintf(name, 96, "%s", from);
    char *type = from;
    while (type > text && type[-1] != '.') type--;
    int t = -1;
    char word[16];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(type, " \t"), type);
    if ((t = sim_parse_type(word)) < 0) sim_parse_fail(p, "type of a variable", word);
    return t < 0 ? 0 : count * (size_t)TYPE_BYTES[t];
}

static void add_place(Parse *p, const char *name, uint64_t at)
{
    if (p->nplace == 512) {
        sim_parse_fail(p, "too many variables at", name);
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
    int n = sim_parse_cut(values, ',', part, 4096);
    size_t each = n ? bytes / (size_t)n : 1;
    while (each & (each - 1)) each &= each - 1;
    for (int i = 0; i < n && each <= 8; i++) {
        uint64_t v = 0;
        sim_parse_number(part[i], &v);
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
        sim_parse_fail(p, "shared memory outside a kernel:", name);
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
        if (!*sim_parse_trimmed(text)) break;
        size_t bytes = read_variable(p, text, name, &align);
        if (p->k->nparam == 64) sim_parse_fail(p, "too many parameters of", p->k->name);
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
    snprintf(p->k->name, sizeof p->k->name, "%s", sim_parse_trimmed(text));
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
        if (to < 0) sim_parse_fail(p, "label", p->wanted[i].text);
        else p->k->inst[p->wanted[i].inst].offset = to;
    }
    sim_parse_add(p, (Inst){.control = C_RETURN, .guard = -1});
    p->k = NULL;
}

static void add_label(Parse *p, const char *text)
{
    Label *l = &p->label[p->nlabel];
    if (p->nlabel == MOST_LABELS) {
        sim_parse_fail(p, "too many labels at", text);
        return;
    }
    p->nlabel++;
    snprintf(l->text, sizeof l->text, "%d:%.80s", p->inlined, text);
    l->inst = p->k->ninst;
}

/* ---- functions that are called: their text is read where the call stands */

static void read_body(Parse *p);

/* ".param .b64 name" as a register for each 8 bytes: what a call hands over. */
static void hand_over(Parse *p, const char *name, size_t bytes)
{
    char slot[120];
    for (size_t at = 0; at < bytes; at += 8) {
        snprintf(slot, sizeof slot, "%s+%zu", name, at);
        sim_parse_registers(p, slot, 1);
    }
}

static void read_hand_over(Parse *p, char *text)
{
    char name[96];
    size_t align, bytes = read_variable(p, text, name, &align);
    hand_over(p, name, bytes);
}

static void add_mov(Parse *p, int to, int from)
{
    Inst i = {.guard = -1, .width = 1, .type = T_u64, .from = T_u64, .n = 2, .line = p->line};
    i.r[0] = (int16_t)to;
    i.r[1] = (int16_t)from;
    i.fn = sim_inst_find("mov", T_u64, T_u64, 0);
    sim_parse_add(p, i);
}

/* All that is called `from` goes to what is called `to`. */
static void add_movs(Parse *p, const char *to, const char *from)
{
    char slot[120];
    for (int at = 0;; at += 8) {
        snprintf(slot, sizeof slot, "%s+%d", to, at);
        int d = sim_parse_find(p, slot);
        snprintf(slot, sizeof slot, "%s+%d", from, at);
        int x = sim_parse_find(p, slot);
        if (d < 0 || x < 0) return;
        add_mov(p, d, x);
    }
}

/* "(.param .b64 func_retval0) name (.param .b64 a, …)", then its body, which is passed over, or
 * nothing, where it only says that there is one. */
static void read_function(Parse *p)
{
    Function f = {.n = 0};
    size_t align;
    char *text = p->text;
    skip_space(p);
    if (*p->at == '(') {
        p->at++;
        take_until(p, ")", text, STATEMENT);
        f.result_bytes = read_variable(p, text, f.result, &align);
    }
    take_until(p, "(", text, STATEMENT);
    snprintf(f.name, sizeof f.name, "%s", sim_parse_trimmed(text));
    take_until(p, ")", text, STATEMENT);
    char *part[8];
    f.n = sim_parse_cut(text, ',', part, 8);
    for (int i = 0; i < f.n; i++) read_variable(p, part[i], f.param[i], &align);
    take_until(p, ";{", text, STATEMENT);
    if (p->at[-1] == ';') return;
    f.at = p->at;
    f.line = p->line;
    bool known = false;
    for (int i = 0; i < p->nfunction; i++) known |= strcmp(p->function[i].name, f.name) == 0;
    if (known) f.at = NULL;
    else if (p->nfunction == 64) sim_parse_fail(p, "too many functions at", f.name);
    else p->function[p->nfunction++] = f;
    for (int depth = 1; depth && *p->at; p->at++) {
        depth += (*p->at == '{') - (*p->at == '}');
        p->line += *p->at == '\n';
    }
}

/* "(retval0), name, (param0, param1)": arguments to its parameters, its body, the result back. */
static void read_call(Parse *p, char *text)
{
    char *part[MOST_PARTS], *names[8], *bracket;
    const Function *f = NULL;
    for (char *c = text; *c; c++) *c = (char)(*c == '(' ? '{' : *c == ')' ? '}' : *c);
    int n = sim_parse_cut(text, ',', part, MOST_PARTS), at = n > 0 && *part[0] == '{';
    for (int i = 0; i < p->nfunction; i++)
        if (n > at && strcmp(p->function[i].name, part[at]) == 0) f = &p->function[i];
    if (!f) {
        sim_parse_fail(p, "a call of", n > at ? part[at] : text);
        return;
    }
    char *result = at ? sim_parse_trimmed(part[0] + 1) : NULL;
    if (result) result[strcspn(result, " }")] = 0;
    int count = 0;
    if (n > at + 1 && (bracket = strchr(part[at + 1], '}'))) {
        *bracket = 0;
        count = sim_parse_cut(part[at + 1] + 1, ',', names, 8);
    }
    const char *back = p->at;
    int line = p->line, outer = p->inlined, known = p->nname;
    for (int i = 0; i < count && i < f->n; i++) {
        hand_over(p, f->param[i], 8);
        add_movs(p, f->param[i], names[i]);
    }
    hand_over(p, f->result, f->result_bytes);
    p->inlined = ++p->calls;
    p->at = f->at;
    p->line = f->line;
    read_body(p);
    add_label(p, "end");
    p->inlined = outer;
    p->at = back;
    p->line = line;
    if (result) add_movs(p, result, f->result);
    p->nname = known;
}

/* One statement inside a kernel: a label, a declaration or an instruction. */
static void read_statement(Parse *p)
{
    char *text = p->text;
    size_t n = strcspn(p->at, ";:{}\n");
    if (p->at[n] == ':' && p->at[n + 1] != ':' && n < 96) {
        take_until(p, ":", text, STATEMENT);
        add_label(p, sim_parse_trimmed(text));
        return;
    }
    take_until(p, ";", text, STATEMENT);
    if (strncmp(text, ".reg", 4) == 0) read_registers(p, text);
    else if (strncmp(text, ".param", 6) == 0) read_hand_over(p, text);
    else if (strncmp(text, ".shared", 7) == 0 || strncmp(text, ".local", 6) == 0)
        read_declaration(p, text);
    else if (strncmp(text, "call", 4) == 0) {
        char copy[1024];
        snprintf(copy, sizeof copy, "%s", text + strcspn(text, " \t\n"));
        read_call(p, copy);
    } else if (*text != '.') sim_parse_inst(p, text);
}

/* Up to the bracket that closes a kernel or function. */
static void read_body(Parse *p)
{
    for (int depth = 1; depth && !p->failed;) {
        skip_space(p);
        if (*p->at == '{') depth++, p->at++;
        else if (*p->at == '}') depth--, p->at++;
        else if (!*p->at) sim_parse_fail(p, "the end of", "the text");
        else read_statement(p);
    }
}

/* Functions stand behind the kernels that call them: they are read first, then the rest. */
static void read_all(Parse *p, bool functions)
{
    while (skip_space(p), *p->at && !p->failed) {
        if (strncmp(p->at, ".version", 8) == 0 || strncmp(p->at, ".target", 7) == 0 ||
            strncmp(p->at, ".address_size", 13) == 0)
            p->at += strcspn(p->at, "\n");
        else if (strncmp(p->at, ".visible", 8) == 0 || strncmp(p->at, ".weak", 5) == 0)
            p->at += strcspn(p->at, " \t\n");
        else if (functions && strncmp(p->at, ".func", 5) != 0) {
            take_until(p, ";{", p->text, STATEMENT);
            bool data = strchr(p->text, '=') != NULL;
            for (int depth = p->at[-1] == '{'; depth && *p->at; p->at++) {
                depth += (*p->at == '{') - (*p->at == '}');
                p->line += *p->at == '\n';
            }
            if (data) take_until(p, ";", p->text, STATEMENT);
        } else if (strncmp(p->at, ".entry", 6) == 0) {
            p->at += 6;
            read_entry(p);
            if (!p->failed) read_body(p);
            if (!p->failed) end_entry(p);
        } else if (strncmp(p->at, ".func", 5) == 0) {
            p->at += 5;
            read_function(p);
        } else {
            take_until(p, ";", p->text, STATEMENT);
            read_declaration(p, p->text);
        }
    }
}

Module *sim_parse(const char *ptx)
{
    Parse *p = calloc(1, sizeof *p);
    char *text = malloc(STATEMENT);
    Module *m = calloc(1, sizeof *m);
    if (!p || !text || !m) abort();
    p->at = ptx;
    p->line = 1;
    p->m = m;
    p->text = text;
    read_all(p, true);
    p->at = ptx;
    p->line = 1;
    read_all(p, false);
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
