/* run.c: the launcher of ranks.
 *
 * In:    sgl run [-n RANKS] [--timeout SECONDS] [--log FOLDER] [settings] script [arguments]
 * Out:   RANKS processes that run the script as one job; what rank 0 prints, once.
 * Holds: ranks are forks of the launcher and share its nameless memory (comm/job.h), so nothing is
 *        left behind, whatever ends them, and nothing that a rank starts takes part. When one
 *        fails, the launcher tells all why; who does not end in time is killed. They end with the
 *        launcher.
 */
#include "cli/run.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/knob.h"
#include "comm/job.h"

enum { TEXT_MAX = 64 << 10, LINE_MAX_BYTES = 400, LOOK_NS = 10 * 1000 * 1000, SIGNAL_STATUS = 128 };
static const double GRACE = 5; /* seconds from a failure to the end of all ranks */

typedef struct Options {
    int ranks;
    double timeout;
    const char *log; /* folder of what other ranks print; NULL: nowhere */
    int rest;        /* the first word that is not the launcher's */
} Options;

typedef struct Rank {
    pid_t pid;  /* 0: it has ended */
    int errors; /* what it writes to stderr; -1: it has the launcher's */
} Rank;

typedef struct Launcher {
    Options o;
    Job *job;
    Rank rank[MESH_RANKS];
    int left, failed, status; /* the first that failed, or -1; its status */
} Launcher;

static volatile sig_atomic_t asked_to_stop; /* by this signal */

int cli_run_asked(char **argv) { return argv[1] && strcmp(argv[1], "run") == 0; }

/* ---- the command line */

static const char USAGE[] =
    "usage: sgl run [-n RANKS] [--timeout SECONDS] [--log FOLDER] [settings] script [arguments]\n"
    "  -n, --ranks    how many processes run the script as one job (default: one a processor)\n"
    "  --timeout      seconds that a rank waits for the others (default 30)\n"
    "  --log          folder for what the ranks behind the first print: rank1.txt, …\n"
    "  --plan fsdp    a setting: what ranks share: ddp, fsdp, data=2,fsdp=2, data=2,model=2\n"
    "  --exact 8      a setting: the same bits on 1, 2, 4 or 8 ranks\n";

static int refuse(const char *what, const char *word)
{
    fprintf(stderr, "sgl run: %s%s%s\n%s", what, word ? " " : "", word ? word : "", USAGE);
    return EXIT_FAILURE;
}

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* --name value or --name=value: the value, or NULL; *words is how many words they are. */
static const char *value_of(char **argv, int i, const char *name, int *words)
{
    size_t n = strlen(name);
    *words = 0;
    if (strncmp(argv[i], name, n) != 0) return NULL;
    if (argv[i][n] == '=' && n > 2) return (*words = 1, argv[i] + n + 1);
    if (argv[i][n]) return NULL;
    *words = 2;
    return argv[i + 1];
}

static bool read_number(const char *text, double low, double high, double *out)
{
    char *end = NULL;
    double v = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !(v >= low && v <= high)) return false;
    *out = v;
    return true;
}

/* The launcher's own words, which come before all others. */
static int read_options(char **argv, Options *o)
{
    double ranks = processors();
    int words = 2;
    for (o->rest = 2; argv[o->rest]; o->rest += words) {
        const char *v = value_of(argv, o->rest, "-n", &words);
        if (!words) v = value_of(argv, o->rest, "--ranks", &words);
        if (words) {
            if (!read_number(v, 1, MESH_RANKS, &ranks) || ranks != (int)ranks)
                return refuse("-n takes a number of ranks from 1 to 64, not", v ? v : "nothing");
            continue;
        }
        v = value_of(argv, o->rest, "--timeout", &words);
        if (words) {
            if (!read_number(v, 0.1, 1e6, &o->timeout))
                return refuse("--timeout takes seconds from 0.1 on, not", v ? v : "nothing");
            continue;
        }
        v = value_of(argv, o->rest, "--log", &words);
        if (!words) break;
        if (!v) return refuse("--log takes a folder", NULL);
        o->log = v;
    }
    o->ranks = (int)ranks;
    return argv[o->rest] ? EXIT_SUCCESS : refuse("which script?", NULL);
}

/* ---- a rank */

/* What ranks behind the first print goes to a file, or nowhere; errors wait for the launcher. */
static bool redirect(const Launcher *l, int rank)
{
    char path[4096] = "/dev/null";
    if (l->o.log) snprintf(path, sizeof path, "%s/rank%d.txt", l->o.log, rank);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (out < 0) {
        fprintf(stderr, "sgl run: %s: %s\n", path, strerror(errno));
        return false;
    }
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    dup2(l->rank[rank].errors, STDERR_FILENO);
    return true;
}

/* From here on the process is a rank. Its threads are its share of the processors, unless a setting
 * says how many. */
static int become(Launcher *l, int rank)
{
    static char threads[16]; /* the setting keeps it */
    Err e = {0};
    int share = processors() / l->o.ranks;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    if (rank > 0 && !redirect(l, rank)) exit(EXIT_FAILURE);
    snprintf(threads, sizeof threads, "%d", share > 0 ? share : 1);
    if (!getenv("SGL_THREADS")) base_knob_flag("threads", threads, &e);
    Comm *c = comm_local_new(l->job, rank);
    if (!c) exit(refuse("no memory", NULL));
    comm_job_set(c);
    return RUN_RANK;
}

/* ---- the end of ranks */

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

/* Why the job is over, for all ranks: who, how, where, and what it said. Where a rank has found
 * out before, that stands. */
static void give_verdict(const Launcher *l, int rank, int wait_status)
{
    char text[JOB_VERDICT], said[LINE_MAX_BYTES + 1] = "", how[80];
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
    bool first = !comm_job_stopped(l->job);
    comm_job_stop(l->job, rank, text);
    fprintf(stderr, "sgl run: %s\n", l->job->verdict);
    if (first) show_errors(l, rank);
}

/* The first that failed decides for all; one that is done says so, as others may wait for it. */
static void ended(Launcher *l, int rank, int wait_status)
{
    bool fine = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    l->rank[rank].pid = 0;
    l->left--;
    if (fine) {
        atomic_store(&l->job->rank[rank].ended, 1);
        return;
    }
    if (l->failed >= 0) return;
    l->failed = rank;
    l->status =
        WIFSIGNALED(wait_status) ? SIGNAL_STATUS + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    if (!asked_to_stop) give_verdict(l, rank, wait_status);
}

static void signal_all(const Launcher *l, int number)
{
    for (int r = 0; r < l->o.ranks; r++)
        if (l->rank[r].pid) kill(l->rank[r].pid, number);
}

static void note_stop(int number) { asked_to_stop = number; }

/* Waits for all ranks. After a failure, or a signal to stop, they have a little time. */
static void wait_all(Launcher *l)
{
    const struct timespec look = {0, LOOK_NS};
    double since = 0;
    int told = 0;
    while (l->left) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        for (int r = 0; r < l->o.ranks && pid > 0; r++)
            if (l->rank[r].pid == pid) ended(l, r, status);
        if (pid > 0) continue;
        if (asked_to_stop && !told) {
            told = asked_to_stop;
            signal_all(l, told);
        }
        if ((told || l->failed >= 0) && since == 0) since = base_clock();
        if (since != 0 && base_clock() - since > GRACE) signal_all(l, SIGKILL);
        nanosleep(&look, NULL);
    }
    if (told) l->status = SIGNAL_STATUS + told;
}

/* ---- the launcher */

/* Forks the ranks; RUN_RANK in each. */
static int start(Launcher *l)
{
    for (int r = 0; r < l->o.ranks; r++) {
        l->rank[r].errors = r ? memfd_create("rank", MFD_CLOEXEC) : -1;
        pid_t pid = r && l->rank[r].errors < 0 ? -1 : fork();
        if (pid == 0) return become(l, r);
        if (pid < 0) {
            fprintf(stderr, "sgl run: rank %d cannot start: %s\n", r, strerror(errno));
            signal_all(l, SIGKILL);
            l->status = EXIT_FAILURE;
            l->failed = r;
            break;
        }
        l->rank[r].pid = pid;
        l->left++;
    }
    wait_all(l);
    return l->status;
}

int cli_run(int *argc, char ***argv)
{
    Launcher l = {.o = {.timeout = 30}, .failed = -1};
    Err e = {0};
    int code = read_options(*argv, &l.o);
    if (code != EXIT_SUCCESS) return code;
    l.job = comm_job_new(l.o.ranks, l.o.timeout, &e);
    if (!l.job) {
        fprintf(stderr, "sgl run: %s\n", e.text);
        return EXIT_FAILURE;
    }
    signal(SIGTERM, note_stop);
    signal(SIGINT, note_stop);
    code = start(&l);
    if (code == RUN_RANK) {
        (*argv)[l.o.rest - 1] = (*argv)[0];
        *argc -= l.o.rest - 1;
        *argv += l.o.rest - 1;
    }
    return code;
}
