/* tile_walk.c: memory accesses of the tile interpreter.
 *
 * In:   an Access of a kernel and the variables of the space it is walked in.
 * Out:  a Walk: neighbouring variables merged wherever offset and guards advance as one variable
 *        would; and loads, stores, indices, masks over an interval of the space.
 * Holds: an interval is a sequence of runs along the innermost dim. Along a run offset and guards
 *        are linear, so inside a run the guards hold on one interval.
 */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "cpu/tile_plan.h"

typedef struct Cursor {
    int64_t at[LOOP_MAX_VARS], form[WALK_FORMS];
} Cursor;

static void add_form(Walk *w, const Affine *a, int64_t lo, int64_t hi)
{
    int f = w->nform++;
    w->base[f] = a->base;
    w->lo[f] = lo;
    w->hi[f] = hi;
}

/* Does a dim of step `outer` continue one of `inner`, for every form? */
static bool merges(const Walk *w, const Affine *const *form, int var)
{
    int d = w->ndim - 1;
    for (int f = 0; f < w->nform; f++)
        if (form[f]->coef[var] != w->step[f][d] * w->extent[d]) return false;
    return true;
}

/* Adds the variable outside those already there; dims are built innermost first. */
static void add_var(Walk *w, const Affine *const *form, int var, int64_t extent)
{
    if (w->ndim > 0 && merges(w, form, var)) {
        w->extent[w->ndim - 1] *= extent;
        return;
    }
    int d = w->ndim++;
    w->extent[d] = extent;
    for (int f = 0; f < w->nform; f++) w->step[f][d] = form[f]->coef[var];
}

/* Can the guard fail anywhere? */
static bool guard_matters(const Kernel *k, const Guard *g)
{
    int64_t lo = g->at.base, hi = g->at.base;
    for (int v = 0; v < k->nvar; v++) {
        int64_t reach = g->at.coef[v] * (k->extent[v] - 1);
        lo += reach < 0 ? reach : 0;
        hi += reach > 0 ? reach : 0;
    }
    return lo < g->lo || hi >= g->hi;
}

/* The space is that of the variables first .. last - 1 of the kernel. */
void cpu_walk_make(Walk *w, const Kernel *k, int access, int first, int last, double outside)
{
    const Access *a = &k->access[access];
    const Affine *form[WALK_FORMS] = {&a->at};
    *w = (Walk){.arg = a->arg, .dtype = a->dtype};
    while (1 << w->size < (int)DTYPES[a->dtype].bytes) w->size++;
    ir_dtype_store(a->dtype, &w->outside, 0, outside);
    add_form(w, &a->at, 0, 0);
    for (int g = 0; g < a->nguard; g++)
        if (guard_matters(k, &a->guard[g])) {
            form[w->nform] = &a->guard[g].at;
            add_form(w, &a->guard[g].at, a->guard[g].lo, a->guard[g].hi);
        }
    int64_t total = 1;
    for (int v = last - 1; v >= first; v--) {
        total *= k->extent[v];
        if (k->extent[v] > 1) add_var(w, form, v, k->extent[v]);
    }
    if (w->ndim == 0) w->extent[w->ndim++] = 1;
    w->small = total <= UINT32_MAX;
}

/* Runs shorter than this are read by table. */
enum { SHORT_RUN = 16 };

/* A table for the inner dims, as many as TABLE_MOST offsets hold. */
int cpu_walk_tabulate(Walk *w)
{
    int64_t period = 1, reach = 0;
    int inner = 0;
    while (inner < w->ndim && period * w->extent[inner] <= TABLE_MOST) {
        reach += llabs(w->step[0][inner]) * (w->extent[inner] - 1);
        period *= w->extent[inner++];
    }
    if (w->extent[0] >= SHORT_RUN || inner < 2 || reach > INT32_MAX) return SGL_OK;
    w->table = base_mem_alloc((size_t)period * sizeof *w->table);
    if (!w->table) return SGL_ENOMEM;
    w->inner = inner;
    w->period = period;
    for (int64_t i = 0; i < period; i++) {
        int64_t rest = i, offset = 0;
        for (int d = 0; d < inner; d++, rest /= w->extent[d - 1])
            offset += rest % w->extent[d] * w->step[0][d];
        w->table[i] = (int32_t)offset;
    }
    return SGL_OK;
}

/* To position `start` of the space of dims from `first` on, which are innermost first. */
static void seek_from(const Walk *w, int first, int64_t start, Cursor *c)
{
    for (int f = 0; f < w->nform; f++) c->form[f] = w->base[f];
    for (int d = first; d < w->ndim; d++) {
        int64_t at = start;
        if (d < w->ndim - 1) {
            int64_t q = w->small ? (int64_t)((uint32_t)start / (uint32_t)w->extent[d])
                                 : start / w->extent[d];
            at = start - q * w->extent[d];
            start = q;
        }
        c->at[d] = at;
        for (int f = 0; f < w->nform; f++) c->form[f] += at * w->step[f][d];
    }
}

static void seek(const Walk *w, int64_t start, Cursor *c) { seek_from(w, 0, start, c); }

/* Moves n steps along dim `first`, into the next run at its end. */
static void advance_from(const Walk *w, int first, Cursor *c, int64_t n)
{
    c->at[first] += n;
    for (int f = 0; f < w->nform; f++) c->form[f] += n * w->step[f][first];
    for (int d = first; c->at[d] == w->extent[d] && d + 1 < w->ndim; d++) {
        c->at[d] = 0;
        c->at[d + 1]++;
        for (int f = 0; f < w->nform; f++)
            c->form[f] += w->step[f][d + 1] - w->extent[d] * w->step[f][d];
    }
}

static void advance(const Walk *w, Cursor *c, int64_t n) { advance_from(w, 0, c, n); }

static int64_t run_length(const Walk *w, const Cursor *c, int64_t n)
{
    int64_t left = w->extent[0] - c->at[0];
    return n < left ? n : left;
}

static int64_t ceil_div(int64_t a, int64_t b) /* b > 0 */ { return a / b + (a % b > 0); }

/* The part [from, to) of a run of n elements in which all guards hold. */
static void inside(const Walk *w, const Cursor *c, int64_t n, int64_t *from, int64_t *to)
{
    int64_t lo = 0, hi = n;
    for (int f = 1; f < w->nform; f++) {
        int64_t step = w->step[f][0], at = c->form[f], first, end;
        if (step == 0) {
            first = 0;
            end = at >= w->lo[f] && at < w->hi[f] ? n : 0;
        } else if (step > 0) {
            first = ceil_div(w->lo[f] - at, step);
            end = ceil_div(w->hi[f] - at, step);
        } else {
            first = ceil_div(at - w->hi[f] + 1, -step);
            end = ceil_div(at - w->lo[f] + 1, -step);
        }
        if (first > lo) lo = first;
        if (end < hi) hi = end;
    }
    *from = lo < n ? lo : n;
    *to = hi > *from ? hi : *from;
}

int64_t cpu_walk_offset(const Walk *w, int64_t start)
{
    Cursor c;
    seek(w, start, &c);
    return c.form[0];
}

bool cpu_walk_direct(const Walk *w, int64_t start, int64_t n, int64_t *offset)
{
    if (w->step[0][0] != 1 || w->nform > 1) return false;
    if (w->ndim == 1) {
        *offset = w->base[0] + start;
        return true;
    }
    Cursor c;
    seek(w, start, &c);
    *offset = c.form[0];
    return run_length(w, &c, n) == n;
}

static void load_run(const TileOps *ops, int size, char *out, const char *from, int64_t stride,
                     int64_t n)
{
    if (stride == 1) memcpy(out, from, (size_t)n << size);
    else if (stride == 0) ops->fill[size](out, from, n);
    else ops->gather[size](out, from, stride, n);
}

/* Copies run by run of the innermost variable, with the fill where a guard says that an element
 * is outside. */
static void load_runs(const Walk *w, const TileOps *ops, const char *buffer, int64_t start,
                      int64_t n, char *out)
{
    Cursor c;
    seek(w, start, &c);
    const int size = w->size;
    const int64_t stride = w->step[0][0];
    for (int64_t done = 0, len; done < n; done += len, advance(w, &c, len)) {
        int64_t from, to;
        len = run_length(w, &c, n - done);
        char *o = out + (done << size);
        inside(w, &c, len, &from, &to);
        if (from > 0) ops->fill[size](o, &w->outside, from);
        if (to > from)
            load_run(ops, size, o + (from << size),
                     buffer + (c.form[0] + from * stride) * ((int64_t)1 << size), stride,
                     to - from);
        if (len > to) ops->fill[size](o + (to << size), &w->outside, len - to);
    }
}

/* Do all guards hold for all the table's positions behind the cursor? */
static bool period_inside(const Walk *w, const Cursor *c)
{
    for (int f = 1; f < w->nform; f++) {
        int64_t lo = c->form[f], hi = lo;
        for (int d = 0; d < w->inner; d++) {
            int64_t reach = w->step[f][d] * (w->extent[d] - 1);
            lo += reach < 0 ? reach : 0;
            hi += reach > 0 ? reach : 0;
        }
        if (lo < w->lo[f] || hi >= w->hi[f]) return false;
    }
    return true;
}

/* By table, but for the periods at the edge of a padding. */
static void load_periods(const Walk *w, const TileOps *ops, const char *buffer, int64_t start,
                         int64_t n, char *out)
{
    Cursor c;
    int64_t skip = start % w->period;
    seek_from(w, w->inner, start / w->period, &c);
    for (int64_t done = 0, len; done < n; done += len, skip = 0) {
        len = w->period - skip < n - done ? w->period - skip : n - done;
        char *o = out + (done << w->size);
        if (period_inside(w, &c))
            ops->lookup[w->size](o, buffer + c.form[0] * ((int64_t)1 << w->size), w->table + skip,
                                 len);
        else load_runs(w, ops, buffer, start + done, len, o);
        if (w->inner < w->ndim) advance_from(w, w->inner, &c, 1);
    }
}

static void load_raw(const Walk *w, const TileOps *ops, const char *buffer, int64_t start,
                     int64_t n, char *out)
{
    if (w->table) load_periods(w, ops, buffer, start, n, out);
    else load_runs(w, ops, buffer, start, n, out);
}

/* 16-bit floats are gathered in pieces and widened into the register. */
enum { PIECE = 512 };

void cpu_walk_load(const Walk *w, const TileOps *ops, const void *buffer, int64_t start, int64_t n,
                   void *out)
{
    if (!ops->widen[w->dtype]) {
        load_raw(w, ops, buffer, start, n, out);
        return;
    }
    int64_t offset;
    if (cpu_walk_direct(w, start, n, &offset)) {
        ops->widen[w->dtype](out, (const uint16_t *)buffer + offset, NULL, NULL, n);
        return;
    }
    uint16_t raw[PIECE];
    for (int64_t done = 0; done < n; done += PIECE) {
        int64_t len = n - done < PIECE ? n - done : PIECE;
        load_raw(w, ops, buffer, start + done, len, (char *)raw);
        ops->widen[w->dtype]((float *)out + done, raw, NULL, NULL, len);
    }
}

/* Writes run by run what lies inside. */
static void store_raw(const Walk *w, const TileOps *ops, char *buffer, int64_t start, int64_t n,
                      const char *v)
{
    Cursor c;
    seek(w, start, &c);
    const int size = w->size;
    const int64_t stride = w->step[0][0];
    for (int64_t done = 0, len; done < n; done += len, advance(w, &c, len)) {
        int64_t from, to;
        len = run_length(w, &c, n - done);
        inside(w, &c, len, &from, &to);
        char *t = buffer + (c.form[0] + from * stride) * ((int64_t)1 << size);
        const char *f = v + ((done + from) << size);
        if (to > from && stride == 1) memmove(t, f, (size_t)(to - from) << size);
        else if (to > from) ops->scatter[size](t, f, stride, to - from);
    }
}

void cpu_walk_store(const Walk *w, const TileOps *ops, void *buffer, int64_t start, int64_t n,
                    const void *v)
{
    if (!ops->narrow[w->dtype]) {
        store_raw(w, ops, buffer, start, n, v);
        return;
    }
    int64_t offset;
    if (cpu_walk_direct(w, start, n, &offset)) {
        ops->narrow[w->dtype]((uint16_t *)buffer + offset, v, NULL, NULL, n);
        return;
    }
    uint16_t raw[PIECE];
    for (int64_t done = 0; done < n; done += PIECE) {
        int64_t len = n - done < PIECE ? n - done : PIECE;
        ops->narrow[w->dtype](raw, (const float *)v + done, NULL, NULL, len);
        store_raw(w, ops, buffer, start + done, len, (const char *)raw);
    }
}

void cpu_walk_index(const Walk *w, const TileOps *ops, Reg reg, int64_t start, int64_t n, void *out)
{
    Cursor c;
    seek(w, start, &c);
    for (int64_t done = 0, len; done < n; done += len, advance(w, &c, len)) {
        len = run_length(w, &c, n - done);
        ops->index[reg]((char *)out + (size_t)done * cpu_reg_bytes(reg), c.form[0], w->step[0][0],
                        len);
    }
}

void cpu_walk_rand(const Walk *w, const TileOps *ops, const int64_t *state, const TileInst *t,
                   int64_t start, int64_t n, float *out)
{
    Cursor c;
    seek(w, start, &c);
    for (int64_t done = 0, len; done < n; done += len, advance(w, &c, len)) {
        len = run_length(w, &c, n - done);
        ops->rand(out + done, state, t->draw, t->word, c.form[0], w->step[0][0], len);
    }
}

void cpu_walk_mask(const Walk *w, const TileOps *ops, int64_t start, int64_t n, uint8_t *out)
{
    static const uint8_t holds = 1, fails = 0;
    Cursor c;
    seek(w, start, &c);
    for (int64_t done = 0, len; done < n; done += len, advance(w, &c, len)) {
        int64_t from, to;
        len = run_length(w, &c, n - done);
        inside(w, &c, len, &from, &to);
        ops->fill[0](out + done, &fails, from);
        ops->fill[0](out + done + from, &holds, to - from);
        ops->fill[0](out + done + to, &fails, len - to);
    }
}
