/* spread.c: see spread.h.
 */
#include "comm/spread.h"
#include <stdio.h>
#include <string.h>

bool comm_spread_same(const CommSpread *a, const CommSpread *b)
{
    bool same = a->rank == b->rank && a->mesh.n == b->mesh.n;
    for (int i = 0; i < a->mesh.n && same; i++) same = a->mesh.size[i] == b->mesh.size[i];
    for (int d = 0; d < a->rank && same; d++) {
        CommCut x = a->cut[d], y = b->cut[d];
        same = a->axes[d] == b->axes[d] && x.size == y.size;
        if (a->axes[d]) same = same && x.units == y.units && x.blocks == y.blocks;
    }
    return same;
}

void comm_spread_range(const CommSpread *s, int r, int d, int64_t *from, int64_t *to)
{
    int n = comm_mesh_parts(&s->mesh, s->axes[d]), part = comm_mesh_part(&s->mesh, s->axes[d], r);
    *from = comm_cut_start(s->cut[d], n, part);
    *to = comm_cut_start(s->cut[d], n, part + 1);
    if (!s->axes[d]) *from = 0, *to = s->cut[d].size;
}

/* Rows of the last dim, of each index of those before. */
void comm_spread_cut(const CommSpread *s, int r, size_t bytes, const void *whole, void *part)
{
    int64_t from[SPREAD_RANK] = {0}, to[SPREAD_RANK] = {0}, at[SPREAD_RANK], rows = 1;
    const char *source = whole;
    char *target = part;
    int last = s->rank - 1;
    if (last < 0) {
        memcpy(part, whole, bytes);
        return;
    }
    for (int d = 0; d < s->rank; d++) {
        comm_spread_range(s, r, d, &from[d], &to[d]);
        at[d] = from[d];
        if (d < last) rows *= to[d] - from[d];
    }
    size_t row = (size_t)(to[last] - from[last]) * bytes;
    for (int64_t i = 0; i < rows; i++) {
        int64_t offset = 0;
        for (int d = 0; d < s->rank; d++) offset = offset * s->cut[d].size + at[d];
        memcpy(target, source + (size_t)offset * bytes, row);
        target += row;
        for (int d = last - 1; d >= 0 && ++at[d] == to[d]; d--) at[d] = from[d];
    }
}

/* Dim d of an array with these dims, of which this rank has a part, becomes whole. */
static int gather_dim(Comm *c, const CommSpread *s, Dtype dtype, int64_t *dims, int d,
                      const void *in, void *out)
{
    char what[64];
    CommWork w = {.op = COMM_all_gather, .in = in};
    CommParts *p = &w.parts;
    w.out = out;
    w.call = (CommCall){comm_mesh_group(&s->mesh, s->axes[d], c->rank), comm_axes_set(s->axes[d]),
                        what, NULL};
    *p = (CommParts){.outer = 1, .inner = (int64_t)DTYPES[dtype].bytes};
    for (int e = 0; e < s->rank; e++) *(e < d ? &p->outer : &p->inner) *= e == d ? 1 : dims[e];
    for (int m = 0; m < w.call.group.n; m++) {
        int64_t from, to;
        comm_spread_range(s, w.call.group.rank[m], d, &from, &to);
        p->length[m] = to - from;
    }
    dims[d] = s->cut[d].size;
    snprintf(what, sizeof what, "all_gather of a value that ranks share, %lld x %lld x %lld bytes",
             (long long)p->outer, (long long)dims[d], (long long)p->inner);
    return comm_run(c, &w);
}

int comm_spread_gather(Comm *c, const CommSpread *s, Dtype dtype, const void *part, void *whole)
{
    int64_t dims[SPREAD_RANK] = {0}, count = (int64_t)DTYPES[dtype].bytes, all = count;
    int left = 0, code = SGL_OK;
    for (int d = 0; d < s->rank; d++) {
        int64_t from, to;
        comm_spread_range(s, c->rank, d, &from, &to);
        dims[d] = to - from;
        count *= dims[d];
        all *= s->cut[d].size;
        left += s->axes[d] != 0;
    }
    if (!left) memcpy(whole, part, (size_t)count);
    const void *in = part;
    void *between = left > 1 ? base_mem_big((size_t)all) : NULL, *held = between;
    if (left > 1 && !between) return base_no_memory(c->cx, "a value that ranks share");
    for (int d = 0; d < s->rank && code >= 0; d++) {
        if (!s->axes[d]) continue;
        void *out = --left % 2 ? held : whole; /* the last one goes to `whole` */
        code = gather_dim(c, s, dtype, dims, d, in, out);
        in = out;
    }
    base_mem_free(between);
    return code;
}
