/* comm.c: the job of a context, and the thread that does what it starts.
 *
 * Holds: works are done in the order of their starts; one that is run while others are on their
 *        way goes behind them.
 */
#include "comm/comm.h"
#include <pthread.h>
#include <signal.h>
#include "base/mem.h"

static Comm *started; /* what this process was started as; NULL: alone */

void comm_job_set(Comm *job) { started = job; }

const Comm *comm_job(void) { return started; }

Comm *comm_of(const Ctx *cx) { return cx->slot[CTX_COMM]; }

int comm_join(Ctx *cx)
{
    if (!started || cx->slot[CTX_COMM]) return SGL_OK;
    started->cx = cx;
    cx->slot[CTX_COMM] = started;
    return SGL_OK;
}

/* ---- works */

typedef struct CommQueue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    CommWork *first, *last; /* the first is being done */
} CommQueue;

/* The thread: does the first work, then tells who waits for it. It ends with the process. */
static void *do_works(void *of)
{
    Comm *c = of;
    CommQueue *q = c->queue;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->first) pthread_cond_wait(&q->changed, &q->lock);
        CommWork *w = q->first;
        pthread_mutex_unlock(&q->lock);
        c->transport->run(c, w);
        pthread_mutex_lock(&q->lock);
        q->first = w->next;
        w->done = true;
        pthread_cond_broadcast(&q->changed);
    }
    return NULL;
}

/* The thread takes no signals: they are for the one that runs the script. */
static int make_queue(Comm *c)
{
    sigset_t all, before;
    CommQueue *q = base_mem_zero(1, sizeof *q);
    if (!q) return base_no_memory(c->cx, "exchanges that are started");
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    c->queue = q;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&q->thread, NULL, do_works, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!code) return SGL_OK;
    c->queue = NULL;
    base_mem_free(q);
    return base_fail(c->cx, SGL_ENOMEM, "a thread for exchanges cannot start");
}

static int ended(Comm *c, const CommWork *w)
{
    if (w->err.code && !c->cx->err.code) c->cx->err = w->err;
    return w->err.code;
}

int comm_start(Comm *c, CommWork *w)
{
    if (!c->queue && make_queue(c) < 0) return c->cx->err.code;
    CommQueue *q = c->queue;
    w->err.code = 0;
    w->done = false;
    w->next = NULL;
    pthread_mutex_lock(&q->lock);
    if (q->first) q->last->next = w;
    else q->first = w;
    q->last = w;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return SGL_OK;
}

int comm_wait(Comm *c, CommWork *w)
{
    CommQueue *q = c->queue;
    pthread_mutex_lock(&q->lock);
    while (!w->done) pthread_cond_wait(&q->changed, &q->lock);
    pthread_mutex_unlock(&q->lock);
    return ended(c, w);
}

static bool is_idle(CommQueue *q)
{
    pthread_mutex_lock(&q->lock);
    bool idle = !q->first;
    pthread_mutex_unlock(&q->lock);
    return idle;
}

int comm_run(Comm *c, CommWork *w)
{
    if (c->queue && !is_idle(c->queue)) {
        int code = comm_start(c, w);
        return code < 0 ? code : comm_wait(c, w);
    }
    w->err.code = 0;
    c->transport->run(c, w);
    return ended(c, w);
}

CommCall comm_call_all(const Comm *c, const char *what)
{
    const Mesh line = {.n = 1, .size = {c->size}};
    CommGroup all = comm_mesh_group(&line, comm_axes_add(0, 0), c->rank);
    return (CommCall){all, 0, what, NULL};
}

int comm_meet(Comm *c, const char *what, CommKind kind, int64_t n, const int64_t *in, int64_t *out)
{
    CommWork w = {.op = COMM_all_reduce, .kind = kind, .dtype = DT_i64, .count = n, .in = in};
    w.call = comm_call_all(c, what);
    w.out = out;
    return comm_run(c, &w);
}
