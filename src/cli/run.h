/* run.h: `sgl run -n 4 script`: a script on several ranks of this machine.
 */
#ifndef SGL_CLI_RUN_H
#define SGL_CLI_RUN_H

/* Is the command line one for the launcher? */
int cli_run_asked(char **argv);
/* Starts the ranks and waits for them: the status of the first that failed, or 0. In a rank it is
 * RUN_RANK, and *argc, *argv are what is left for the script. */
enum { RUN_RANK = -1 };
int cli_run(int *argc, char ***argv);
/* A process that an MPI launcher has started becomes its rank: RUN_RANK, or a status. */
int cli_run_join(void);
#endif
