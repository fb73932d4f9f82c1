/* settings.h: changing a setting, and what that causes, whoever changes it.
 *
 * Lua fields, the C interface and configuration files all come here; the environment and the flags
 * are read when a context opens, before anything was made from them.
 */
#ifndef SGL_EXEC_SETTINGS_H
#define SGL_EXEC_SETTINGS_H
#include "base/context.h"

/* Puts a value as base_knob_put does, then does what its change causes (column `effect` of
 * knob.def): what was made from the old value is made again at its next use. */
int exec_setting_put(Ctx *cx, KnobId id, KnobFrom from, const char *shown, const char *text);

/* How often programs of the context had to be made again; whoever keeps a program of its own
 * compares it with the number at the program's making. */
int64_t exec_programs_age(const Ctx *cx);
#endif
