/* unit.c: texts of kernels to functions of the device.
 *
 * In:   the plans of a program.
 * Out:  the function of each. Those that are not known yet stand in one text, which NVRTC compiles
 *       once, each in a namespace of its own.
 * Holds: a function is known by the hash of all that its text depends on, for as long as the device
 *        is open; so another size, or another program with the same kernel, compiles nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cuda/cuda.h"

enum { SEED_A = 0x5367, SEED_B = 0x6c21, MOST_OPTIONS = 12, LOG_SHOWN = 1500 };

void cuda_plan_free(CudaPlan *p)
{
    base_str_free(&p->text);
    base_str_free(&p->functions);
    vec_free(&p->buffers);
    vec_free(&p->numbers);
}

static void hash_of(const CudaPlan *p, uint64_t hash[2])
{
    const int64_t shape[] = {p->buffers.n, p->numbers.n, p->guarded, p->block};
    for (int i = 0; i < 2; i++) {
        uint64_t h = base_hash(i ? SEED_B : SEED_A, shape, sizeof shape);
        if (p->functions.n) h = base_hash(h, p->functions.at, p->functions.n);
        hash[i] = base_hash(h, p->text.at, p->text.n);
    }
}

static const CudaFunction *find(const Cuda *c, const uint64_t hash[2])
{
    for (int i = 0; i < c->functions.n; i++)
        if (memcmp(c->functions.at[i].hash, hash, sizeof c->functions.at[i].hash) == 0)
            return &c->functions.at[i];
    return NULL;
}

/* map_add_gelu_01234567: letters, digits and '_' of a name, and its hash. */
static void put_name(const CudaPlan *p, const uint64_t hash[2], Str *out)
{
    for (const char *s = p->name; *s; s++) {
        bool fits =
            (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
        base_str_fmt(out, "%c", fits ? *s : '_');
    }
    base_str_fmt(out, "_%016" PRIx64, hash[0]);
}

static void put_plan(const CudaPlan *p, const uint64_t hash[2], Str *out)
{
    base_str_fmt(out, "namespace n%016" PRIx64 " {\n", hash[0]);
    if (p->functions.n) base_str_put(out, p->functions.at);
    base_str_fmt(out, "extern \"C\" __global__ void __launch_bounds__(%d) ", p->block);
    put_name(p, hash, out);
    base_str_fmt(out, "(const __grid_constant__ Args<%d, %d> q)\n{\n",
                 p->buffers.n ? p->buffers.n : 1, p->numbers.n ? p->numbers.n : 1);
    if (p->guarded)
        base_str_fmt(out, "    if (((const Fault *)q.a[%d])->step) return;\n", p->buffers.n - 1);
    base_str_put(out, p->text.at);
    base_str_put(out, "}\n}\n");
}

/* ---- NVRTC */

static int fail_compile(Cuda *c, void *program, int code)
{
    size_t n = 0;
    char *log = NULL;
    if (c->nvrtc.log_bytes(program, &n) == 0 && n) log = base_mem_zero(n + 1, 1);
    if (log) c->nvrtc.log(program, log);
    base_fail(c->device->cx, SGL_EINTERN, "NVRTC %s does not compile a kernel (%d): %.*s",
              c->nvrtc.file, code, LOG_SHOWN, log ? log : "");
    base_mem_free(log);
    return SGL_EINTERN;
}

/* The image of a compiled program; *image is the caller's to free. */
static int take_image(Cuda *c, void *program, bool ptx, char **image)
{
    size_t n = 0;
    int code = ptx ? c->nvrtc.ptx_bytes(program, &n) : c->nvrtc.cubin_bytes(program, &n);
    *image = code == 0 ? base_mem_zero(n + 1, 1) : NULL;
    if (code == 0 && !*image) return base_no_memory(c->device->cx, "a CUDA module");
    if (code == 0) code = ptx ? c->nvrtc.ptx(program, *image) : c->nvrtc.cubin(program, *image);
    return code ? fail_compile(c, program, code) : SGL_OK;
}

/* The newest architecture that NVRTC knows and the device has, and whether it is the device's own:
 * if not, the driver has to compile PTX. */
static int choose_arch(Cuda *c, bool *own)
{
    int n = 0, known[64], best = 0;
    if (c->nvrtc.arch_count(&n) || n > 64 || c->nvrtc.archs(known)) n = 0;
    for (int i = 0; i < n; i++)
        if (known[i] <= c->arch && known[i] > best) best = known[i];
    *own = best == c->arch;
    if (best) return best;
    base_fail(c->device->cx, SGL_EUNSUP,
              "NVRTC %s compiles for %d.%d and newer, the device is %d.%d", c->nvrtc.file,
              n ? known[0] / 10 : 0, n ? known[0] % 10 : 0, c->arch / 10, c->arch % 10);
    return SGL_EUNSUP;
}

/* The image of a text for the device. */
static int compile(Cuda *c, const char *text, char **image)
{
    char arch[32];
    void *program = NULL;
    bool own, ptx = c->device->cx->knobs.value[KNOB_cuda_image] == 1;
    int best = choose_arch(c, &own);
    if (best < 0) return best;
    ptx = ptx || !own;
    snprintf(arch, sizeof arch, "-arch=%s_%d", ptx ? "compute" : "sm", best);
    const char *const options[] = {
        arch,         "--fmad=false", "-prec-div=true", "-prec-sqrt=true",
        "-ftz=false", "-w",           "-default-device"};
    int code = c->nvrtc.create(&program, text, "sgl.cu", 0, NULL, NULL);
    if (code)
        return base_fail(c->device->cx, SGL_EINTERN, "NVRTC %s: error %d", c->nvrtc.file, code);
    code = c->nvrtc.compile(program, (int)(sizeof options / sizeof *options), options);
    code = code ? fail_compile(c, program, code) : take_image(c, program, ptx, image);
    c->nvrtc.destroy(&program);
    return code;
}

/* ---- plans to functions */

/* The text of all plans whose functions are not known; *n: how many. */
static void put_unknown(const Cuda *c, const CudaPlan *plans, int count, Str *out, int *n)
{
    for (int i = 0; i < count; i++) {
        uint64_t hash[2], other[2];
        bool before = false;
        if (plans[i].threads == 0) continue;
        hash_of(&plans[i], hash);
        for (int j = 0; j < i && !before; j++) {
            hash_of(&plans[j], other);
            before = plans[j].threads && memcmp(hash, other, sizeof hash) == 0;
        }
        if (before || find(c, hash)) continue;
        if (*n == 0) base_str_put(out, CUDA_PRELUDE);
        if (*n == 0) base_str_put(out, CUDA_OPS);
        put_plan(&plans[i], hash, out);
        ++*n;
    }
}

static int load(Cuda *c, const char *image)
{
    void *module = NULL;
    int code =
        cuda_check(c, c->driver.module_load(&module, image, 0, NULL, NULL), "loading kernels");
    if (code < 0) return code;
    return vec_push(&c->modules, module) ? SGL_OK : base_no_memory(c->device->cx, "a CUDA module");
}

/* The function of a plan, from the last module where it was not known. */
static int take_function(Cuda *c, CudaPlan *p)
{
    Str name = {0};
    CudaFunction made;
    if (p->threads == 0) return SGL_OK;
    hash_of(p, made.hash);
    const CudaFunction *known = find(c, made.hash);
    if (known) {
        p->function = known->function;
        return SGL_OK;
    }
    put_name(p, made.hash, &name);
    if (name.failed) return base_no_memory(c->device->cx, "a CUDA kernel");
    int code =
        cuda_check(c, c->driver.function(&made.function, vec_last(&c->modules), name.at), name.at);
    base_str_free(&name);
    if (code < 0) return code;
    p->function = made.function;
    return vec_push(&c->functions, made) ? SGL_OK : base_no_memory(c->device->cx, "a CUDA kernel");
}

int cuda_compile(Cuda *c, CudaPlan *plans, int n)
{
    Str text = {0};
    char *image = NULL;
    int unknown = 0, code = SGL_OK;
    put_unknown(c, plans, n, &text, &unknown);
    if (text.failed) code = base_no_memory(c->device->cx, "the text of CUDA kernels");
    if (code >= 0 && unknown) code = compile(c, text.at, &image);
    if (code >= 0 && unknown) code = load(c, image);
    for (int i = 0; i < n && code >= 0; i++) code = take_function(c, &plans[i]);
    base_mem_free(image);
    base_str_free(&text);
    return code;
}

void cuda_unit_end(Cuda *c)
{
    for (int i = 0; i < c->modules.n; i++) c->driver.module_free(c->modules.at[i]);
    vec_free(&c->modules);
    vec_free(&c->functions);
}
