/* job.c: see job.h.
 */
#include "comm/job.h"
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

static size_t head_bytes(int ranks)
{
    size_t bytes = sizeof(Job) + (size_t)ranks * sizeof(JobRank);
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

Job *comm_job_new(int ranks, double timeout, Err *e)
{
    size_t bytes = head_bytes(ranks) + (size_t)ranks * JOB_CHANNELS * 2 * JOB_HALF;
    Job *j = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (j == MAP_FAILED) {
        base_err_set(e, SGL_ENOMEM, "no memory that %d ranks share (%zu MiB)", ranks, bytes >> 20);
        return NULL;
    }
    j->ranks = ranks;
    j->timeout = timeout;
    if (getrandom(&j->seed, sizeof j->seed, 0) < 0) j->seed = (uint64_t)getpid();
    return j;
}

char *comm_job_room(const Job *j, int r, unsigned channel, unsigned turn)
{
    size_t number = ((size_t)r * JOB_CHANNELS + channel) * 2 + turn % 2;
    return (char *)(uintptr_t)j + head_bytes(j->ranks) + number * JOB_HALF;
}

bool comm_job_stopped(const Job *j) { return atomic_load(&j->stopped) == 2; }

void comm_job_stop(Job *j, const char *verdict)
{
    uint32_t running = 0;
    if (!atomic_compare_exchange_strong(&j->stopped, &running, 1)) return;
    strncpy(j->verdict, verdict, sizeof j->verdict - 1);
    atomic_store(&j->stopped, 2);
    for (int r = 0; r < j->ranks; r++)
        for (int c = 0; c < JOB_CHANNELS; c++)
            syscall(SYS_futex, (void *)&j->rank[r].line[c].met, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
