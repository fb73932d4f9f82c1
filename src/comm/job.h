/* job.h: the page of a job: what each rank is at, and whether the job has stopped and why.
 *
 * On one machine ranks and launcher share it: it has no name, the launcher maps it and the ranks,
 * its children, inherit it; behind it lies room for what ranks hand each other. A channel is a set
 * of axes (CommCall.axes): all ranks of a group make the same calls on one. Over several machines
 * each process has a page of its own, which messages keep up to date (control.c).
 * Holds: the first verdict stays. Every wait looks at it, so no rank outwaits a job that stopped.
 *        A rank writes its own row alone; the launcher, `ended`.
 */
#ifndef SGL_COMM_JOB_H
#define SGL_COMM_JOB_H
#include <stdatomic.h>
#include "comm/comm.h"

enum {
    JOB_CHANNELS = 1 << MESH_AXES,
    JOB_TEXT = 192,
    JOB_REASON = 1400,
    JOB_PICTURE = 1000,
    JOB_HALF = 1 << 20         /* bytes that a rank hands out at once; it has two such rooms */
};

/* What a rank says on a channel: how often it came to a meeting, and what for. */
typedef struct JobLine {
    _Alignas(64) _Atomic uint32_t met;
    _Atomic uint32_t asleep;   /* who waits for `met` */
    uint32_t turn;             /* its own: calls and rooms alternate between two places */
    char what[2][JOB_TEXT];
} JobLine;

/* What a rank is doing. */
typedef enum JobDoing {
    JOB_SCRIPT,                /* Lua, or the own part of a step */
    JOB_EXCHANGE,              /* waits for others: `what`, `at` */
    JOB_ALONE,                 /* long work that the script has announced: `what` */
    JOB_SAVES,                 /* a handler of the script saves state before the end */
    JOB_DOINGS
} JobDoing;

typedef struct JobRank {
    _Alignas(64) _Atomic uint32_t ended; /* its script is over, and all was well */
    _Atomic int32_t pid;
    _Atomic uint32_t step;     /* how many calls of compiled steps it has begun */
    _Atomic uint32_t exchanges;
    _Atomic uint32_t doing;    /* JobDoing */
    _Atomic uint64_t waits;    /* for a rank to come: its number and 1, and where; 0: for none */
    _Atomic uint32_t handlers; /* of the script, for the end */
    _Atomic uint32_t asked, told; /* how often it was asked for its line, and said it */
    _Atomic double allowed;    /* until then (base_clock) others wait for it without complaint */
    char at[JOB_TEXT];         /* of the last exchange: the user's position */
    char what[JOB_TEXT];
    char line[JOB_TEXT];       /* "busy at x.lua:3": the script when it told */
    JobLine line_of[JOB_CHANNELS];
} JobRank;

typedef struct Job {
    int ranks;
    bool apart;                /* a page of this process alone: messages bring what others write */
    double timeout;            /* seconds that a rank waits for others */
    uint64_t seed;             /* Comm.seed */
    _Atomic uint32_t signal;   /* asks all ranks to stop; 0: none came */
    _Atomic uint32_t stop_at;  /* the step before which they do; 0: not agreed yet */
    _Atomic uint32_t stopped;  /* 0: it runs; 1: somebody writes the verdict; 2: it is there */
    int culprit;               /* the rank that the verdict is about; -1: none alone */
    int status;                /* its own, where it told other machines; 0: unknown */
    char reason[JOB_REASON];   /* the verdict: who, where, why */
    char picture[JOB_PICTURE]; /* … and what each rank is at: lines */
    JobRank rank[];
} Job;

/* NULL with *e set: the memory is not there. */
Job *comm_job_new(int ranks, double timeout, Err *e);
void comm_job_free(Job *j); /* of comm_job_new */
/* Bytes of such a page, with room for exchanges. */
size_t comm_job_bytes(int ranks);
/* A page without room for exchanges, of this process alone; NULL: no memory. */
Job *comm_job_alone(int ranks, double timeout);

/* The job is over for all ranks, for this reason, unless it is already; wakes who waits. Lines of
 * the reason behind the first begin the picture. The verdict is there when it returns. */
void comm_job_stop(Job *j, int culprit, const char *reason);
bool comm_job_stopped(const Job *j);
/* The same for a verdict that was given elsewhere. */
void comm_job_adopt(Job *j, int culprit, const char *reason, const char *picture);
/* The verdict as the launcher prints it, with line ends. */
void comm_job_text(const Job *j, char *out, size_t size);
/* The verdict as an error: SGL_EPEER, unless there is one. */
int comm_job_error(const Job *j, Err *e);
/* Rank r is late: what is known of it, as a sentence: alive and at which line, stopped, gone. */
void comm_job_where(Job *j, int r, char *out, size_t size);
/* Where rank r puts what it hands out on a channel: one of two rooms of JOB_HALF bytes. */
char *comm_job_room(const Job *j, int r, unsigned channel, unsigned turn);

/* Rank `me` asks before each step whether it shall end there: all ranks get the same answer for the
 * same step. The count of its steps goes up. */
bool comm_job_step(Job *j, int me);

/* Rank `rank` of the job, for comm_job_set; NULL: no memory. */
Comm *comm_local_new(Job *j, int rank);
#endif
