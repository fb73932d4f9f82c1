/* clock.c: the monotonic clock of the system as seconds. */
#include "base/clock.h"
#include <time.h>

double base_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
