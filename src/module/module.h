/* module.h: what `require "sgl"` finds in the program.
 */
#ifndef SGL_MODULE_MODULE_H
#define SGL_MODULE_MODULE_H
#include "bind/host.h"

/* loader.c: the embedded modules, which no file shadows. */
void module_preload(lua_State *L);
int module_open_core(lua_State *L); /* core.c: the module sgl.core */
int module_open_line(lua_State *L); /* line.c: sgl.line, which reads lines for the REPL */

/* What a file adds to sgl.core. */
extern const luaL_Reg MODULE_INFO[], MODULE_TABLES[], MODULE_IO[], MODULE_CSV[], MODULE_KNOBS[],
    MODULE_DIST[];
#endif
