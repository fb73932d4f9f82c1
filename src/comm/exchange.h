/* exchange.h: a work that a transport is doing: what all transports say and do alike.
 */
#ifndef SGL_COMM_EXCHANGE_H
#define SGL_COMM_EXCHANGE_H
#include "comm/job.h"

typedef struct Exchange {
    Job *job;
    Comm *c;
    CommWork *w;
    const CommGroup *g;
    JobRank *me;
    JobLine *own;
    bool agreed;               /* the others' calls were compared with this one */
} Exchange;

/* The transport's function for an op, between what a rank says before and after. A rank that is
 * alone must not exchange anything. */
int comm_exchange(Comm *c, CommWork *w, int (*run)(Exchange *x));

/* These record an error and return its code. The job is over: what is known. */
int comm_exchange_stopped(const Exchange *x);
/* They end the job, unless it is over: a member is gone, late, or in another exchange. */
int comm_exchange_ended(const Exchange *x, int member);
int comm_exchange_late(const Exchange *x, int member);
int comm_exchange_differs(const Exchange *x, int member, const char *theirs);
/* What a wait looks at besides: the job, the member, the time, an interrupt. *last and *waited are
 * the wait's own: since when, and how long already. */
int comm_exchange_look(const Exchange *x, int member, double *last, double *waited);
#endif
