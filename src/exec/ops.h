/* ops.h: shared objects that bring ops (sgl.h, SGL_OPS).
 */
#ifndef SGL_EXEC_OPS_H
#define SGL_EXEC_OPS_H
#include "base/err.h"

/* Registers the ops of the shared object at `path`, which stays loaded. How many it has, or
 * negative with the error in e: SGL_EFILE, SGL_EFORMAT, or what is wrong with an op; those before
 * it are registered then. */
int exec_ops_load(const char *path, Err *e);
#endif
