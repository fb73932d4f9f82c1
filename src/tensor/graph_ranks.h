/* graph_ranks.h: the table that says what a mesh is asked to make of a graph (graph_ranks.c).
 */
#ifndef SGL_TENSOR_GRAPH_RANKS_H
#define SGL_TENSOR_GRAPH_RANKS_H
#include "bind/host.h"
#include "shard/shard.h"

/* The plan in the table, for a mesh of any size if it is only `planned`; raises. */
ShardPlan tensor_ranks_plan(lua_State *L, Host *h, int table, bool planned);
/* How inputs were asked to lie, by number, on the Lua stack. */
const char **tensor_ranks_places(lua_State *L, Host *h, const Graph *g, int table);
#endif
