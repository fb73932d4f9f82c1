/* tensor.h: tensors as Lua sees them: handles on a value, on a recorded node, or on both.
 *
 *   leaf       storage            made from data, or assigned
 *   pending    trace, node        an operation not yet run
 *   computed   trace, node and storage; the node stays because gradients go through it
 * A handle is in the ring of its trace while it has one, pending ones behind those with a value.
 */
#ifndef SGL_TENSOR_TENSOR_H
#define SGL_TENSOR_TENSOR_H
#include "dev/storage.h"
#include "bind/host.h"
#include "ir/graph.h"

typedef struct Trace Trace;
typedef struct Origin Origin;
typedef struct Tensor Tensor;
struct Tensor {
    Owned owned;
    Tensor *prev, *next;
    Trace *trace;
    Node *node;
    Storage *storage;          /* a reference */
    uint64_t id;               /* of its value as a leaf: new when it gets another value */
    uint64_t born;             /* its first id */
    Origin *origin;            /* of a result of a program: what it came out of; a reference */
    int result;                /* its number there */
    bool leaf;                 /* was assigned: has no history, and no node once computed */
    bool cut;                  /* a leaf that was computed: its history is gone */
    enum { STRONG, WEAK_INT, WEAK_FLOAT } weak; /* inside a step: a number, see number.h */
    bool known;                /* weak: which of the two, whatever the arguments are */
    enum { TENSOR_ALIVE, TENSOR_CLOSED, TENSOR_ESCAPED } life;
};

Tensor *tensor_new(lua_State *L, Host *h);           /* pushes it, without a value */
Tensor *tensor_make(lua_State *L, Host *h, Dtype dtype, int rank, const int64_t *dims);
Tensor *tensor_at(lua_State *L, Host *h, int arg);   /* NULL: not a tensor */
Tensor *tensor_check(lua_State *L, Host *h, int arg, const char *what);  /* and alive */
/* The same, but it may be a number of a step, which to the user is no tensor. */
Tensor *tensor_or_number(lua_State *L, Host *h, int arg, const char *what);
/* Checks a list of tensors; pushes scratch with them, borrowed from the list. */
Tensor **tensor_list(lua_State *L, Host *h, int arg, const char *what, int *n);
Shape tensor_shape(const Tensor *t);
void tensor_bind(Tensor *t, Trace *tr, Node *n);     /* its value too when known */
void tensor_computed(Tensor *t, Storage *s);         /* the value of its node, which it keeps */
void tensor_set(Tensor *t, Storage *s);              /* takes s: t is a leaf now */
uint64_t tensor_id(void);                            /* a new one, larger than all before */
void tensor_renew(Tensor *t);                        /* its storage got another value */
bool tensor_ids(const Host *h, Map *ids);            /* of all; false: no memory */
void tensor_detach(Tensor *t);                       /* leaves its trace */
void tensor_hint_memory(lua_State *L, Host *h);             /* tells the collector of storage */

/* open.c: adds the functions of this room to the table on the top. */
void tensor_open(lua_State *L, Host *h);
/* What a file adds to sgl.core, and to the class of tensors. */
extern const luaL_Reg TENSOR_MAKE[], TENSOR_APPLY[], TENSOR_GRAD[], TENSOR_RNG[], TENSOR_GRAPH[],
    TENSOR_CACHE[], TENSOR_DIM[];
extern const luaL_Reg TENSOR_META[], TENSOR_METHODS[], TENSOR_READ_METHODS[];
void tensor_open_ops(lua_State *L); /* (methods, metatable, host): adds the operators */
/* Push (methods, metatable), or the metatable. */
void tensor_class(lua_State *L, Host *h);
void tensor_graph_class(lua_State *L);
void tensor_push_methods(lua_State *L); /* sgl.Tensor, the table of tensors' methods */

/* Values. Reading runs what is pending; inside a capture only leaves can be read. */
int tensor_realize(Host *h, int n, Tensor *const *list);
typedef struct Job Job;
void tensor_job_free(Job *j);                        /* what the host keeps for that; or NULL */
Storage *tensor_value(lua_State *L, Host *h, int arg, const char *what);
/* The elements, for the host to read; raises where they cannot be fetched. */
const void *tensor_host(lua_State *L, Host *h, const Storage *s);
#endif
