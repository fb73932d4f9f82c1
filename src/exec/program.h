/* program.h: a compiled graph: a flat list of steps over one arena; running it allocates nothing
 * but the outputs it hands out.
 */
#ifndef SGL_EXEC_PROGRAM_H
#define SGL_EXEC_PROGRAM_H
#include "exec/storage.h"
#include "ir/graph.h"
#include "pass/pass.h"

typedef struct Program Program;
typedef struct ProgramInfo {
    int nodes, groups, kernels, steps, dots;
    size_t arena_bytes;          /* peak memory of a run beside inputs and outputs */
    size_t bytes;                /* memory the program itself holds, arena included */
    double compile_seconds;
    PassTimes passes;
} ProgramInfo;

/* Compiles a graph (takes it). NULL with the context's error set. Static dims only. */
Program *exec_compile(Graph *g);
void exec_program_free(Program *p);
const ProgramInfo *exec_program_info(const Program *p);
const Graph *exec_program_graph(const Program *p);        /* after simplify; borrowed */

/* Runs. in[i] is the storage of graph input i: same dtype and dims, else SGL_ESHAPE/EDTYPE naming
 * the input. State inputs that the graph assigns are updated in place (the caller made them
 * unshared). out[k] becomes a new reference for output k. On an error (an index out of range, an
 * interrupt) its text ends with the user's position, state assigned by finished steps may have
 * changed, and no output is returned. */
int exec_run(Program *p, Storage *const *in, Storage **out);

/* For people: the steps with their kernels, buffers and offsets. */
void exec_program_print(const Program *p, const char *level, Str *out); /* "fused" "plan" "kernels" */
#endif
