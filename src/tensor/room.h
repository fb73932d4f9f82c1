/* room.h: what this room keeps for a Lua state, and its files share among themselves.
 */
#ifndef SGL_TENSOR_ROOM_H
#define SGL_TENSOR_ROOM_H
#include "exec/cache.h"
#include "tensor/recorder.h"

typedef struct Walk Walk;
typedef struct Job Job;

typedef struct TensorRoom {
    Recorder pending; /* operations outside steps */
    Recorder *recorder; /* where operations go now */
    Cache *cache;       /* programs */
    bool cache_warned;  /* of programs that are made again and again */
    bool positions_now; /* pending positions are looked at where they are used: apply.c */
    bool surveying;     /* reads are noted, see break.h */
    Walk *walk;         /* scratch for looking through the pending trace; NULL: none yet */
    Job *job;           /* scratch for running what is pending; NULL: none yet */
    uint64_t seam;      /* where in the user's loop what is pending is run; 0: not known */
    uint64_t last_cut;  /* tensors with smaller ids lost the history they were in */
    int64_t rng_seed, rng_counter;
    int64_t hinted;     /* bytes of storage the collector was told of */
    int64_t segments;   /* parts of pending operations that were run */
    lua_State *running; /* that runs a program now or ran one last, for its prints */
    const void *meta;   /* address of the metatable, to know tensors quickly */
} TensorRoom;

static inline TensorRoom *room_of(const Host *h) { return h->room[ROOM_TENSOR].state; }

/* Ends what walks and runs keep for their next use. */
void tensor_walk_free(Walk *w);
void tensor_job_free(Job *j); /* NULL is allowed */

/* What a file adds to sgl.core, and to the class of tensors. */
extern const luaL_Reg TENSOR_MAKE[], TENSOR_APPLY[], TENSOR_GRAD[], TENSOR_RNG[], TENSOR_GRAPH[],
    TENSOR_SIDE[], TENSOR_BREAK[], TENSOR_CACHE[], TENSOR_DIM[], TENSOR_NUMBER[], TENSOR_CUSTOM[],
    TENSOR_RANKS[], TENSOR_RANKS_PLAN[];
extern const luaL_Reg TENSOR_META[], TENSOR_READ_METHODS[];
void tensor_open_ops(lua_State *L); /* (methods, metatable, host): adds the operators */
/* Push (methods, metatable), or the metatable. */
void tensor_class(lua_State *L, Host *h);
void tensor_graph_class(lua_State *L);
void tensor_dim_class(lua_State *L);
#endif
