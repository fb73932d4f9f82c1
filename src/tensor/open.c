/* open.c: what this room adds to sgl.core, and what it keeps for a Lua state.
 */
#include "tensor/room.h"

static void room_close(Host *h, void *state)
{
    TensorRoom *room = state;
    tensor_pending_drop(h);
    tensor_walk_free(room->walk);
    tensor_job_free(room->job);
    exec_cache_free(room->cache);
}

void tensor_runs(lua_State *L, Host *h) { room_of(h)->running = L; }

lua_State *tensor_running(const Host *h) { return room_of(h)->running; }

Cache *tensor_programs(const Host *h) { return room_of(h)->cache; }

static void open_room(lua_State *L, Host *h)
{
    TensorRoom *room = bind_room(L, h, ROOM_TENSOR, sizeof *room, room_close);
    tensor_pending_open(h);
    if (!room->cache) room->cache = exec_cache_new(h->cx);
    if (!room->cache) bind_raise(L, SGL_ENOMEM, NULL, "out of memory for the engine");
}

/* The classes are in the table too, for methods that Lua adds. */
void tensor_open(lua_State *L, Host *h)
{
    static const luaL_Reg *const LISTS[] = {
        TENSOR_MAKE,   TENSOR_APPLY, TENSOR_GRAD,       TENSOR_RNG, TENSOR_GRAPH,
        TENSOR_SIDE,   TENSOR_BREAK, TENSOR_CACHE,      TENSOR_DIM, TENSOR_NUMBER,
        TENSOR_CUSTOM, TENSOR_RANKS, TENSOR_RANKS_PLAN,
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
