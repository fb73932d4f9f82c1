/* backend.c: the table of backends, in the order of the choices of the knob `backend`.
 */
#include "dev/backend.h"

static const Backend *const BACKENDS[BACKEND_COUNT] = {&CPU_BACKEND, &DEV_NULL};

const Backend *exec_backend_at(int i) { return BACKENDS[i]; }
int exec_backend_chosen(const Ctx *cx) { return (int)cx->knobs.value[KNOB_backend]; }
const Backend *exec_backend(Ctx *cx) { return BACKENDS[exec_backend_chosen(cx)]; }
