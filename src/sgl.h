/* sgl.h: the C interface: run graphs from C, or from any language that can call C.
 *
 *     sgl_context *cx = sgl_open(NULL);
 *     sgl_program *step = sgl_parse(cx, text);
 *     const sgl_array in[2] = { sgl_f32(pixels, 2, (int64_t[]){64, 64}),
 *                               sgl_i32(labels, 1, (int64_t[]){64}) };
 *     float loss;
 *     sgl_array out[1] = { sgl_f32(&loss, 0, NULL) };
 *     if (!step || sgl_run(step, 2, in, 1, out) < 0) fprintf(stderr, "%s\n", sgl_error(cx));
 *     sgl_close(cx);
 *
 * Errors: functions return 0 or more on success; NULL or a negative sgl_status on failure, with a
 *         text in the context that stays until the next call on it. Nothing is printed, nothing
 *         aborts.
 * Ownership: a context owns its programs. Arrays belong to the caller and are borrowed for the
 *         length of a call. Strings that are returned belong to the library.
 * Threads: a context and its programs are used by one thread at a time; two contexts may be used
 *         at the same time. Of these, several threads may call any at once, on one program or on
 *         several of a context: sgl_run, sgl_state_read, sgl_state_write, sgl_save_state and
 *         sgl_load_state. Each is done as a whole before the next begins, so state that is read is
 *         that behind a step; all of it at one step is what sgl_save_state writes. The error of
 *         such a call is told to the thread that made it. sgl_interrupt may be called from
 *         anywhere, a signal handler included.
 */
#ifndef SGL_H
#define SGL_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SGL_API __attribute__((visibility("default")))
#define SGL_VERSION "0.1.0"

/* Stable; sgl_status_name and sgl_status_text say what each means. */
#define SGL_STATUS(X)                                                                             \
    X(SGL_ENOMEM, -1) X(SGL_ESHAPE, -2) X(SGL_EDTYPE, -3) X(SGL_EARG, -4) X(SGL_EINDEX, -5)       \
    X(SGL_EFILE, -6) X(SGL_EFORMAT, -7) X(SGL_EPARSE, -8) X(SGL_EVERIFY, -9) X(SGL_EGRAD, -10)    \
    X(SGL_ECLOSED, -11) X(SGL_EKNOB, -12) X(SGL_EUNSUP, -13) X(SGL_ENUMERIC, -14)                 \
    X(SGL_ESTATE, -15) X(SGL_EINTR, -16) X(SGL_EINTERN, -17) X(SGL_EASSERT, -18)     \
    X(SGL_EPEER, -19)
#ifndef SGL_BASE_ERR_H           /* inside the library the codes come from its own table */
#define SGL_STATUS_ITEM(name, number) name = number,
typedef enum sgl_status { SGL_OK = 0, SGL_STATUS(SGL_STATUS_ITEM) } sgl_status;
#undef SGL_STATUS_ITEM
#endif

/* Element types. A bool is one byte, 0 or 1; f16 and bf16 are their bits. */
typedef enum sgl_dtype {
    SGL_BOOL, SGL_U8, SGL_I32, SGL_I64, SGL_F16, SGL_BF16, SGL_F32, SGL_F64
} sgl_dtype;

enum { SGL_RANK_MAX = 12 };

/* A contiguous row-major array in the caller's memory. */
typedef struct sgl_array {
    sgl_dtype dtype;
    int rank;
    int64_t dims[SGL_RANK_MAX];
    void *data;                  /* an input's is only read */
} sgl_array;

typedef struct sgl_context sgl_context;
typedef struct sgl_program sgl_program;

/* `settings`: NULL or words such as "threads=2 isa=avx2", over those of the environment (SGL_…).
 * NULL on failure; sgl_error(NULL) then tells why, in the calling thread. */
SGL_API sgl_context *sgl_open(const char *settings);
SGL_API void sgl_close(sgl_context *cx);             /* and its programs; NULL is allowed */
SGL_API int sgl_set(sgl_context *cx, const char *setting, const char *value);
/* Reads settings from a YAML file; what the environment or the program set stays. NULL: the file
 * of the setting `config`, else sgl.yaml in the current folder, if there. 1: read, 0: no file. */
SGL_API int sgl_config_load(sgl_context *cx, const char *path);
SGL_API void sgl_interrupt(sgl_context *cx);         /* the program that runs stops: SGL_EINTR;
                                                       where none runs, nothing happens */

/* The last error: its text ("" if none), a way out ("" if none is known), its code (0 if none). */
SGL_API const char *sgl_error(const sgl_context *cx);
SGL_API const char *sgl_error_hint(const sgl_context *cx);
SGL_API int sgl_error_code(const sgl_context *cx);
SGL_API const char *sgl_status_name(int code);       /* "SGL_ESHAPE" */
SGL_API const char *sgl_status_text(int code);       /* "shapes do not fit" */
SGL_API const char *sgl_version(void);

/* Arrays over the caller's memory. sgl_view takes any dtype, and memory that may not be written
 * (for inputs). A rank outside [0, SGL_RANK_MAX] gives an array that no call accepts. */
SGL_API sgl_array sgl_bool(uint8_t *data, int rank, const int64_t *dims);
SGL_API sgl_array sgl_u8(uint8_t *data, int rank, const int64_t *dims);
SGL_API sgl_array sgl_i32(int32_t *data, int rank, const int64_t *dims);
SGL_API sgl_array sgl_i64(int64_t *data, int rank, const int64_t *dims);
SGL_API sgl_array sgl_f32(float *data, int rank, const int64_t *dims);
SGL_API sgl_array sgl_f64(double *data, int rank, const int64_t *dims);
SGL_API sgl_array sgl_view(sgl_dtype dtype, const void *data, int rank, const int64_t *dims);

/* Compiles the text form of a graph. The program belongs to the context. Its state starts at 0. */
SGL_API sgl_program *sgl_parse(sgl_context *cx, const char *text);
/* The same of a bundle that sgl.export wrote (a file or a folder), whose state has the values that
 * were exported; `state`: NULL, or a file of sgl_save_state whose values take their place. */
SGL_API sgl_program *sgl_load(sgl_context *cx, const char *path, const char *state);
SGL_API void sgl_program_free(sgl_program *p);       /* before its context ends; NULL is allowed */

/* What a program takes, gives and keeps. */
typedef enum sgl_port { SGL_INPUT, SGL_OUTPUT, SGL_STATE } sgl_port;
SGL_API int sgl_count(const sgl_program *p, sgl_port port);
SGL_API const char *sgl_name(const sgl_program *p, sgl_port port, int i);    /* NULL: no such */
/* The number of the one with the name, the first of several; SGL_EARG: there is none. State has the
 * names of state dicts and of files that sgl.save writes of a step: "1.weight", "opt.m.1.weight";
 * "rng" is the seed and the number of draws so far, which a run counts on. */
SGL_API int sgl_find(sgl_program *p, sgl_port port, const char *name);
/* Data is NULL. A size of -1 is decided by the inputs of a run, whatever fits the program. */
SGL_API sgl_array sgl_type(const sgl_program *p, sgl_port port, int i);

/* Runs the program: all inputs and all outputs, in order. Writes the outputs' data and updates the
 * state; on an error no output is written, and state may have changed. */
SGL_API int sgl_run(sgl_program *p, int nin, const sgl_array *in, int nout, sgl_array *out);
/* Copies state number i from or to the caller's array. */
SGL_API int sgl_state_read(sgl_program *p, int i, sgl_array *to);
SGL_API int sgl_state_write(sgl_program *p, int i, const sgl_array *from);
/* All of the state, by name, to a safetensors file, which appears as a whole, and back from such a
 * file or one of sgl.save: all names must be there, in their types, else nothing changes. */
SGL_API int sgl_save_state(sgl_program *p, const char *path);
SGL_API int sgl_load_state(sgl_program *p, const char *path);

/* Calls fn with each event of a kind, in the midst of what causes it: fn may use the event until it
 * returns, and of its context nothing but sgl_interrupt; other calls are refused (SGL_ESTATE), and
 * what is to be freed or closed is not. Kinds and their fields are the table in docs/events.md.
 * Gives the listener's number, from 1 on, for sgl_off. */
typedef struct sgl_event sgl_event;
typedef void sgl_event_fn(const sgl_event *e, void *arg);
SGL_API int sgl_on(sgl_context *cx, const char *event, sgl_event_fn *fn, void *arg);
SGL_API int sgl_off(sgl_context *cx, int listener);

/* A field of an event; beside those of its kind "ms", "time" and "weight" are numbers, and a bool
 * is 0 or 1. Text: NULL when there is no such text. The same trace: belongs together. */
SGL_API const char *sgl_event_name(const sgl_event *e);
SGL_API const char *sgl_event_text(const sgl_event *e, const char *field);
SGL_API double sgl_event_number(const sgl_event *e, const char *field, double otherwise);
SGL_API uint64_t sgl_event_trace(const sgl_event *e);

/* ---- Ops of your own. Graphs name them: `%2 = custom(%0, %1) {op="twice"} : f32[4, 3]`.
 *
 * An op is a row. It is registered once for the whole process, before graphs name it, from any
 * thread, and can then be used in every context; the row and all it points to stay as they are
 * until the process ends. Functions of a row may be called by several threads at once.
 *
 *     static int shape(sgl_call *c) { c->out[0] = c->in[0]; return SGL_OK; }
 *     static int run(sgl_call *c) { … }
 *     static const sgl_op OP = { .name = "twice", .inputs = 1, .outputs = 1, .shape = shape,
 *                                .run = { { "cpu", run } } };
 *     if (sgl_op_register(&OP) < 0) fprintf(stderr, "%s\n", sgl_error(NULL));
 *
 * Functions return SGL_OK or a negative sgl_status, with what is wrong in `error`. They need no
 * function of the library, so a shared object with ops need not be linked to it. */
enum { SGL_OP_INPUTS = 16, SGL_OP_OUTPUTS = 8, SGL_OP_ATTRS = 16, SGL_OP_BACKENDS = 4 };

/* The value of an attribute, in the fields of its kind. */
typedef struct sgl_attr {
    int64_t integer;             /* I; A: from 0; T: an sgl_dtype */
    double real;                 /* F, and I too */
    const char *text;            /* S */
    int n;                       /* L, D, P: how many items */
    const int64_t *items;        /* P: from 0 */
} sgl_attr;

typedef struct sgl_call {
    const struct sgl_op *op;
    const sgl_attr *attr;        /* in the order of op->attrs */
    int nin, nout;
    const sgl_array *in;         /* `shape`: without data */
    sgl_array *out;              /* `shape` sets their dtype, rank and dims */
    void *stream;                /* of the backend; the CPU has none: NULL */
    /* `shape` alone. A size that a run decides is a negative number: compare it by ==, compute with
     * this: a + b, a - b, a * b or a / b (rounded down; b a number) for how '+', '-', '*', '/'.
     * Give on what it gives; a failure is told of by itself. */
    int64_t (*size)(struct sgl_call *c, int64_t a, char how, int64_t b);
    void *engine;                /* its own */
    char error[256];
} sgl_call;

/* The gradient of an op as nodes of the graph: those of the inputs from those of the outputs. */
typedef struct sgl_node sgl_node;
typedef struct sgl_gradient {
    const struct sgl_op *op;
    const sgl_attr *attr;
    int nin, nout;
    sgl_node *const *in, *const *out;
    sgl_node *const *dy;         /* by output; NULL: the loss does not depend on it */
    sgl_node **dx;               /* by input, set where one flows; it has the input's type */
    /* A node of any op of the table (docs/ops.md); attributes as graph texts have them:
     * "{dims=[1]}", NULL: none. Elementwise ops promote and broadcast. Takes NULL, and gives it. */
    sgl_node *(*apply)(struct sgl_gradient *g, const char *op, int n, sgl_node *const *in,
                       const char *attrs);
    /* One value in every place of a node like that one. */
    sgl_node *(*fill)(struct sgl_gradient *g, const sgl_node *like, double value);
    sgl_array (*type)(struct sgl_gradient *g, const sgl_node *of);
    void *engine;
    char error[256];
} sgl_gradient;

enum {
    SGL_OP_ELEMENTWISE = 1,      /* inputs and outputs have the same dims, and an element of an
                                    output depends on those at its place: `run` may get parts of
                                    the arrays, of rank 1 */
    SGL_OP_RANDOM = 2            /* equal calls may give other results: they are never made one */
};

typedef struct sgl_op {
    const char *name;            /* letters, digits, '_', '.': "mylib.scale_rows" */
    /* "by:F=1 axis:A": kinds I integer, F number, S text, T dtype, A axis and P axes of the first
     * input, L integers, D sizes; "=": what I and F (a number) and lists ("[]") are when left out,
     * of the last ones. NULL: none. */
    const char *attrs;
    int inputs, outputs;         /* inputs -1: any number from 1 on */
    unsigned flags;
    unsigned rows;               /* bit i: row j of input i and row j of the outputs belong
                                    together, and to no other row: `run` may get some rows */
    int (*shape)(sgl_call *c);   /* NULL: each output is like the first input */
    int (*gradient)(sgl_gradient *g);   /* NULL: asking for one is an error */
    /* The op in double: all arrays are SGL_F64. It serves g:eval and checks. NULL: `run` of the CPU
     * on values rounded to their types. */
    int (*reference)(sgl_call *c);
    /* What computes it on the backend of that name, from contiguous arrays in its memory. */
    struct { const char *backend; int (*run)(sgl_call *c); } run[SGL_OP_BACKENDS];
} sgl_op;

/* Twice the same row is once; another row of the name is refused. sgl_error(NULL) tells why. */
SGL_API int sgl_op_register(const sgl_op *op);

/* A shared object can bring ops: it exports SGL_OPS(&first, &second, …), rows of ops, and stays
 * loaded. In Lua: sgl.load_ops(path). Gives their number. */
enum { SGL_OP_VERSION = 1 };
typedef struct sgl_op_list { int version; const sgl_op *const *op; } sgl_op_list;
#define SGL_OPS(...)                                                                              \
    static const sgl_op *const sgl_ops_[] = { __VA_ARGS__, 0 };                                   \
    extern SGL_API const sgl_op_list sgl_ops;                                                      \
    const sgl_op_list sgl_ops = { SGL_OP_VERSION, sgl_ops_ }
SGL_API int sgl_op_load(const char *path);

#ifdef __cplusplus
}
#endif
#endif
