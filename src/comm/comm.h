/* comm.h: what ranks exchange: the interface of transports, and the job that a process is part of.
 *
 * A collective is called by all ranks of a group with equal calls, in one order. What one rank
 * says of the call (`what`) is compared with what the others say, so ranks that disagree get an
 * error that shows both and do not wait for each other for ever.
 * Holds: results of reductions combine the values of the group's members by a fixed tree, of the
 *        members [lo, hi) the halves cut at (lo + hi) / 2 (ir/blocks.h has the same), element by
 *        element: bits depend on the values and the group alone, never on sizes or on who is first.
 *        f16 and bf16 meet in f32 and are rounded once.
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
    const char *where;         /* the user's position */
} CommCall;

typedef enum CommKind { COMM_sum, COMM_prod, COMM_max, COMM_min, COMM_KINDS } CommKind;

/* Parts of a dim: an array is [outer, Σ length, inner bytes], member i has length[i] of it. */
typedef struct CommParts { int64_t outer, inner, length[MESH_RANKS]; } CommParts;
/* The length of the dim over so many members. */
int64_t comm_parts_total(const CommParts *p, int members);

typedef struct Transport {
    const char *name;
    /* out = the values of all members, combined. */
    int (*all_reduce)(Comm *c, const CommCall *call, CommKind kind, Dtype dtype, int64_t count,
                      const void *in, void *out);
    /* out = the parts of all members, one behind the other along the dim. */
    int (*all_gather)(Comm *c, const CommCall *call, const CommParts *parts, const void *in,
                      void *out);
    /* out = the own part of the values of all members, combined. */
    int (*reduce_scatter)(Comm *c, const CommCall *call, CommKind kind, Dtype dtype,
                          const CommParts *parts, const void *in, void *out);
    /* The job is over for all ranks, for this reason. */
    void (*stop)(Comm *c, const char *why);
} Transport;

/* A process in a job. */
struct Comm {
    const Transport *transport;
    Ctx *cx;                   /* gets the errors */
    int rank, size;
    uint64_t seed;             /* the same on all ranks, for what has no other */
    void *self;                /* the transport's own */
};

/* The job that the context is part of; NULL: it is alone. */
Comm *comm_of(const Ctx *cx);
/* Makes the context part of the job that this process was started in, if it was. */
int comm_join(Ctx *cx);
/* The process is rank `rank` of a job from now on: the next context that joins takes part. */
void comm_job_set(Comm *job);
const Comm *comm_job(void);                             /* NULL: the process is alone */

/* Combines numbers of all ranks of the job, which call it together, outside of steps. `what` says
 * what for. */
int comm_meet(Comm *c, const char *what, CommKind kind, int64_t n, const int64_t *in, int64_t *out);

int comm_kind_find(const char *name);                   /* CommKind, or -1 */
/* x = x and y, element by element. */
void comm_combine(CommKind kind, Dtype dtype, void *x, const void *y, int64_t count);
#endif
