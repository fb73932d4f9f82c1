/* driver.c: the functions of the driver's interface that the product uses, and NVTX's ranges, by
 * whose names the simulator tells where something came from.
 */
#include "stream.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { PARAM_MOST = 32768, SHARED_MOST = 48 * 1024, LABEL_DEPTH = 8 };

static bool begun;
static char labels[LABEL_DEPTH][SIM_LABEL];
static int depth;
static int context;
static Stream *default_stream;

static Stream *stream_of(void *s)
{
    if (s) return s;
    if (!default_stream) default_stream = sim_stream_new();
    return default_stream;
}

static Op op_of(OpKind kind)
{
    Op o = {.kind = kind};
    if (depth > 0 && depth <= LABEL_DEPTH)
        snprintf(o.label, sizeof o.label, "%s", labels[depth - 1]);
    return o;
}

/* ---- NVTX */
EXPORT int nvtxRangePushA(const char *text);
EXPORT int nvtxRangePop(void);
int nvtxRangePushA(const char *text)
{
    if (depth < LABEL_DEPTH) snprintf(labels[depth], SIM_LABEL, "%s", text);
    return depth++;
}
int nvtxRangePop(void) { return depth > 0 ? --depth : -1; }

/* ---- the device. NVRTC asks for an export table and takes "not found" for an answer. */
#define CALL(name, ...)                                                                            \
    EXPORT int name(__VA_ARGS__);                                                                  \
    int name(__VA_ARGS__)

CALL(cuInit, unsigned flags)
{
    (void)flags;
    int code = (int)sim_setting("SIM_INIT", 0);
    if (code) return code;
    sim_memory_begin();
    begun = true;
    return sim_setting("SIM_DEVICES", 1) ? 0 : CUDA_NO_DEVICE;
}
CALL(cuDriverGetVersion, int *v)
{
    *v = (int)sim_setting("SIM_DRIVER", 13000);
    return 0;
}
CALL(cuGetExportTable, const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return CUDA_NOT_FOUND;
}
CALL(cuGetErrorName, int code, const char **name)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
        {1, "CUDA_ERROR_INVALID_VALUE"},
        {2, "CUDA_ERROR_OUT_OF_MEMORY"},
        {100, "CUDA_ERROR_NO_DEVICE"},
        {201, "CUDA_ERROR_INVALID_CONTEXT"},
        {218, "CUDA_ERROR_INVALID_PTX"},
        {500, "CUDA_ERROR_NOT_FOUND"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
        {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
        {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
        {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
        {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
        {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    };
    *name = "CUDA_ERROR_UNKNOWN";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code) *name = names[i].name;
    return 0;
}
CALL(cuGetErrorString, int code, const char **text)
{
    (void)code;
    *text = "";
    return 0;
}
CALL(cuDeviceGetCount, int *n)
{
    *n = (int)sim_setting("SIM_DEVICES", 1);
    return 0;
}
CALL(cuDeviceGet, int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < sim_setting("SIM_DEVICES", 1) ? 0 : CUDA_INVALID_VALUE;
}
CALL(cuDeviceGetName, char *name, int bytes, int device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "simulated device");
    return 0;
}
CALL(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    int arch = (int)sim_setting("SIM_ARCH", 80);
    (void)device;
    *value = attribute == 75 ? arch / 10 : attribute == 76 ? arch % 10 : attribute == 115 ? 1 : 0;
    return 0;
}
CALL(cuDevicePrimaryCtxRetain, void **c, int device)
{
    (void)device;
    *c = &context;
    return begun ? 0 : CUDA_INVALID_CONTEXT;
}
CALL(cuDevicePrimaryCtxRelease_v2, int device)
{
    (void)device;
    return 0;
}
CALL(cuCtxSetCurrent, void *c)
{
    (void)c;
    return 0;
}

/* ---- memory */
CALL(cuDeviceGetDefaultMemPool, void **pool, int device)
{
    (void)device;
    *pool = &context;
    return 0;
}
CALL(cuMemPoolSetAttribute, void *pool, int attribute, void *value)
{
    (void)pool, (void)attribute, (void)value;
    return 0;
}
CALL(cuMemAllocAsync, uint64_t *at, size_t bytes, void *stream)
{
    (void)stream;
    int code = sim_forbid("cuMemAllocAsync");
    if (code) return code;
    *at = sim_alloc(bytes);
    if (!*at && sim_drain_all() == 0) *at = sim_alloc(bytes); /* what was freed late */
    return *at ? 0 : CUDA_OUT_OF_MEMORY;
}
CALL(cuMemFreeAsync, uint64_t at, void *stream)
{
    Op o = op_of(OP_FREE);
    o.to = at;
    if (!sim_block_left(at)) {
        sim_report("freed twice", "0x%llx", (unsigned long long)at);
        return CUDA_INVALID_VALUE;
    }
    return sim_give(stream_of(stream), o);
}

/* Pinned memory begins with its size; a table tells it from other memory. */
static void **pinned;
static size_t *pinned_bytes;
static int npinned;

static bool is_pinned(const void *at)
{
    for (int i = 0; i < npinned; i++)
        if ((const char *)at >= (char *)pinned[i] &&
            (const char *)at < (char *)pinned[i] + pinned_bytes[i])
            return true;
    return false;
}

CALL(cuMemAllocHost_v2, void **at, size_t bytes)
{
    int code = sim_forbid("cuMemAllocHost");
    if (code) return code;
    pinned = realloc(pinned, (size_t)(npinned + 1) * sizeof *pinned);
    pinned_bytes = realloc(pinned_bytes, (size_t)(npinned + 1) * sizeof *pinned_bytes);
    if (!pinned || !pinned_bytes || !(*at = malloc(bytes))) abort();
    memset(*at, 0xa5, bytes);
    pinned[npinned] = *at;
    pinned_bytes[npinned++] = bytes;
    return 0;
}
CALL(cuMemFreeHost, void *at)
{
    for (int i = 0; i < npinned; i++) {
        if (pinned[i] != at) continue;
        sim_drain_all();
        free(at);
        pinned[i] = pinned[--npinned];
        pinned_bytes[i] = pinned_bytes[npinned];
        return 0;
    }
    return CUDA_INVALID_VALUE;
}

CALL(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t n, void *stream)
{
    Op o = op_of(OP_IN);
    o.to = to;
    o.bytes = n;
    if (sim_block_left(to) < n) return CUDA_INVALID_VALUE;
    if (is_pinned(from)) o.host = (void *)(uintptr_t)from;
    else {
        o.params = malloc(n + 1);
        if (!o.params) abort();
        memcpy(o.params, from, n);
    }
    sim_log("in %zu", n);
    return sim_give(stream_of(stream), o);
}
CALL(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t n, void *stream)
{
    Op o = op_of(OP_OUT);
    o.from = from;
    o.host = to;
    o.bytes = n;
    if (sim_block_left(from) < n) return CUDA_INVALID_VALUE;
    sim_log("out %zu", n);
    return sim_give(stream_of(stream), o);
}
CALL(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t n, void *stream)
{
    Op o = op_of(OP_COPY);
    o.from = from;
    o.to = to;
    o.bytes = n;
    if (sim_block_left(from) < n || sim_block_left(to) < n) return CUDA_INVALID_VALUE;
    sim_log("copy %zu", n);
    return sim_give(stream_of(stream), o);
}
CALL(cuMemsetD8Async, uint64_t at, unsigned char v, size_t n, void *stream)
{
    Op o = op_of(OP_SET);
    o.to = at;
    o.value = v;
    o.bytes = n;
    if (sim_block_left(at) < n) return CUDA_INVALID_VALUE;
    return sim_give(stream_of(stream), o);
}

/* ---- streams and events */
CALL(cuStreamCreate, void **s, unsigned flags)
{
    (void)flags;
    *s = sim_stream_new();
    return *s ? 0 : CUDA_OUT_OF_MEMORY;
}
CALL(cuStreamDestroy_v2, void *s)
{
    sim_stream_free(s);
    return 0;
}
CALL(cuStreamSynchronize, void *s)
{
    int code = sim_forbid("cuStreamSynchronize");
    if (code) return code;
    sim_log("sync");
    return sim_drain(stream_of(s));
}
CALL(cuEventCreate, void **e, unsigned flags)
{
    (void)flags;
    *e = calloc(1, sizeof(Event));
    return *e ? 0 : CUDA_OUT_OF_MEMORY;
}
CALL(cuEventDestroy_v2, void *e)
{
    sim_drain_all();
    free(e);
    return 0;
}
CALL(cuEventRecord, void *e, void *s)
{
    Op o = op_of(OP_RECORD);
    o.event = e;
    return sim_give(stream_of(s), o);
}
CALL(cuStreamWaitEvent, void *s, void *e, unsigned flags)
{
    Op o = op_of(OP_WAIT);
    (void)flags;
    o.event = e;
    if (sim_fault("wait") || (sim_fault("join") && stream_of(s)->capture)) return 0;
    return sim_give(stream_of(s), o);
}

/* ---- modules and kernels */
CALL(cuModuleLoadDataEx, void **m, const void *image, unsigned n, int *options, void **values)
{
    (void)n, (void)options, (void)values;
    int code = sim_forbid("cuModuleLoadDataEx");
    if (code) return code;
    if (memcmp(image, "\177ELF", 4) == 0) {
        fprintf(stderr, "simulated device: it runs PTX, not a cubin: SGL_CUDA_IMAGE=ptx\n");
        return CUDA_INVALID_PTX;
    }
    *m = sim_parse(image);
    return *m ? 0 : CUDA_INVALID_PTX;
}
CALL(cuModuleUnload, void *m)
{
    sim_drain_all();
    sim_module_free(m);
    return 0;
}
CALL(cuModuleGetFunction, void **f, void *module, const char *name)
{
    Module *m = module;
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->kernel[i].name, name) == 0) {
            *f = &m->kernel[i];
            return 0;
        }
    return CUDA_NOT_FOUND;
}

CALL(cuLaunchKernel, void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
     unsigned bz, unsigned dynamic, void *stream, void **params, void **extra)
{
    const Kernel *k = f;
    uint64_t threads = (uint64_t)bx * by * bz;
    (void)extra;
    if (!gx || !gy || !gz || gx > 0x7fffffff || gy > 65535 || gz > 65535 || !threads ||
        threads > 1024 || (k->max_threads && threads > (uint64_t)k->max_threads) ||
        k->shared + dynamic > SHARED_MOST)
        return CUDA_INVALID_VALUE;
    Op o = op_of(OP_KERNEL);
    o.kernel = k;
    o.grid = (Dim3){gx, gy, gz};
    o.size = (Dim3){bx, by, bz};
    o.dynamic = dynamic;
    o.bytes = 8;
    for (int i = 0; i < k->nparam; i++)
        if ((size_t)(k->param_at[i] + k->param_bytes[i]) > o.bytes)
            o.bytes = (size_t)(k->param_at[i] + k->param_bytes[i]);
    if (o.bytes > PARAM_MOST || !(o.params = calloc(1, o.bytes))) return CUDA_INVALID_VALUE;
    for (int i = 0; i < k->nparam; i++)
        memcpy(o.params + k->param_at[i], params[i], (size_t)k->param_bytes[i]);
    if (sim_fault("stray")) o.params[2] ^= 0x40; /* 4 MiB off */
    sim_log("launch %s", k->name);
    return sim_give(stream_of(stream), o);
}

/* ---- graphs */
CALL(cuStreamBeginCapture_v2, void *s, int mode)
{
    (void)mode;
    int code = s ? sim_capture_begin(s) : CUDA_CAPTURE_UNSUPPORTED;
    if (sim_fault("spoil")) sim_forbid("a planted wait");
    return code;
}
CALL(cuStreamEndCapture, void *s, void **graph)
{
    Graph *g;
    int code = sim_capture_end(s, &g);
    *graph = g;
    return code;
}
CALL(cuGraphGetNodes, void *graph, void **nodes, size_t *n)
{
    Graph *g = graph;
    for (size_t i = 0; nodes && i < *n && i < (size_t)g->n; i++) nodes[i] = &g->node[i];
    *n = (size_t)g->n;
    return 0;
}
CALL(cuGraphInstantiateWithFlags, void **exec, void *graph, unsigned long long flags)
{
    (void)flags;
    *exec = sim_graph_copy(graph);
    return 0;
}
CALL(cuGraphLaunch, void *exec, void *stream)
{
    Op o = op_of(OP_GRAPH);
    o.graph = exec;
    sim_log("replay %d", o.graph->n);
    return sim_give(stream_of(stream), o);
}
CALL(cuGraphDestroy, void *graph)
{
    sim_graph_free(graph);
    return 0;
}
CALL(cuGraphExecDestroy, void *exec)
{
    sim_drain_all();
    sim_graph_free(exec);
    return 0;
}
