/* graph.h: graphs as Lua sees them.
 */
#ifndef SGL_TENSOR_GRAPH_H
#define SGL_TENSOR_GRAPH_H
#include "tensor/trace.h"

typedef struct GraphBox {
    Owned owned;
    Graph *graph;              /* owned; NULL: closed */
    int kernels;               /* of the program made of it, for printing; -1: unknown */
} GraphBox;

GraphBox *tensor_graph_new(lua_State *L, Host *h);      /* pushes an empty one, clears the error */
int tensor_graph_made(lua_State *L, Host *h, const GraphBox *b);  /* 1, or raises if still empty */
GraphBox *tensor_graph_check(lua_State *L);             /* the open one that is argument 1 */
const Node *tensor_graph_node(lua_State *L, const Graph *g, int arg);   /* by its id, "%3" */

extern const luaL_Reg TENSOR_EVAL_METHODS[];            /* graph_eval.c */
extern const luaL_Reg TENSOR_SPLICE_METHODS[];          /* splice.c */
int tensor_graph_stage(lua_State *L);                   /* g:show(stage) */
const char *tensor_stage(lua_State *L, int arg);        /* an argument that names a stage */
#endif
