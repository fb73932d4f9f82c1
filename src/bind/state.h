/* state.h: the interpreter's Lua state and its command line.
 */
#ifndef SGL_BIND_STATE_H
#define SGL_BIND_STATE_H
#include <lua.h>

/* Memory from base_mem, warnings to stderr. NULL: no memory. */
lua_State *bind_state_new(void);

/* Calls the function below `nargs` arguments, Ctrl-C armed; on an error the traceback is added to
 * its message. Returns Lua's status. */
int bind_state_call(lua_State *L, int nargs, int nresults);
#endif
