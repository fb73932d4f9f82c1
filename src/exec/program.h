/* program.h: a compiled graph: a flat list of steps over one arena; running it allocates nothing
 * but the outputs it hands out.
 */
#ifndef SGL_EXEC_PROGRAM_H
#define SGL_EXEC_PROGRAM_H
#include "dev/storage.h"
#include "ir/graph.h"
#include "pass/pass.h"

typedef struct Program Program;
typedef struct ProgramInfo {
    int nodes, groups, kernels, steps, dots;   /* of this program and of its blocks */
    int bodies;                  /* distinct kernels: equal ones are compiled once */
    int blocks;                  /* programs of blocks, nested ones too */
    size_t arena_bytes;          /* peak memory of a run beside inputs and outputs */
    size_t bytes;                /* memory the program itself holds, arena included */
    int ops, fused;              /* nodes with inputs; those computed together with others */
    const char *cache;           /* where the passes' work was found: "none", "disk" */
    double compile_seconds;
    PassTimes passes;
} ProgramInfo;

/* What an observer hears, for the knob `debug` and for tools; the core itself never prints. Both
 * are optional. `pass` is called after each pass of a compilation, `step` after each step of a
 * run. */
typedef struct ExecHooks {
    PassHook pass;
    void (*step)(void *arg, const Program *p, int step, double seconds);
    void *arg;
} ExecHooks;
int exec_hooks_set(Ctx *cx, ExecHooks hooks);             /* replaces those set before */

/* What op `print` calls: its text, and the data of its inputs from the second on, whose types are
 * the node's. Negative with the context's error set stops the run. Without a function nothing is
 * printed. */
typedef int (*ExecPrintFn)(void *arg, const Node *n, const char *text, void *const *values);
typedef struct ExecPrint { ExecPrintFn fn; void *arg; } ExecPrint;
int exec_print_set(Ctx *cx, ExecPrint print);
int exec_print(Ctx *cx, const Node *n, const char *text, void *const *values);

/* Compiles a graph (takes it). NULL with the context's error set. `text` is its plain text
 * (ir/text.h) where the caller has it, or NULL; `values` are the sizes at hand if the graph has
 * symbolic dims, else NULL. */
Program *exec_compile(Graph *g, const char *text, const SizeValues *values);
/* May a program serve these sizes? It was compiled for sizes that give the same answers to all that
 * bits depend on (pass/size.h). */
bool exec_program_fits(const Program *p, const SizeValues *values);
/* Before a run with sizes that fit. Numbers are filled in; nothing is compiled. */
int exec_program_resize(Program *p, const SizeValues *values);
/* In place of compiling, p was found in memory: tells it, and takes the backend's step. */
void exec_compile_found(Program *p, double ms);
void exec_program_free(Program *p);
const ProgramInfo *exec_program_info(const Program *p);
const Graph *exec_program_graph(const Program *p);        /* after simplify; borrowed */
/* Takes the graph that was compiled out of a program that is about to be freed; NULL: there is none
 * beside the one it runs. */
Graph *exec_program_take_source(Program *p);

/* Runs. in[i] is the storage of graph input i: same dtype, and dims for the sizes at hand, else
 * SGL_ESHAPE/EDTYPE naming the input. State inputs that the graph assigns are updated in place (the
 * caller made them unshared). out[k] becomes a new reference for output k. On an error (an index
 * out of range, an interrupt) its text ends with the user's position, state assigned by finished
 * steps may have changed, and no output is returned. An interrupt that was reported is over: the
 * flag of the context is cleared. */
int exec_run(Program *p, Storage *const *in, Storage **out);

/* For people, by stage: "fused" the groups, "plan" the buffers, "kernels" the steps in full, "c" a
 * C file that computes the same. */
const char *exec_stage_name(int i);                       /* NULL behind the last */
void exec_program_print(const Program *p, const char *stage, Str *out);
void exec_step_print(const Program *p, int step, Str *out);    /* one line */
#endif
