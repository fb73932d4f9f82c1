/* exec.c: runs a grid: blocks one after the other, their warps in turn, lanes of a warp together.
 *
 * Of a warp those lanes go on that are at the earliest instruction, so lanes that parted meet
 * again. A lane stops at a barrier until all threads of the block that have not ended are there,
 * and at an operation of the warp until the lanes of its mask are.
 * Holds: what must be the same for a warp, and is not, is reported: a barrier in a branch, a warp's
 *        operation that lanes never come to.
 */
#include "sim.h"
#include <stdlib.h>
#include <string.h>

static uint64_t special_of(const Warp *w, int lane, int special)
{
    const Block *b = w->block;
    uint32_t t = (uint32_t)(w->first + lane);
    const uint64_t of[SPECIALS] = {
        t % b->size.x,
        t / b->size.x % b->size.y,
        t / b->size.x / b->size.y,
        b->size.x,
        b->size.y,
        b->size.z,
        b->at.x,
        b->at.y,
        b->at.z,
        b->grid.x,
        b->grid.y,
        b->grid.z,
        (uint64_t)lane,
        (uint64_t)w->first / WARP,
    };
    return of[special];
}

static void start(Warp *w, int threads)
{
    const Kernel *k = w->block->kernel;
    int lanes = threads - w->first < WARP ? threads - w->first : WARP;
    w->live = lanes == WARP ? ~0u : (1u << lanes) - 1;
    w->waiting = w->gathering = w->step = 0;
    memset(w->pc, 0, sizeof w->pc);
    memset(w->r, 0, (size_t)k->nreg * sizeof *w->r);
    if (k->local) memset(w->local, 0xa5, k->local * WARP);
    for (int i = 0; i < k->nfixed; i++) {
        const Fixed *f = &k->fixed[i];
        for (int l = 0; l < WARP; l++)
            w->r[f->reg][l] = f->special < 0 ? f->value : special_of(w, l, f->special);
    }
}

/* The lanes that go on: at the earliest instruction of those that can. 0: none can. */
static uint32_t choose(const Warp *w, uint32_t among, int32_t *pc)
{
    uint32_t group = 0;
    int32_t least = INT32_MAX;
    for (int l = 0; l < WARP; l++)
        if (among >> l & 1 && w->pc[l] < least) least = w->pc[l];
    for (int l = 0; l < WARP; l++)
        if ((w->live & ~w->waiting) >> l & 1 && w->pc[l] == least) group |= 1u << l;
    *pc = least;
    return group;
}

static void set_pc(Warp *w, uint32_t mask, int32_t pc)
{
    for (int l = 0; l < WARP; l++)
        if (mask >> l & 1) w->pc[l] = pc;
}

/* The lanes for which the instruction counts. */
static uint32_t guarded(const Warp *w, const Inst *i, uint32_t mask)
{
    uint32_t on = 0;
    if (i->guard < 0) return mask;
    for (int l = 0; l < WARP; l++) on |= (uint32_t)(w->r[i->guard][l] & 1) << l;
    return mask & (i->unless ? ~on : on);
}

/* A warp's operation: do all lanes of its mask take part? Its mask is operand n - 1. */
static bool is_complete(const Warp *w, const Inst *i, uint32_t on)
{
    int first = __builtin_ctz(on);
    uint32_t wanted = (uint32_t)w->r[i->r[i->n - 1]][first];
    return (wanted & w->live & ~on) == 0;
}

/* The first instruction behind `pc` at which lanes outside the group stand. */
static int32_t next_stop(const Warp *w, uint32_t group)
{
    int32_t stop = INT32_MAX;
    for (int l = 0; l < WARP; l++)
        if ((w->live & ~w->waiting & ~group) >> l & 1 && w->pc[l] < stop) stop = w->pc[l];
    return stop;
}

/* One instruction that changes where lanes go. Returns whether the group is still one at pc + 1. */
static bool control(Warp *w, const Inst *i, uint32_t group, uint32_t on, int32_t pc, bool forced)
{
    switch (i->control) {
    case C_BRANCH:
        set_pc(w, group & ~on, pc + 1);
        set_pc(w, on, (int32_t)i->offset);
        return false;
    case C_RETURN:
        set_pc(w, group & ~on, pc + 1);
        w->live &= ~on;
        return false;
    case C_BARRIER:
        set_pc(w, group, pc + 1);
        if (sim_fault("barrier")) return true;
        w->waiting |= on;
        return false;
    default: /* C_WARP */
        if (on && !is_complete(w, i, on) && !forced) {
            set_pc(w, group & ~on, pc + 1);
            set_pc(w, on, pc);
            w->gathering |= on;
            return false;
        }
        if (on && !is_complete(w, i, on))
            sim_report("warp operation", "lanes of its mask never come to it");
        w->gathering &= ~on;
        w->step++;
        sim_now.warp_step = w->step;
        if (on) i->fn(w, i, on);
        return true;
    }
}

/* Runs the group until its lanes part, meet others, or stop. */
static void run_group(Warp *w, uint32_t group, int32_t pc, bool forced)
{
    const Kernel *k = w->block->kernel;
    int32_t stop = next_stop(w, group);
    do {
        const Inst *i = &k->inst[pc];
        uint32_t on = guarded(w, i, group);
        sim_now.line = i->line;
        if (i->control) {
            if (!control(w, i, group, on, pc, forced)) return;
        } else if (on) {
            i->fn(w, i, on);
        }
        forced = false;
        pc++;
    } while (pc < stop && !sim_error);
    set_pc(w, group, pc);
}

/* Until all lanes have ended or wait at a barrier. */
static void run_warp(Warp *w)
{
    sim_now.warp_step = w->step;
    while (!sim_error) {
        int32_t pc;
        uint32_t ready = w->live & ~w->waiting, free_lanes = ready & ~w->gathering;
        if (!ready) return;
        uint32_t group = choose(w, free_lanes ? free_lanes : ready, &pc);
        run_group(w, group, pc, !free_lanes);
    }
}

/* All threads that have not ended are at a barrier. Lanes of one warp have to be at the same. */
static void pass_barrier(Block *b, Warp *warps, int n)
{
    for (int i = 0; i < n; i++) {
        Warp *w = &warps[i];
        int first = w->waiting ? __builtin_ctz(w->waiting) : 0;
        for (int l = 0; l < WARP; l++)
            if (w->waiting >> l & 1 && w->pc[l] != w->pc[first])
                sim_report("barrier", "lanes %d and %d of a warp wait at different ones", first, l);
        if (w->waiting && w->live & ~w->waiting)
            sim_report("barrier", "lanes of a warp never come to it");
        w->waiting = 0;
    }
    b->barrier++;
    sim_now.barrier = b->barrier;
}

static void run_block(Block *b, Warp *warps, int n, int threads)
{
    memset(b->shared, 0xa5, b->shared_bytes);
    sim_shared_begin(b->shared_bytes);
    b->barrier = 1;
    sim_now.barrier = 1;
    for (int i = 0; i < n; i++) start(&warps[i], threads);
    for (bool any = true; any && !sim_error;) {
        int from = (int)sim_random((uint32_t)n);
        for (int i = 0; i < n; i++) run_warp(&warps[(from + i) % n]);
        any = false;
        for (int i = 0; i < n; i++) any = any || warps[i].live;
        if (any) pass_barrier(b, warps, n);
    }
}

static void run_blocks(Block *b, Warp *warps, int n, int threads)
{
    uint32_t all = b->grid.x * b->grid.y * b->grid.z, from = sim_random(all);
    for (uint32_t i = 0; i < all && !sim_error; i++) {
        uint32_t at = (from + i) % all;
        b->at = (Dim3){at % b->grid.x, at / b->grid.x % b->grid.y, at / b->grid.x / b->grid.y};
        sim_now.thread = at << 10;
        run_block(b, warps, n, threads);
    }
}

bool sim_run_grid(const Kernel *k, Dim3 grid, Dim3 size, size_t dynamic, const uint8_t *params,
                  uint32_t deed)
{
    int threads = (int)(size.x * size.y * size.z), n = (threads + WARP - 1) / WARP;
    Block b = {.kernel = k, .grid = grid, .size = size, .params = params};
    b.shared_bytes = (k->shared + 15) / 16 * 16 + dynamic;
    b.shared = malloc(b.shared_bytes + 16);
    Warp *warps = calloc((size_t)n, sizeof *warps);
    if (!b.shared || !warps) abort();
    for (int i = 0; i < n; i++) {
        warps[i].block = &b;
        warps[i].first = i * WARP;
        warps[i].r = malloc((size_t)(k->nreg + 1) * sizeof *warps[i].r);
        warps[i].local = malloc(k->local * WARP + 16);
        if (!warps[i].r || !warps[i].local) abort();
    }
    sim_now = (Toucher){.deed = deed};
    run_blocks(&b, warps, n, threads);
    sim_now = (Toucher){0};
    for (int i = 0; i < n; i++) free(warps[i].r), free(warps[i].local);
    free(warps);
    free(b.shared);
    return !sim_error;
}
