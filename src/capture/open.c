/* open.c: what this room adds to sgl.core, and what it keeps for a Lua state.
 */
#include "capture/capture.h"
#include "capture/room.h"

bool capture_under_way(const Host *h) { return room_of(h)->recording > 0; }

static void room_close(Host *h, void *state) { (void)h, (void)state; }

/* The class of programs is in the table too, for methods that Lua adds. */
void capture_open(lua_State *L, Host *h)
{
    static const luaL_Reg *const LISTS[] = {
        CAPTURE_CAPTURE, CAPTURE_MODULE, CAPTURE_CONTROL,    CAPTURE_EFFECT,
        CAPTURE_RESULT,  CAPTURE_CALL,   CAPTURE_GRAPH_HOOK,
    };
    bind_room(L, h, ROOM_CAPTURE, sizeof(CaptureRoom), room_close);
    room_of(h)->recorder = &CAPTURE_RECORDER;
    bind_functions(L, LISTS, sizeof LISTS / sizeof *LISTS);
    capture_program_class(L);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, -3, "Program");
    lua_pop(L, 1);
}
