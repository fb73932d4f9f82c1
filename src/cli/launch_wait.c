/* launch_wait.c: the launcher while ranks run: who has ended, why the job is over, the end of all.
 *
 * In:    ranks that were started, the page of their job.
 * Out:   the status of the job: 128 + the signal that it was asked to stop by; else that of the
 *        rank that the verdict is about, or of the first that failed; 0 if none did.
 * Holds: who fails is known at once, as ranks are children. After a verdict, ranks have some
 *        seconds to leave, longer while a handler of the script saves state, the rank that failed
 *        but a moment; then they are killed. What they started ends with them. A job that is asked
 *        to stop has as long as ranks wait for each other where a handler is there, and a moment
 *        where none is; a second signal kills.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/launch.h"

enum { TEXT_MAX = 64 << 10, LINE_MAX_BYTES = 400, LOOK_NS = 10 * 1000 * 1000 };
static const double MOMENT = 1.5, GRACE = 6; /* seconds for the rank that failed; for all */

static volatile sig_atomic_t asked, asked_often; /* to stop: by this signal */

static void on_stop(int number)
{
    asked = number;
    asked_often++;
}

void cli_launch_hear(void)
{
    signal(SIGTERM, on_stop);
    signal(SIGINT, on_stop);
}

int cli_launch_asked(void) { return asked_often > 1 ? -1 : asked; }

void cli_launch_kill(Launcher *l)
{
    l->killed = true;
    if (l->group) kill(-l->group, SIGKILL);
    for (int r = 0; r < l->o.ranks; r++)
        if (l->rank[r].pid) kill(l->rank[r].pid, SIGKILL);
}

/* ---- what ranks said */

/* What a rank wrote to stderr: up to so many bytes. */
static size_t read_errors(const Launcher *l, int rank, char *out, size_t most)
{
    if (l->rank[rank].errors < 0) return 0;
    ssize_t n = pread(l->rank[rank].errors, out, most, 0);
    return n > 0 ? (size_t)n : 0;
}

/* Each line behind the number of the rank. */
static void show_errors(const Launcher *l, int rank)
{
    char *text = malloc(TEXT_MAX + 1);
    size_t n = text ? read_errors(l, rank, text, TEXT_MAX) : 0;
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && text[end] != '\n') end++;
        fprintf(stderr, "[rank %d] %.*s\n", rank, (int)(end - at), text + at);
        at = end + 1;
    }
    free(text);
}

/* ---- the end of a rank */

/* Why the job is over, for all ranks: who, how, where, and what it said. Where a rank has found
 * out before, that stands. */
static void give_verdict(const Launcher *l, int rank, int wait_status)
{
    char text[JOB_REASON], said[LINE_MAX_BYTES + 1] = "", how[80];
    const JobRank *r = &l->job->rank[rank];
    size_t n = read_errors(l, rank, said, LINE_MAX_BYTES);
    said[n] = 0;
    said[strcspn(said, "\n")] = 0;
    if (WIFSIGNALED(wait_status))
        snprintf(how, sizeof how, "was killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else snprintf(how, sizeof how, "failed with status %d", WEXITSTATUS(wait_status));
    snprintf(text, sizeof text, "rank %d %s after %u exchanges%s%s%s%s", rank, how,
             atomic_load(&r->exchanges), r->at[0] ? ", the last at " : "", r->at,
             said[0] ? ": " : "", said);
    comm_job_stop(l->job, rank, text);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? SIGNAL_STATUS + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

/* A rank that is done says so, as others may wait for it. One that stopped as it was asked to did
 * not fail. */
static void ended(Launcher *l, int rank, int wait_status)
{
    int status = status_of(wait_status), number = (int)atomic_load(&l->job->signal);
    l->rank[rank].pid = 0;
    l->left--;
    if (status == 0 || (number && status == SIGNAL_STATUS + number)) {
        atomic_store(&l->job->rank[rank].ended, 1);
        return;
    }
    if (l->killed) return;
    l->rank[rank].status = status;
    if (l->failed < 0) l->failed = rank;
    give_verdict(l, rank, wait_status);
}

/* ---- the end of all */

/* Since when the job ends, and how long that may take. */
typedef struct End {
    double since;
    bool told; /* the verdict was printed */
} End;

static bool anyone(const Launcher *l, bool (*is)(const JobRank *))
{
    for (int r = 0; r < l->o.ranks; r++)
        if (l->rank[r].pid && is(&l->job->rank[r])) return true;
    return false;
}

static bool has_handlers(const JobRank *r)
{
    return atomic_load(&r->handlers) > 0 || atomic_load(&r->doing) == JOB_SAVES;
}

static bool saves(const JobRank *r) { return atomic_load(&r->doing) == JOB_SAVES; }

/* Prints the verdict in one piece; ranks whose Lua code runs are told by a signal. */
static void tell_end(const Launcher *l)
{
    char text[JOB_REASON + 2 * JOB_PICTURE];
    comm_job_text(l->job, text, sizeof text);
    fputs(text, stderr);
    fflush(stderr);
    for (int r = 0; r < l->o.ranks; r++)
        if (l->rank[r].pid) kill(l->rank[r].pid, SIGURG);
}

/* The rank that the verdict is about, such as one that is stopped, unless it saves state. */
static void kill_culprit(Launcher *l)
{
    int r = l->job->culprit;
    if (r < 0 || !l->rank[r].pid || saves(&l->job->rank[r])) return;
    l->killed = true;
    kill(l->rank[r].pid, SIGKILL);
}

/* Some time has passed since the last look: is the job over, is it time to kill? */
static void look(Launcher *l, End *e)
{
    uint32_t none = 0;
    if (asked) atomic_compare_exchange_strong(&l->job->signal, &none, (uint32_t)asked);
    bool over = comm_job_stopped(l->job), stopping = atomic_load(&l->job->signal) != 0;
    if (over && !e->told) {
        e->told = true;
        e->since = base_clock();
        tell_end(l);
    }
    if (!over && !stopping) return;
    if (e->since == 0) e->since = base_clock();
    bool patient = over ? anyone(l, saves) : anyone(l, has_handlers);
    double passed = base_clock() - e->since;
    double most = patient ? l->job->timeout + GRACE : over ? GRACE : MOMENT / 2;
    if (over && passed > MOMENT) kill_culprit(l);
    if (asked_often > 1 || passed > most) cli_launch_kill(l);
}

static int job_status(const Launcher *l)
{
    int number = (int)atomic_load(&l->job->signal), culprit = l->job->culprit;
    if (number) return SIGNAL_STATUS + number;
    if (comm_job_stopped(l->job) && culprit >= 0 && l->rank[culprit].status)
        return l->rank[culprit].status;
    if (l->failed >= 0) return l->rank[l->failed].status;
    return comm_job_stopped(l->job) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cli_launch_wait(Launcher *l)
{
    const struct timespec pause = {0, LOOK_NS};
    End e = {0};
    while (l->left) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        for (int r = 0; r < l->o.ranks && pid > 0; r++)
            if (l->rank[r].pid == pid) ended(l, r, status);
        look(l, &e);
        if (pid <= 0) nanosleep(&pause, NULL);
    }
    int status = job_status(l);
    if (status && l->group) kill(-l->group, SIGKILL);
    if (comm_job_stopped(l->job) && !e.told) tell_end(l);
    if (comm_job_stopped(l->job) && l->job->culprit > 0) show_errors(l, l->job->culprit);
    return status;
}
