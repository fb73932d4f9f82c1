/* clock.c: the clocks of the system as seconds. */
#include "base/clock.h"
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double base_clock(void) { return seconds(CLOCK_MONOTONIC); }
double base_clock_wall(void) { return seconds(CLOCK_REALTIME); }
