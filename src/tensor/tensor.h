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
typedef struct Recorder Recorder; /* recorder.h */
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
    const void *made;          /* the code after `t[key]` that read it out of another; or NULL */
    bool leaf;                 /* was assigned: has no history, and no node once computed */
    bool cut;                  /* a leaf that was computed: its history is gone */
    enum { STRONG, WEAK_INT, WEAK_FLOAT } weak; /* inside a step: a number, see number.h */
    const char *place;         /* how ranks share it, as asked (shard.h); NULL: as it comes */
    bool known;                /* weak: which of the two, whatever the arguments are */
    enum { TENSOR_ALIVE, TENSOR_CLOSED, TENSOR_ESCAPED } life;
};

Tensor *tensor_new(lua_State *L, Host *h);           /* pushes it, without a value */
Tensor *tensor_make(lua_State *L, Host *h, Dtype dtype, int rank, const int64_t *dims);
Tensor *tensor_at(lua_State *L, Host *h, int arg);   /* NULL: not a tensor */
Dtype tensor_dtype(const Tensor *t);
Shape tensor_shape(const Tensor *t);
void tensor_bind(Tensor *t, Trace *tr, Node *n);     /* its value too when known */
void tensor_computed(Tensor *t, Storage *s);         /* the value of its node, which it keeps */
void tensor_set(Tensor *t, Storage *s);              /* takes s: t is a leaf now */
uint64_t tensor_id(void);                            /* a new one, larger than all before */
void tensor_renew(Tensor *t);                        /* its storage got another value */
bool tensor_ids(const Host *h, Map *ids);            /* of all; false: no memory */
void tensor_detach(Tensor *t);                       /* leaves its trace */
void tensor_hint_memory(lua_State *L, Host *h);             /* tells the collector of storage */

void tensor_push_methods(lua_State *L); /* sgl.Tensor, the table of tensors' methods */
/* The value; raises. In a step only what the step does not compute can be read. */
Storage *tensor_value(lua_State *L, Host *h, int arg, const char *what);
/* The elements, for the host to read; raises where they cannot be fetched. */
const void *tensor_host(lua_State *L, Host *h, const Storage *s);
/* Positions are looked at where they are used: pending ones too? */
void tensor_positions_now(Host *h, bool on);
/* Runs what is pending for these. */
int tensor_realize(Host *h, int n, Tensor *const *list);

/* open.c */
void tensor_runs(lua_State *L, Host *h);       /* a program is about to run, for this state */
lua_State *tensor_running(const Host *h);      /* the state that runs one now or ran one last */
/* Adds the functions of this room to the table on the top. */
void tensor_open(lua_State *L, Host *h);
struct Cache *tensor_programs(const Host *h);  /* compiled so far */
#endif
