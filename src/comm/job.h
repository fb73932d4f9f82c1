/* job.h: the memory that the ranks of one machine and their launcher share.
 *
 * It has no name: the launcher maps it and the ranks, its children, inherit it. It holds what each
 * rank is at, whether the job has stopped and why, and room for what ranks hand each other. A
 * channel is a set of axes (CommCall.axes): all ranks of a group make the same calls on one.
 * Holds: the first verdict stays. Every wait looks at it, so no rank outwaits a job that stopped.
 */
#ifndef SGL_COMM_JOB_H
#define SGL_COMM_JOB_H
#include <stdatomic.h>
#include "comm/comm.h"

enum {
    JOB_CHANNELS = 1 << MESH_AXES,
    JOB_TEXT = 192,
    JOB_VERDICT = 1536,
    JOB_HALF = 1 << 20         /* bytes that a rank hands out at once; it has two such rooms */
};

/* What a rank says on a channel: how often it came to a meeting, and what for. */
typedef struct JobLine {
    _Alignas(64) _Atomic uint32_t met;
    _Atomic uint32_t asleep;   /* who waits for `met` */
    uint32_t turn;             /* its own: calls and rooms alternate between two places */
    char what[2][JOB_TEXT];
} JobLine;

typedef struct JobRank {
    _Alignas(64) _Atomic uint32_t ended; /* its script is over, and all was well */
    _Atomic uint32_t exchanges;
    char at[JOB_TEXT];         /* of the last one: the user's position; for messages */
    JobLine line[JOB_CHANNELS];
} JobRank;

typedef struct Job {
    int ranks;
    double timeout;            /* seconds that a rank waits for others */
    uint64_t seed;             /* Comm.seed */
    _Atomic uint32_t stopped;  /* 0: it runs; 1: somebody writes the verdict; 2: it is there */
    char verdict[JOB_VERDICT];
    JobRank rank[];
} Job;

/* NULL with *e set: the memory is not there. */
Job *comm_job_new(int ranks, double timeout, Err *e);
/* The job is over for all ranks, for this reason, unless it is already; wakes who waits. */
void comm_job_stop(Job *j, const char *verdict);
bool comm_job_stopped(const Job *j);
/* Where rank r puts what it hands out on a channel: one of two rooms of JOB_HALF bytes. */
char *comm_job_room(const Job *j, int r, unsigned channel, unsigned turn);
/* Rank `rank` of the job, for comm_job_set; NULL: no memory. */
Comm *comm_local_new(Job *j, int rank);
#endif
