/* launch.h: what the files of the launcher share.
 */
#ifndef SGL_CLI_LAUNCH_H
#define SGL_CLI_LAUNCH_H
#include <sys/types.h>
#include "comm/job.h"

enum {
    LAUNCH_TIMEOUT = 30,       /* seconds that ranks wait, unless told otherwise */
    SIGNAL_STATUS = 128        /* a process that a signal ended has this status and the signal */
};

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

/* What rank `rank` prints goes to a file in the folder; NULL: nowhere. False: it was reported. */
bool cli_launch_redirect(const char *log, int rank);
/* The threads of this rank, unless a setting says how many. */
void cli_launch_threads(int threads);
/* Hears SIGTERM and SIGINT from now on, for all ranks. */
void cli_launch_hear(void);
/* The signal that came, or 0; -1: more than one came. */
int cli_launch_asked(void);
/* Ranks that mpirun starts, with these words of the script's; the status of the job. */
int cli_run_mpi(const LaunchOptions *o, char **argv);
/* Waits until all ranks have ended; the status of the job. */
int cli_launch_wait(Launcher *l);
/* Ends all ranks at once, and what they started. */
void cli_launch_kill(Launcher *l);
#endif
