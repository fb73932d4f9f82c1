/* allreduce.c: what MPI_Allreduce takes, to compare with bench/allreduce.lua.
 *
 *   mpicc -O2 bench/allreduce.c -o allreduce && mpirun -n 2 ./allreduce
 *
 * A line for each size: bytes, the least microseconds of a call.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int bytes = 1 << 14; bytes <= 1 << 26; bytes *= 4) {
        int count = bytes / (int)sizeof(float), runs = bytes < 1 << 20 ? 300 : 30;
        float *in = calloc((size_t)count, sizeof *in), *out = calloc((size_t)count, sizeof *out);
        double best = 1e9;
        for (int i = 0; i < runs; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            double took = MPI_Wtime() - start;
            if (took < best) best = took;
        }
        if (rank == 0) printf("%9d bytes  %10.1f us\n", bytes, best * 1e6);
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
