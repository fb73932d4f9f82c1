/* mpi_place.c: which rank the environment says that this process is.
 *
 * Holds: a step of Slurm counts, not its job: a script in an interactive shell of a job of four
 *        tasks is alone. Where Open MPI's own words are there, they are what counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "comm/mpi.h"

/* The number in a variable; `none` where it is not there or no number. */
static int number(const char *name, int none)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return none;
    long v = strtol(text, &end, 10);
    return *end || v < 0 || v > MESH_RANKS * 64 ? none : (int)v;
}

/* "2(x3),1" says how many tasks each node has: the number of node i; 0: it does not say. */
static int tasks_of_node(const char *text, int node)
{
    while (text && *text) {
        char *end;
        long tasks = strtol(text, &end, 10), times = 1;
        if (end == text) return 0;
        if (end[0] == '(' && end[1] == 'x') {
            times = strtol(end + 2, &end, 10);
            if (*end == ')') end++;
        }
        if (node < times) return (int)tasks;
        node -= (int)times;
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',') return 0;
    }
    return 0;
}

static int check(const MpiPlace *p, Err *e)
{
    if (p->size > MESH_RANKS)
        return base_err_set(e, SGL_ESTATE, "a job has up to %d ranks, this one %d", MESH_RANKS,
                            p->size);
    if (p->local_rank < p->local_size) return SGL_OK;
    return base_err_set(e, SGL_ESTATE,
                        "the launcher's variables contradict each other: local rank %d of %d on "
                        "this machine",
                        p->local_rank, p->local_size);
}

int comm_mpi_place(MpiPlace *out, Err *e)
{
    *out = (MpiPlace){1, 0, 1};
    int size = number("OMPI_COMM_WORLD_SIZE", 0);
    if (size > 1) {
        *out = (MpiPlace){size, number("OMPI_COMM_WORLD_LOCAL_RANK", 0),
                          number("OMPI_COMM_WORLD_LOCAL_SIZE", 1)};
        return check(out, e);
    }
    size = number("SLURM_STEP_NUM_TASKS", 1);
    if (size <= 1 || number("SLURM_PROCID", -1) < 0) return SGL_OK;
    out->size = size;
    out->local_rank = number("SLURM_LOCALID", 0);
    out->local_size = tasks_of_node(getenv("SLURM_STEP_TASKS_PER_NODE"), number("SLURM_NODEID", 0));
    if (!out->local_size) out->local_size = out->local_rank + 1;
    return check(out, e);
}
