/* cpu.h: between the files of the CPU backend: one step, ready to be executed.
 *
 * Holds: how a step is cut into chunks never changes its bits. f16 and bf16 operands of steps that
 *        add were widened to f32 before, and the result is rounded once afterwards, so the
 *        functions below meet f32, f64 and integers.
 */
#ifndef SGL_CPU_CPU_H
#define SGL_CPU_CPU_H
#include "cpu/isa.h"
#include "kern/step.h"

typedef struct CpuJob {
    Ctx *cx;
    const Step *step;
    View x[3], out;           /* the step's, or those of widened copies */
    const void *in[3];        /* first element of each */
    void *to;
    const Isa *isa;
    Pool *pool;               /* NULL: too little work for more than one thread */
    char *scratch;            /* worker w owns scratch_bytes from scratch + w * scratch_bytes */
    size_t scratch_bytes;
} CpuJob;

/* Runs fn for each chunk, on the pool if the job has one. */
static inline void cpu_split(const CpuJob *j, int chunks, PoolFn fn, void *arg)
{
    if (j->pool && chunks > 1) {
        base_pool_run(j->pool, chunks, fn, arg);
        return;
    }
    for (int i = 0; i < chunks; i++) fn(arg, i, 0);
}

/* How a step that is no kernel runs. The file that runs the kind STEP_<kind> defines
 * cpu_op_<kind>; nothing else mentions it. */
typedef struct CpuOp {
    int (*run)(const CpuJob *j);            /* SGL_OK, or an error such as SGL_EINDEX */
    size_t (*scratch)(const Step *s);       /* bytes each worker needs; NULL: none */
    bool adds;                              /* f16 and bf16 are widened */
    int weight;                             /* work for an element of the largest view */
} CpuOp;

/* custom.c: a step of a registered op. Negative with the error set; base_mem_free ends it. */
typedef struct CpuCustom CpuCustom;
int cpu_custom_plan(Ctx *cx, const Step *s, CpuCustom **out);
void cpu_custom_fit(CpuCustom *c);                           /* for the numbers in the step now */
int64_t cpu_custom_work(const CpuCustom *c);                 /* 0: it cannot be cut */
size_t cpu_custom_spare(const CpuCustom *c);                 /* bytes for results nobody needs */
int cpu_custom_run(const CpuCustom *c, Ctx *cx, Pool *pool, void *const *buffers, char *spare);

/* Elements of a view, and what steps on halves need. */
int64_t cpu_view_count(const View *v);
void cpu_view_pack(View *v);                /* makes it contiguous from offset 0 */
/* Halves to packed f32, and packed f32 to halves, rounded to even. */
void cpu_widen(const TileOps *ops, const View *v, const void *from, float *to);
void cpu_narrow(const TileOps *ops, const View *v, const float *from, void *to);

/* The element counts before, along and behind one dim. */
typedef struct AxisSplit { int64_t outer, n, inner; } AxisSplit;
AxisSplit cpu_view_axis(const View *v, int axis);

/* to[i * to_step] += from[i * step] in the type; integers wrap. NULL for f16, bf16. */
typedef void (*CpuAddFn)(void *to, int64_t to_step, const void *from, int64_t step, int64_t n);
CpuAddFn cpu_add(Dtype t);
#endif
