/* sim.h: a CUDA driver without a device: it runs the PTX of the real NVRTC on the CPU.
 *
 * Out:   a libcuda.so.1 that the setting cuda_driver can name. It is never installed.
 *   driver.c   the driver's functions: device, memory, modules, launches
 *   stream.c   streams, events, captures, graphs: what is given is done later, in an order that
 *              only the events decide
 *   memory.c   addresses, bounds, who touched what, and whether the order of that is certain
 *   parse.c    PTX to instructions; exec.c runs a grid of them; inst.c is what each does
 *
 * SIM_SEED   orders streams, graph nodes and blocks; 0: as given
 * SIM_CHECK  0: no look at races and at memory nobody wrote (bounds are always checked)
 * SIM_ARCH   compute capability, 80; SIM_DRIVER its version, 13000; SIM_DEVICES how many, 1
 * SIM_MEMORY bytes of a device
 * SIM_FAULT  plants one: `wait` (a stream waits for no event), `join` (the same while a graph is
 *            captured), `stray` (a kernel's first address is wrong), `barrier` (threads pass it
 *            without a wait), `spoil` (a wait for the device in each capture)
 * SIM_LOG    a file that gets a line for each launch, copy, replay and wait
 *
 * What goes wrong is said on stderr as `simulated device: <what>: …`; from then on each call gives
 * the error that a device gives.
 */
#ifndef SGL_SPEC_SIM_H
#define SGL_SPEC_SIM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WARP = 32, SIM_LABEL = 160 };

/* ---- who does something: a launch, a copy, a node of a graph */
enum { SIM_ACTORS = 8 };
typedef struct Clock {
    uint32_t at[SIM_ACTORS];
} Clock;
typedef struct Deed {
    char name[SIM_LABEL];
    int stream; /* whose clock `when` is of */
    uint32_t when;
    int launch, node;       /* of a graph; launch 0: of none */
    const uint64_t *before; /* of a graph's node: a bit for each node that comes before it */
    Clock knows;            /* what is certainly over */
} Deed;
/* Is it certain that deed a is over when b begins? */
bool sim_before(uint32_t a, uint32_t b);
uint32_t sim_deed_new(const Deed *d);
const Deed *sim_deed(uint32_t id);

/* ---- memory.c */
void sim_memory_begin(void);
uint64_t sim_alloc(size_t bytes); /* 0: none left */
bool sim_free(uint64_t at);
size_t sim_block_left(uint64_t at); /* bytes to the end of the block there; 0: none */
/* Where the simulator finds n bytes at a device's address; NULL after a report. */
void *sim_global(uint64_t at, size_t n, bool write, bool atomic);
/* The same for a copy by a deed; what it touches is noted. */
void *sim_range(uint64_t at, size_t n, bool write);
/* Who touches memory from now on: the deed; and inside a kernel the thread. */
typedef struct Toucher {
    uint32_t deed, thread, barrier, warp_step;
    int line; /* of the PTX */
} Toucher;
extern Toucher sim_now;
void sim_shared_begin(size_t bytes); /* a block of threads starts */
void *sim_shared(uint8_t *base, size_t size, uint64_t at, size_t n, bool write, bool atomic);

/* What went wrong; the first stays. */
void sim_report(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
extern int sim_error; /* the code that calls give from then on; 0 */
extern bool sim_checks;
void sim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint32_t sim_random(uint32_t n); /* below n; 0 where SIM_SEED is 0 */
bool sim_seeded(void);
bool sim_fault(const char *name);
int64_t sim_setting(const char *name, int64_t otherwise);

/* ---- parse.c */
typedef enum Type {
    T_u8,
    T_s8,
    T_u16,
    T_s16,
    T_u32,
    T_s32,
    T_u64,
    T_s64,
    T_f16,
    T_bf16,
    T_f32,
    T_f64,
    T_pred,
    TYPES
} Type;
extern const int TYPE_BYTES[TYPES];
typedef enum Space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM } Space;

typedef struct Warp Warp;
typedef struct Inst Inst;
typedef void (*InstFn)(Warp *w, const Inst *i, uint32_t mask);
enum { INST_OPERANDS = 16 };
struct Inst {
    InstFn fn;            /* NULL: control, which exec.c does itself */
    uint8_t control;      /* Control */
    uint8_t type, from;   /* of the result; of cvt and others what it is from */
    uint8_t space, width; /* ld, st: elements */
    uint32_t mods;        /* Mod bits */
    int16_t guard;        /* register of a predicate, or -1 */
    bool unless;
    uint8_t carry; /* Carry bits, of add.cc and its kin */
    int16_t n;     /* operands in r */
    int16_t r[INST_OPERANDS];
    int64_t offset; /* of an address; target of a branch */
    int line;
};
enum { CARRY_OUT = 1, CARRY_IN = 2, CARRY_LESS = 4 };
typedef enum Control { C_NONE, C_BRANCH, C_RETURN, C_BARRIER, C_WARP } Control;
enum { /* Mod */
       MOD_TO = 1,
       MOD_HI = 2,
       MOD_WIDE = 4,
       MOD_SAT = 8,
       MOD_RNI = 16,
       MOD_RMI = 32,
       MOD_RPI = 64,
       MOD_RZI = 128,
       MOD_UP = 256,
       MOD_DOWN = 512,
       MOD_BFLY = 1024,
       MOD_IDX = 2048,
       MOD_AND = 4096,
       MOD_OR = 8192,
       MOD_XOR = 16384,
       MOD_TRANS = 32768,
       MOD_ANY = 1 << 16,
       MOD_ALL = 1 << 17,
       MOD_BALLOT = 1 << 18,
       MOD_ADD = 1 << 19,
       MOD_MIN = 1 << 20,
       MOD_MAX = 1 << 21,
       MOD_EXCH = 1 << 22,
       MOD_CAS = 1 << 23,
       MOD_RED = 1 << 24,
       MOD_RZ = 1 << 25,
       MOD_PAIR = 1 << 26,
       MOD_BF16 = 1 << 27,
       MOD_APPROX = 1 << 28,
       MOD_LEFT = 1 << 29,
       MOD_RIGHT = 1 << 30
};

typedef enum Special {
    S_TID_X,
    S_TID_Y,
    S_TID_Z,
    S_NTID_X,
    S_NTID_Y,
    S_NTID_Z,
    S_CTAID_X,
    S_CTAID_Y,
    S_CTAID_Z,
    S_NCTAID_X,
    S_NCTAID_Y,
    S_NCTAID_Z,
    S_LANE,
    S_WARP,
    SPECIALS
} Special;

/* A register that holds one value for good: a number, or something of the thread. */
typedef struct Fixed {
    int16_t reg;
    int16_t special;
    uint64_t value;
} Fixed;

typedef struct Kernel {
    char name[128];
    int nparam;
    int param_bytes[64], param_at[64];
    int max_threads;      /* .maxntid; 0: not said */
    size_t shared, local; /* bytes */
    int nreg, ninst, nfixed, nfixed_cap, ninst_cap;
    Inst *inst;
    Fixed *fixed;
} Kernel;
typedef struct Module {
    int n;
    Kernel *kernel;
    uint8_t *data;
    size_t bytes;
    uint64_t at;
} Module;
/* NULL after a report: an instruction that is not known is named. */
Module *sim_parse(const char *ptx);
void sim_module_free(Module *m);

/* inst.c: the function of an instruction of that name and types; NULL: there is none. */
InstFn sim_inst_find(const char *name, Type type, Type from, uint32_t mods);

/* ---- exec.c */
typedef struct Dim3 {
    uint32_t x, y, z;
} Dim3;
typedef struct Block {
    const Kernel *kernel;
    Dim3 grid, size, at;
    const uint8_t *params;
    uint8_t *shared;
    size_t shared_bytes;
    uint32_t barrier; /* how many have been passed */
} Block;
struct Warp {
    Block *block;
    uint64_t (*r)[WARP]; /* registers */
    uint8_t *local;      /* of each lane, one after the other */
    int32_t pc[WARP];
    uint32_t live, waiting, gathering; /* lanes: not ended; at a barrier; at a warp's operation */
    uint32_t step;                     /* how many operations of the whole warp so far */
    uint8_t carry[WARP];
    int first; /* thread number of lane 0 */
};
/* Runs all blocks. False after a report. */
bool sim_run_grid(const Kernel *k, Dim3 grid, Dim3 size, size_t dynamic, const uint8_t *params,
                  uint32_t deed);
/* Windows in which these have generic addresses. */
#define SIM_PARAM_WINDOW UINT64_C(0x0003000000000000)
#define SIM_SHARED_WINDOW UINT64_C(0x0001000000000000)
#define SIM_LOCAL_WINDOW UINT64_C(0x0002000000000000)
#endif
