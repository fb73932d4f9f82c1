/* verdict.c: why a job is over, in words that are the same for all ranks.
 *
 * Out:   the reason, and what each rank is at: its last step, its exchange, where its script is.
 * Holds: ranks that are at the same are one line. Where the script of a rank is, only the rank can
 *        say: it is asked by a signal (bind/rank.c) and answers while Lua runs, or is blocked; a
 *        process that is stopped or gone does not, and the system tells which.
 */
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "comm/job.h"

enum {
    ANSWER_LOOKS = 60,
    LOOK_US = 10 * 1000, /* how long an answer may take */
    WRITE_LOOKS = 10000  /* how long whoever writes the verdict may take: it may be killed there */
};

bool comm_job_stopped(const Job *j) { return atomic_load(&j->stopped) == 2; }

/* ---- what ranks are at */

/* The letter that the system has for what a process does, 'T': stopped; 0: there is none. */
static char system_state(int pid)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] ? name_end[2] : 0;
}

/* Asks a rank where its script is; false: it does not say. */
static bool ask(JobRank *r)
{
    uint32_t question = atomic_fetch_add(&r->asked, 1) + 1;
    int pid = atomic_load(&r->pid); /* 0: messages bring the question there */
    if (pid && kill(pid, SIGURG) < 0) return false;
    for (int i = 0; i < ANSWER_LOOKS && atomic_load(&r->told) < question; i++) {
        if (pid && i == ANSWER_LOOKS / 3) kill(pid, SIGURG);
        usleep(LOOK_US);
    }
    return atomic_load(&r->told) >= question;
}

void comm_job_where(Job *j, int r, char *out, size_t size)
{
    JobRank *peer = &j->rank[r];
    int pid = atomic_load(&peer->pid);
    char state = pid ? system_state(pid) : 'R';
    out[0] = 0;
    if (!state || state == 'Z') snprintf(out, size, "it is gone");
    else if (state == 'T' || state == 't') snprintf(out, size, "it is stopped by a signal");
    else if ((pid || j->apart) && ask(peer)) snprintf(out, size, "it is alive, %s", peer->line);
    else snprintf(out, size, "it is alive and does not say where");
}

static void describe(const JobRank *r, char *out, size_t size)
{
    unsigned step = atomic_load(&r->step), exchanges = atomic_load(&r->exchanges);
    int n = snprintf(out, size, "step %u, ", step);
    if (n < 0 || (size_t)n >= size) return;
    out += n, size -= (size_t)n;
    if (atomic_load(&r->ended)) snprintf(out, size, "has ended its script");
    else if (atomic_load(&r->doing) == JOB_EXCHANGE)
        snprintf(out, size, "in exchange %u, %s (%s)", exchanges, r->what, r->at);
    else if (atomic_load(&r->doing) == JOB_ALONE) snprintf(out, size, "in %s", r->what);
    else
        snprintf(out, size, "%u exchanges, %s%s", exchanges,
                 exchanges ? "the last at " : "none yet", exchanges ? r->at : "");
}

/* "ranks 0, 2, 3": those from `first` on that are at the same; notes them in `seen`. */
static int list_same(const Job *j, int first, const char *what, bool *seen, char *out, size_t size)
{
    char other[3 * JOB_TEXT];
    int n = 0, count = 0;
    for (int r = first; r < j->ranks; r++) {
        describe(&j->rank[r], other, sizeof other);
        if (seen[r] || strcmp(other, what) != 0) continue;
        seen[r] = true;
        if ((size_t)n < size)
            n += snprintf(out + n, size - (size_t)n, "%s%d", count++ ? ", " : "", r);
    }
    return count;
}

/* A line for each group of ranks, as far as there is room. */
static void append_picture(const Job *j, char *out, size_t size)
{
    bool seen[MESH_RANKS] = {false};
    for (int r = 0; r < j->ranks; r++) {
        char what[3 * JOB_TEXT], ranks[4 * MESH_RANKS];
        if (seen[r]) continue;
        describe(&j->rank[r], what, sizeof what);
        int count = list_same(j, r, what, seen, ranks, sizeof ranks);
        size_t used = strlen(out);
        if (used + strlen(what) + strlen(ranks) + 16 >= size) return;
        snprintf(out + used, size - used, "%srank%s %s: %s", used ? "\n" : "", count > 1 ? "s" : "",
                 ranks, what);
    }
}

/* ---- the end */

static void wake_all(Job *j)
{
    for (int r = 0; r < j->ranks; r++)
        for (int c = 0; c < JOB_CHANNELS; c++)
            syscall(SYS_futex, (void *)&j->rank[r].line_of[c].met, FUTEX_WAKE, INT_MAX, NULL, NULL,
                    0);
}

/* Is the verdict this caller's to write? Otherwise it waits for that of another. */
static bool begin_verdict(Job *j)
{
    uint32_t running = 0;
    if (atomic_compare_exchange_strong(&j->stopped, &running, 1)) return true;
    for (int i = 0; i < WRITE_LOOKS && !comm_job_stopped(j); i++) usleep(100);
    return false;
}

void comm_job_stop(Job *j, int culprit, const char *reason)
{
    size_t line = strcspn(reason, "\n");
    if (!begin_verdict(j)) return;
    j->culprit = culprit;
    snprintf(j->reason, sizeof j->reason, "%.*s", (int)line, reason);
    snprintf(j->picture, sizeof j->picture, "%s", reason + line + (reason[line] == '\n'));
    append_picture(j, j->picture, sizeof j->picture);
    atomic_store(&j->stopped, 2);
    wake_all(j);
}

void comm_job_adopt(Job *j, int culprit, const char *reason, const char *picture)
{
    if (atomic_load(&j->stopped) || !begin_verdict(j)) return;
    j->culprit = culprit;
    snprintf(j->reason, sizeof j->reason, "%s", reason);
    snprintf(j->picture, sizeof j->picture, "%s", picture);
    atomic_store(&j->stopped, 2);
    wake_all(j);
}

void comm_job_text(const Job *j, char *out, size_t size)
{
    int n = snprintf(out, size, "sgl run: %s\n", j->reason);
    for (const char *at = j->picture; *at && n >= 0 && (size_t)n < size; at += *at == '\n') {
        int line = (int)strcspn(at, "\n");
        n += snprintf(out + n, size - (size_t)n, "  %.*s\n", line, at);
        at += line;
    }
}

int comm_job_error(const Job *j, Err *e)
{
    if (e->code) return e->code;
    *e = (Err){.code = SGL_EPEER};
    snprintf(e->text, sizeof e->text, "%s", j->reason);
    snprintf(e->hint, sizeof e->hint, "%s", j->picture);
    return e->code;
}
