/* mpi.h: ranks that an MPI launcher has started: mpirun of Open MPI, or srun.
 *
 * The library is loaded when such ranks are found, so nothing depends on it before, and MPI_Init is
 * never called in a process that is alone.
 */
#ifndef SGL_COMM_MPI_H
#define SGL_COMM_MPI_H
#include "comm/job.h"

/* What the environment says of the launcher. */
typedef struct MpiPlace {
    int size;                  /* ranks of the job; 1: this process is alone */
    int local_rank, local_size; /* among those of this machine */
} MpiPlace;

/* Reads it; SGL_ESTATE with *e set: it contradicts itself. */
int comm_mpi_place(MpiPlace *out, Err *e);
/* This process as a rank, of a job whose ranks wait so long for each other; NULL with *e set. What
 * made it one leaves the environment, so no child is one. */
Comm *comm_mpi_new(const MpiPlace *place, double timeout, Err *e);
#endif
