/* events.h: events as Lua hears them.
 *
 * What happens inside is queued and told at places where any Lua code may run, never inside a
 * capture or a compilation. A callback that fails is Lua's to report: nothing here raises.
 */
#ifndef SGL_BIND_EVENTS_H
#define SGL_BIND_EVENTS_H
#include "bind/host.h"
#include "obs/obs.h"

/* The sink that hands events to Lua's callbacks, and its end. */
int bind_events_open(Host *h);
void bind_events_close(Host *h);
void bind_events_flush(lua_State *L, Host *h);   /* tells what is queued */
void bind_events_hold(Host *h, bool on); /* until it is off again nothing is told */
/* Calls the function below its arguments, whose results and errors are nobody's: only an interrupt
 * goes on from here. */
void bind_events_call(lua_State *L, Host *h, int nargs);
#endif
