/* tile_code.c: from the instructions of a kernel to code of the tile interpreter.
 *
 * In:   a plan that knows its spaces, tile sizes and reductions.
 * Out:  plan->pre and plan->post: typed loops over values, each value in a slot of the scratch.
 * Holds: LONG and COL: `post` computes anew what it needs of the instructions before it, except
 *        for the results of reductions, which its caller puts in place.
 */
#include <string.h>
#include "base/mem.h"
#include "cpu/tile_coder.h"

static const Reg REG_OF[DT_COUNT] = {
    [DT_bool] = REG_u8, [DT_u8] = REG_u8,    [DT_i32] = REG_i32, [DT_i64] = REG_i64,
    [DT_f16] = REG_f32, [DT_bf16] = REG_f32, [DT_f32] = REG_f32, [DT_f64] = REG_f64,
};
static const size_t REG_BYTES[REG_COUNT] = {4, 8, 4, 8, 1};

Reg cpu_reg(Dtype t) { return REG_OF[t]; }
size_t cpu_reg_bytes(Reg r) { return REG_BYTES[r]; }

int cpu_code_operands(const KernInst *in)
{
    if (in->code == KI_OP) return OPS[in->op].inputs;
    return in->code == KI_CAST || in->code == KI_STORE || in->code == KI_REDUCE;
}

int cpu_code_value(Coder *c, Span span, Reg reg)
{
    TileCodeList *l = c->list;
    l->value[l->nvalue] =
        (TileValue){.span = (uint8_t)span, .reg = (uint8_t)reg, .def = -1, .last = -1};
    c->wide[l->nvalue] = c->outer[l->nvalue] = -1;
    return l->nvalue++;
}

TileInst cpu_code_blank(Coder *c, TileCode code, Span span, Reg reg)
{
    return (TileInst){.code = (uint8_t)code,
                      .span = (uint8_t)span,
                      .reg = (uint8_t)reg,
                      .dst = cpu_code_value(c, span, reg),
                      .a = -1,
                      .b = -1,
                      .c = -1,
                      .walk = -1,
                      .direct = -1,
                      .reduce = -1};
}

void cpu_code_emit(Coder *c, TileInst t)
{
    if (t.span == SPAN_ONE) c->once[c->nonce++] = t;
    else c->list->inst[c->list->n++] = t;
}

/* An expansion of a single value does not change during a chunk: it is made once, for the largest
 * tile. */
int cpu_code_expand(Coder *c, int v, Span span)
{
    const TileValue from = c->list->value[v];
    int *known = span == SPAN_OUTER ? &c->outer[v] : &c->wide[v];
    if (from.span == span) return v;
    if (*known >= 0) return *known;
    TileInst t = cpu_code_blank(c, TI_EXPAND, span, from.reg);
    t.a = v;
    t.from = from.span;
    if (from.span == SPAN_ONE) c->once[c->nonce++] = t;
    else c->list->inst[c->list->n++] = t;
    return *known = t.dst;
}

/* The space of an access: SPAN_OUTER is over the outer variables and so on. */
static void make_walk(Coder *c, TileInst *t, const KernInst *in, Span space)
{
    const Kernel *k = c->k;
    int first = space == SPAN_LANES ? k->nouter : 0;
    int last = space == SPAN_OUTER ? k->nouter : k->nvar;
    t->walk = c->p->nwalk++;
    cpu_walk_make(&c->p->walk[t->walk], k, in->access, first, last, in->value);
}

static bool depends(const Access *a, int first, int last, const Kernel *k)
{
    for (int v = first; v < last; v++) {
        if (k->extent[v] == 1) continue;
        if (a->at.coef[v] != 0) return true;
        for (int g = 0; g < a->nguard; g++)
            if (a->guard[g].at.coef[v] != 0) return true;
    }
    return false;
}

/* Span of what an access yields. Random numbers are never the same twice, but where their index
 * is; the buffer of one holds the generator's state. */
static Span access_span(const Coder *c, const KernInst *in)
{
    const Kernel *k = c->k;
    const Access *a = &k->access[in->access];
    if (depends(a, k->nouter, k->nvar, k)) return c->widest;
    return depends(a, 0, k->nouter, k) ? SPAN_OUTER : SPAN_ONE;
}

static void code_access(Coder *c, const KernInst *in, TileCode code, int i)
{
    Span span = access_span(c, in);
    TileInst t = cpu_code_blank(c, code, span, cpu_reg(in->dtype));
    make_walk(c, &t, in, span);
    t.copies = span == SPAN_ONE;
    t.draw = in->b;
    t.word = in->c;
    t.round = c->p->ops->round[in->dtype];
    if (code == TI_LOAD || code == TI_MASK) t.round = NULL;
    cpu_code_emit(c, t);
    c->value[i] = t.dst;
}

static void code_const(Coder *c, const KernInst *in, int i)
{
    TileInst t = cpu_code_blank(c, TI_CONST, SPAN_ONE, cpu_reg(in->dtype));
    static const Dtype memory[REG_COUNT] = {DT_f32, DT_f64, DT_i32, DT_i64, DT_u8};
    ir_dtype_store(memory[t.reg], &t.bits, 0, ir_dtype_round(in->dtype, in->value));
    cpu_code_emit(c, t);
    c->value[i] = t.dst;
}

static void code_reduce(Coder *c, const KernInst *in, int i)
{
    TilePlan *p = c->p;
    int number = 0;
    for (int j = 0; j < i; j++) number += c->k->inst[j].code == KI_REDUCE;
    if (c->post) { /* placed by the caller */
        Span span = c->widest;
        c->value[i] = p->reduce[number].post = cpu_code_value(c, span, cpu_reg(in->dtype));
        return;
    }
    TileInst t = cpu_code_blank(c, TI_REDUCE, SPAN_OUTER, cpu_reg(in->dtype));
    t.a = cpu_code_expand(c, c->value[in->a], SPAN_FULL);
    t.from = (uint8_t)cpu_reg(in->from);
    t.reduce = number;
    if (c->k->mode == KERN_ROW) t.round = p->ops->round[in->dtype];
    cpu_code_emit(c, t);
    c->value[i] = t.dst;
}

/* Stores come last; a result that only needs to lie in memory is computed there. */
static void code_store(Coder *c, const KernInst *in)
{
    TileCodeList *l = c->list;
    Span span = in->scalar ? SPAN_OUTER : c->widest;
    int v = cpu_code_expand(c, c->value[in->a], span);
    TileInst t = {.code = TI_STORE,
                  .span = (uint8_t)span,
                  .reg = l->value[v].reg,
                  .dst = -1,
                  .a = v,
                  .b = -1,
                  .c = -1,
                  .direct = -1,
                  .reduce = -1};
    make_walk(c, &t, in, span);
    l->inst[l->n++] = t;
    const Walk *w = &c->p->walk[t.walk];
    for (int j = 0; j < l->n - 1; j++)
        if (l->inst[j].dst == v && l->inst[j].code != TI_LOAD && l->inst[j].direct < 0 &&
            l->inst[j].span == span && !c->p->ops->narrow[w->dtype])
            l->inst[j].direct = t.walk;
}

/* A contiguous load is a pointer into memory. It must not be where stores of other values may
 * come first. */
static void copy_stored_loads(Coder *c)
{
    TileCodeList *l = c->list;
    int stores = 0;
    for (int j = 0; j < l->n; j++) stores += l->inst[j].code == TI_STORE;
    if (stores < 2) return;
    for (int s = 0; s < l->n; s++)
        for (int j = 0; l->inst[s].code == TI_STORE && j < l->n; j++)
            if (l->inst[j].code == TI_LOAD && l->inst[j].dst == l->inst[s].a)
                l->inst[j].copies = true;
}

static void code_inst(Coder *c, int i)
{
    const KernInst *in = &c->k->inst[i];
    switch (in->code) {
    case KI_LOAD:
        code_access(c, in, TI_LOAD, i);
        break;
    case KI_INDEX:
        code_access(c, in, TI_INDEX, i);
        break;
    case KI_RAND:
        code_access(c, in, TI_RAND, i);
        break;
    case KI_MASK:
        code_access(c, in, TI_MASK, i);
        break;
    case KI_CONST:
        code_const(c, in, i);
        break;
    case KI_OP:
    case KI_CAST:
        cpu_code_loop(c, in, i);
        break;
    case KI_REDUCE:
        code_reduce(c, in, i);
        break;
    }
}

/* Counts uses by instructions from `first` on and by those that they need, but not what is behind
 * a reduction. Operands are earlier, so one pass downwards is enough. */
static void count_uses(const Kernel *k, int first, int last, int *uses)
{
    for (int i = last - 1; i >= 0; i--) {
        const KernInst *in = &k->inst[i];
        const int from[3] = {in->a, in->b, in->c};
        if (i < first && (uses[i] == 0 || in->code == KI_REDUCE)) continue;
        for (int j = 0; j < cpu_code_operands(in); j++) uses[from[j]]++;
    }
}

/* Puts `once` in front and the stores last, keeping the order otherwise. */
static void arrange(Coder *c, TileInst *to)
{
    TileCodeList *l = c->list;
    int n = 0;
    memcpy(to, c->once, (size_t)c->nonce * sizeof *to);
    n = l->once = c->nonce;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < l->n; i++)
            if ((l->inst[i].code == TI_STORE) == (pass == 1)) to[n++] = l->inst[i];
    memcpy(l->inst, to, (size_t)n * sizeof *to);
    l->n = n;
}

/* The instructions from `first` on, and those before that they use. */
static void code_insts(Coder *c, int first, int last)
{
    count_uses(c->k, first, last, c->uses);
    for (int i = 0; i < last; i++) {
        if (c->k->inst[i].code == KI_STORE && i >= first) code_store(c, &c->k->inst[i]);
        else if (i >= first || c->uses[i] > 0) code_inst(c, i);
    }
    copy_stored_loads(c);
}

/* An instruction gives at most itself and an expansion for each span, hence `most`. */
static int code_list(TilePlan *p, TileCodeList *list, int first, int last)
{
    const Kernel *k = p->kernel;
    size_t n = (size_t)k->ninst + 1, most = 3 * n;
    Coder c = {.p = p, .k = k, .list = list, .post = list == &p->post, .widest = SPAN_FULL};
    if (c.post) c.widest = k->mode == KERN_COL ? SPAN_LANES : SPAN_OUTER;
    list->inst = base_mem_alloc(2 * most * sizeof *list->inst);
    list->value = base_mem_alloc(most * sizeof *list->value);
    TileInst *room = base_mem_alloc(3 * most * sizeof *room);
    int *maps = base_mem_zero(2 * n + 2 * most, sizeof *maps);
    int status = SGL_ENOMEM;
    if (list->inst && list->value && room && maps) {
        c.once = room;
        c.value = maps;
        c.uses = maps + n;
        c.wide = maps + 2 * n;
        c.outer = c.wide + most;
        code_insts(&c, first, last);
        arrange(&c, room + most);
        status = cpu_code_slots(p, list);
        list->inst = base_mem_resize(list->inst, (size_t)list->n * sizeof *list->inst);
        list->value = base_mem_resize(list->value, (size_t)list->nvalue * sizeof *list->value);
    }
    base_mem_free(room);
    base_mem_free(maps);
    return status;
}

int cpu_tile_code(TilePlan *p)
{
    const Kernel *k = p->kernel;
    bool two = k->mode == KERN_LONG || k->mode == KERN_COL;
    int status = code_list(p, &p->pre, 0, two ? k->post : k->ninst);
    if (status == SGL_OK && two) status = code_list(p, &p->post, k->post, k->ninst);
    return status;
}
