/* backend.c: the table of backends, in the order of the choices of the knob `backend`.
 */
#include "exec/backend.h"

static const Backend *const BACKENDS[] = {&EXEC_CPU, &EXEC_NULL};

const Backend *exec_backend(Ctx *cx) { return BACKENDS[cx->knobs.value[KNOB_backend]]; }
