/* null.c: the backend that computes nothing, to measure compilation and to check programs.
 *
 * Holds: a step passes only if each of its buffers has an address, as it would have to on a
 *        backend that computes.
 */
#include "dev/backend.h"

static bool has_address(void *const *buffers, int b) { return b >= 0 && buffers[b]; }

static int run(Ctx *cx, void *state, const Step *step, int i, void *const *buffers)
{
    (void)state;
    bool fits = true;
    for (int k = 0; k < step->nargs; k++) fits = fits && has_address(buffers, step->args[k]);
    if (step->kind != STEP_KERNEL && step->kind != STEP_COPY)
        fits = has_address(buffers, step->view[0].buffer) && has_address(buffers, step->out.buffer);
    return fits ? SGL_OK : base_fail(cx, SGL_EINTERN, "step %d has a buffer without address", i);
}

const Backend DEV_NULL = {.name = "null", .run = run, .computes = 0};
