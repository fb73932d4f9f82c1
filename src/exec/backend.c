/* backend.c: the table of backends, and their devices in a context.
 */
#include "exec/backend.h"
#include "exec/context.h"

#define BACKEND(name, vtable) extern const Backend vtable;
#include "base/backend.def"
#undef BACKEND

static const Backend *const BACKENDS[BACKEND_COUNT] = {
#define BACKEND(name, vtable) &vtable,
#include "base/backend.def"
#undef BACKEND
};

const Backend *exec_backend_at(int i) { return BACKENDS[i]; }
int exec_backend_chosen(const Ctx *cx) { return (int)cx->knobs.value[KNOB_backend]; }
const Backend *exec_backend(Ctx *cx) { return BACKENDS[exec_backend_chosen(cx)]; }

Device *exec_device(Ctx *cx, int backend)
{
    ExecContext *slot = exec_context(cx);
    return slot ? &slot->engine[backend].device : NULL;
}
