/* module.h: what `require "sgl"` finds in the program.
 */
#ifndef SGL_MODULE_MODULE_H
#define SGL_MODULE_MODULE_H
#include "base/file.h"
#include "bind/host.h"
#include "dev/storage.h"
#include "io/format.h"

/* loader.c: the embedded modules, which no file shadows. */
void module_preload(lua_State *L);
int module_open_core(lua_State *L); /* core.c: the module sgl.core */
int module_open_line(lua_State *L); /* line.c: sgl.line, which reads lines for the REPL */

/* io.c: the path at `arg`; one with a zero byte, which the system would cut there, raises. */
const char *module_check_path(lua_State *L, int arg);
/* io.c: what ends the reading of a file: Ctrl-C, and the settings. */
FileRules module_file_rules(Host *h);
/* io.c: a file that cannot be opened or read pushes nil, message, code, and 3 is returned; what is
 * damaged, too large or interrupted raises. */
int module_file_fail(lua_State *L, Host *h, const Err *e);

/* array.c: a tensor's value as an array of a file that is to be written, borrowed. One that lies
 * over the ranks is put together when it is written, by all of them. */
FileArray module_array(lua_State *L, Host *h, const char *name, const Storage *s);
/* Room for the largest of those, one after the other, which is the caller's (base_mem_free). NULL:
 * there are none, or the context's error is set. */
void *module_array_room(Host *h, FileArray *arrays, int n);

/* What a file adds to sgl.core. */
extern const luaL_Reg MODULE_INFO[], MODULE_TABLES[], MODULE_IO[], MODULE_CSV[], MODULE_KNOBS[],
    MODULE_BUNDLE[], MODULE_DIST[];
#endif
