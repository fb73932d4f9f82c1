/* ranks.c: see ranks.h.
 *
 * Holds: inputs are compared by a hash of their bytes, of which the least and the largest over the
 *        ranks are the same.
 */
#include "capture/ranks.h"
#include "base/map.h"
#include "comm/comm.h"

/* Two numbers for each input: the least over ranks becomes the least and, of the second, minus
 * the largest. */
static int hash_inputs(int n, Storage *const *in, int64_t *out)
{
    for (int i = 0; i < n; i++) {
        const void *at = dev_storage_host(in[i]);
        if (!at) return -1;
        out[2 * i] = (int64_t)(base_hash(0, at, in[i]->bytes) >> 2);
        out[2 * i + 1] = -out[2 * i];
    }
    return SGL_OK;
}

static int differs(Ctx *cx, const Graph *g, int i)
{
    const GraphInput *in = &g->inputs.at[i];
    const char *name = in->name && *in->name ? in->name : "rng";
    base_fail(cx, SGL_EPEER, "%s '%s' of the step is not the same on all ranks",
              in->kind == INPUT_ARG ? "argument" : "state", name);
    base_err_hint(&cx->err,
                  "all ranks run the whole script: what it draws, reads and computes must "
                  "not depend on the rank, the clock or the process");
    return SGL_EPEER;
}

int capture_ranks_agree(Ctx *cx, const Graph *g, Storage *const *in)
{
    Comm *c = comm_of(cx);
    int n = g->inputs.n, code;
    if (!c || c->size == 1) return SGL_OK;
    int64_t *mine = base_mem_zero(4 * (size_t)n + 1, sizeof *mine), *all = mine + 2 * n;
    if (!mine) return base_no_memory(cx, "comparing the ranks");
    const Mesh line = {.n = 1, .size = {c->size}};
    CommCall call = {comm_mesh_group(&line, comm_axes_add(0, 0), c->rank), 1,
                     "a comparison of the inputs of a step", "before its first run"};
    code = hash_inputs(n, in, mine) < 0 ? cx->err.code : SGL_OK;
    if (code >= 0)
        code = c->transport->all_reduce(c, &call, COMM_min, DT_i64, 2 * (int64_t)n, mine, all);
    for (int i = 0; i < n && code >= 0; i++)
        if (all[2 * i] != -all[2 * i + 1]) code = differs(cx, g, i);
    base_mem_free(mine);
    return code;
}

void capture_ranks_stop(Ctx *cx)
{
    Comm *c = comm_of(cx);
    if (c && c->size > 1) c->transport->stop(c, cx->err.text);
}
