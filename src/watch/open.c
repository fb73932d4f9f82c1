/* open.c: what this room adds to sgl.core, and what it keeps for a Lua state.
 */
#include "watch/room.h"

static void room_close(Host *h, void *state)
{
    WatchRoom *room = state;
    (void)h;
    base_map_free(&room->purity);
}

void watch_open(lua_State *L, Host *h)
{
    static const luaL_Reg *const LISTS[] = {WATCH_GUARD, WATCH_JOURNAL, WATCH_UNHELD, WATCH_DUMP,
                                            WATCH_LOOKED};
    bind_room(L, h, ROOM_WATCH, sizeof(WatchRoom), room_close);
    watch_open_raw(L, h);
    watch_purity_open(L, h);
    bind_functions(L, LISTS, sizeof LISTS / sizeof *LISTS);
}
