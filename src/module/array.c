/* array.c: values of tensors as arrays of a file that is written.
 *
 * Holds: a value that lies over the ranks stays so. It is put together in the room for the largest
 *        one when it is written, so a write needs no more than that.
 */
#include <string.h>
#include "base/mem.h"
#include "module/module.h"
#include "tensor/tensor.h"

static const void *fetch(const FileArray *a, Err *e)
{
    const Storage *s = a->from;
    if (dev_storage_gather(s, a->to) == SGL_OK) return a->to;
    base_err_set(e, SGL_EFILE, "'%s' cannot be put together", a->name);
    return NULL;
}

FileArray module_array(lua_State *L, Host *h, const char *name, const Storage *s)
{
    FileArray a = {.name = name, .dtype = s->dtype, .rank = s->rank, .bytes = s->bytes};
    memcpy(a.dims, s->dims, s->rank * sizeof *s->dims);
    if (!s->part) {
        a.data = tensor_host(L, h, s);
        return a;
    }
    a.fetch = fetch;
    a.from = s;
    return a;
}

void *module_array_room(Host *h, FileArray *arrays, int n)
{
    size_t most = 0;
    for (int i = 0; i < n; i++)
        if (arrays[i].fetch && arrays[i].bytes > most) most = arrays[i].bytes;
    void *room = most ? base_mem_big(most) : NULL;
    if (most && !room) base_no_memory(h->cx, "the largest tensor that ranks share");
    for (int i = 0; i < n; i++)
        if (arrays[i].fetch) arrays[i].to = room;
    return room;
}
