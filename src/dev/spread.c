/* spread.c: storages that lie over the ranks of a job, each of which has a part.
 *
 * In:    a storage, and how it shall lie.
 * Out:   the storage of this rank's part, for programs; the whole again where anybody else asks.
 * Holds: a spread storage has its part in place of its memory. Putting one together is a
 *        collective: all ranks read the same values in the same order, as they run one script.
 */
#include "base/mem.h"
#include "dev/storage_type.h"

int dev_storage_spread(Storage *s, Comm *c, const CommSpread *how)
{
    int64_t dims[OP_MAX_RANK];
    if (s->part && comm_spread_same(&s->part->how, how)) return SGL_OK;
    const void *whole = dev_storage_host(s);
    if (!whole) return c->cx->err.code;
    for (int d = 0; d < s->rank; d++) {
        int64_t from, to;
        comm_spread_range(how, c->rank, d, &from, &to);
        dims[d] = to - from;
    }
    StoragePart *p = base_mem_zero(1, sizeof *p);
    if (!p) return base_no_memory(c->cx, "a part of a tensor");
    *p = (StoragePart){*how, c, dev_storage_new(c->cx, s->dtype, s->rank, dims)};
    if (!p->own) {
        base_mem_free(p);
        return c->cx->err.code;
    }
    comm_spread_cut(how, c->rank, DTYPES[s->dtype].bytes, whole, p->own->at);
    dev_storage_drop(s);
    s->part = p;
    return SGL_OK;
}

Storage *dev_storage_part(Storage *s) { return s->part ? s->part->own : s; }

void dev_part_free(StoragePart *p)
{
    if (!p) return;
    dev_storage_unref(p->own);
    base_mem_free(p);
}

int dev_storage_gather(const Storage *s, void *to)
{
    const StoragePart *p = s->part;
    const void *own = dev_storage_host(p->own);
    return own ? comm_spread_gather(p->comm, &p->how, s->dtype, own, to) : p->comm->cx->err.code;
}

int dev_part_gather(Storage *s, bool values)
{
    StoragePart *p = s->part;
    if (!p) return SGL_OK;
    void *at = base_mem_big(s->bytes);
    if (!at) return base_no_memory(p->comm->cx, "a tensor that ranks share");
    const void *own = values ? dev_storage_host(p->own) : at;
    int code = own ? SGL_OK : p->comm->cx->err.code;
    if (values && own) code = comm_spread_gather(p->comm, &p->how, s->dtype, own, at);
    if (code < 0) {
        base_mem_free(at);
        return code;
    }
    s->part = NULL;
    dev_storage_take(s, at);
    dev_part_free(p);
    return SGL_OK;
}
