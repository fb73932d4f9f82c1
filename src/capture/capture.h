/* capture.h: capturing a step as a graph, for the rooms below.
 */
#ifndef SGL_CAPTURE_CAPTURE_H
#define SGL_CAPTURE_CAPTURE_H
#include "bind/host.h"

/* Adds the functions of this room to the table on the top. */
void capture_open(lua_State *L, Host *h);
bool capture_under_way(const Host *h); /* one is until it is a program or failed */
#endif
