/* debug.h: compiling with what the setting `debug` asks to see of it.
 */
#ifndef SGL_EXEC_DEBUG_H
#define SGL_EXEC_DEBUG_H
#include "exec/program.h"

/* exec_compile for programs of users, Lua's and the C interface's; prints on stderr. */
Program *exec_debug_compile(Graph *g, const char *text);
/* The setting has another value: steps of runs are printed, or no longer. */
int exec_debug_watch(Ctx *cx);
#endif
