/* cuda.h: between the files of the room: a device, its libraries, kernels on their way to it.
 *
 *   load.c      the tables of functions of driver and NVRTC, and what is said where one is missing
 *   cuda.c      the vtable: memory, copies, streams
 *   program.c   programs: what is launched for each step, and a whole run as one graph
 *   print.c     kernel IR as CUDA C
 *   ops.c       the steps that are no kernels, over the texts in op_text.c
 *   unit.c      texts to functions of the device, compiled together, each once
 *   prelude.c   what all texts stand on
 *
 * Holds: no header of NVIDIA is needed; numbers of the driver's interface stand in the enums below.
 *        Sizes are parameters of a kernel, so another size is another launch of the same function,
 *        unless a size becomes 0 or 1.
 */
#ifndef SGL_CUDA_CUDA_H
#define SGL_CUDA_CUDA_H
#include "dev/backend.h"
#include "kern/print_inst.h"

enum {
    CUDA_STREAMS = 2,
    CUDA_NOT_READY = 600,
    CUDA_CAPTURE_ERRORS = 900,      /* and the codes above are of captures */
    CUDA_MOST_PARAMS = 32764,       /* bytes of a kernel's parameters */
    CUDA_OLDEST_DRIVER = 12010,     /* that takes so many */
    CUDA_OLDEST_DEVICE = 80
};

typedef struct CudaDriver {
#define DRIVER(name, symbol, params) int(*name) params;
#include "cuda/driver.def"
#undef DRIVER
    char file[256];                 /* that was really loaded */
} CudaDriver;

typedef struct CudaNvrtc {
#define NVRTC(name, symbol, params) int(*name) params;
#include "cuda/nvrtc.def"
#undef NVRTC
    char file[256];
} CudaNvrtc;

typedef struct CudaNvtx {
#define NVTX(name, symbol, params) int(*name) params;
#include "cuda/nvtx.def"
#undef NVTX
    char file[256];
} CudaNvtx;

/* load.c: fills the tables from the files that the settings name. Negative with the context's
 * error set, whose text has the file. */
int cuda_load_driver(Ctx *cx, CudaDriver *out);
int cuda_load_nvrtc(Ctx *cx, CudaNvrtc *out);
int cuda_load_nvtx(Ctx *cx, CudaNvtx *out);         /* empty where no setting names it */

/* A function of the device, by the hash of its text. */
typedef struct CudaFunction {
    uint64_t hash[2];
    void *function;
} CudaFunction;

typedef struct CudaState CudaState;
typedef struct Cuda {
    Device *device;
    CudaDriver driver;
    CudaNvrtc nvrtc;
    CudaNvtx nvtx;                  /* push is NULL: nobody wants ranges */
    int ordinal, arch;              /* 80, 90, … */
    void *context;
    void *stream[CUDA_STREAMS];
    VEC(void *) events;             /* by number */
    VEC(CudaFunction) functions;
    VEC(void *) modules;
    bool capturing;                 /* what streams are given becomes a graph */
    CudaState *late;                /* programs whose steps may have failed since the last sync */
} Cuda;

/* The error of a driver's call; `what` was tried. SGL_OK where the code is 0. */
int cuda_check(Cuda *c, int code, const char *what);

/* ---- a kernel that is wanted, and what it is launched with */
enum { CUDA_NAME = 96 };
typedef struct CudaPlan {
    Str text;                       /* the body of a function of q, which has a and n */
    Str functions;                  /* what stands before it */
    char name[CUDA_NAME];           /* for profilers */
    VEC(int) buffers;               /* of the program, in the order of q.a; -1: the fault's place,
                                       -2: the workspace */
    VEC(int64_t) numbers;           /* q.n */
    bool guarded;                   /* it does nothing once a step was refused: the last buffer is
                                       the fault's place */
    int64_t threads;                /* 0: it is not launched */
    int block;
    void *function;
} CudaPlan;
typedef VEC(CudaPlan) CudaPlans;
enum { CUDA_FAULT = -1, CUDA_WORK = -2 };
void cuda_plan_free(CudaPlan *p);

/* print.c: the kernel of a step, with buffers by the step's args. */
int cuda_plan_kernel(Ctx *cx, const Step *s, CudaPlan *out);
/* ops.c: appends what a step needs that is no kernel; *work grows to the bytes it needs. */
int cuda_plan_op(Ctx *cx, const Step *s, int step, CudaPlans *out, size_t *work);
/* unit.c: finds or compiles the functions of the plans. */
int cuda_compile(Cuda *c, CudaPlan *plans, int n);
void cuda_unit_end(Cuda *c);

extern const CDialect CUDA_DIALECT;
extern const char CUDA_PRELUDE[], CUDA_OPS[];

/* program.c: the slots of the vtable. */
int cuda_prepare(Device *d, const StepVec *steps, void **state);
int cuda_resize(Device *d, const StepVec *steps, const uint8_t *moved, void *state);
void cuda_release(void *state);
size_t cuda_workspace(Device *d, void *state);
void cuda_place(void *state, void *at);
int cuda_run(Device *d, void *state, const DevRun *r, int i);
int cuda_run_program(Device *d, void *state, const DevRun *r);
/* After a sync: the error of the first step that failed by its values. */
int cuda_late_error(Cuda *c);
#endif
