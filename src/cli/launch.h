/* launch.h: what the files of the launcher share.
 */
#ifndef SGL_CLI_LAUNCH_H
#define SGL_CLI_LAUNCH_H
#include <sys/types.h>
#include "comm/job.h"

enum { SIGNAL_STATUS = 128 };  /* a process that a signal ended has this status and the signal */

typedef struct LaunchOptions {
    int ranks;
    double timeout;
    int restarts;
    bool check;                /* in place of a script: is all well with the ranks? */
    const char *transport, *hosts; /* NULL: this machine */
    const char *log;           /* folder of what other ranks print; NULL: nowhere */
    int rest;                  /* the first word that is not the launcher's */
} LaunchOptions;

typedef struct LaunchRank {
    pid_t pid;                 /* 0: it has ended */
    int errors;                /* what it writes to stderr; -1: it has the launcher's */
    int status;                /* with which it failed; 0: it did not */
} LaunchRank;

typedef struct Launcher {
    LaunchOptions o;
    Job *job;
    LaunchRank rank[MESH_RANKS];
    pid_t group;               /* of the ranks and all that they start */
    int left, failed;          /* ranks that run; the first that failed, or -1 */
    int processors;            /* that all ranks share */
    bool killed;               /* by the launcher: what ends now did not fail */
} Launcher;

/* Hears SIGTERM and SIGINT from now on, for all ranks. */
void cli_launch_hear(void);
/* Waits until all ranks have ended; the status of the job. */
int cli_launch_wait(Launcher *l);
/* Ends all ranks at once, and what they started. */
void cli_launch_kill(Launcher *l);
#endif
