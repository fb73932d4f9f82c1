/* samples.h: the last durations of something, for its percentiles.
 */
#ifndef SGL_OBS_SAMPLES_H
#define SGL_OBS_SAMPLES_H
#include <stdint.h>

enum { OBS_SAMPLES = 1024 };
typedef struct ObsSamples {
    int64_t count;             /* ever */
    float at[OBS_SAMPLES];     /* seconds; the last ones, a ring */
} ObsSamples;

/* Adds one measured time. */
void obs_samples_add(ObsSamples *s, double seconds);
/* out[i] becomes the least sample that is not below the share at[i] (0 to 1); 0 without samples. */
void obs_samples_percentiles(const ObsSamples *s, int n, const double *at, double *out);
#endif
