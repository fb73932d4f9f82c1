/* split.c: one step over the threads.
 */
#include "cpu/cpu.h"

void cpu_split(const CpuJob *j, int chunks, PoolFn fn, void *arg)
{
    if (j->pool && chunks > 1) {
        base_pool_run(j->pool, chunks, fn, arg);
        return;
    }
    for (int i = 0; i < chunks; i++) fn(arg, i, 0);
}
