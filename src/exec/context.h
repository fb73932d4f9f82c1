/* context.h: what exec/ keeps in a context.
 */
#ifndef SGL_EXEC_CONTEXT_H
#define SGL_EXEC_CONTEXT_H
#include "exec/disk.h"
#include "exec/lifecycle.h"
#include "exec/program.h"

typedef struct WorkBlock { void *at; size_t bytes; } WorkBlock;
typedef struct Workspaces {
    VEC(WorkBlock) blocks;  /* by depth */
    int depth;              /* blocks in use */
} Workspaces;

/* A backend in the context. */
typedef struct Engine {
    BackendState state;
    Device device;
    Workspaces work;
} Engine;

typedef struct ExecContext {
    ExecHooks hooks;
    ExecPrint print;
    Engine engine[BACKEND_COUNT];
    Disk disk;
    struct Cache *cache;     /* of the context, while there is one; borrowed */
    int64_t age;             /* how often programs had to be made again (settings.h) */
} ExecContext;

ExecContext *exec_context(Ctx *cx);               /* made at first use; NULL: no memory */
#endif
