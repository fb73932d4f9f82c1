/* graph_hook.c: the hook of sgl.on_graph_capture, told of each graph that was captured.
 *
 * Holds: a capture inside the hook is not told to it, or they could multiply without end. A hook
 *        that fails is Lua's to report.
 */
#include "bind/events.h"
#include "capture/room.h"
#include "tensor/graph.h"

static const char GRAPH_HOOK; /* its address is the hook's key in the registry */

/* (host, graph, list of inputs): calls the hook. */
static int tell_graph(lua_State *L)
{
    Host *h = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &GRAPH_HOOK);
    GraphBox *b = tensor_graph_new(L, h);
    b->kernels = -1;
    b->graph = tensor_copy_whole(lua_touserdata(L, 2));
    tensor_graph_made(L, h, b);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 0);
    return 0;
}

/* The hook gets a copy of the graph and the list of the inputs; results and errors of it are
 * nobody's. */
void capture_graph_told(lua_State *L, Host *h, const Graph *g, int inputs)
{
    CaptureRoom *room = room_of(h);
    if (room->in_hook || !lua_checkstack(L, 8)) return;
    bool hooked = lua_rawgetp(L, LUA_REGISTRYINDEX, &GRAPH_HOOK) != LUA_TNIL;
    lua_pop(L, 1);
    if (!hooked) return;
    int list = lua_absindex(L, inputs);
    lua_pushcfunction(L, tell_graph);
    lua_pushlightuserdata(L, h);
    lua_pushlightuserdata(L, (void *)(uintptr_t)g);
    lua_pushvalue(L, list);
    room->in_hook = true;
    bind_events_call(L, h, 3);
    room->in_hook = false;
}

/* core.on_graph(fn): fn(graph, inputs) is called after each capture; nil: nobody is. */
static int on_graph(lua_State *L)
{
    lua_settop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &GRAPH_HOOK);
    return 0;
}

const luaL_Reg CAPTURE_GRAPH_HOOK[] = {{"on_graph", on_graph}, {NULL, NULL}};
