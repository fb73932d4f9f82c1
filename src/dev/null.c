/* null.c: the backend that computes nothing, to measure compilation and to check programs.
 *
 * Holds: a step passes only if each of its buffers has an address, as it would have to on a
 *        backend that computes.
 */
#include "dev/backend.h"

static int run(Device *d, void *state, const DevRun *r, int i)
{
    const Step *step = &r->steps->at[i];
    StepUse use;
    bool fits = true;
    (void)state;
    for (int k = 0; fits && kern_step_use(step, k, &use); k++)
        fits = use.buffer >= 0 && r->buffers[use.buffer];
    return fits ? SGL_OK : base_fail(d->cx, SGL_EINTERN, "step %d has a buffer without address", i);
}

const Backend NULL_BACKEND = {.name = "null", .run = run, .computes = false};
