/* clock.h: time for measurements. */
#ifndef SGL_BASE_CLOCK_H
#define SGL_BASE_CLOCK_H
double base_clock(void);        /* seconds since an arbitrary start, monotonic */
double base_clock_wall(void);   /* seconds since 1970 */
#endif
