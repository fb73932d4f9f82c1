/* job.c: see job.h.
 *
 * Holds: stopping at a common step. A rank says which step it begins and then looks whether it is
 *        asked to stop; who agrees on the step looks at all ranks after it was asked. So each rank
 *        that did not see the request was seen, and its step lies before the one agreed upon.
 */
#include "comm/job.h"
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/mem.h"

enum { PAGE = 4096, PAUSE_US = 1000 };

static size_t head_bytes(int ranks)
{
    size_t bytes = sizeof(Job) + (size_t)ranks * sizeof(JobRank);
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static Job *begin(Job *j, int ranks, double timeout)
{
    j->ranks = ranks;
    j->timeout = timeout;
    j->culprit = -1;
    if (getrandom(&j->seed, sizeof j->seed, 0) < 0) j->seed = (uint64_t)getpid();
    return j;
}

size_t comm_job_bytes(int ranks)
{
    return head_bytes(ranks) + (size_t)ranks * JOB_CHANNELS * 2 * JOB_HALF;
}

Job *comm_job_new(int ranks, double timeout, Err *e)
{
    size_t bytes = comm_job_bytes(ranks);
    Job *j = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (j != MAP_FAILED) return begin(j, ranks, timeout);
    base_err_set(e, SGL_ENOMEM, "no memory that %d ranks share (%zu MiB)", ranks, bytes >> 20);
    return NULL;
}

void comm_job_free(Job *j) { munmap(j, comm_job_bytes(j->ranks)); }

Job *comm_job_alone(int ranks, double timeout)
{
    Job *j = base_mem_big(head_bytes(ranks));
    if (!j) return NULL;
    memset(j, 0, head_bytes(ranks));
    j->apart = true;
    return begin(j, ranks, timeout);
}

char *comm_job_room(const Job *j, int r, unsigned channel, unsigned turn)
{
    size_t number = ((size_t)r * JOB_CHANNELS + channel) * 2 + turn % 2;
    return (char *)(uintptr_t)j + head_bytes(j->ranks) + number * JOB_HALF;
}

bool comm_job_step(Job *j, int me)
{
    uint32_t step = atomic_fetch_add(&j->rank[me].step, 1) + 1, last = 0, none = 0;
    if (!atomic_load(&j->signal)) return false;
    while (j->apart && !atomic_load(&j->stop_at) && !comm_job_stopped(j)) usleep(PAUSE_US);
    if (j->apart) return !comm_job_stopped(j) && step >= atomic_load(&j->stop_at);
    for (int r = 0; r < j->ranks; r++) {
        uint32_t other = atomic_load(&j->rank[r].step);
        if (other > last) last = other;
    }
    atomic_compare_exchange_strong(&j->stop_at, &none, last + 1);
    return step >= atomic_load(&j->stop_at);
}
