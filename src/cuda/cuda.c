/* cuda.c: the vtable of NVIDIA devices: memory, copies, streams.
 *
 * In:    calls of the engine.
 * Out:   calls of the driver, on streams of its own.
 * Holds: the device is opened when it is chosen and not before, so that a machine without one is
 *        none the worse. Memory comes and goes in the order of stream 0.
 */
#include "cuda/cuda.h"
#include <stdio.h>
#include "ir/graph.h"

enum {
    ATTRIBUTE_MAJOR = 75, /* of the compute capability */
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_POOLS = 115,
    POOL_KEEPS = 4,   /* bytes that a pool does not give back */
    STREAM_ALONE = 1, /* without an order beside the default stream */
    EVENT_UNTIMED = 2,
    CODE_STUB = 34,
    CODE_NO_DEVICE = 100
};

int cuda_check(Cuda *c, int code, const char *what)
{
    const char *name = "?", *text = "";
    if (code == 0) return SGL_OK;
    c->driver.error_name(code, &name);
    c->driver.error_text(code, &text);
    return base_fail(c->device->cx, code == 2 ? SGL_ENOMEM : SGL_EINTERN, "cuda: %s: %s (%d%s%s)",
                     what, name, code, text && *text ? ", " : "", text ? text : "");
}

static int refuse(Cuda *c, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The device cannot be used: why, and what to do. */
static int refuse(Cuda *c, const char *hint, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    base_fail(c->device->cx, SGL_EUNSUP, "%s", text);
    base_err_hint(&c->device->cx->err, "%s", hint);
    return SGL_EUNSUP;
}

/* Is there a driver that works, and new enough? A stub, which is for linking alone, says 34. */
static int open_driver(Cuda *c)
{
    int version = 0, n = 0;
    if (cuda_load_driver(c->device->cx, &c->driver) < 0) return SGL_EUNSUP;
    int code = c->driver.init(0);
    if (code == CODE_STUB)
        return refuse(c,
                      "take the folder of stubs off LD_LIBRARY_PATH; NVIDIA's driver brings the "
                      "real libcuda.so.1",
                      "%s is the stub of the toolkit, not a driver", c->driver.file);
    if (code && code != CODE_NO_DEVICE) return cuda_check(c, code, "cuInit");
    if (code == 0) code = c->driver.version(&version);
    if (code == 0 && version < CUDA_OLDEST_DRIVER)
        return refuse(c, "drivers from 530 on do",
                      "the CUDA driver %s speaks CUDA %d.%d, and 12.1 is needed", c->driver.file,
                      version / 1000, version % 1000 / 10);
    if (code == 0) code = c->driver.device_count(&n);
    if (code == CODE_NO_DEVICE || n == 0)
        return refuse(c, "nvidia-smi shows what there is; CUDA_VISIBLE_DEVICES may hide it",
                      "no CUDA device: the driver %s sees none", c->driver.file);
    return cuda_check(c, code, "counting devices");
}

/* The first device that the process can see. */
static int open_device(Cuda *c)
{
    char name[128] = "?";
    int major = 0, minor = 0, pools = 0;
    int code = c->driver.device(&c->ordinal, 0);
    if (code == 0) code = c->driver.device_name(name, sizeof name, c->ordinal);
    if (code == 0) code = c->driver.attribute(&major, ATTRIBUTE_MAJOR, c->ordinal);
    if (code == 0) code = c->driver.attribute(&minor, ATTRIBUTE_MINOR, c->ordinal);
    if (code == 0) code = c->driver.attribute(&pools, ATTRIBUTE_POOLS, c->ordinal);
    if (code) return cuda_check(c, code, "asking the device");
    c->arch = major * 10 + minor;
    if (c->arch < CUDA_OLDEST_DEVICE)
        return refuse(c, "Ampere and what came after it are supported",
                      "the device %s has compute capability %d.%d, and 8.0 is needed", name, major,
                      minor);
    if (!pools)
        return refuse(c, "the driver may be told not to: see its settings",
                      "the device %s has no memory pools", name);
    return cuda_check(c, c->driver.retain(&c->context, c->ordinal), "opening the device");
}

/* The streams, and a pool that keeps what is given back, so that memory comes without a wait. */
static int open_streams(Cuda *c)
{
    uint64_t keep = UINT64_MAX;
    void *pool;
    int code = c->driver.set_current(c->context);
    for (int i = 0; i < CUDA_STREAMS && code == 0; i++)
        code = c->driver.stream_new(&c->stream[i], STREAM_ALONE);
    if (code == 0) code = c->driver.default_pool(&pool, c->ordinal);
    if (code == 0) code = c->driver.pool_set(pool, POOL_KEEPS, &keep);
    return cuda_check(c, code, "making streams");
}

/* Gives back what has been opened so far. */
static void end(Cuda *c)
{
    if (c->context) {
        cuda_unit_end(c);
        for (int i = 0; i < CUDA_STREAMS; i++)
            if (c->stream[i]) c->driver.stream_free(c->stream[i]);
        for (int i = 0; i < c->events.n; i++)
            if (c->events.at[i]) c->driver.event_free(c->events.at[i]);
        c->driver.release(c->ordinal);
    }
    vec_free(&c->events);
    base_mem_free(c);
}

/* Opens driver, device and NVRTC, or says what is in the way. */
static int start(Device *d)
{
    if (d->self) return SGL_OK;
    Cuda *c = base_mem_zero(1, sizeof *c);
    if (!c) return base_no_memory(d->cx, "a CUDA device");
    c->device = d;
    int code = open_driver(c);
    if (code >= 0) code = open_device(c);
    if (code >= 0) code = open_streams(c);
    if (code >= 0) code = cuda_load_nvrtc(d->cx, &c->nvrtc);
    if (code >= 0) code = cuda_load_nvtx(d->cx, &c->nvtx);
    if (code < 0) end(c);
    else d->self = c;
    return code;
}

static void stop(Device *d) { end(d->self); }

/* ---- memory */

static void *address(uint64_t at) { return (void *)(uintptr_t)at; }
static uint64_t number(const void *at) { return (uint64_t)(uintptr_t)at; }

static void *alloc(Device *d, size_t bytes)
{
    Cuda *c = d->self;
    uint64_t at = 0;
    int code = c->driver.alloc(&at, bytes ? bytes : 1, c->stream[0]);
    return code ? NULL : address(at);
}

static void free_memory(Device *d, void *at)
{
    Cuda *c = d->self;
    c->driver.free(number(at), c->stream[0]);
}

static void *stage(Device *d, size_t bytes)
{
    Cuda *c = d->self;
    void *at = NULL;
    return c->driver.alloc_host(&at, bytes ? bytes : 1) ? NULL : at;
}

static void unstage(Device *d, void *at)
{
    Cuda *c = d->self;
    c->driver.free_host(at);
}

/* From memory that is not the driver's a copy has been taken when the call returns. */
static int copy_in(Device *d, int stream, void *to, const void *from, size_t bytes)
{
    Cuda *c = d->self;
    return cuda_check(c, c->driver.copy_in(number(to), from, bytes, c->stream[stream]), "copy in");
}

static int copy_out(Device *d, int stream, void *to, const void *from, size_t bytes)
{
    Cuda *c = d->self;
    return cuda_check(c, c->driver.copy_out(to, number(from), bytes, c->stream[stream]),
                      "copy out");
}

static int copy(Device *d, int stream, void *to, const void *from, size_t bytes)
{
    Cuda *c = d->self;
    return cuda_check(c, c->driver.copy(number(to), number(from), bytes, c->stream[stream]),
                      "copy");
}

static int zero(Device *d, int stream, void *at, size_t bytes)
{
    Cuda *c = d->self;
    return cuda_check(c, c->driver.set_bytes(number(at), 0, bytes, c->stream[stream]), "zero");
}

/* ---- streams */

/* The event of that number, which is made when it is first recorded. */
static int event_of(Cuda *c, int event, void **out)
{
    while (c->events.n <= event)
        if (!vec_push(&c->events, NULL)) return base_no_memory(c->device->cx, "events");
    int code = c->events.at[event] ? 0 : c->driver.event_new(&c->events.at[event], EVENT_UNTIMED);
    *out = c->events.at[event];
    return cuda_check(c, code, "making an event");
}

static int record(Device *d, int stream, int event)
{
    Cuda *c = d->self;
    void *e;
    int code = event_of(c, event, &e);
    if (code < 0) return code;
    return cuda_check(c, c->driver.event_record(e, c->stream[stream]), "recording an event");
}

static int wait(Device *d, int stream, int event)
{
    Cuda *c = d->self;
    void *e;
    int code = event_of(c, event, &e);
    if (code < 0) return code;
    return cuda_check(c, c->driver.event_wait(c->stream[stream], e, 0), "waiting for an event");
}

/* Asked at the end of a context too, whether or not the device was ever chosen. */
static int sync(Device *d, int stream)
{
    Cuda *c = d->self;
    if (!c) return SGL_OK;
    int code = cuda_check(c, c->driver.stream_sync(c->stream[stream]), "waiting for the device");
    return code < 0 ? code : cuda_late_error(c);
}

const Backend CUDA_BACKEND = {
    .name = "cuda",
    .computes = true,
    .late = true,
    .start = start,
    .stop = stop,
    .alloc = alloc,
    .free = free_memory,
    .stage = stage,
    .unstage = unstage,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .zero = zero,
    .streams = CUDA_STREAMS,
    .record = record,
    .wait = wait,
    .sync = sync,
    .prepare = cuda_prepare,
    .resize = cuda_resize,
    .release = cuda_release,
    .workspace = cuda_workspace,
    .place = cuda_place,
    .run = cuda_run,
    .run_program = cuda_run_program,
};
