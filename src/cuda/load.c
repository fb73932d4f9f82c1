/* load.c: the tables of functions of driver and NVRTC.
 *
 * Out:   a table filled whole, or an error whose text has the file, what it lacks and the setting
 *        that names another.
 * Holds: a library once loaded stays. The file in messages is the one that the loader took, not the
 *        name that it was asked for.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include "base/library.h"
#include "cuda/cuda.h"

typedef struct Wanted {
    const char *what, *way_out;
    KnobId knob;
    const char *const *files; /* to try, ends with NULL */
    const LibrarySymbol *symbols;
    int n;
} Wanted;

static const LibrarySymbol DRIVER_SYMBOLS[] = {
#define DRIVER(name, symbol, params) {symbol, offsetof(CudaDriver, name)},
#include "cuda/driver.def"
#undef DRIVER
};
static const LibrarySymbol NVRTC_SYMBOLS[] = {
#define NVRTC(name, symbol, params) {symbol, offsetof(CudaNvrtc, name)},
#include "cuda/nvrtc.def"
#undef NVRTC
};
static const LibrarySymbol NVTX_SYMBOLS[] = {
#define NVTX(name, symbol, params) {symbol, offsetof(CudaNvtx, name)},
#include "cuda/nvtx.def"
#undef NVTX
};
#define COUNT(a) (int)(sizeof(a) / sizeof *(a))

static const char *const DRIVER_FILES[] = {"libcuda.so.1", NULL};
static const char *const NVRTC_FILES[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                          "/usr/local/cuda/lib64/libnvrtc.so", NULL};

static const Wanted DRIVER_WANTED = {
    .what = "the CUDA driver",
    .way_out = "NVIDIA's driver brings it; the setting cuda_driver, or SGL_CUDA_DRIVER, names "
               "another file",
    .knob = KNOB_cuda_driver,
    .files = DRIVER_FILES,
    .symbols = DRIVER_SYMBOLS,
    .n = COUNT(DRIVER_SYMBOLS),
};
static const Wanted NVRTC_WANTED = {
    .what = "NVRTC, which compiles kernels,",
    .way_out = "the CUDA toolkit brings it; the setting nvrtc_library, or SGL_NVRTC_LIBRARY, names "
               "another file",
    .knob = KNOB_nvrtc_library,
    .files = NVRTC_FILES,
    .symbols = NVRTC_SYMBOLS,
    .n = COUNT(NVRTC_SYMBOLS),
};

static const Wanted NVTX_WANTED = {
    .what = "NVTX, which names ranges,",
    .way_out = "the setting nvtx_library, or SGL_NVTX_LIBRARY, names it",
    .knob = KNOB_nvtx_library,
    .files = DRIVER_FILES,
    .symbols = NVTX_SYMBOLS,
    .n = COUNT(NVTX_SYMBOLS),
};

/* Opens the first of the files that loads, or the one that the setting names and no other. */
static void *open_first(Ctx *cx, const Wanted *w)
{
    const char *named = cx->knobs.text[w->knob], *one[] = {named, NULL};
    const char *const *files = named && *named ? one : w->files;
    char why[300] = "";
    for (int i = 0; files[i]; i++) {
        void *at = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        if (at) return at;
        if (!*why) snprintf(why, sizeof why, "%s", dlerror());
    }
    base_fail(cx, SGL_EUNSUP, "%s cannot be loaded: %s", w->what, why);
    base_err_hint(&cx->err, "%s", w->way_out);
    return NULL;
}

/* Fills a table whole, and notes the file that was really taken. */
static int load(Ctx *cx, const Wanted *w, void *into, char *file, size_t size)
{
    void *at = open_first(cx, w);
    struct link_map *map = NULL;
    if (!at) return SGL_EUNSUP;
    bool known = dlinfo(at, RTLD_DI_LINKMAP, &map) == 0 && map->l_name && *map->l_name;
    snprintf(file, size, "%s", known ? map->l_name : w->files[0]);
    const char *lacks = base_library_fill(at, w->symbols, w->n, into);
    if (lacks) {
        base_fail(cx, SGL_EUNSUP, "%s is %s, which has no function %s", w->what, file, lacks);
        base_err_hint(&cx->err, "it is older than what is needed; %s", w->way_out);
        return SGL_EUNSUP;
    }
    return SGL_OK;
}

int cuda_load_driver(Ctx *cx, CudaDriver *out)
{
    return load(cx, &DRIVER_WANTED, out, out->file, sizeof out->file);
}

int cuda_load_nvrtc(Ctx *cx, CudaNvrtc *out)
{
    return load(cx, &NVRTC_WANTED, out, out->file, sizeof out->file);
}

int cuda_load_nvtx(Ctx *cx, CudaNvtx *out)
{
    const char *named = cx->knobs.text[KNOB_nvtx_library];
    if (!named || !*named) return SGL_OK;
    return load(cx, &NVTX_WANTED, out, out->file, sizeof out->file);
}
