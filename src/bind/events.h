/* events.h: events as Lua hears them.
 *
 * What happens inside is queued and told at places where any Lua code may run, never inside a
 * capture or a compilation. A callback that fails is Lua's to report: nothing here raises.
 */
#ifndef SGL_BIND_EVENTS_H
#define SGL_BIND_EVENTS_H
#include "bind/host.h"
#include "obs/obs.h"

int bind_events_open(Host *h);
void bind_events_close(Host *h);
void bind_events_flush(lua_State *L, Host *h);   /* tells what is queued */
/* Tells the hooks of on_graph_capture of a graph that was recorded from the list at `inputs`. */
void bind_events_graph(lua_State *L, Host *h, const Graph *g, int inputs);
#endif
