/* samples.c: percentiles over the last OBS_SAMPLES durations, exact: sorted when they are asked.
 */
#include "obs/samples.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void obs_samples_add(ObsSamples *s, double seconds)
{
    s->at[s->count++ % OBS_SAMPLES] = (float)seconds;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void obs_samples_percentiles(const ObsSamples *s, int n, const double *at, double *out)
{
    float sorted[OBS_SAMPLES];
    int count = s->count < OBS_SAMPLES ? (int)s->count : OBS_SAMPLES;
    memcpy(sorted, s->at, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    for (int i = 0; i < n; i++) {
        int rank = (int)ceil(at[i] * count);
        out[i] = count ? (double)sorted[rank > 0 ? rank - 1 : 0] : 0;
    }
}
