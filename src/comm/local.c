/* local.c: the transport of ranks on one machine, over the memory of their job (job.h).
 *
 * A rank puts a piece of its value into its own room, all meet, and each reads from the others what
 * it needs. A large sum is shared out: each rank combines its slice of the piece, in place, and
 * after a second meeting all read the slices.
 * Holds: pieces use the two rooms of a rank in turn. A room is written again two pieces later,
 *        behind a meeting that each member comes to only when it has read the piece before; so
 *        nothing is overwritten that anybody still reads.
 */
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "comm/exchange.h"

enum {
    SPINS = 2000,
    SMALL = 16 << 10 /* bytes below which all combine everything: one meeting less */
};
static const long LOOK_NS = 50 * 1000 * 1000; /* a sleeper looks up so often */

static JobLine *line_of(const Exchange *x, int member)
{
    return &x->job->rank[x->g->rank[member]].line_of[x->w->call.axes];
}

/* ---- meetings */

static bool came(const JobLine *l, uint32_t meeting)
{
    return (int32_t)(atomic_load(&l->met) - meeting) >= 0;
}

static void doze(JobLine *l, uint32_t seen)
{
    const struct timespec most = {0, LOOK_NS};
    atomic_fetch_add(&l->asleep, 1);
    syscall(SYS_futex, (void *)&l->met, FUTEX_WAIT, seen, &most, NULL, 0);
    atomic_fetch_sub(&l->asleep, 1);
}

/* Does the peer wait for this rank where it has not come, while this rank waits for the peer? */
static bool is_crossed(const Exchange *x, const JobRank *peer)
{
    uint64_t waits = atomic_load(&peer->waits);
    uint32_t meeting = (uint32_t)(waits >> 16), channel = waits >> 8 & 0xff;
    if ((int)(waits & 0xff) != x->c->rank + 1) return false;
    return !came(&x->me->line_of[channel], meeting);
}

static uint64_t waits_word(const Exchange *x, int member, uint32_t meeting)
{
    return (uint64_t)meeting << 16 | (uint64_t)x->w->call.axes << 8 |
           (uint64_t)(x->g->rank[member] + 1);
}

/* Until a member came to the meeting, the job stopped, or it is too late. */
static int wait_for(const Exchange *x, int member, uint32_t meeting)
{
    JobLine *l = line_of(x, member);
    const JobRank *peer = &x->job->rank[x->g->rank[member]];
    for (int i = 0; i < SPINS; i++)
        if (came(l, meeting)) return SGL_OK;
    double last = base_clock(), waited = 0;
    atomic_store(&x->me->waits, waits_word(x, member, meeting));
    for (;;) {
        uint32_t seen = atomic_load(&l->met);
        if (came(l, meeting)) break;
        int code = comm_exchange_look(x, member, &last, &waited);
        if (code < 0) return code;
        /* It may have come since the look above, and gone on to its end or to where it waits. */
        if (atomic_load(&peer->ended) && !came(l, meeting)) return comm_exchange_ended(x, member);
        if (is_crossed(x, peer) && !came(l, meeting))
            return comm_exchange_differs(x, member, peer->what);
        doze(l, seen);
    }
    atomic_store(&x->me->waits, 0);
    return SGL_OK;
}

/* All members come here before any goes on. The first time in a call they compare what they do. */
static int meet(Exchange *x)
{
    uint32_t meeting = atomic_fetch_add(&x->own->met, 1) + 1;
    int code = SGL_OK;
    if (atomic_load(&x->own->asleep))
        syscall(SYS_futex, (void *)&x->own->met, FUTEX_WAKE, MESH_RANKS, NULL, NULL, 0);
    for (int m = 0; m < x->g->n && code >= 0; m++)
        if (m != x->g->me) code = wait_for(x, m, meeting);
    for (int m = 0; m < x->g->n && code >= 0 && !x->agreed; m++)
        if (strcmp(line_of(x, m)->what[x->own->turn % 2], x->w->call.what) != 0)
            code = comm_exchange_differs(x, m, line_of(x, m)->what[x->own->turn % 2]);
    x->agreed = true;
    return code;
}

static char *room_of(const Exchange *x, int member)
{
    return comm_job_room(x->job, x->g->rank[member], x->w->call.axes, x->own->turn);
}

/* The next piece, or the next call, is in the other room. */
static void turn(const Exchange *x)
{
    x->own->turn++;
    memcpy(x->own->what[x->own->turn % 2], x->own->what[(x->own->turn + 1) % 2], JOB_TEXT);
}

/* ---- all_reduce */

/* to = elements [at, at + n) of all members' rooms, combined; `to` may be the place of these
 * elements in the own room. */
static void combine_range(const Exchange *x, int64_t at, int64_t n, char *to)
{
    const void *value[MESH_RANKS];
    for (int m = 0; m < x->g->n; m++)
        value[m] = room_of(x, m) + (size_t)at * DTYPES[x->w->dtype].bytes;
    comm_combine(x->w->kind, x->w->dtype, x->g->n, value, n, to);
}

/* Each rank combines its slice of a piece of n elements; then all read all slices. */
static int share_out(Exchange *x, int64_t n, char *out)
{
    size_t bytes = DTYPES[x->w->dtype].bytes;
    int64_t first = n * x->g->me / x->g->n, last = n * (x->g->me + 1) / x->g->n;
    combine_range(x, first, last - first, room_of(x, x->g->me) + (size_t)first * bytes);
    int code = meet(x);
    for (int m = 0; m < x->g->n && code >= 0; m++) {
        size_t from = (size_t)(n * m / x->g->n) * bytes,
               to = (size_t)(n * (m + 1) / x->g->n) * bytes;
        memcpy(out + from, room_of(x, m) + from, to - from);
    }
    return code;
}

/* Piece by piece: small ones are combined by all ranks, large ones are shared out. */
static int all_reduce(Exchange *x)
{
    size_t bytes = DTYPES[x->w->dtype].bytes;
    int64_t count = x->w->count, piece = JOB_HALF / (int64_t)bytes, at = 0;
    int code;
    do {
        int64_t n = count - at < piece ? count - at : piece;
        char *to = (char *)x->w->out + (size_t)at * bytes;
        memcpy(room_of(x, x->g->me), (const char *)x->w->in + (size_t)at * bytes,
               (size_t)n * bytes);
        code = meet(x);
        if (code >= 0 && (size_t)n * bytes <= SMALL) combine_range(x, 0, n, to);
        else if (code >= 0) code = share_out(x, n, to);
        turn(x);
        at += n;
    } while (at < count && code >= 0);
    return code;
}

/* ---- all_gather and reduce_scatter */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* As many pieces as the longest part has; who has no more comes to the meetings alone. */
static int all_gather(Exchange *x)
{
    const CommParts *p = &x->w->parts;
    int64_t most = 0, at = 0;
    int code;
    for (int m = 0; m < x->g->n; m++)
        if (comm_parts_bytes(p, m) > most) most = comm_parts_bytes(p, m);
    do {
        int64_t own = smaller(JOB_HALF, comm_parts_bytes(p, x->g->me) - at);
        if (own > 0) memcpy(room_of(x, x->g->me), (const char *)x->w->in + at, (size_t)own);
        code = meet(x);
        for (int m = 0; m < x->g->n && code >= 0; m++) {
            int64_t n = smaller(JOB_HALF, comm_parts_bytes(p, m) - at);
            if (n > 0) comm_place(p, x->g->n, m, at, n, x->w->out, room_of(x, m), true);
        }
        turn(x);
        at += JOB_HALF;
    } while (at < most && code >= 0);
    return code;
}

/* The value is handed out part by part: first what member 0 is to have. */
static int reduce_scatter(Exchange *x)
{
    const CommParts *p = &x->w->parts;
    int code = SGL_OK;
    bool any = false;
    for (int m = 0; m < x->g->n && code >= 0; m++) {
        int64_t bytes = comm_parts_bytes(p, m);
        for (int64_t at = 0; at < bytes && code >= 0; at += JOB_HALF) {
            int64_t n = smaller(JOB_HALF, bytes - at), size = (int64_t)DTYPES[x->w->dtype].bytes;
            comm_place(p, x->g->n, m, at, n, (char *)(uintptr_t)x->w->in, room_of(x, x->g->me),
                       false);
            code = meet(x);
            if (code >= 0 && m == x->g->me) combine_range(x, 0, n / size, (char *)x->w->out + at);
            turn(x);
            any = true;
        }
    }
    if (any) return code;
    code = meet(x);
    turn(x);
    return code;
}

/* ---- all_to_all and broadcast */

/* A room has a slot for each member; `count` is the most bytes that any has for any, so that all
 * come to as many meetings. */
static int all_to_all(Exchange *x)
{
    const CommParts *to = &x->w->parts, *from = &x->w->from;
    int64_t slot = JOB_HALF / x->g->n, at = 0;
    int code;
    do {
        const char *in = x->w->in;
        char *out = x->w->out;
        for (int m = 0; m < x->g->n; in += comm_parts_bytes(to, m++)) {
            int64_t n = smaller(slot, comm_parts_bytes(to, m) - at);
            if (n > 0) memcpy(room_of(x, x->g->me) + m * slot, in + at, (size_t)n);
        }
        code = meet(x);
        for (int m = 0; m < x->g->n && code >= 0; out += comm_parts_bytes(from, m++)) {
            int64_t n = smaller(slot, comm_parts_bytes(from, m) - at);
            if (n > 0) memcpy(out + at, room_of(x, m) + x->g->me * slot, (size_t)n);
        }
        turn(x);
        at += slot;
    } while (at < x->w->count && code >= 0);
    return code;
}

/* The root's value, piece by piece. */
static int broadcast(Exchange *x)
{
    int64_t all = x->w->count * (int64_t)DTYPES[x->w->dtype].bytes, at = 0;
    bool gives = x->g->me == x->w->root;
    int code;
    do {
        int64_t n = smaller(JOB_HALF, all - at);
        if (gives) memcpy(room_of(x, x->g->me), (const char *)x->w->in + at, (size_t)n);
        code = meet(x);
        if (code >= 0)
            memmove((char *)x->w->out + at,
                    gives ? (const char *)x->w->in + at : room_of(x, x->w->root), (size_t)n);
        turn(x);
        at += n;
    } while (at < all && code >= 0);
    return code;
}

/* ---- the transport */

static int local_run(Comm *c, CommWork *w)
{
    static int (*const RUN[COMM_OPS])(Exchange *) = {
        [COMM_all_reduce] = all_reduce,         [COMM_all_gather] = all_gather,
        [COMM_reduce_scatter] = reduce_scatter, [COMM_all_to_all] = all_to_all,
        [COMM_broadcast] = broadcast,
    };
    return comm_exchange(c, w, RUN[w->op]);
}

static void local_stop(Comm *c, const char *why)
{
    char text[JOB_REASON];
    snprintf(text, sizeof text, "rank %d: %s", c->rank, why);
    comm_job_stop(c->job, c->rank, text);
}

static const Transport LOCAL = {.name = "local", .run = local_run, .stop = local_stop};

Comm *comm_local_new(Job *j, int rank)
{
    Comm *c = base_mem_zero(1, sizeof *c);
    if (!c) return NULL;
    *c = (Comm){.transport = &LOCAL,
                .rank = rank,
                .local_rank = rank,
                .size = j->ranks,
                .seed = j->seed,
                .job = j};
    return c;
}
