/* parse_inst.c: one instruction of PTX, from its text.
 *
 * Holds: what an operand is need not be known here: it is a register.
 */
#include "parse.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- instructions */

Inst *sim_parse_add(Parse *p, Inst i)
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
    if (i->n == INST_OPERANDS) sim_parse_fail(p, "too many operands", "");
    else i->r[i->n++] = (int16_t)reg;
}

/* "{a, b}" or "a" */
static void push_all(Parse *p, Inst *i, char *text)
{
    char *part[MOST_PARTS];
    if (*text != '{') {
        push(p, i, sim_parse_operand(p, text));
        return;
    }
    text[strlen(text) - 1] = 0;
    int n = sim_parse_cut(text + 1, ',', part, MOST_PARTS);
    for (int k = 0; k < n; k++) push(p, i, sim_parse_operand(p, part[k]));
}

/* "[name+8]": the register of the base, or -1, and the offset. */
static int address(Parse *p, Inst *i, char *text)
{
    char *end = strchr(text, ']'), *plus;
    uint64_t value = 0;
    if (*text != '[' || !end) {
        sim_parse_fail(p, "address", text);
        return -1;
    }
    *end = 0;
    text = sim_parse_trimmed(text + 1);
    if ((plus = strchr(text, '+'))) {
        *plus = 0;
        i->offset = strtoll(plus + 1, NULL, 0);
        text = sim_parse_trimmed(text);
    }
    for (int k = 0; p->k && k < p->k->nparam; k++)
        if (strcmp(p->params[k], text) == 0) {
            i->offset += p->k->param_at[k];
            return -1;
        }
    const Place *v = sim_parse_place(p, text);
    if (v || sim_parse_number(text, &value)) {
        i->offset += (int64_t)(v ? v->at : value);
        return -1;
    }
    return sim_parse_operand(p, text);
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
        int t = sim_parse_type(w->part[k]);
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

void sim_parse_want(Parse *p, const char *text)
{
    if (p->nwanted == MOST_LABELS) {
        sim_parse_fail(p, "too many branches at", text);
        return;
    }
    Label *l = &p->wanted[p->nwanted++];
    snprintf(l->text, sizeof l->text, "%d:%.80s", p->inlined, text);
    l->inst = p->k->ninst;
}

static void find(Parse *p, Inst *i, const char *name, const char *shown)
{
    i->fn = sim_inst_find(name, (Type)i->type, (Type)i->from, i->mods);
    if (!i->fn) sim_parse_fail(p, "an instruction that is not simulated:", shown);
}

/* "[param0+8]": the register that stands for these bytes of what a call hands over, or -1. */
static int handed(const Parse *p, const char *text)
{
    char name[120];
    int n = (int)strcspn(text + 1, "+]");
    int at = text[1 + n] == '+' ? atoi(text + 2 + n) : 0;
    snprintf(name, sizeof name, "%.*s+%d", n, text + 1, at);
    return sim_parse_find(p, name);
}

/* Instructions whose operands are no plain list. True: it was one. */
static bool read_special(Parse *p, const Word *w, Inst *i, char **a, int n, const char *shown)
{
    const char *name = w->part[0];
    if (strcmp(name, "bra") == 0) {
        i->control = C_BRANCH;
        sim_parse_want(p, a[0]);
    } else if (strcmp(name, "ret") == 0 || strcmp(name, "exit") == 0) {
        i->control = p->inlined ? C_BRANCH : C_RETURN;
        if (p->inlined) sim_parse_want(p, "end");
    } else if ((strcmp(name, "bar") == 0 || strcmp(name, "barrier") == 0) && !says(w, "warp")) {
        i->control = C_BARRIER;
    } else if (strcmp(name, "bar") == 0) {
        i->control = C_WARP;
        push(p, i, sim_parse_operand(p, a[0]));
        find(p, i, "bar.warp", shown);
    } else if (strcmp(name, "ld") == 0 || strcmp(name, "st") == 0) {
        bool store = *name == 's';
        int hand = i->space == SPACE_PARAM ? handed(p, a[!store]) : -1;
        if (hand >= 0) {
            push(p, i, store ? hand : sim_parse_operand(p, a[0]));
            push(p, i, store ? sim_parse_operand(p, a[1]) : hand);
            find(p, i, "mov", shown);
            return true;
        }
        push_all(p, i, a[store]);
        push(p, i, address(p, i, a[!store]));
        find(p, i, name, shown);
    } else if (strcmp(name, "atom") == 0 || strcmp(name, "red") == 0) {
        bool red = *name == 'r';
        push(p, i, red ? -1 : sim_parse_operand(p, a[0]));
        push(p, i, address(p, i, a[!red]));
        for (int k = 2 - red; k < n; k++) push(p, i, sim_parse_operand(p, a[k]));
        find(p, i, name, shown);
    } else if (strcmp(name, "shfl") == 0) {
        char *also = strchr(a[0], '|');
        if (also) *also = 0;
        i->control = C_WARP;
        push(p, i, sim_parse_operand(p, sim_parse_trimmed(a[0])));
        push(p, i, also ? sim_parse_operand(p, sim_parse_trimmed(also + 1)) : -1);
        for (int k = 1; k < n; k++) push(p, i, sim_parse_operand(p, a[k]));
        find(p, i, name, shown);
    } else if (strcmp(name, "mov") == 0 && (*a[0] == '{' || *a[1] == '{')) {
        bool from = *a[0] == '{';
        push(p, i, sim_parse_operand(p, a[from]));
        push_all(p, i, a[!from]);
        find(p, i, from ? "unpack" : "pack", shown);
    } else {
        return false;
    }
    return true;
}

/* The name under which inst.c knows it. */
static void plain_name(const Word *w, Inst *i, int n, char name[32])
{
    const char *base = w->part[0];
    bool sum = strncmp(base, "add", 3) == 0 || strncmp(base, "sub", 3) == 0;
    if ((sum || strncmp(base, "mad", 3) == 0) && (base[3] == 'c' || says(w, "cc"))) {
        i->carry = (uint8_t)((says(w, "cc") ? CARRY_OUT : 0) | (base[3] == 'c' ? CARRY_IN : 0) |
                             (*base == 's' ? CARRY_LESS : 0));
        snprintf(name, 32, "carry");
        return;
    }
    bool product = strcmp(base, "mul") == 0 || strcmp(base, "mad") == 0;
    if (product && says(w, "wide")) snprintf(name, 32, "%s.wide", base);
    else if (product && says(w, "hi")) snprintf(name, 32, "%s.hi", base);
    else if (product && says(w, "lo")) snprintf(name, 32, "%s.lo", base);
    else if (strcmp(base, "setp") == 0) snprintf(name, 32, "setp.%s", w->part[1]);
    else if (strcmp(base, "cvt") == 0 && n == 3) snprintf(name, 32, "cvt.pair");
    else snprintf(name, 32, "%s", base);
}

void sim_parse_inst(Parse *p, char *text)
{
    char shown[160], name[32], *operands, *a[MOST_PARTS];
    Inst i = {.guard = -1, .width = 1, .line = p->line};
    text = sim_parse_trimmed(text);
    snprintf(shown, sizeof shown, "%s", text);
    if (*text == '@') {
        char *end = text + strcspn(text, " \t\n");
        *end = 0;
        i.unless = text[1] == '!';
        i.guard = (int16_t)sim_parse_operand(p, text + 1 + i.unless);
        text = sim_parse_trimmed(end + 1);
    }
    operands = text + strcspn(text, " \t\n");
    if (*operands) *operands++ = 0;
    Word w = {.n = 0};
    w.n = sim_parse_cut(text, '.', w.part, MOST_PARTS);
    int n = sim_parse_cut(operands, ',', a, MOST_PARTS);
    read_name(&w, &i);
    if (!read_special(p, &w, &i, a, n, shown)) {
        if (strcmp(w.part[0], "vote") == 0) i.control = C_WARP;
        if (strcmp(w.part[0], "cvt") == 0 && says(&w, "bf16x2")) i.mods |= MOD_BF16;
        for (int k = 0; k < n; k++) push_all(p, &i, a[k]);
        plain_name(&w, &i, n, name);
        find(p, &i, name, shown);
    }
    if (!p->failed) sim_parse_add(p, i);
}
