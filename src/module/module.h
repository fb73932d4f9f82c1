/* module.h: what `require "sgl"` finds in the program.
 */
#ifndef SGL_MODULE_MODULE_H
#define SGL_MODULE_MODULE_H
#include "bind/host.h"

void module_preload(lua_State *L);   /* loader.c: the embedded modules, so that no file shadows them */
int module_open_core(lua_State *L);  /* core.c: the module sgl.core */
int module_open_line(lua_State *L);  /* line.c: the module sgl.line, which reads lines for the REPL */

/* What a file adds to sgl.core. */
extern const luaL_Reg MODULE_INFO[], MODULE_TABLES[], MODULE_IO[], MODULE_CSV[], MODULE_KNOBS[];
#endif
