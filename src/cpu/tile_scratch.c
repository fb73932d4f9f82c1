/* tile_scratch.c: places of values in the scratch.
 *
 * In:   a complete code list.
 * Out:  a slot for each value; p->scratch grows by them.
 * Holds: values computed for each tile share slots: one that is free before an instruction, or
 *        frees itself there with elements of the same size, may take its result (see TileFn).
 *        Values of a chunk, and one for each outer point, keep theirs.
 */
#include "base/mem.h"
#include "cpu/tile_coder.h"

typedef struct Slot {
    size_t at, bytes, element;
    int free_from;
} Slot;
typedef struct Slots {
    Slot *slot;
    int n;
} Slots;

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

/* Slots of equal size next to each other would lie at equal distances from a page's start, where
 * a load waits for an unrelated store: hence the skew. */
static size_t slot_bytes(const TileCodeList *l, const TileValue *v)
{
    enum { LINE = 64, SKEW = 192 };
    const int64_t count[SPAN_COUNT] = {
        [SPAN_ONE] = 1,
        [SPAN_OUTER] = l->points,
        [SPAN_LANES] = l->width,
        [SPAN_FULL] = l->points * l->width,
    };
    size_t bytes = (size_t)count[v->span] * cpu_reg_bytes(v->reg);
    return v->span == SPAN_ONE ? LINE : (bytes + LINE - 1) / LINE * LINE + SKEW;
}

/* A place in the scratch for a value: one whose last reader came before, or a new one. */
static void take_slot(TilePlan *p, const TileCodeList *l, TileValue *v, Slots *s)
{
    size_t bytes = slot_bytes(l, v), element = cpu_reg_bytes(v->reg);
    bool shared = v->def >= l->once && v->span >= SPAN_LANES;
    for (int i = 0; shared && i < s->n; i++) {
        Slot *slot = &s->slot[i];
        if (slot->bytes != bytes || slot->element != element || slot->free_from > v->def) continue;
        slot->free_from = v->last;
        v->slot = slot->at;
        return;
    }
    v->slot = p->scratch;
    p->scratch += bytes;
    if (shared) s->slot[s->n++] = (Slot){v->slot, bytes, element, v->last};
}

int cpu_code_slots(TilePlan *p, TileCodeList *l)
{
    Slots s = {base_mem_alloc(((size_t)l->nvalue + 1) * sizeof *s.slot), 0};
    if (!s.slot) return SGL_ENOMEM;
    note_lives(l);
    for (int i = 0; i < p->nreduce && l == &p->post; i++)
        if (p->reduce[i].post >= 0) take_slot(p, l, &l->value[p->reduce[i].post], &s);
    for (int i = 0; i < l->n; i++)
        if (l->inst[i].dst >= 0) take_slot(p, l, &l->value[l->inst[i].dst], &s);
    base_mem_free(s.slot);
    return SGL_OK;
}
