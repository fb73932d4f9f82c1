/* tile_run.c: runs code of the tile interpreter on one tile.
 *
 * In:   a Frame: where the tile lies in each span, and where the values of earlier instructions
 *       are.
 * Out:  the values of this tile, and memory written by stores.
 */
#include <string.h>
#include "cpu/tile_plan.h"

/* May the result be computed into memory before its store's turn? Not while a load of the same
 * buffer is still wanted. Buffers that share memory have equal addresses. */
static bool direct_allowed(const Frame *f, int i)
{
    const TileCodeList *l = f->code;
    const Walk *walk = f->plan->walk;
    if (l->inst[i].direct < 0) return false;
    const void *to = f->args[walk[l->inst[i].direct].arg];
    for (int j = 0; j < l->n; j++) {
        const TileInst *t = &l->inst[j];
        if (t->code == TI_LOAD && l->value[t->dst].last > i && f->args[walk[t->walk].arg] == to)
            return false;
    }
    return true;
}

static void *memory(const Frame *f, const Walk *w, int64_t offset)
{
    return (char *)f->args[w->arg] + offset * ((int64_t)1 << w->size);
}

/* Where a result of instruction t goes. */
static void *place(Frame *f, const TileInst *t)
{
    int64_t offset;
    if (f->direct[t - f->code->inst]) {
        const Walk *w = &f->plan->walk[t->direct];
        if (cpu_walk_direct(w, f->start[t->span], f->count[t->span], &offset))
            return f->at[t->dst] = memory(f, w, offset);
    }
    return f->at[t->dst] = f->scratch + f->code->value[t->dst].slot;
}

/* The next tile's part of a stream. Each stream is left for a while after a tile, too soon for the
 * processor's own prefetching. */
static void prefetch_next(const char *p, size_t bytes)
{
    for (size_t at = bytes; at < 2 * bytes; at += 64) __builtin_prefetch(p + at);
}

/* Elements of an argument into a register; where they lie side by side in the right type, the
 * register is the memory itself. */
static void run_load(Frame *f, const TileInst *t)
{
    const Walk *w = &f->plan->walk[t->walk];
    const TileOps *ops = f->plan->ops;
    int64_t offset, n = f->count[t->span], start = f->start[t->span];
    if (w->turned) {
        f->at[t->dst] = cpu_block_load(f, w, start, n);
        return;
    }
    if (!t->copies && !ops->widen[w->dtype] && cpu_walk_direct(w, start, n, &offset)) {
        f->at[t->dst] = memory(f, w, offset);
        if (f->plan->streams) prefetch_next(f->at[t->dst], (size_t)n << w->size);
        return;
    }
    cpu_walk_load(w, ops, f->args[w->arg], start, n, place(f, t));
}

static void run_const(Frame *f, const TileInst *t)
{
    memcpy(place(f, t), &t->bits, cpu_reg_bytes(t->reg));
}

static void run_index(Frame *f, const TileInst *t)
{
    cpu_walk_index(&f->plan->walk[t->walk], f->plan->ops, t->reg, f->start[t->span],
                   f->count[t->span], place(f, t));
}

static void run_rand(Frame *f, const TileInst *t)
{
    const Walk *w = &f->plan->walk[t->walk];
    cpu_walk_rand(w, f->plan->ops, f->args[w->arg], t, f->start[t->span], f->count[t->span],
                  place(f, t));
}

static void run_mask(Frame *f, const TileInst *t)
{
    cpu_walk_mask(&f->plan->walk[t->walk], f->plan->ops, f->start[t->span], f->count[t->span],
                  place(f, t));
}

static void run_op(Frame *f, const TileInst *t)
{
    const void *a = t->a < 0 ? NULL : f->at[t->a], *b = t->b < 0 ? NULL : f->at[t->b];
    t->fn(place(f, t), a, b, t->c < 0 ? NULL : f->at[t->c], f->count[t->span]);
}

static void run_expand(Frame *f, const TileInst *t)
{
    const size_t bytes = cpu_reg_bytes(t->reg);
    const int size = bytes == 8 ? 3 : bytes == 4 ? 2 : 0;
    const char *v = f->at[t->a];
    char *out = place(f, t);
    if (t->from == SPAN_ONE) {
        f->plan->ops->fill[size](out, v, f->count[t->span]);
        return;
    }
    for (int64_t p = 0; p < f->points; p++, v += bytes, out += bytes * (size_t)f->width)
        f->plan->ops->fill[size](out, v, f->width);
}

static void run_reduce(Frame *f, const TileInst *t) { f->reduce(f, t); }

static void run_store(Frame *f, const TileInst *t)
{
    const Walk *w = &f->plan->walk[t->walk];
    int64_t offset, n = f->count[t->span], start = f->start[t->span];
    bool direct = cpu_walk_direct(w, start, n, &offset);
    if (direct && f->at[t->a] == memory(f, w, offset)) return; /* computed there */
    cpu_walk_store(w, f->plan->ops, f->args[w->arg], start, n, f->at[t->a]);
}

static void (*const RUN[TI_COUNT])(Frame *, const TileInst *) = {
    [TI_LOAD] = run_load,     [TI_CONST] = run_const,   [TI_INDEX] = run_index,
    [TI_RAND] = run_rand,     [TI_MASK] = run_mask,     [TI_OP] = run_op,
    [TI_EXPAND] = run_expand, [TI_REDUCE] = run_reduce, [TI_STORE] = run_store,
};

static void run_insts(Frame *f, int first, int last)
{
    for (int i = first; i < last; i++) {
        const TileInst *t = &f->code->inst[i];
        if (f->count[t->span] == 0) continue;
        RUN[t->code](f, t);
        if (t->round) t->round(f->at[t->dst], f->at[t->dst], NULL, NULL, f->count[t->span]);
    }
}

/* Starts a chunk: what is the same for all its tiles. */
void cpu_frame_begin(Frame *f, const TileCodeList *code)
{
    f->code = code;
    f->at = (void **)(void *)(f->scratch + f->plan->frame);
    f->direct = (bool *)(f->at + code->nvalue);
    for (int v = 0; v < code->nvalue; v++) f->at[v] = f->scratch + code->value[v].slot;
    for (int i = 0; i < code->n; i++) f->direct[i] = i >= code->once && direct_allowed(f, i);
    f->points = code->points;
    f->width = code->width;
    f->start[SPAN_ONE] = 0;
    f->count[SPAN_ONE] = 1;
    f->count[SPAN_OUTER] = code->points;
    f->count[SPAN_LANES] = code->width;
    f->count[SPAN_FULL] = code->points * code->width;
    run_insts(f, 0, code->once);
}

void cpu_frame_tile(Frame *f, int64_t point, int64_t points, int64_t lane, int64_t width)
{
    f->points = points;
    f->width = width;
    f->start[SPAN_OUTER] = point;
    f->start[SPAN_LANES] = lane;
    f->start[SPAN_FULL] = point * f->plan->lanes + lane;
    f->count[SPAN_OUTER] = points;
    f->count[SPAN_LANES] = width;
    f->count[SPAN_FULL] = points * width;
    run_insts(f, f->code->once, f->code->n);
}
