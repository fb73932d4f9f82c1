/* backend.h: the backends there are (base/backend.def), and their devices in a context.
 */
#ifndef SGL_EXEC_BACKEND_H
#define SGL_EXEC_BACKEND_H
#include "dev/backend.h"

enum {
#define BACKEND(name, vtable) BACKEND_##name,
#include "base/backend.def"
#undef BACKEND
    BACKEND_COUNT
};
const Backend *exec_backend_at(int i);      /* in the order of the setting's choices */
int exec_backend_chosen(const Ctx *cx);     /* the number of the one the setting `backend` names */
const Backend *exec_backend(Ctx *cx);       /* that one */
Device *exec_device(Ctx *cx, int backend);  /* NULL: no memory */
#endif
