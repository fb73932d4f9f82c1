/* join.c: a script that mpirun or srun has started finds that it is a rank.
 *
 * In:    the environment.
 * Out:   a process that is alone as before, or a rank: what ranks behind the first print goes to
 *        a file of theirs, or nowhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/knob.h"
#include "base/limit.h"
#include "bind/rank.h"
#include "cli/launch.h"
#include "cli/run.h"
#include "comm/mpi.h"

static int refuse(const Err *e)
{
    fprintf(stderr, "sgl: %s%s%s\n", e->text, *e->hint ? "\n  " : "", e->hint);
    return EXIT_FAILURE;
}

/* Seconds that ranks wait: what `sgl run` has passed on. */
static double timeout(void)
{
    const char *text = getenv("SGL_RUN_TIMEOUT");
    double seconds = text ? strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : LAUNCH_TIMEOUT;
}

int cli_run_join(void)
{
    Err e = {0};
    MpiPlace place;
    if (comm_mpi_place(&place, &e) < 0) return refuse(&e);
    if (place.size == 1) return RUN_RANK;
    Comm *c = comm_mpi_new(&place, timeout(), &e);
    if (!c) return refuse(&e);
    if (c->rank > 0 && !cli_launch_redirect(getenv("SGL_RUN_LOG"), c->rank)) return EXIT_FAILURE;
    cli_launch_threads(base_limit_threads("").threads / place.local_size);
    bind_rank_begin(c);
    return RUN_RANK;
}
