/* slot.h: what exec/ keeps in a context.
 */
#ifndef SGL_EXEC_SLOT_H
#define SGL_EXEC_SLOT_H
#include "exec/disk.h"
#include "exec/lifecycle.h"

typedef struct ExecSlot {
    ExecHooks hooks;
    ExecPrint print;
    BackendState state[BACKEND_COUNT];
    Disk disk;
} ExecSlot;

ExecSlot *exec_slot(Ctx *cx);               /* made at first use; NULL: no memory */
#endif
