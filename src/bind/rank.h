/* rank.h: a Lua state as a rank of a job: signals, stopping at a common step, the last words.
 */
#ifndef SGL_BIND_RANK_H
#define SGL_BIND_RANK_H
#include "bind/host.h"
#include "comm/job.h"

/* This process is a rank of a job from now on: it answers its signals. */
void bind_rank_begin(Comm *c);
/* A call of a compiled step begins. Where all ranks shall stop the handlers run and the process
 * ends; where the job is over it raises. */
void bind_rank_step(lua_State *L);
/* Nobody caught an error, which has been reported: tells the other ranks, runs the handlers and
 * ends the process. It returns where the process is no rank. */
void bind_rank_failed(lua_State *L, const char *message);

/* What this rank has to say of its error is only the verdict that another prints. */
bool bind_rank_is_quiet(void);

extern const luaL_Reg BIND_RANK[];
#endif
