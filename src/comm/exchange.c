/* exchange.c: see exchange.h.
 */
#include "comm/exchange.h"
#include <stdio.h>
#include "base/clock.h"

static const double MOST_SECONDS = 0.2; /* between two looks of a wait, where the process runs */

/* ---- errors */

int comm_exchange_stopped(const Exchange *x) { return comm_job_error(x->job, &x->w->err); }

/* What this rank found ends the job, unless another found something before. */
static int stop(const Exchange *x, int culprit, const char *verdict)
{
    comm_job_stop(x->job, culprit, verdict);
    return comm_exchange_stopped(x);
}

int comm_exchange_ended(const Exchange *x, int member)
{
    char text[JOB_REASON];
    int r = x->g->rank[member];
    snprintf(
        text, sizeof text,
        "rank %d has ended its script, rank %d is at %s (%s): rank %d left at step %u, and all "
        "ranks must take the same steps",
        r, x->c->rank, x->w->call.what, x->me->at, r, atomic_load(&x->job->rank[r].step));
    return stop(x, r, text);
}

/* Who is late is asked where it is, so an endless loop has a line. */
int comm_exchange_late(const Exchange *x, int member)
{
    char text[JOB_REASON], where[2 * JOB_TEXT];
    int r = x->g->rank[member];
    const JobRank *peer = &x->job->rank[r];
    comm_job_where(x->job, r, where, sizeof where);
    snprintf(
        text, sizeof text,
        "rank %d waited %g s for rank %d in exchange %u, %s (%s); rank %d was last in exchange "
        "%u (%s); %s\nlong work of one rank belongs into sgl.dist.alone; --timeout says how "
        "long ranks wait",
        x->c->rank, x->job->timeout, r, atomic_load(&x->me->exchanges), x->w->call.what, x->me->at,
        r, atomic_load(&peer->exchanges), peer->at[0] ? peer->at : "before the first", where);
    return stop(x, r, text);
}

int comm_exchange_differs(const Exchange *x, int member, const char *theirs)
{
    char text[JOB_REASON];
    const JobRank *peer = &x->job->rank[x->g->rank[member]];
    snprintf(text, sizeof text,
             "the ranks take different steps: in exchange %u rank %d is at %s (%s), rank %d at %s "
             "(%s)",
             atomic_load(&x->me->exchanges), x->c->rank, x->w->call.what, x->me->at,
             x->g->rank[member], theirs, peer->at);
    return stop(x, -1, text);
}

/* Adds up the time that this process was there to wait: a job that is stopped as a whole and goes
 * on later was not late meanwhile. A peer that works alone is not either. */
static double time_waited(double waited, double *last, const JobRank *peer)
{
    double now = base_clock(), since = now - *last, most = MOST_SECONDS;
    *last = now;
    if (atomic_load(&peer->allowed) > now) return 0;
    return waited + (since < most ? since : most);
}

int comm_exchange_look(const Exchange *x, int member, double *last, double *waited)
{
    const JobRank *peer = &x->job->rank[x->g->rank[member]];
    if (comm_job_stopped(x->job)) return comm_exchange_stopped(x);
    *waited = time_waited(*waited, last, peer);
    if (*waited > x->job->timeout) return comm_exchange_late(x, member);
    if (x->c->cx && x->c->cx->interrupted)
        return base_err_set(&x->w->err, SGL_EINTR, "interrupted");
    return SGL_OK;
}

/* ---- the work */

static Exchange begin(Comm *c, CommWork *w)
{
    Job *j = c->job;
    JobRank *me = &j->rank[c->rank];
    Exchange x = {j, c, w, &w->call.group, me, &me->line_of[w->call.axes], false};
    atomic_fetch_add(&me->exchanges, 1);
    if (w->call.where || !c->where)
        snprintf(me->at, sizeof me->at, "%s", w->call.where ? w->call.where : "?");
    else c->where(me->at, sizeof me->at);
    snprintf(me->what, sizeof me->what, "%s", w->call.what);
    snprintf(x.own->what[x.own->turn % 2], JOB_TEXT, "%s", w->call.what);
    return x;
}

int comm_exchange(Comm *c, CommWork *w, int (*run)(Exchange *x))
{
    JobRank *me = &c->job->rank[c->rank];
    if (atomic_load(&me->doing) == JOB_ALONE)
        return base_err_set(&w->err, SGL_ESTATE,
                            "%s in sgl.dist.alone: rank 0 is alone there, and what ranks share "
                            "needs all of them",
                            w->call.what);
    Exchange x = begin(c, w);
    uint32_t before = atomic_exchange(&me->doing, JOB_EXCHANGE);
    int code = run(&x);
    atomic_store(&me->doing, before);
    return code;
}
