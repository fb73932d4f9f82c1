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
#include "comm/job.h"

enum {
    SPINS = 2000,
    TILE = 1024, /* elements combined at once */
    TREE_DEPTH = 8,
    SMALL = 16 << 10 /* bytes below which all combine everything: one meeting less */
};
static const long LOOK_NS = 50 * 1000 * 1000; /* a sleeper looks up so often */

/* A call on its way. */
typedef struct Exchange {
    Job *job;
    Comm *c;
    const CommCall *call;
    const CommGroup *g;
    JobLine *own;
    bool agreed; /* the others' calls were compared with this one */
} Exchange;

static JobLine *line_of(const Exchange *x, int member)
{
    return &x->job->rank[x->g->rank[member]].line[x->call->axes];
}

/* ---- errors */

static int stopped(const Exchange *x)
{
    return base_fail(x->c->cx, SGL_EPEER, "%s", x->job->verdict);
}

/* What this rank found ends the job, unless another found something before. */
static int stop(const Exchange *x, const char *verdict)
{
    comm_job_stop(x->job, verdict);
    while (!comm_job_stopped(x->job)) usleep(100);
    return stopped(x);
}

static int peer_ended(const Exchange *x, int member)
{
    char text[JOB_VERDICT];
    snprintf(text, sizeof text,
             "rank %d has ended its script, rank %d is at %s (%s): all ranks must take the same "
             "steps",
             x->g->rank[member], x->c->rank, x->call->what, x->call->where);
    return stop(x, text);
}

static int peer_late(const Exchange *x, int member)
{
    char text[JOB_VERDICT];
    const JobRank *peer = &x->job->rank[x->g->rank[member]];
    snprintf(
        text, sizeof text,
        "rank %d waited %g s for rank %d in exchange %u, %s (%s); rank %d was last in exchange "
        "%u (%s)",
        x->c->rank, x->job->timeout, x->g->rank[member],
        atomic_load(&x->job->rank[x->c->rank].exchanges), x->call->what, x->call->where,
        x->g->rank[member], atomic_load(&peer->exchanges),
        peer->at[0] ? peer->at : "before the first");
    return stop(x, text);
}

static int disagree(const Exchange *x, int member)
{
    char text[JOB_VERDICT];
    snprintf(text, sizeof text,
             "the ranks take different steps: in exchange %u rank %d is at %s, rank %d at %s",
             atomic_load(&x->job->rank[x->c->rank].exchanges), x->c->rank, x->call->what,
             x->g->rank[member], line_of(x, member)->what[x->own->turn % 2]);
    return stop(x, text);
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

/* Until a member came to the meeting, the job stopped, or it is too late. */
static int wait_for(const Exchange *x, int member, uint32_t meeting)
{
    JobLine *l = line_of(x, member);
    for (int i = 0; i < SPINS; i++)
        if (came(l, meeting)) return SGL_OK;
    double start = base_clock();
    for (;;) {
        uint32_t seen = atomic_load(&l->met);
        if (came(l, meeting)) return SGL_OK;
        if (comm_job_stopped(x->job)) return stopped(x);
        if (atomic_load(&x->job->rank[x->g->rank[member]].ended)) return peer_ended(x, member);
        if (base_clock() - start > x->job->timeout) return peer_late(x, member);
        if (x->c->cx->interrupted) return base_fail(x->c->cx, SGL_EINTR, "interrupted");
        doze(l, seen);
    }
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
        if (strcmp(line_of(x, m)->what[x->own->turn % 2], x->call->what) != 0)
            code = disagree(x, m);
    x->agreed = true;
    return code;
}

static Exchange begin(Comm *c, const CommCall *call)
{
    Job *j = c->self;
    JobRank *me = &j->rank[c->rank];
    Exchange x = {j, c, call, &call->group, &me->line[call->axes], false};
    atomic_fetch_add(&me->exchanges, 1);
    snprintf(me->at, sizeof me->at, "%s", call->where);
    snprintf(x.own->what[x.own->turn % 2], JOB_TEXT, "%s", call->what);
    return x;
}

static char *room_of(const Exchange *x, int member)
{
    return comm_job_room(x->job, x->g->rank[member], x->call->axes, x->own->turn);
}

/* The next piece, or the next call, is in the other room. */
static void turn(const Exchange *x)
{
    x->own->turn++;
    memcpy(x->own->what[x->own->turn % 2], x->own->what[(x->own->turn + 1) % 2], JOB_TEXT);
}

/* ---- combining */

typedef struct Tree {
    const Exchange *x;
    CommKind kind;
    Dtype dtype, work; /* halves meet in f32 */
    size_t bytes, work_bytes;
    char *scratch; /* a tile for each level */
} Tree;

/* Elements [at, at + n) of a member's room, in the dtype that is combined. */
static void take(const Tree *t, int member, int64_t at, int64_t n, void *out)
{
    const char *from = room_of(t->x, member) + (size_t)at * t->bytes;
    if (t->work == t->dtype) {
        memcpy(out, from, (size_t)n * t->bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++) ((float *)out)[i] = (float)ir_dtype_load(t->dtype, from, i);
}

static void combine(const Tree *t, int lo, int hi, int64_t at, int64_t n, char *out, int level)
{
    char *right = t->scratch + (size_t)level * TILE * sizeof(double);
    int middle = (lo + hi) / 2;
    if (hi - lo == 1) {
        take(t, lo, at, n, out);
        return;
    }
    combine(t, lo, middle, at, n, out, level + 1);
    combine(t, middle, hi, at, n, right, level + 1);
    comm_combine(t->kind, t->work, out, right, n);
}

/* to = elements [at, at + n) of all members' rooms, combined; `to` may be the place of these
 * elements in the own room. */
static void combine_range(const Exchange *x, CommKind kind, Dtype dtype, int64_t at, int64_t n,
                          char *to)
{
    _Alignas(64) char scratch[(TREE_DEPTH + 1) * TILE * sizeof(double)];
    bool half = dtype == DT_f16 || dtype == DT_bf16;
    Dtype work = half ? DT_f32 : dtype;
    Tree t = {x,
              kind,
              dtype,
              work,
              DTYPES[dtype].bytes,
              DTYPES[work].bytes,
              scratch + TILE * sizeof(double)};
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t some = n - i < TILE ? n - i : TILE;
        char *out = to + (size_t)i * t.bytes;
        combine(&t, 0, x->g->n, at + i, some, scratch, 0);
        if (half)
            for (int64_t k = 0; k < some; k++) ir_dtype_store(dtype, out, k, ((float *)scratch)[k]);
        else memcpy(out, scratch, (size_t)some * t.bytes);
    }
}

/* ---- all_reduce */

/* Each rank combines its slice of a piece of n elements; then all read all slices. */
static int share_out(Exchange *x, CommKind kind, Dtype dtype, int64_t n, char *out)
{
    size_t bytes = DTYPES[dtype].bytes;
    int64_t first = n * x->g->me / x->g->n, last = n * (x->g->me + 1) / x->g->n;
    combine_range(x, kind, dtype, first, last - first,
                  room_of(x, x->g->me) + (size_t)first * bytes);
    int code = meet(x);
    for (int m = 0; m < x->g->n && code >= 0; m++) {
        size_t from = (size_t)(n * m / x->g->n) * bytes,
               to = (size_t)(n * (m + 1) / x->g->n) * bytes;
        memcpy(out + from, room_of(x, m) + from, to - from);
    }
    return code;
}

/* Piece by piece: small ones are combined by all ranks, large ones are shared out. */
static int local_all_reduce(Comm *c, const CommCall *call, CommKind kind, Dtype dtype,
                            int64_t count, const void *in, void *out)
{
    Exchange x = begin(c, call);
    size_t bytes = DTYPES[dtype].bytes;
    int64_t piece = JOB_HALF / (int64_t)bytes, at = 0;
    int code;
    do {
        int64_t n = count - at < piece ? count - at : piece;
        char *to = (char *)out + (size_t)at * bytes;
        memcpy(room_of(&x, x.g->me), (const char *)in + (size_t)at * bytes, (size_t)n * bytes);
        code = meet(&x);
        if (code >= 0 && (size_t)n * bytes <= SMALL) combine_range(&x, kind, dtype, 0, n, to);
        else if (code >= 0) code = share_out(&x, kind, dtype, n, to);
        turn(&x);
        at += n;
    } while (at < count && code >= 0);
    return code;
}

/* ---- all_gather and reduce_scatter */

/* Bytes [at, at + n) of part `member`, which lie one behind the other at `packed`, are brought to
 * their places in the whole, or (`out` false) from there. */
static void place(const CommParts *p, int members, int member, int64_t at, int64_t n, char *whole,
                  char *packed, bool out)
{
    int64_t row = p->length[member] * p->inner, all = comm_parts_total(p, members) * p->inner,
            before = 0;
    for (int m = 0; m < member; m++) before += p->length[m] * p->inner;
    while (n > 0) {
        int64_t within = at % row, some = row - within < n ? row - within : n;
        char *there = whole + at / row * all + before + within;
        if (out) memcpy(there, packed, (size_t)some);
        else memcpy(packed, there, (size_t)some);
        packed += some;
        at += some;
        n -= some;
    }
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* As many pieces as the longest part has; who has no more comes to the meetings alone. */
static int local_all_gather(Comm *c, const CommCall *call, const CommParts *p, const void *in,
                            void *out)
{
    Exchange x = begin(c, call);
    int64_t most = 0;
    int code;
    for (int m = 0; m < x.g->n; m++)
        if (p->outer * p->length[m] * p->inner > most) most = p->outer * p->length[m] * p->inner;
    int64_t at = 0;
    do {
        int64_t own = smaller(JOB_HALF, p->outer * p->length[x.g->me] * p->inner - at);
        if (own > 0) memcpy(room_of(&x, x.g->me), (const char *)in + at, (size_t)own);
        code = meet(&x);
        for (int m = 0; m < x.g->n && code >= 0; m++) {
            int64_t n = smaller(JOB_HALF, p->outer * p->length[m] * p->inner - at);
            if (n > 0) place(p, x.g->n, m, at, n, out, room_of(&x, m), true);
        }
        turn(&x);
        at += JOB_HALF;
    } while (at < most && code >= 0);
    return code;
}

/* The value is handed out part by part: first what member 0 is to have. */
static int local_reduce_scatter(Comm *c, const CommCall *call, CommKind kind, Dtype dtype,
                                const CommParts *p, const void *in, void *out)
{
    Exchange x = begin(c, call);
    int code = SGL_OK;
    bool any = false;
    for (int m = 0; m < x.g->n && code >= 0; m++) {
        int64_t bytes = p->outer * p->length[m] * p->inner;
        for (int64_t at = 0; at < bytes && code >= 0; at += JOB_HALF) {
            int64_t n = smaller(JOB_HALF, bytes - at), size = (int64_t)DTYPES[dtype].bytes;
            place(p, x.g->n, m, at, n, (char *)(uintptr_t)in, room_of(&x, x.g->me), false);
            code = meet(&x);
            if (code >= 0 && m == x.g->me)
                combine_range(&x, kind, dtype, 0, n / size, (char *)out + at);
            turn(&x);
            any = true;
        }
    }
    if (any) return code;
    code = meet(&x);
    turn(&x);
    return code;
}

static void local_stop(Comm *c, const char *why)
{
    char text[JOB_VERDICT];
    snprintf(text, sizeof text, "rank %d: %s", c->rank, why);
    comm_job_stop(c->self, text);
}

static const Transport LOCAL = {
    .name = "local",
    .all_reduce = local_all_reduce,
    .all_gather = local_all_gather,
    .reduce_scatter = local_reduce_scatter,
    .stop = local_stop,
};

Comm *comm_local_new(Job *j, int rank)
{
    Comm *c = base_mem_zero(1, sizeof *c);
    if (c)
        *c =
            (Comm){.transport = &LOCAL, .rank = rank, .size = j->ranks, .seed = j->seed, .self = j};
    return c;
}
