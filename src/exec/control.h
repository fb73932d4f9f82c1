/* control.h: steps that are no backend's: blocks run as programs of their own, effects, and
 * collectives.
 *
 * Holds: everything a call needs is allocated when its program is compiled. Equal blocks of one
 *        program are one compiled program; they cannot run at once, since a block never contains
 *        itself.
 */
#ifndef SGL_EXEC_CONTROL_H
#define SGL_EXEC_CONTROL_H
#include "exec/program.h"
#include "exec/backend.h"
#include "kern/step.h"

typedef struct Calls Calls;

/* Compiles what the calls among the steps run; *out is NULL when there is none. */
int exec_calls_make(Device *d, const StepVec *steps, const Sizes *sizes, Calls **out);
/* Other sizes: the memory of the calls, and their blocks. */
int exec_calls_resize(Calls *c);
bool exec_calls_fit(const Calls *c, const SizeValues *values);
void exec_calls_free(Calls *c);                        /* NULL is allowed */
int exec_calls_run(Calls *c, int step, void *const *buffers);

/* The compiled blocks, in the order of their first use. */
int exec_calls_count(const Calls *c);
const Program *exec_calls_at(const Calls *c, int i);
/* Numbers of the one or two blocks that a step runs; returns how many they are. */
int exec_calls_of(const Calls *c, int step, int out[2]);

/* program.c: as exec_compile, for a block: a part of a program, which is not told of. */
Program *exec_compile_part(Graph *g, const char *text, const SizeValues *values);
/* program.c: is anything among its steps, or those of its blocks, that the host does: an effect? */
bool exec_program_needs_host(const Program *p);
/* program.c: a run on plain addresses, for blocks: in[i] of graph input i, out[k] of output k,
 * naturally aligned. State is updated in place. */
int exec_program_call(Program *p, void *const *in, void *const *out);
/* SGL_EINTR with the position of n if somebody asked for it, and the request is over. */
int exec_interrupted(Ctx *cx, const Node *n);
size_t exec_calls_bytes(const Calls *c);               /* memory beside the blocks' programs */
#endif
