/* device.c: memory of devices by function; the host's is used at once.
 *
 * Holds: dev_get reads a piece at a time through memory that the device copies to, which is made
 *        once; so control flow, which asks for a byte at every step, allocates nothing.
 */
#include "dev/device.h"
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "dev/backend.h"

enum { STAGE_BYTES = 4096 };

Device *dev_memory(Device *d) { return d->backend->alloc ? d : NULL; }

void dev_end(Device *d)
{
    if (d->stage) dev_unstage(d, d->stage);
    if (d->self && d->backend->stop) d->backend->stop(d);
    d->self = d->stage = NULL;
}

void *dev_alloc(Device *d, size_t bytes)
{
    return d ? d->backend->alloc(d, bytes) : base_mem_big(bytes);
}

void dev_free(Device *d, void *at)
{
    if (d && at) d->backend->free(d, at);
    else base_mem_free(at);
}

void *dev_stage(Device *d, size_t bytes)
{
    return d && d->backend->stage ? d->backend->stage(d, bytes) : base_mem_big(bytes);
}

void dev_unstage(Device *d, void *at)
{
    if (d && at && d->backend->unstage) d->backend->unstage(d, at);
    else base_mem_free(at);
}

int dev_put(Device *d, void *to, const void *from, size_t bytes)
{
    if (!bytes) return SGL_OK;
    if (d) return d->backend->copy_in(d, 0, to, from, bytes);
    memcpy(to, from, bytes);
    return SGL_OK;
}

static int get_piece(Device *d, void *to, const void *from, size_t bytes)
{
    int code = d->backend->copy_out(d, 0, d->stage, from, bytes);
    if (code >= 0) code = dev_sync(d);
    if (code >= 0) memcpy(to, d->stage, bytes);
    return code;
}

int dev_get(Device *d, void *to, const void *from, size_t bytes)
{
    int code = SGL_OK;
    if (!d) {
        if (bytes) memcpy(to, from, bytes);
        return SGL_OK;
    }
    if (!d->stage) d->stage = dev_stage(d, STAGE_BYTES);
    if (!d->stage)
        return base_fail(d->cx, SGL_ENOMEM, "no memory for copies from %s", d->backend->name);
    for (size_t at = 0, n; at < bytes && code >= 0; at += n) {
        n = bytes - at < STAGE_BYTES ? bytes - at : STAGE_BYTES;
        code = get_piece(d, (char *)to + at, (const char *)from + at, n);
    }
    return code;
}

int dev_copy(Device *d, void *to, const void *from, size_t bytes)
{
    if (!bytes) return SGL_OK;
    if (d) return d->backend->copy(d, 0, to, from, bytes);
    memcpy(to, from, bytes);
    return SGL_OK;
}

int dev_zero(Device *d, void *at, size_t bytes)
{
    if (!bytes) return SGL_OK;
    if (d) return d->backend->zero(d, 0, at, bytes);
    memset(at, 0, bytes);
    return SGL_OK;
}

/* What was started on other streams has been waited for by stream 0 when its program ended. */
int dev_sync(Device *d) { return d && d->backend->sync ? d->backend->sync(d, 0) : SGL_OK; }

void dev_drain(Device *d)
{
    if (!d || !d->backend->sync) return;
    for (int s = 0; s < d->backend->streams; s++) {
        const Err before = d->cx->err;
        if (d->backend->sync(d, s) < 0) d->cx->err = before;
    }
}

void dev_blame(Ctx *cx, const Node *n)
{
    SrcPos pos = base_src_pos(cx, n ? n->src : 0);
    size_t used = strlen(cx->err.text);
    if (pos.line <= 0 || cx->err.placed) return;
    cx->err.placed = true;
    snprintf(cx->err.text + used, sizeof cx->err.text - used, " (%s:%d%s%s)", pos.file, pos.line,
             pos.in ? ", in " : "", pos.in ? pos.in : "");
}
