/* open.c: what this room adds to sgl.core, and what it keeps for a Lua state.
 */
#include "exec/cache.h"
#include "tensor/break.h"
#include "tensor/debug.h"
#include "tensor/dim.h"
#include "tensor/number.h"
#include "tensor/walk.h"

typedef struct TensorRoom {
    int none;
} TensorRoom;

static void room_close(Host *h, void *state)
{
    (void)state;
    tensor_trace_drop(h);
    tensor_walk_free(h);
    tensor_job_free(h->job);
    exec_cache_free(h->cache);
}

static void open_room(lua_State *L, Host *h)
{
    bind_room(L, h, ROOM_TENSOR, sizeof(TensorRoom), room_close);
    if (!h->cache) h->cache = exec_cache_new(h->cx);
    if (!h->cache || tensor_debug_watch(h) < 0)
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for the engine");
}

void tensor_open(lua_State *L, Host *h)
{
    static const luaL_Reg *const LISTS[] = {
        TENSOR_MAKE,  TENSOR_APPLY, TENSOR_GRAD, TENSOR_RNG,    TENSOR_GRAPH,
        TENSOR_BREAK, TENSOR_CACHE, TENSOR_DIM,  TENSOR_NUMBER,
    };
    int core = lua_gettop(L);
    open_room(L, h);
    bind_functions(L, LISTS, sizeof LISTS / sizeof *LISTS);
    tensor_class(L, h);
    lua_setfield(L, core, "Tensor");
    tensor_graph_class(L);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, core, "Graph");
    tensor_dim_class(L);
    lua_settop(L, core);
}
