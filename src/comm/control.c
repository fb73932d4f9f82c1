/* control.c: see control.h.
 *
 * Holds: messages are states, not events: each has all that is known, so one that is late or left
 *        out does no harm. The first verdict that reaches rank 0 is that of all. A rank says that
 *        it heard the wish to stop, then its step (job.c needs that order); when all have, rank 0
 *        names the step.
 */
#include "comm/control.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "comm/control_link.h"

enum { LOOK_MS = 10, CONNECT_MS = 3000 };
static const double BEAT = 0.1, AGAIN = 0.2; /* seconds */

/* What a rank is at. */
typedef struct Row {
    uint32_t step, exchanges, doing, handlers, ended, asked, told, heard;
    double allowed; /* seconds from now */
    char at[JOB_TEXT], what[JOB_TEXT], line[JOB_TEXT];
} Row;

/* What is known of the job. */
typedef struct News {
    uint32_t signal, stop_at, stopped;
    int32_t culprit, status;
    char reason[JOB_REASON], picture[JOB_PICTURE];
} News;

typedef struct Up {
    News news;
    Row row;
    uint32_t asks[MESH_RANKS];
} Up;

typedef struct Down {
    News news;
    Row row[MESH_RANKS];
} Down;

typedef struct Hello {
    char token[CONTROL_TOKEN];
    int32_t rank;
} Hello;

typedef struct Control {
    Comm *c;
    Job *job;
    int listening;
    char token[CONTROL_TOKEN];
    Link link[MESH_RANKS];    /* rank 0: by rank; else the first leads to rank 0 */
    double heard[MESH_RANKS]; /* when */
    uint32_t asked;           /* the question that this rank was asked last */
    double asked_at;
    News sent;                 /* the last ones */
    _Atomic uint32_t told_end; /* the verdict was sent to all */
    bool shown;
    Up up;
    Down down;
} Control;

static Control control = {.listening = -1};

/* ---- the page, as it is sent */

/* What a rank may still take alone is told as seconds from now: clocks differ. */
static void read_row(const JobRank *r, bool heard, Row *out)
{
    double left = atomic_load(&r->allowed) - base_clock();
    out->heard = heard;
    out->step = atomic_load(&r->step);
    out->exchanges = atomic_load(&r->exchanges);
    out->doing = atomic_load(&r->doing);
    out->handlers = atomic_load(&r->handlers);
    out->ended = atomic_load(&r->ended);
    out->asked = atomic_load(&r->asked);
    out->told = atomic_load(&r->told);
    out->allowed = left > 0 ? left : 0;
    memcpy(out->at, r->at, JOB_TEXT);
    memcpy(out->what, r->what, JOB_TEXT);
    memcpy(out->line, r->line, JOB_TEXT);
}

static void raise_to(_Atomic uint32_t *at, uint32_t value)
{
    if (value > atomic_load(at)) atomic_store(at, value);
}

/* Questions only grow; `told` comes last, as it says that the line is there. */
static void write_row(JobRank *r, const Row *in)
{
    atomic_store(&r->step, in->step);
    atomic_store(&r->exchanges, in->exchanges);
    atomic_store(&r->doing, in->doing);
    atomic_store(&r->handlers, in->handlers);
    atomic_store(&r->ended, in->ended);
    raise_to(&r->asked, in->asked);
    atomic_store(&r->allowed, in->allowed > 0 ? base_clock() + in->allowed : 0);
    memcpy(r->at, in->at, JOB_TEXT);
    memcpy(r->what, in->what, JOB_TEXT);
    memcpy(r->line, in->line, JOB_TEXT);
    atomic_store(&r->told, in->told);
}

static void read_news(const Job *j, News *out)
{
    out->signal = atomic_load(&j->signal);
    out->stop_at = atomic_load(&j->stop_at);
    out->stopped = comm_job_stopped(j);
    if (!out->stopped) return;
    out->culprit = j->culprit;
    out->status = j->status;
    memcpy(out->reason, j->reason, JOB_REASON);
    memcpy(out->picture, j->picture, JOB_PICTURE);
}

static void write_news(Job *j, const News *in)
{
    uint32_t none = 0;
    if (in->signal) atomic_compare_exchange_strong(&j->signal, &none, in->signal);
    none = 0;
    if (in->stop_at) atomic_compare_exchange_strong(&j->stop_at, &none, in->stop_at);
    if (!in->stopped) return;
    if (!comm_job_stopped(j)) j->status = in->status;
    comm_job_adopt(j, in->culprit, in->reason, in->picture);
}

static bool is_new(const News *a, const News *b)
{
    return a->signal != b->signal || a->stop_at != b->stop_at || a->stopped != b->stopped;
}

/* ---- who is gone */

static void gone(Control *k, int r, const char *how)
{
    char text[JOB_REASON];
    snprintf(text, sizeof text, "rank %d %s, after step %u and %u exchanges%s%s", r, how,
             atomic_load(&k->job->rank[r].step), atomic_load(&k->job->rank[r].exchanges),
             k->job->rank[r].at[0] ? ", the last at " : "", k->job->rank[r].at);
    comm_job_stop(k->job, r, text);
}

/* A message of a rank, if one is there; else whether it is still. */
static bool hear(Control *k, Link *l, int r)
{
    double now = base_clock();
    int got = comm_link_receive(l);
    bool ended = atomic_load(&k->job->rank[r].ended);
    if (got > 0) k->heard[r] = now;
    if (got < 0) {
        comm_link_close(l);
        if (!ended) gone(k, r, "is gone: its process has ended, or its machine");
    } else if (l->fd >= 0 && !ended && now - k->heard[r] > k->job->timeout)
        gone(k, r, "was not heard of in time: its process is stopped, or the link to it is cut");
    return got > 0;
}

/* ---- rank 0 */

static void accept_rank(Control *k)
{
    Hello hello;
    int fd = accept4(k->listening, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    struct timeval patience = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool known = recv(fd, &hello, sizeof hello, MSG_WAITALL) == sizeof hello &&
                 memcmp(hello.token, k->token, CONTROL_TOKEN) == 0 && hello.rank > 0 &&
                 hello.rank < k->c->size && k->link[hello.rank].fd < 0;
    if (!known || !comm_link_open(&k->link[hello.rank], fd, sizeof(Up), sizeof(Down))) close(fd);
    else k->heard[hello.rank] = base_clock();
}

/* All have heard the wish to stop: they do before the next step that none has begun. */
static void agree_on_stop(Control *k, const bool *heard)
{
    uint32_t last = atomic_load(&k->job->rank[0].step), none = 0;
    for (int r = 1; r < k->c->size; r++) {
        uint32_t step = atomic_load(&k->job->rank[r].step);
        if (!heard[r] && !atomic_load(&k->job->rank[r].ended)) return;
        if (step > last) last = step;
    }
    atomic_compare_exchange_strong(&k->job->stop_at, &none, last + 1);
}

static void hear_all(Control *k)
{
    static bool heard[MESH_RANKS];
    for (int r = 1; r < k->c->size; r++) {
        if (!hear(k, &k->link[r], r)) continue;
        memcpy(&k->up, k->link[r].in, sizeof k->up);
        write_row(&k->job->rank[r], &k->up.row);
        heard[r] = k->up.row.heard;
        k->up.news.stop_at = 0; /* only rank 0 names it */
        write_news(k->job, &k->up.news);
        for (int t = 0; t < k->c->size; t++) raise_to(&k->job->rank[t].asked, k->up.asks[t]);
    }
    if (atomic_load(&k->job->signal)) agree_on_stop(k, heard);
}

/* Returns whether all got it. */
static bool tell_all(Control *k)
{
    bool all = true;
    read_news(k->job, &k->down.news);
    for (int r = 0; r < k->c->size; r++) read_row(&k->job->rank[r], false, &k->down.row[r]);
    for (int r = 1; r < k->c->size; r++)
        if (k->link[r].fd >= 0) all &= comm_link_send(&k->link[r], &k->down);
    k->sent = k->down.news;
    return all;
}

/* ---- the other ranks */

static void hear_root(Control *k)
{
    if (!hear(k, &k->link[0], 0)) return;
    memcpy(&k->down, k->link[0].in, sizeof k->down);
    write_news(k->job, &k->down.news);
    for (int r = 0; r < k->c->size; r++)
        if (r != k->c->rank) write_row(&k->job->rank[r], &k->down.row[r]);
        else raise_to(&k->job->rank[r].asked, k->down.row[r].asked);
}

/* Whether it heard of a signal is read before the step. */
static bool tell_root(Control *k)
{
    read_news(k->job, &k->up.news);
    read_row(&k->job->rank[k->c->rank], k->up.news.signal != 0, &k->up.row);
    for (int r = 0; r < k->c->size; r++) k->up.asks[r] = atomic_load(&k->job->rank[r].asked);
    k->sent = k->up.news;
    return comm_link_send(&k->link[0], &k->up);
}

/* ---- the thread */

/* A question of another rank goes to the thread that runs the script, twice if it does not answer
 * (bind/rank.c); so does the end of the job. */
static void pass_on(Control *k)
{
    static bool ended;
    const JobRank *me = &k->job->rank[k->c->rank];
    uint32_t asked = atomic_load(&me->asked);
    bool again = k->asked_at > 0 && base_clock() - k->asked_at > AGAIN;
    if (asked != k->asked || (again && atomic_load(&me->told) != asked)) {
        k->asked_at = asked != k->asked ? base_clock() : 0;
        k->asked = asked;
        kill(getpid(), SIGURG);
    }
    if (!ended && comm_job_stopped(k->job)) {
        ended = true;
        kill(getpid(), SIGURG);
    }
}

/* `sgl run` waits at the other end of a pipe, where it is on this machine: it gets the status of
 * who failed, or 0. */
static void tell_launcher(int status)
{
    const char *path = getenv("SGL_RUN_STATUS");
    int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    ssize_t n = write(fd, &status, sizeof status);
    (void)n;
    close(fd);
}

/* The verdict is printed once: by rank 0, or by rank 1 where it is about rank 0. */
static void show(Control *k)
{
    char text[JOB_REASON + 2 * JOB_PICTURE];
    if (k->shown || !comm_job_stopped(k->job)) return;
    k->shown = true;
    if (k->c->rank != (k->job->culprit == 0)) return;
    comm_job_text(k->job, text, sizeof text);
    fputs(text, stderr);
    tell_launcher(k->job->status);
}

/* It looks at messages as they come and at the page a hundred times a second, and tells what is new
 * at once. */
static void *run(void *of)
{
    Control *k = of;
    double last = 0;
    bool root = k->c->rank == 0;
    for (;;) {
        struct pollfd look[MESH_RANKS + 1];
        int n = 0;
        News now = k->sent;
        look[n++] = (struct pollfd){.fd = root ? k->listening : -1, .events = POLLIN};
        for (int r = 0; r < k->c->size; r++)
            if (k->link[r].fd >= 0) look[n++] = (struct pollfd){k->link[r].fd, POLLIN, 0};
        poll(look, (nfds_t)n, LOOK_MS);
        if (root && look[0].revents) accept_rank(k);
        if (root) hear_all(k);
        else hear_root(k);
        for (int r = 0; r < k->c->size; r++) comm_link_flush(&k->link[r]);
        pass_on(k);
        show(k);
        read_news(k->job, &now);
        if (base_clock() - last < BEAT && !is_new(&now, &k->sent)) continue;
        last = base_clock();
        if ((root ? tell_all(k) : tell_root(k)) && k->sent.stopped) atomic_store(&k->told_end, 1);
    }
    return NULL;
}

/* ---- the beginning and the end */

/* The addresses of this machine, that of itself last. */
static void list_addresses(ControlCall *out)
{
    struct ifaddrs *list = NULL, *at;
    out->n = 0;
    if (getifaddrs(&list) < 0) list = NULL;
    for (at = list; at && out->n < CONTROL_ADDRESSES - 1; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET) continue;
        uint32_t address = ((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr.s_addr;
        if (address != htonl(INADDR_LOOPBACK)) out->address[out->n++] = address;
    }
    if (list) freeifaddrs(list);
    out->address[out->n++] = htonl(INADDR_LOOPBACK);
}

int comm_control_open(ControlCall *out, Err *e)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t size = sizeof any;
    memset(out, 0, sizeof *out);
    control.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (control.listening < 0 || getrandom(out->token, CONTROL_TOKEN, 0) != CONTROL_TOKEN ||
        bind(control.listening, (struct sockaddr *)&any, sizeof any) < 0 ||
        listen(control.listening, MESH_RANKS) < 0 ||
        getsockname(control.listening, (struct sockaddr *)&any, &size) < 0)
        return base_err_set(e, SGL_ESTATE, "rank 0 cannot listen: %s", strerror(errno));
    out->port = ntohs(any.sin_port);
    list_addresses(out);
    return SGL_OK;
}

/* A socket to one of the addresses, or -1. */
static int reach(uint32_t address, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval patience = {CONNECT_MS / 1000, 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    to.sin_addr.s_addr = address;
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

/* The first address that answers; the token says that this is a rank of the job. */
static int connect_root(Control *k, const ControlCall *call, Err *e)
{
    Hello hello = {.rank = k->c->rank};
    memcpy(hello.token, call->token, CONTROL_TOKEN);
    for (int i = 0; i < call->n; i++) {
        int fd = reach(call->address[i], call->port);
        if (fd < 0) continue;
        if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello &&
            comm_link_open(&k->link[0], fd, sizeof(Down), sizeof(Up)))
            return SGL_OK;
        close(fd);
    }
    return base_err_set(e, SGL_ESTATE, "rank %d does not reach rank 0 by TCP, port %d", k->c->rank,
                        call->port);
}

int comm_control_join(Comm *c, const ControlCall *call, Err *e)
{
    Control *k = &control;
    sigset_t all, before;
    pthread_t thread;
    k->c = c;
    k->job = c->job;
    for (int r = 0; r < MESH_RANKS; r++) {
        k->link[r].fd = -1;
        k->heard[r] = base_clock();
    }
    if (!call->port) return base_err_set(e, SGL_ESTATE, "rank 0 cannot listen");
    if (c->rank && connect_root(k, call, e) < 0) return e->code;
    memcpy(k->token, call->token, CONTROL_TOKEN);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&thread, NULL, run, k);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code ? base_err_set(e, SGL_ENOMEM, "a thread for the ranks' news cannot start") : SGL_OK;
}

static bool all_ended(const Control *k)
{
    if (k->c->rank && k->link[0].fd < 0) return true; /* rank 0 leaves last */
    for (int r = 0; r < k->c->size; r++)
        if (!atomic_load(&k->job->rank[r].ended)) return false;
    return true;
}

bool comm_control_leave(Comm *c, int status)
{
    enum { PAUSE_US = 2000, LOOKS = 500 };
    Control *k = &control;
    char how[64];
    JobRank *me = &c->job->rank[c->rank];
    snprintf(how, sizeof how, "failed with status %d", status);
    bool planned =
        atomic_load(&c->job->signal) && status == 128 + (int)atomic_load(&c->job->signal);
    if (status && !planned) {
        if (!comm_job_stopped(c->job)) c->job->status = status;
        gone(k, c->rank, how);
    } else atomic_store(&me->ended, 1);
    if (planned && c->rank == 0) tell_launcher(status);
    while (!comm_job_stopped(c->job) && !all_ended(k)) usleep(PAUSE_US);
    for (int i = 0; i < LOOKS && comm_job_stopped(c->job) && !atomic_load(&k->told_end); i++)
        usleep(PAUSE_US);
    return !comm_job_stopped(c->job);
}
