/* run_mpi.c: `sgl run --transport mpi`: ranks that mpirun starts, on this machine or on others.
 *
 * In:    the launcher's words, and those that are the script's.
 * Out:   mpirun's processes, each of which finds that it is a rank (join.c); the status of the job.
 * Holds: the launcher stays, so it can start again. Signals to stop go to the ranks through mpirun,
 *        which hands SIGUSR1 and SIGUSR2 on. Rank 0, where it is on this machine, tells by a pipe
 *        that the job is over; what does not end in time then is ended by mpirun.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/launch.h"

enum { WORDS = 64, LOOK_MS = 20, NOT_FOUND = 127 };
static const double MOMENT = 3, LAST = 6; /* seconds from the end to SIGTERM; to SIGKILL */

/* How many slots "a:2,b" has. */
static int slots_of(const char *hosts)
{
    int slots = 0;
    for (const char *at = hosts; *at; at += *at == ',') {
        const char *colon = at + strcspn(at, ":,");
        slots += *colon == ':' ? atoi(colon + 1) : 1;
        at += strcspn(at, ",");
    }
    return slots;
}

static bool check_hosts(const LaunchOptions *o)
{
    int slots = o->hosts ? slots_of(o->hosts) : o->ranks;
    if (slots >= o->ranks) return true;
    fprintf(stderr,
            "sgl run: %d ranks, and the hosts %s have %d slot%s: say -n %d, or more slots, as in "
            "%.*s:%d\n",
            o->ranks, o->hosts, slots, slots == 1 ? "" : "s", slots, (int)strcspn(o->hosts, ":,"),
            o->hosts, o->ranks);
    return false;
}

/* What mpirun is called with; the script's words follow. */
static int make_words(const LaunchOptions *o, char **argv, const char **out, char *number)
{
    static char self[4096];
    int n = 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    const char *const first[] = {"mpirun", "-n",
                                 number,   "--bind-to",
                                 "none",   "--enable-recovery",
                                 "--mca",  "orte_abort_on_non_zero_status",
                                 "0",      o->hosts ? "--host" : "--oversubscribe",
                                 o->hosts, NULL};
    for (int i = 0; first[i]; i++) out[n++] = first[i];
    static const char *const PASSED[] = {"SGL_RUN_TIMEOUT", "SGL_RUN_LOG", "SGL_RUN_STATUS"};
    for (size_t i = 0; i < sizeof PASSED / sizeof *PASSED; i++) {
        if (!getenv(PASSED[i])) continue;
        out[n++] = "-x";
        out[n++] = PASSED[i];
    }
    out[n++] = self;
    for (int i = 0; argv[i] && n < WORDS - 1; i++) out[n++] = argv[i];
    out[n] = NULL;
    return n;
}

/* Becomes mpirun, in a group of processes of its own. */
static _Noreturn void become(const LaunchOptions *o, char **argv, int pipe_end)
{
    const char *words[WORDS];
    char number[16], text[64];
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    snprintf(number, sizeof number, "%d", o->ranks);
    snprintf(text, sizeof text, "%g", o->timeout);
    setenv("SGL_RUN_TIMEOUT", text, 1);
    if (o->log) setenv("SGL_RUN_LOG", o->log, 1);
    snprintf(text, sizeof text, "/proc/%d/fd/%d", (int)getppid(), pipe_end);
    setenv("SGL_RUN_STATUS", text, 1);
    if (getuid() == 0) { /* whoever runs the launcher as root has decided that */
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    }
    make_words(o, argv, words, number);
    execvp(words[0], (char *const *)(uintptr_t)words);
    fprintf(stderr,
            "sgl run: mpirun cannot start (%s): install Open MPI (openmpi-bin), or leave "
            "--transport mpi out\n",
            strerror(errno));
    _exit(NOT_FOUND);
}

/* The end of the job, as far as it is known. */
typedef struct Ending {
    double since; /* 0: it runs */
    bool failed;
    int status, passed_on; /* of who failed; the signal that was handed on */
} Ending;

/* A signal to stop goes on as one that mpirun hands to the ranks; a second one kills. */
static void pass_signal(pid_t mpirun, Ending *e, const LaunchOptions *o)
{
    int number = cli_launch_asked();
    if (number < 0) kill(-mpirun, SIGKILL);
    if (number <= 0 || e->passed_on) return;
    e->passed_on = number;
    if (e->since == 0) e->since = base_clock() + o->timeout;
    kill(mpirun, number == SIGINT ? SIGUSR2 : SIGUSR1);
}

/* Until mpirun has ended, which is asked to a while after the job is over. */
static int wait_for(pid_t mpirun, int news, const LaunchOptions *o)
{
    Ending e = {0};
    int status = 0;
    bool asked_to_end = false;
    while (waitpid(mpirun, &status, WNOHANG) == 0) {
        struct pollfd look = {news, POLLIN, 0};
        pass_signal(mpirun, &e, o);
        if (poll(&look, 1, LOOK_MS) > 0 && !e.failed) {
            e.failed = read(news, &e.status, sizeof e.status) == sizeof e.status;
            e.since = base_clock();
        }
        double passed = e.since == 0 ? 0 : base_clock() - e.since;
        if (passed > MOMENT && !asked_to_end) asked_to_end = kill(mpirun, SIGTERM) == 0;
        if (passed > LAST) kill(-mpirun, SIGKILL);
    }
    if (e.passed_on) return SIGNAL_STATUS + e.passed_on;
    if (e.failed) return e.status ? e.status : EXIT_FAILURE;
    int own = WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_STATUS + WTERMSIG(status);
    return own;
}

int cli_run_mpi(const LaunchOptions *o, char **argv)
{
    int ends[2];
    if (!check_hosts(o)) return EXIT_FAILURE;
    if (pipe2(ends, O_CLOEXEC) < 0) return EXIT_FAILURE;
    pid_t pid = fork();
    if (pid == 0) become(o, argv, ends[1]);
    int status = pid < 0 ? EXIT_FAILURE : wait_for(pid, ends[0], o);
    close(ends[0]);
    close(ends[1]);
    return status;
}
