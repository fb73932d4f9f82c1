/* mpi.c: the transport of ranks that MPI connects.
 *
 * A rank sends each member what it needs of the own value, takes what it needs of theirs, and
 * combines by the tree, as the local transport does: MPI carries bytes and knows no sums, so bits
 * do not depend on it. Before values go, members compare what they do.
 * Holds: no call of MPI waits. Requests are asked for, and between two looks a wait sees whether
 *        the job is over. Two ranks send each other their messages in one order for each tag, which
 *        is the channel, so none is taken for another. Buffers of an exchange that failed stay, as
 *        MPI may still write there: the process is about to end.
 */
#include "comm/mpi.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/library.h"
#include "base/mem.h"
#include "comm/control.h"
#include "comm/exchange.h"

enum {
    PIECE = 8 << 20,  /* bytes of a value that are on their way at once, to each */
    SMALL = 16 << 10, /* bytes below which all combine everything */
    SPINS = 200,
    FLIGHT = 4 * MESH_RANKS,
    THREAD_SERIALIZED = 2, /* of MPI */
    PAUSE_NS = 20 * 1000,
    ENDED_LOOKS = 5000 /* with a pause each: some tenths of a second */
};

/* What is used of libmpi: Open MPI's, whose handles are addresses of its own variables. */
typedef struct Mpi {
    int (*init)(int *, char ***, int, int *);
    int (*finalize)(void);
    int (*rank)(void *, int *);
    int (*size)(void *, int *);
    int (*bcast)(void *, int, void *, int, void *);
    int (*send)(const void *, int, void *, int, int, void *, void **);
    int (*receive)(void *, int, void *, int, int, void *, void **);
    int (*test)(void **, int *, void *);
    void *world, *byte;
} Mpi;

static const LibrarySymbol SYMBOLS[] = {
    {"MPI_Init_thread", offsetof(Mpi, init)},      {"MPI_Finalize", offsetof(Mpi, finalize)},
    {"MPI_Comm_rank", offsetof(Mpi, rank)},        {"MPI_Comm_size", offsetof(Mpi, size)},
    {"MPI_Bcast", offsetof(Mpi, bcast)},           {"MPI_Isend", offsetof(Mpi, send)},
    {"MPI_Irecv", offsetof(Mpi, receive)},         {"MPI_Test", offsetof(Mpi, test)},
    {"ompi_mpi_comm_world", offsetof(Mpi, world)}, {"ompi_mpi_byte", offsetof(Mpi, byte)},
};

static Mpi mpi;

/* A buffer that grows and stays. */
typedef struct Buffer {
    char *at;
    size_t n;
} Buffer;

static Buffer values, packed;

static char *room(Exchange *x, Buffer *b, size_t bytes)
{
    if (b->n < bytes) {
        char *at = base_mem_resize(b->at, bytes);
        if (!at) {
            base_err_set(&x->w->err, SGL_ENOMEM, "no memory for what other ranks send");
            return NULL;
        }
        *b = (Buffer){at, bytes};
    }
    return b->at;
}

/* ---- messages on their way */

typedef struct Flight {
    Exchange *x;
    int n;
    void *request[FLIGHT];
    int member[FLIGHT];
} Flight;

static void send_to(Flight *f, int member, const void *at, int64_t bytes)
{
    if (bytes <= 0 || member == f->x->g->me) return;
    f->member[f->n] = member;
    mpi.send(at, (int)bytes, mpi.byte, f->x->g->rank[member], (int)f->x->w->call.axes, mpi.world,
             &f->request[f->n++]);
}

static void take_from(Flight *f, int member, void *at, int64_t bytes)
{
    if (bytes <= 0 || member == f->x->g->me) return;
    f->member[f->n] = member;
    mpi.receive(at, (int)bytes, mpi.byte, f->x->g->rank[member], (int)f->x->w->call.axes, mpi.world,
                &f->request[f->n++]);
}

/* Until all are there, the job stopped, or it is too late. */
static int land(Flight *f)
{
    const struct timespec pause = {0, PAUSE_NS};
    double last = base_clock(), waited = 0;
    int ended = 0; /* looks at a member that has ended: what it sent may still be on its way */
    for (int looks = 0, first = 0; first < f->n; looks++) {
        for (int i = first; i < f->n; i++) {
            int done = f->member[i] < 0;
            if (!done) mpi.test(&f->request[i], &done, NULL);
            if (done) f->member[i] = -1;
            if (done && i == first) first++;
        }
        if (first == f->n || looks < SPINS) continue;
        int code = comm_exchange_look(f->x, f->member[first], &last, &waited);
        if (code < 0) return code;
        ended += atomic_load(&f->x->job->rank[f->x->g->rank[f->member[first]]].ended) != 0;
        if (ended > ENDED_LOOKS) return comm_exchange_ended(f->x, f->member[first]);
        nanosleep(&pause, NULL);
    }
    f->n = 0;
    return SGL_OK;
}

/* What each member is at, compared. */
static int agree(Flight *f)
{
    static char mine[JOB_TEXT], theirs[MESH_RANKS][JOB_TEXT];
    Exchange *x = f->x;
    memset(mine, 0, sizeof mine);
    snprintf(mine, sizeof mine, "%s", x->w->call.what);
    for (int m = 0; m < x->g->n; m++) {
        take_from(f, m, theirs[m], sizeof mine);
        send_to(f, m, mine, sizeof mine);
    }
    int code = land(f);
    for (int m = 0; m < x->g->n && code >= 0; m++)
        if (m != x->g->me && strcmp(theirs[m], mine) != 0)
            code = comm_exchange_differs(x, m, theirs[m]);
    return code;
}

/* ---- all_reduce */

/* Elements [at, at + n) of all members, combined to `to`: the own ones are at `own`, the others
 * arrive. The caller has said what is sent. */
static int combine(Flight *f, const char *own, int64_t n, char *to)
{
    const void *value[MESH_RANKS];
    Exchange *x = f->x;
    size_t bytes = (size_t)n * DTYPES[x->w->dtype].bytes;
    char *at = room(x, &values, bytes * (size_t)x->g->n + 1);
    if (!at) return SGL_ENOMEM;
    for (int m = 0; m < x->g->n; m++) {
        char *place = at + (size_t)m * bytes;
        value[m] = m == x->g->me ? own : place;
        take_from(f, m, place, (int64_t)bytes);
    }
    int code = land(f);
    if (code >= 0 && n > 0) comm_combine(x->w->kind, x->w->dtype, x->g->n, value, n, to);
    return code;
}

/* A piece of n elements: each member combines its slice and sends it to all. */
static int share_out(Flight *f, const char *in, int64_t n, char *out)
{
    const CommGroup *g = f->x->g;
    int64_t size = (int64_t)DTYPES[f->x->w->dtype].bytes;
    int64_t first = n * g->me / g->n, last = n * (g->me + 1) / g->n;
    for (int m = 0; m < g->n; m++) {
        int64_t from = n * m / g->n, to = n * (m + 1) / g->n;
        send_to(f, m, in + from * size, (to - from) * size);
    }
    int code = combine(f, in + first * size, last - first, out + first * size);
    for (int m = 0; m < g->n && code >= 0; m++) {
        int64_t from = n * m / g->n, to = n * (m + 1) / g->n;
        take_from(f, m, out + from * size, (to - from) * size);
        send_to(f, m, out + first * size, (last - first) * size);
    }
    return code < 0 ? code : land(f);
}

/* Piece by piece: of small ones all get all, large ones are shared out. */
static int all_reduce(Exchange *x)
{
    Flight f = {.x = x};
    int64_t size = (int64_t)DTYPES[x->w->dtype].bytes, piece = PIECE / size;
    int code = agree(&f);
    for (int64_t at = 0; at < x->w->count && code >= 0; at += piece) {
        int64_t n = x->w->count - at < piece ? x->w->count - at : piece;
        const char *in = (const char *)x->w->in + at * size;
        char *out = (char *)x->w->out + at * size;
        if (n * size > SMALL) {
            code = share_out(&f, in, n, out);
            continue;
        }
        for (int m = 0; m < x->g->n; m++) send_to(&f, m, in, n * size);
        code = combine(&f, in, n, out);
    }
    return code;
}

/* ---- all_gather and reduce_scatter */

static int64_t piece_of(int64_t all, int64_t at)
{
    int64_t left = all - at;
    return left < 0 ? 0 : left < PIECE ? left : PIECE;
}

static int64_t longest(const CommParts *p, int members)
{
    int64_t most = 0;
    for (int m = 0; m < members; m++)
        if (comm_parts_bytes(p, m) > most) most = comm_parts_bytes(p, m);
    return most;
}

/* Each sends its part to all, and puts theirs in their places. */
static int all_gather(Exchange *x)
{
    Flight f = {.x = x};
    const CommParts *p = &x->w->parts;
    int64_t most = longest(p, x->g->n);
    int code = agree(&f);
    char *at_all = code < 0 ? NULL : room(x, &values, (size_t)(PIECE * (int64_t)x->g->n));
    if (code >= 0 && !at_all) return SGL_ENOMEM;
    for (int64_t at = 0; at < most && code >= 0; at += PIECE) {
        char *own = (char *)(uintptr_t)x->w->in + at;
        int64_t mine = piece_of(comm_parts_bytes(p, x->g->me), at);
        for (int m = 0; m < x->g->n; m++) {
            take_from(&f, m, at_all + (int64_t)m * PIECE, piece_of(comm_parts_bytes(p, m), at));
            send_to(&f, m, own, mine);
        }
        code = land(&f);
        for (int m = 0; m < x->g->n && code >= 0; m++) {
            char *from = m == x->g->me ? own : at_all + (int64_t)m * PIECE;
            int64_t n = piece_of(comm_parts_bytes(p, m), at);
            if (n > 0) comm_place(p, x->g->n, m, at, n, x->w->out, from, true);
        }
    }
    return code;
}

/* What each member is to have is packed, sent, and combined by the member. */
static int reduce_scatter(Exchange *x)
{
    Flight f = {.x = x};
    const CommParts *p = &x->w->parts;
    int64_t most = longest(p, x->g->n), size = (int64_t)DTYPES[x->w->dtype].bytes;
    int code = agree(&f);
    char *out = code < 0 ? NULL : room(x, &packed, (size_t)(PIECE * (int64_t)x->g->n));
    if (code >= 0 && !out) return SGL_ENOMEM;
    for (int64_t at = 0; at < most && code >= 0; at += PIECE) {
        for (int m = 0; m < x->g->n; m++) {
            int64_t n = piece_of(comm_parts_bytes(p, m), at);
            char *to = out + (int64_t)m * PIECE;
            if (n > 0) comm_place(p, x->g->n, m, at, n, (char *)(uintptr_t)x->w->in, to, false);
            send_to(&f, m, to, n);
        }
        int64_t mine = piece_of(comm_parts_bytes(p, x->g->me), at) / size;
        code = combine(&f, out + (int64_t)x->g->me * PIECE, mine, (char *)x->w->out + at);
    }
    return code;
}

/* ---- all_to_all and broadcast */

/* Segments lie one behind the other, and arrive where they belong. */
static int all_to_all(Exchange *x)
{
    Flight f = {.x = x};
    int code = agree(&f);
    for (int64_t at = 0; at < x->w->count && code >= 0; at += PIECE) {
        const char *in = x->w->in;
        char *out = x->w->out;
        for (int m = 0; m < x->g->n; m++) {
            int64_t gives = comm_parts_bytes(&x->w->parts, m),
                    gets = comm_parts_bytes(&x->w->from, m);
            if (m == x->g->me && gives > at) memcpy(out + at, in + at, (size_t)piece_of(gives, at));
            take_from(&f, m, out + at, piece_of(gets, at));
            send_to(&f, m, in + at, piece_of(gives, at));
            in += gives;
            out += gets;
        }
        code = land(&f);
    }
    return code;
}

/* The root sends its value to all. */
static int broadcast(Exchange *x)
{
    Flight f = {.x = x};
    int64_t all = x->w->count * (int64_t)DTYPES[x->w->dtype].bytes;
    bool gives = x->g->me == x->w->root;
    int code = agree(&f);
    if (code >= 0 && gives) memmove(x->w->out, x->w->in, (size_t)all);
    for (int64_t at = 0; at < all && code >= 0; at += PIECE) {
        char *piece = (char *)x->w->out + at;
        for (int m = 0; m < x->g->n && gives; m++) send_to(&f, m, piece, piece_of(all, at));
        if (!gives) take_from(&f, x->w->root, piece, piece_of(all, at));
        code = land(&f);
    }
    return code;
}

/* ---- the transport */

static int mpi_run(Comm *c, CommWork *w)
{
    static int (*const RUN[COMM_OPS])(Exchange *) = {
        [COMM_all_reduce] = all_reduce,         [COMM_all_gather] = all_gather,
        [COMM_reduce_scatter] = reduce_scatter, [COMM_all_to_all] = all_to_all,
        [COMM_broadcast] = broadcast,
    };
    return comm_exchange(c, w, RUN[w->op]);
}

static void mpi_stop(Comm *c, const char *why)
{
    char text[JOB_REASON];
    snprintf(text, sizeof text, "rank %d: %s", c->rank, why);
    comm_job_stop(c->job, c->rank, text);
}

/* All ranks come here when all went well; MPI_Finalize waits for the last. */
static void mpi_leave(Comm *c, int status)
{
    if (comm_control_leave(c, status)) mpi.finalize();
}

static const Transport MPI = {.name = "mpi", .run = mpi_run, .stop = mpi_stop, .leave = mpi_leave};

/* ---- the beginning */

/* Open MPI's library, with all that is used of it. */
static int load(Err *e)
{
    static const char *const NAMES[] = {"libmpi.so.40", "libmpi.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES && !library; i++)
        library = dlopen(NAMES[i], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        base_err_set(e, SGL_EUNSUP,
                     "this process was started as a rank of MPI, and libmpi is not "
                     "there");
        base_err_hint(e, "install Open MPI (openmpi-bin), or start ranks by `sgl run`");
        return e->code;
    }
    const char *lacks = base_library_fill(library, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, &mpi);
    if (lacks) return base_err_set(e, SGL_EUNSUP, "libmpi has no %s: it must be Open MPI", lacks);
    return SGL_OK;
}

/* What is a rank's own would make its children ranks. */
static void forget_environment(void)
{
    extern char **environ;
    static const char *const WORDS[] = {"OMPI_",      "PMIX_",        "PMI_",
                                        "SLURM_STEP", "SLURM_PROCID", "SLURM_LOCALID"};
    for (char **at = environ; *at;) {
        char name[256];
        bool found = false;
        for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
            found |= strncmp(*at, WORDS[i], strlen(WORDS[i])) == 0;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*at, "="), *at);
        if (!found || unsetenv(name) < 0) at++;
    }
}

Comm *comm_mpi_new(const MpiPlace *place, double timeout, Err *e)
{
    Comm *c = base_mem_zero(1, sizeof *c);
    int level = 0;
    if (!c) base_err_set(e, SGL_ENOMEM, "no memory for a job");
    if (!c || load(e) < 0) return NULL;
    mpi.init(NULL, NULL, THREAD_SERIALIZED, &level);
    mpi.rank(mpi.world, &c->rank);
    mpi.size(mpi.world, &c->size);
    forget_environment();
    if (c->size != place->size) {
        base_err_set(e, SGL_ESTATE, "the launcher says %d ranks, MPI says %d", place->size,
                     c->size);
        base_err_hint(e, "under Slurm: srun --mpi=pmix");
        return NULL;
    }
    c->local_rank = place->local_rank;
    c->transport = &MPI;
    c->job = comm_job_alone(c->size, timeout);
    if (!c->job) {
        base_err_set(e, SGL_ENOMEM, "no memory for a job");
        return NULL;
    }
    mpi.bcast(&c->job->seed, sizeof c->job->seed, mpi.byte, 0, mpi.world);
    c->seed = c->job->seed;
    ControlCall call;
    int code = c->rank == 0 ? comm_control_open(&call, e) : SGL_OK;
    if (code < 0) call.port = 0;
    mpi.bcast(&call, sizeof call, mpi.byte, 0, mpi.world);
    return comm_control_join(c, &call, e) < 0 ? NULL : c;
}
