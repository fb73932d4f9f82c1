/* engine.h: a context made ready for graphs, events and programs.
 */
#ifndef SGL_EXEC_ENGINE_H
#define SGL_EXEC_ENGINE_H
#include "base/context.h"

/* The one way to open a context: settings from the environment and the flags, the table of ops,
 * events. NULL with *e set. */
Ctx *exec_engine_open(Err *e);
#endif
