/* tile_code.c: from the instructions of a kernel to code of the tile interpreter.
 *
 * In:   a plan that knows its spaces, tile sizes and reductions.
 * Out:  plan->pre and plan->post: typed loops over values, each value in a slot of the scratch.
 * Holds: the span of a result is the widest of its operands'. A loop takes operands of its own
 *        span, or single values as a form of the loop allows; any other is expanded first.
 *        LONG and COL: `post` computes anew what it needs of the instructions before it, except
 *        for the results of reductions, which its caller puts in place.
 */
#include <string.h>
#include "base/mem.h"
#include "kern/tile_plan.h"

static const Reg REG_OF[DT_COUNT] = {
    [DT_bool] = REG_u8, [DT_u8] = REG_u8,    [DT_i32] = REG_i32, [DT_i64] = REG_i64,
    [DT_f16] = REG_f32, [DT_bf16] = REG_f32, [DT_f32] = REG_f32, [DT_f64] = REG_f64,
};
static const size_t REG_BYTES[REG_COUNT] = {4, 8, 4, 8, 1};

Reg kern_reg(Dtype t) { return REG_OF[t]; }
size_t kern_reg_bytes(Reg r) { return REG_BYTES[r]; }

/* Compilation of one code list. */
typedef struct Coder {
    TilePlan *p;
    const Kernel *k;
    TileCodeList *list;
    bool post;                 /* compiling `post` of LONG or COL */
    Span widest;               /* span of a store that is not scalar */
    TileInst *once;            /* collected apart, then put in front */
    int nonce;
    int *value;                /* by kernel instruction: value, or -1 */
    int *wide;                 /* by value: the same expanded to `widest`, or -1 */
    int *outer;                /* by value: the same expanded to SPAN_OUTER, or -1 */
} Coder;

static int new_value(Coder *c, Span span, Reg reg)
{
    TileCodeList *l = c->list;
    l->value[l->nvalue] = (TileValue){.span = (uint8_t)span, .reg = (uint8_t)reg, .def = -1,
                                      .last = -1};
    c->wide[l->nvalue] = c->outer[l->nvalue] = -1;
    return l->nvalue++;
}

static void emit(Coder *c, TileInst t)
{
    if (t.span == SPAN_ONE && t.code != TI_STORE) c->once[c->nonce++] = t;
    else c->list->inst[c->list->n++] = t;
}

static TileInst blank(Coder *c, TileCode code, Span span, Reg reg)
{
    return (TileInst){.code = (uint8_t)code, .span = (uint8_t)span, .reg = (uint8_t)reg,
                      .dst = new_value(c, span, reg), .a = -1, .b = -1, .c = -1, .walk = -1,
                      .direct = -1, .reduce = -1};
}

/* Value v as an array over `span`. An expansion of a single value does not change during a chunk:
 * it is made once, for the largest tile. */
static int expand(Coder *c, int v, Span span)
{
    const TileValue from = c->list->value[v];
    int *known = span == SPAN_OUTER ? &c->outer[v] : &c->wide[v];
    if (from.span == span) return v;
    if (*known >= 0) return *known;
    TileInst t = blank(c, TI_EXPAND, span, from.reg);
    t.a = v;
    t.from = from.span;
    if (from.span == SPAN_ONE) c->once[c->nonce++] = t;
    else emit(c, t);
    return *known = t.dst;
}

/* Value v for a loop over `span`: sets *single when the loop must take it as one value. */
static int operand(Coder *c, int v, Span span, bool *single)
{
    Span from = c->list->value[v].span;
    *single = from != span && (from == SPAN_ONE || (from == SPAN_OUTER && c->list->points == 1));
    return *single ? v : expand(c, v, span);
}

/* The space of an access: SPAN_OUTER is over the outer variables and so on. */
static void make_walk(Coder *c, TileInst *t, const KernInst *in, Span space)
{
    const Kernel *k = c->k;
    int first = space == SPAN_LANES ? k->nouter : 0;
    int last = space == SPAN_OUTER ? k->nouter : k->nvar;
    t->walk = c->p->nwalk++;
    kern_walk_make(&c->p->walk[t->walk], k, in->access, first, last, in->value);
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
    TileInst t = blank(c, code, span, kern_reg(in->dtype));
    make_walk(c, &t, in, span);
    t.copies = span == SPAN_ONE;
    t.stream = in->b;
    t.word = in->c;
    t.round = c->p->ops->round[in->dtype];
    if (code == TI_LOAD || code == TI_MASK) t.round = NULL;
    emit(c, t);
    c->value[i] = t.dst;
}

static void code_const(Coder *c, const KernInst *in, int i)
{
    TileInst t = blank(c, TI_CONST, SPAN_ONE, kern_reg(in->dtype));
    static const Dtype memory[REG_COUNT] = {DT_f32, DT_f64, DT_i32, DT_i64, DT_u8};
    ir_dtype_store(memory[t.reg], &t.bits, 0, ir_dtype_round(in->dtype, in->value));
    emit(c, t);
    c->value[i] = t.dst;
}

/* How many of a, b, c are values that this code computes. */
static int operands(const KernInst *in)
{
    if (in->code == KI_OP) return OPS[in->op].inputs;
    return in->code == KI_CAST || in->code == KI_STORE;
}

static Span wider(const Coder *c, int v, Span span)
{
    return v >= 0 && c->list->value[v].span > span ? c->list->value[v].span : span;
}

/* A loop on up to three operands. The rows of op.def have their operands at a; b, c; a, b, c. */
static void code_loop(Coder *c, const KernInst *in, int i)
{
    const TileOps *ops = c->p->ops;
    int v[3] = {-1, -1, -1};
    const int from[3] = {in->a, in->b, in->c};
    int n = operands(in);
    Span span = SPAN_ONE;
    for (int j = 0; j < n; j++) v[j] = c->value[from[j]];
    for (int j = 0; j < n; j++) span = wider(c, v[j], span);
    bool single[3] = {false, false, false};
    if (n != 2) v[0] = expand(c, v[0], span);
    for (int j = n == 2 ? 0 : 1; j < n; j++) v[j] = operand(c, v[j], span, &single[j]);
    TileInst t = blank(c, TI_OP, span, kern_reg(in->dtype));
    t.a = n == 2 ? -1 : v[0];
    t.b = n == 2 ? v[0] : v[1];
    t.c = n == 2 ? v[1] : v[2];
    if (n == 2) single[2] = single[1], single[1] = single[0];
    if (in->code == KI_CAST) {
        t.fn = ops->cast[kern_reg(in->from)][in->dtype];
    } else {
        int form = (single[1] ? FORM_B : 0) | (single[2] ? FORM_C : 0);
        t.fn = ops->op[kern_reg(in->from)][in->op][form];
        t.round = ops->round[in->dtype];
    }
    emit(c, t);
    c->value[i] = t.dst;
}

static void code_reduce(Coder *c, const KernInst *in, int i)
{
    TilePlan *p = c->p;
    int number = 0;
    for (int j = 0; j < i; j++) number += c->k->inst[j].code == KI_REDUCE;
    if (c->post) {               /* placed by the caller */
        Span span = c->widest;
        c->value[i] = p->reduce[number].post = new_value(c, span, kern_reg(in->dtype));
        return;
    }
    TileInst t = blank(c, TI_REDUCE, SPAN_OUTER, kern_reg(in->dtype));
    t.a = expand(c, c->value[in->a], SPAN_FULL);
    t.from = (uint8_t)kern_reg(in->from);
    t.reduce = number;
    if (c->k->mode == KERN_ROW) t.round = p->ops->round[in->dtype];
    emit(c, t);
    c->value[i] = t.dst;
}

/* Stores come last; a result that only needs to lie in memory is computed there. */
static void code_store(Coder *c, const KernInst *in)
{
    TileCodeList *l = c->list;
    Span span = in->scalar ? SPAN_OUTER : c->widest;
    int v = expand(c, c->value[in->a], span);
    TileInst t = {.code = TI_STORE, .span = (uint8_t)span, .reg = l->value[v].reg, .dst = -1,
                  .a = v, .b = -1, .c = -1, .direct = -1, .reduce = -1};
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
    case KI_LOAD: code_access(c, in, TI_LOAD, i); break;
    case KI_INDEX: code_access(c, in, TI_INDEX, i); break;
    case KI_RAND: code_access(c, in, TI_RAND, i); break;
    case KI_MASK: code_access(c, in, TI_MASK, i); break;
    case KI_CONST: code_const(c, in, i); break;
    case KI_OP:
    case KI_CAST: code_loop(c, in, i); break;
    case KI_REDUCE: code_reduce(c, in, i); break;
    }
}

/* Marks instructions from `first` on and, up to reductions, what it needs. Operands are earlier, so one pass
 * downwards is enough. */
static void mark_needed(const Kernel *k, int first, bool *needed)
{
    for (int i = k->ninst - 1; i >= 0; i--) {
        const KernInst *in = &k->inst[i];
        needed[i] = needed[i] || i >= first;
        const int from[3] = {in->a, in->b, in->c};
        for (int j = 0; needed[i] && j < operands(in); j++) needed[from[j]] = true;
    }
}

static void note_use(TileCodeList *l, int v, int at)
{
    if (v >= 0) l->value[v].last = at;
}

static void note_lives(TileCodeList *l)
{
    for (int i = 0; i < l->n; i++) {
        const TileInst *t = &l->inst[i];
        if (t->dst >= 0) l->value[t->dst].def = i;
        note_use(l, t->a, i);
        note_use(l, t->b, i);
        note_use(l, t->c, i);
    }
}

/* Room for one slot. Slots of equal size next to each other would lie at equal distances from a
 * page's start, where a load waits for an unrelated store: hence the skew. */
static size_t slot_bytes(const TileCodeList *l, const TileValue *v)
{
    static const size_t skew = 192;
    int64_t count = v->span == SPAN_ONE     ? 1
                    : v->span == SPAN_OUTER ? l->points
                    : v->span == SPAN_LANES ? l->width
                                            : l->points * l->width;
    size_t bytes = ((size_t)count * REG_BYTES[v->reg] + 63) / 64 * 64;
    return v->span == SPAN_ONE ? 64 : bytes + skew;
}

typedef struct Slot { size_t at, bytes, element; int free_from; } Slot;

/* Values computed for each tile share slots: one that is free from before instruction `def`, or
 * from `def` itself when its last value has elements of the same size (see TileFn). */
static size_t take_slot(const TileCodeList *l, const TileValue *v, Slot *slot, int *nslot,
                        size_t *top)
{
    size_t bytes = slot_bytes(l, v), element = REG_BYTES[v->reg];
    bool shared = v->def >= l->once && v->span >= SPAN_LANES;
    for (int s = 0; shared && s < *nslot; s++) {
        int from = slot[s].free_from + (slot[s].element != element);
        if (slot[s].bytes != bytes || from > v->def) continue;
        slot[s].free_from = v->last;
        slot[s].element = element;
        return slot[s].at;
    }
    size_t at = *top;
    *top += bytes;
    if (shared) slot[(*nslot)++] = (Slot){at, bytes, element, v->last};
    return at;
}

static int place_values(TilePlan *p, TileCodeList *l)
{
    Slot *slot = base_mem_alloc(((size_t)l->nvalue + 1) * sizeof *slot);
    int nslot = 0;
    if (!slot) return SGL_ENOMEM;
    for (int i = 0; i < l->nvalue; i++)                 /* results of reductions have no def */
        if (l->value[i].def < 0)
            l->value[i].slot = take_slot(l, &l->value[i], slot, &nslot, &p->scratch);
    for (int i = 0; i < l->n; i++)
        if (l->inst[i].dst >= 0)
            l->value[l->inst[i].dst].slot =
                take_slot(l, &l->value[l->inst[i].dst], slot, &nslot, &p->scratch);
    base_mem_free(slot);
    return SGL_OK;
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

/* An instruction gives at most itself and three expansions. */
static int code_list(TilePlan *p, TileCodeList *list, int first, int last, bool post)
{
    const Kernel *k = p->kernel;
    size_t most = (size_t)k->ninst * 4 + 1;
    Coder c = {.p = p, .k = k, .list = list, .post = post, .widest = SPAN_FULL};
    if (post) c.widest = k->mode == KERN_COL ? SPAN_LANES : SPAN_OUTER;
    list->inst = base_mem_zero(2 * most, sizeof *list->inst);
    list->value = base_mem_zero(most, sizeof *list->value);
    TileInst *room = base_mem_zero(3 * most, sizeof *room);
    int *maps = base_mem_alloc((size_t)(k->ninst + 1) * sizeof(int) + 2 * most * sizeof(int));
    bool *needed = base_mem_zero((size_t)k->ninst + 1, 1);
    int status = list->inst && list->value && room && maps && needed ? SGL_OK : SGL_ENOMEM;
    if (status == SGL_OK) {
        c.once = room;
        c.value = maps;
        c.wide = maps + k->ninst + 1;
        c.outer = c.wide + most;
        mark_needed(k, first, needed);
        for (int i = 0; i < last; i++)
            if (needed[i] && k->inst[i].code == KI_STORE) {
                if (i >= first) code_store(&c, &k->inst[i]);
            } else if (needed[i]) {
                code_inst(&c, i);
            }
        copy_stored_loads(&c);
        arrange(&c, room + most);
        note_lives(list);
        status = place_values(p, list);
    }
    base_mem_free(room);
    base_mem_free(maps);
    base_mem_free(needed);
    return status;
}

int kern_tile_code(TilePlan *p)
{
    const Kernel *k = p->kernel;
    bool two = k->mode == KERN_LONG || k->mode == KERN_COL;
    int status = code_list(p, &p->pre, 0, two ? k->post : k->ninst, false);
    if (status == SGL_OK && two) status = code_list(p, &p->post, k->post, k->ninst, true);
    return status;
}
