/* comm.h: what ranks exchange: the interface of transports, and the job that a process is part of.
 *
 * A collective is called by all ranks of a group with equal calls, in one order. What one rank
 * says of the call (`what`) is compared with what the others say, so ranks that disagree get an
 * error that shows both and do not wait for each other for ever.
 * Holds: results of reductions combine the values of the group's members by a fixed tree, of the
 *        members [lo, hi) the halves cut at (lo + hi) / 2 (ir/blocks.h has the same), element by
 *        element: bits depend on the values and the group alone, never on sizes or on who is first.
 *        f16 and bf16 meet in f32 and are rounded once.
 *        Works of one rank never overtake each other, started or run: their order is that of the
 *        program, which all ranks share.
 * To add a transport: a file with a `const Transport`.
 */
#ifndef SGL_COMM_COMM_H
#define SGL_COMM_COMM_H
#include <stddef.h>
#include "base/context.h"
#include "comm/mesh.h"
#include "ir/dtype.h"

typedef struct Comm Comm;

/* One call of a collective. */
typedef struct CommCall {
    CommGroup group;
    unsigned axes;             /* of the group, as bits: calls of other axes are other channels */
    const char *what;          /* for messages, equal on all ranks: "all_reduce f32[64, 10]" */
    const char *where;         /* the user's position; NULL: Comm.where finds it */
} CommCall;

typedef enum CommKind { COMM_sum, COMM_prod, COMM_max, COMM_min, COMM_KINDS } CommKind;

/* Parts of a dim: an array is [outer, Σ length, inner bytes], member i has length[i] of it. */
typedef struct CommParts { int64_t outer, inner, length[MESH_RANKS]; } CommParts;
/* The length of the dim over so many members. */
int64_t comm_parts_total(const CommParts *p, int members);
/* The bytes that member m has. */
int64_t comm_parts_bytes(const CommParts *p, int m);

/*                what `out` gets                                          what says how large */
typedef enum CommOp {
    COMM_all_reduce,     /* the values of all members, combined            kind, dtype, count */
    COMM_all_gather,     /* the parts of all members, along the dim        parts */
    COMM_reduce_scatter, /* the own part of the combined values            kind, dtype, parts */
    COMM_all_to_all,     /* what each member has for this one, in order    parts: what of `in` is
                            for member m; from: what m has for this one; count: the most bytes
                            that any member has for any */
    COMM_broadcast,      /* the value of member `root`                     dtype, count, root */
    COMM_OPS
} CommOp;

/* A collective on its way. Whoever makes one fills in the first part, and keeps it, its texts and
 * its values in place until it is done. */
typedef struct CommWork {
    CommOp op;
    CommKind kind;
    Dtype dtype;
    int64_t count;
    int root;                  /* a member of the group */
    CommCall call;
    CommParts parts, from;
    const void *in;
    void *out;
    Err err;                   /* the rest is filled in here; `err` says how it ended */
    bool done;
    struct CommWork *next;
} CommWork;

typedef struct Transport {
    const char *name;
    /* Does the work; errors go to w->err. Called by one thread at a time. */
    int (*run)(Comm *c, CommWork *w);
    /* The job is over for all ranks, for this reason. */
    void (*stop)(Comm *c, const char *why);
    /* The process is about to end, with this status; NULL: nothing to do. */
    void (*leave)(Comm *c, int status);
} Transport;

/* A process in a job. */
struct Comm {
    const Transport *transport;
    Ctx *cx;                   /* gets the errors */
    int rank, size, local_rank; /* the last among those of this machine */
    uint64_t seed;             /* the same on all ranks, for what has no other */
    void (*where)(char *out, size_t size); /* of the script now; NULL: it has none */
    struct Job *job;           /* what is known of all ranks (job.h) */
    struct CommQueue *queue;   /* works that were started; NULL: none ever was */
};

/* The job that the context is part of; NULL: it is alone. */
Comm *comm_of(const Ctx *cx);
/* Makes the context part of the job that this process was started in, if it was. */
int comm_join(Ctx *cx);
/* The process is rank `rank` of a job from now on: the next context that joins takes part. */
void comm_job_set(Comm *job);
const Comm *comm_job(void);                             /* NULL: the process is alone */

/* Does the work, behind all that was started before. */
int comm_run(Comm *c, CommWork *w);
/* Hands the work to the thread that does the exchanges of this rank, one by one in the order of
 * their starts, which is the same on all ranks. comm_wait waits until it is done: once for each. */
int comm_start(Comm *c, CommWork *w);
int comm_wait(Comm *c, CommWork *w);

/* A call of all ranks of the job outside of steps. No axes: a channel of its own. */
CommCall comm_call_all(const Comm *c, const char *what);
/* Combines numbers of all ranks of the job, which call it together, outside of steps. `what` says
 * what for. */
int comm_meet(Comm *c, const char *what, CommKind kind, int64_t n, const int64_t *in, int64_t *out);

int comm_kind_find(const char *name);                   /* CommKind, or -1 */
/* out = the n values, each of so many elements, combined by the tree; `out` may be one of them. */
void comm_combine(CommKind kind, Dtype dtype, int n, const void *const *value, int64_t count,
                  void *out);
/* Bytes [at, at + n) of part `member`, which lie one behind the other at `packed`, are brought to
 * their places in the whole array, or (`out` false) from there. */
void comm_place(const CommParts *p, int members, int member, int64_t at, int64_t n, char *whole,
                char *packed, bool out);
#endif
