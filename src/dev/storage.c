/* storage.c: the memory of tensors.
 *
 * Holds: `live` counts the bytes of all storages of the process, over all contexts, so it is
 *        atomic although reference counts are not. A mirror is memory that the device copies to; it
 *        stays with the storage, so reading a loss at every step allocates once.
 */
#include "dev/storage_type.h"
#include <string.h>
#include "base/mem.h"
#include "dev/backend.h"

static _Atomic int64_t live;

static bool measure(Storage *s)
{
    s->count = 1;
    for (int i = 0; i < s->rank; i++)
        if (s->dims[i] < 0 || __builtin_mul_overflow(s->count, s->dims[i], &s->count)) return false;
    return !__builtin_mul_overflow((size_t)s->count, DTYPES[s->dtype].bytes, &s->bytes);
}

static int no_memory(Ctx *cx, const Storage *s)
{
    return base_fail(cx, SGL_ENOMEM, "no memory for a tensor of %lld elements of %s",
                     (long long)s->count, DTYPES[s->dtype].name);
}

Storage *dev_storage_new_on(Device *d, Ctx *cx, Dtype dtype, int rank, const int64_t *dims)
{
    Storage *s = base_mem_zero(1, sizeof *s);
    if (!s) {
        base_fail(cx, SGL_ENOMEM, "no memory for a tensor");
        return NULL;
    }
    s->refs = 1;
    s->dtype = dtype;
    s->rank = rank;
    s->device = d;
    for (int i = 0; i < rank; i++) s->dims[i] = dims[i];
    if (measure(s)) s->at = dev_alloc(d, s->bytes);
    if (!s->at) {
        no_memory(cx, s);
        base_mem_free(s);
        return NULL;
    }
    live += (int64_t)s->bytes;
    return s;
}

Storage *dev_storage_new(Ctx *cx, Dtype dtype, int rank, const int64_t *dims)
{
    return dev_storage_new_on(NULL, cx, dtype, rank, dims);
}

/* Of a spread one: with a copy of its part. */
static Storage *copy_part(Ctx *cx, const Storage *s)
{
    Storage *copy = base_mem_zero(1, sizeof *copy);
    StoragePart *p = base_mem_zero(1, sizeof *p);
    Storage *own = copy && p ? dev_storage_copy(cx, s->part->own) : NULL;
    if (!own) {
        base_mem_free(copy);
        base_mem_free(p);
        base_fail(cx, SGL_ENOMEM, "no memory for a tensor");
        return NULL;
    }
    *p = (StoragePart){s->part->how, s->part->comm, own};
    *copy = *s;
    copy->refs = 1;
    copy->part = p;
    return copy;
}

Storage *dev_storage_copy(Ctx *cx, const Storage *s)
{
    if (s->part) return copy_part(cx, s);
    Storage *copy = dev_storage_new_on(s->device, cx, s->dtype, s->rank, s->dims);
    if (!copy || dev_copy(s->device, copy->at, s->at, s->bytes) >= 0) return copy;
    dev_storage_unref(copy);
    return NULL;
}

Storage *dev_storage_ref(Storage *s)
{
    s->refs++;
    return s;
}

static void drop_mirror(Storage *s)
{
    if (s->mirror) dev_unstage(s->device, s->mirror);
    s->mirror = NULL;
    s->fresh = false;
}

void dev_storage_drop(Storage *s)
{
    live -= (int64_t)s->bytes;
    drop_mirror(s);
    dev_free(s->device, s->at);
    s->device = NULL;
    s->at = NULL;
}

void dev_storage_take(Storage *s, void *at)
{
    live += (int64_t)s->bytes;
    s->at = at;
}

void dev_storage_unref(Storage *s)
{
    if (!s || --s->refs) return;
    if (s->part) dev_part_free(s->part);
    else dev_storage_drop(s);
    base_mem_free(s);
}

int64_t dev_storage_live_bytes(void) { return live; }

/* Brings the mirror of a storage on a device up to date. */
static int reflect(Storage *s)
{
    Device *d = s->device;
    if (!s->mirror) s->mirror = dev_stage(d, s->bytes);
    if (!s->mirror) return no_memory(d->cx, s);
    int code = s->bytes ? d->backend->copy_out(d, 0, s->mirror, s->at, s->bytes) : SGL_OK;
    if (code >= 0) code = dev_sync(d);
    s->fresh = code >= 0;
    return code;
}

const void *dev_storage_host(const Storage *s)
{
    if (s->part && dev_part_gather((Storage *)s, true) < 0) return NULL;
    if (!s->device) return s->at;
    return s->fresh || reflect((Storage *)s) >= 0 ? s->mirror : NULL; /* the mirror is a cache */
}

/* To the host's memory. */
static int move_home(Storage *s)
{
    const void *values = dev_storage_host(s);
    void *to = values ? base_mem_big(s->bytes) : NULL;
    if (!to) return values ? no_memory(s->device->cx, s) : s->device->cx->err.code;
    memcpy(to, values, s->bytes);
    drop_mirror(s);
    dev_free(s->device, s->at);
    s->device = NULL;
    s->at = to;
    return SGL_OK;
}

static int move_out(Storage *s, Device *d)
{
    void *to = dev_alloc(d, s->bytes);
    if (!to) return no_memory(d->cx, s);
    int code = dev_put(d, to, s->at, s->bytes);
    if (code < 0) {
        dev_free(d, to);
        return code;
    }
    base_mem_free(s->at);
    s->device = d;
    s->at = to;
    return SGL_OK;
}

void *dev_storage_use(Storage *s, Device *d, bool writes)
{
    int code = dev_part_gather(s, true);
    if (s->device != d && s->device && code >= 0) code = move_home(s);
    if (s->device != d && code >= 0) code = move_out(s, d);
    if (writes) s->fresh = false;
    return code < 0 ? NULL : s->at;
}

void *dev_storage_edit(Storage *s) { return dev_storage_use(s, NULL, true); }

int dev_storage_read(const Storage *s, void *to)
{
    const void *values = s->bytes ? dev_storage_host(s) : to;
    if (!values) return s->part ? s->part->comm->cx->err.code : s->device->cx->err.code;
    if (s->bytes) memcpy(to, values, s->bytes);
    return SGL_OK;
}

int dev_storage_zero(Storage *s)
{
    int code = dev_part_gather(s, false);
    s->fresh = false;
    return code < 0 ? code : dev_zero(s->device, s->at, s->bytes);
}

int dev_storage_write(Storage *s, const void *from)
{
    int code = dev_part_gather(s, false);
    s->fresh = false;
    return code < 0 ? code : dev_put(s->device, s->at, from, s->bytes);
}
