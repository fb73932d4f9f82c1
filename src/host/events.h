/* events.h: events as Lua hears them.
 *
 * What happens inside is queued and told at places where any Lua code may run, never inside a
 * capture or a compilation. A callback that fails is Lua's to report: nothing here raises.
 */
#ifndef SGL_HOST_EVENTS_H
#define SGL_HOST_EVENTS_H
#include "host/host.h"
#include "obs/obs.h"

int host_events_open(Host *h);
void host_events_close(Host *h);
void host_events_flush(lua_State *L, Host *h);   /* tells what is queued */
/* Tells the hooks of on_graph_capture of a graph that was recorded from the list at `inputs`. */
void host_events_graph(lua_State *L, Host *h, const Graph *g, int inputs);
#endif
