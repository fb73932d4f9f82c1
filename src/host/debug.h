/* debug.h: compiling as the host does it, with what the knob `debug` asks to see.
 */
#ifndef SGL_HOST_DEBUG_H
#define SGL_HOST_DEBUG_H
#include "host/host.h"

typedef struct Program Program;

Program *host_compile(Host *h, Graph *g);    /* as exec_compile */
int host_debug_watch(Host *h);               /* to be called when the knob may have changed */
#endif
