/* run.c: the launcher of ranks.
 *
 * In:    sgl run [-n RANKS] [--timeout SECONDS] [--log FOLDER] [--restarts K] [settings] script …
 * Out:   RANKS processes that run the script as one job; what rank 0 prints, once.
 * Holds: ranks are forks of the launcher and share its nameless memory (comm/job.h), so nothing is
 *        left behind, whatever ends them, and nothing that a rank starts takes part. They are a
 *        group of processes of their own, and end with the launcher.
 */
#include "cli/run.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/knob.h"
#include "base/limit.h"
#include "bind/rank.h"
#include "cli/launch.h"

enum {
    STOPPED = 1 << 16, /* beside a status: by a signal, so nothing starts again */
    NEED_BYTES =
        4 * JOB_HALF, /* that a rank hands out from: those outside of steps, those in them */
};

int cli_run_asked(char **argv) { return argv[1] && strcmp(argv[1], "run") == 0; }

/* ---- the command line */

static const char USAGE[] =
    "usage: sgl run [-n RANKS] [--timeout SECONDS] [--log FOLDER] [--restarts K] [settings] script "
    "[arguments]\n"
    "  -n, --ranks    how many processes run the script as one job (default: one a processor)\n"
    "  --timeout      seconds that a rank waits for the others (default 30)\n"
    "  --log          folder for what the ranks behind the first print: rank1.txt, …\n"
    "  --restarts     how often the job starts again when a rank failed (default 0)\n"
    "  --transport    local: processes of this machine (default); mpi: those that mpirun starts\n"
    "  --hosts        a:2,b:2 for mpirun: hosts and how many ranks each takes\n"
    "  --check        in place of a script: which ranks there are, and do they hear each other\n"
    "  --plan fsdp    a setting: what ranks share: ddp, fsdp, data=2,fsdp=2, data=2,model=2\n"
    "  --exact 8      a setting: the same bits on 1, 2, 4 or 8 ranks\n";

static int refuse(const char *what, const char *word)
{
    fprintf(stderr, "sgl run: %s%s%s\n%s", what, word ? " " : "", word ? word : "", USAGE);
    return EXIT_FAILURE;
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
typedef struct Word {
    const char *name, *other; /* as it is written; NULL: in one way */
    int (*take)(LaunchOptions *o, const char *value);
} Word;

static int take_ranks(LaunchOptions *o, const char *v)
{
    double ranks;
    if (!read_number(v, 1, MESH_RANKS, &ranks) || ranks != (int)ranks)
        return refuse("-n takes a number of ranks from 1 to 64, not", v ? v : "nothing");
    o->ranks = (int)ranks;
    return EXIT_SUCCESS;
}

static int take_timeout(LaunchOptions *o, const char *v)
{
    if (read_number(v, 0.1, 1e6, &o->timeout)) return EXIT_SUCCESS;
    return refuse("--timeout takes seconds from 0.1 on, not", v ? v : "nothing");
}

static int take_restarts(LaunchOptions *o, const char *v)
{
    double restarts;
    if (!read_number(v, 0, 1000, &restarts) || restarts != (int)restarts)
        return refuse("--restarts takes a number, not", v ? v : "nothing");
    o->restarts = (int)restarts;
    return EXIT_SUCCESS;
}

static int take_log(LaunchOptions *o, const char *v)
{
    o->log = v;
    return v ? EXIT_SUCCESS : refuse("--log takes a folder", NULL);
}

static int take_transport(LaunchOptions *o, const char *v)
{
    o->transport = v;
    if (v && (strcmp(v, "local") == 0 || strcmp(v, "mpi") == 0)) return EXIT_SUCCESS;
    return refuse("--transport is local or mpi, not", v ? v : "nothing");
}

static int take_hosts(LaunchOptions *o, const char *v)
{
    o->hosts = v;
    return v && *v ? EXIT_SUCCESS
                   : refuse("--hosts takes hosts and their slots, as in a:2,b:2", NULL);
}

static int take_check(LaunchOptions *o, const char *v)
{
    (void)v;
    o->check = true;
    return EXIT_SUCCESS;
}

static const Word WORDS[] = {
    {"-n", "--ranks", take_ranks},         {"--timeout", NULL, take_timeout},
    {"--restarts", NULL, take_restarts},   {"--log", NULL, take_log},
    {"--transport", NULL, take_transport}, {"--hosts", NULL, take_hosts},
};
static const Word CHECK = {"--check", NULL, take_check}; /* it has no value */

/* Takes one of them at word i; *words is how many words it is, 0: it is none. */
static int read_word(char **argv, int i, LaunchOptions *o, int *words)
{
    *words = 1;
    if (strcmp(argv[i], CHECK.name) == 0) return CHECK.take(o, NULL);
    for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS; k++) {
        const char *v = value_of(argv, i, WORDS[k].name, words);
        if (!*words && WORDS[k].other) v = value_of(argv, i, WORDS[k].other, words);
        if (*words) return WORDS[k].take(o, v);
    }
    return EXIT_SUCCESS;
}

static int read_options(char **argv, LaunchOptions *o)
{
    int words = 1;
    o->ranks = base_limit_threads("").threads;
    for (o->rest = 2; argv[o->rest]; o->rest += words) {
        int code = read_word(argv, o->rest, o, &words);
        if (code != EXIT_SUCCESS) return code;
        if (!words) break;
    }
    return argv[o->rest] || o->check ? EXIT_SUCCESS : refuse("which script?", NULL);
}

/* ---- a rank */

bool cli_launch_redirect(const char *log, int rank)
{
    char path[4096] = "/dev/null";
    if (log) snprintf(path, sizeof path, "%s/rank%d.txt", log, rank);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (out < 0) {
        fprintf(stderr, "sgl run: %s: %s\n", path, strerror(errno));
        return false;
    }
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    return true;
}

void cli_launch_threads(int threads)
{
    static char text[16]; /* the setting keeps it */
    Err e = {0};
    snprintf(text, sizeof text, "%d", threads > 0 ? threads : 1);
    if (!getenv("SGL_THREADS")) base_knob_flag("threads", text, &e);
}

/* From here on the process is a rank. Its threads are its share of the processors, unless a setting
 * says how many. It ends with the launcher, also where that has ended already. */
static int become(Launcher *l, int rank, pid_t launcher)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(EXIT_FAILURE);
    setpgid(0, l->group); /* which is not that of the terminal, so nothing is read from there */
    if (isatty(STDIN_FILENO) && !freopen("/dev/null", "r", stdin)) _exit(EXIT_FAILURE);
    if (rank > 0) {
        if (!cli_launch_redirect(l->o.log, rank)) exit(EXIT_FAILURE);
        dup2(l->rank[rank].errors, STDERR_FILENO); /* errors wait for the launcher */
    }
    cli_launch_threads(l->processors / l->o.ranks);
    Comm *c = comm_local_new(l->job, rank);
    if (!c) exit(refuse("no memory", NULL));
    bind_rank_begin(c);
    return RUN_RANK;
}

/* ---- the launcher */

/* Forks the ranks; RUN_RANK in each, else the status of the job. */
static int start(Launcher *l)
{
    pid_t self = getpid();
    for (int r = 0; r < l->o.ranks; r++) {
        l->rank[r].errors = r ? memfd_create("rank", MFD_CLOEXEC) : -1;
        pid_t pid = r && l->rank[r].errors < 0 ? -1 : fork();
        if (pid == 0) return become(l, r, self);
        if (pid < 0) {
            fprintf(stderr, "sgl run: rank %d cannot start: %s\n", r, strerror(errno));
            cli_launch_kill(l);
            cli_launch_wait(l);
            return EXIT_FAILURE;
        }
        if (!l->group) l->group = pid;
        setpgid(pid, l->group);
        l->rank[r].pid = pid;
        l->left++;
    }
    return cli_launch_wait(l);
}

/* One line where ranks have less than a processor each; false where their memory is not there. */
static bool check_machine(Launcher *l)
{
    Limit have = base_limit_threads("");
    int64_t left = base_limit_memory(""), need = (int64_t)l->o.ranks * NEED_BYTES;
    l->processors = have.threads;
    if (left >= 0 && left < need) {
        fprintf(stderr,
                "sgl run: %d ranks need %lld MiB of memory to exchange values, and %lld MiB are "
                "left: use fewer ranks\n",
                l->o.ranks, (long long)(need >> 20), (long long)(left >> 20));
        return false;
    }
    if (have.threads < l->o.ranks && isatty(STDERR_FILENO))
        fprintf(stderr, "sgl run: %d ranks share %d processor%s (%s), with one thread each\n",
                l->o.ranks, have.threads, have.threads > 1 ? "s" : "", have.source);
    return true;
}

/* What runs in place of a script. */
static char **check_words(void)
{
    static char *words[] = {"sgl", "-e", "require 'sgl.dist.preflight'()", NULL};
    return words;
}

static bool is_mpi(const LaunchOptions *o)
{
    return o->hosts || (o->transport && strcmp(o->transport, "mpi") == 0);
}

/* One try of the job, with a page of its own. */
static int attempt(const LaunchOptions *o, char **argv)
{
    Launcher l = {.o = *o, .failed = -1};
    Err e = {0};
    if (is_mpi(o)) return cli_run_mpi(o, o->check ? check_words() + 1 : argv + o->rest);
    if (!check_machine(&l)) return EXIT_FAILURE;
    l.job = comm_job_new(o->ranks, o->timeout, &e);
    if (!l.job) {
        fprintf(stderr, "sgl run: %s\n", e.text);
        return EXIT_FAILURE;
    }
    int status = start(&l);
    if (status == RUN_RANK) return status;
    for (int r = 0; r < o->ranks; r++)
        if (l.rank[r].errors >= 0) close(l.rank[r].errors);
    status |= atomic_load(&l.job->signal) ? STOPPED : 0;
    comm_job_free(l.job);
    return status;
}

int cli_run(int *argc, char ***argv)
{
    LaunchOptions o = {.timeout = LAUNCH_TIMEOUT};
    int code = read_options(*argv, &o);
    if (code != EXIT_SUCCESS) return code;
    cli_launch_hear();
    for (int again = 0; again <= o.restarts; again++) {
        code = attempt(&o, *argv);
        if (code == RUN_RANK || code == EXIT_SUCCESS || code & STOPPED) break;
        if (again < o.restarts)
            fprintf(stderr, "sgl run: start %d of %d follows\n", again + 2, o.restarts + 1);
    }
    if (code != RUN_RANK) return code & ~STOPPED;
    if (o.check) {
        *argc = 3;
        *argv = check_words();
        return RUN_RANK;
    }
    (*argv)[o.rest - 1] = (*argv)[0];
    *argc -= o.rest - 1;
    *argv += o.rest - 1;
    return RUN_RANK;
}
