/* storage.c: the memory of tensors.
 *
 * Holds: `live` counts the bytes of all storages of the process, over all contexts, so it is
 *        atomic although reference counts are not.
 */
#include "dev/storage.h"

static _Atomic int64_t live;

static bool measure(Storage *s)
{
    s->count = 1;
    for (int i = 0; i < s->rank; i++)
        if (s->dims[i] < 0 || __builtin_mul_overflow(s->count, s->dims[i], &s->count)) return false;
    return !__builtin_mul_overflow((size_t)s->count, DTYPES[s->dtype].bytes, &s->bytes);
}

Storage *dev_storage_new(Ctx *cx, Dtype dtype, int rank, const int64_t *dims)
{
    Storage *s = base_mem_zero(1, sizeof *s);
    if (!s) {
        base_fail(cx, SGL_ENOMEM, "no memory for a tensor");
        return NULL;
    }
    s->refs = 1;
    s->dtype = dtype;
    s->rank = rank;
    for (int i = 0; i < rank; i++) s->dims[i] = dims[i];
    if (measure(s)) s->data = base_mem_big(s->bytes);
    if (!s->data) {
        base_fail(cx, SGL_ENOMEM, "no memory for a tensor of %lld elements of %s",
                  (long long)s->count, DTYPES[dtype].name);
        base_mem_free(s);
        return NULL;
    }
    live += (int64_t)s->bytes;
    return s;
}

Storage *dev_storage_ref(Storage *s)
{
    s->refs++;
    return s;
}

void dev_storage_unref(Storage *s)
{
    if (!s || --s->refs) return;
    live -= (int64_t)s->bytes;
    base_mem_free(s->data);
    base_mem_free(s);
}

int64_t dev_storage_live_bytes(void) { return live; }
