/* debug.h: compiling as the host does it, with what the knob `debug` asks to see.
 */
#ifndef SGL_TENSOR_DEBUG_H
#define SGL_TENSOR_DEBUG_H
#include "bind/host.h"
#include "pass/size.h"

typedef struct Program Program;

Program *tensor_compile(Host *h, Graph *g, const SizeValues *values);    /* as exec_compile */
int tensor_debug_watch(Host *h);               /* to be called when the knob may have changed */
#endif
