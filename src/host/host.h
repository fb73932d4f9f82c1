/* host.h: what all files of this folder share: the host of a Lua state, errors, arguments.
 *
 * One Host, and so one context, belongs to a Lua state. It is a userdata that the registry and
 * every function of the module hold.
 * Holds: Lua may raise a memory error in any call that allocates. So the userdata that owns a
 *        thing is made before the thing, and scratch memory is a userdata too (host_scratch).
 *        A function that takes a lua_State raises; the others return a status.
 */
#ifndef SGL_HOST_HOST_H
#define SGL_HOST_HOST_H
#include <lauxlib.h>
#include <lua.h>
#include "base/context.h"
#include "ir/op.h"

#define HOST_VERSION "0.1.0"

/* The part of a handle by which the host ends what Lua did not. */
typedef struct Owned Owned;
struct Owned {
    Owned *prev, *next;
    void (*end)(Owned *);
};

typedef struct Host {
    Ctx *cx;                 /* NULL once the Lua state closed */
    Owned owned;             /* head of the ring of handles */
    struct Trace *pending;   /* operations recorded outside a capture; NULL: none */
    struct Capture *capture; /* the capture that is on; NULL: none */
    int recording;           /* captures under way; one is until it is a program or failed */
    struct Cache *cache;     /* programs */
    bool cache_warned;       /* of programs that are made again and again */
    struct Events *events;   /* on their way to Lua's callbacks */
    struct Walk *walk;       /* scratch for looking through the pending trace; NULL: none yet */
    uint64_t last_cut;       /* tensors with smaller ids lost the history they were in */
    lua_State *running;      /* that runs a program now or ran one last, for its prints */
    int64_t rng_seed, rng_counter;
    int64_t hinted;          /* bytes of storage the collector was told of */
    const void *tensor_meta; /* address of the metatable, to know tensors quickly */
    uint64_t version;        /* counts writes to objects that have their fields behind */
    uint64_t rules;          /* counts what `debug` changes of types, modules and the library */
    int64_t segments;        /* parts of pending operations that were run */
    bool surveying;          /* reads are noted, see break.h */
    bool tested;             /* the hook of captures was found to work */
    Map purity;              /* C functions whose effects are known, by address */
} Host;

/* host.c */
Host *host_of(lua_State *L);   /* of a C function: its first upvalue */
Host *host_open(lua_State *L); /* finds or makes it; pushes the userdata */
void host_own(Host *h, Owned *o, void (*end)(Owned *));
void host_disown(Owned *o);
void *host_scratch(lua_State *L, size_t count, size_t size); /* pushes it; zeroed */
Str *host_text(lua_State *L);             /* pushes a string builder that Lua frees */
int host_text_push(lua_State *L, Str *s); /* its content as a Lua string; returns 1 */
bool host_is_class(lua_State *L, int meta); /* is it a metatable that host_class made? */
/* Pushes the metatable of that name; makes it if it is new, its __index from n lists. */
void host_class(lua_State *L, const char *name, const luaL_Reg *meta,
                const luaL_Reg *const *methods, int n);

/* error.c. The first two do not return: their int is for `return host_raise(…)`. */
int host_raise(lua_State *L, int code, const char *hint, const char *fmt, ...);
int host_throw(lua_State *L, Host *h);             /* raises the context's error and clears it */
int host_fail(lua_State *L, const Err *e);         /* pushes nil, message, code; returns 3 */
SrcPos host_position(lua_State *L, lua_Debug *ar); /* the user's; file is NULL if unknown, or
                                                      lives as long as *ar and the context */
Src host_src(lua_State *L, Host *h);
const char *host_plain_name(const char *file); /* without "./" */

/* args.c: `what` begins the message, such as the name of the op. */
const char *host_kind(lua_State *L, int arg);                 /* "a tensor", "nil" …; pushes */
/* The object of class "sgl.graph" … that a method was called on; raises where a dot stood for the
 * colon. */
void *host_check_self(lua_State *L, const char *class);
/* For an error at an argument of a method of tensors, called by its name; pushes it. Else NULL. */
const char *host_colon_hint(lua_State *L);
Dtype host_check_dtype(lua_State *L, int arg, int otherwise); /* for nil; -1: not allowed */
/* Raises: what is not among the names that there are, with the nearest of them. */
int host_unknown(lua_State *L, const char *what, const char *all, const char *name,
                 const char *const *known, int n);
Op host_check_op(lua_State *L, int arg);
/* The length of the list; one with its fields behind is replaced by those. */
int host_check_list(lua_State *L, int arg, const char *what);
lua_Integer host_check_item(lua_State *L, int arg, int i, const char *what);
/* The rank; the sizes may be symbolic. */
int host_check_dims(lua_State *L, int arg, const char *what, int64_t *dims);
int host_check_axis(lua_State *L, const char *what, lua_Integer axis, const Shape *of);
void host_push_dims(lua_State *L, int rank, const int64_t *dims);
void host_push_type(lua_State *L, const Shape *s); /* "f32[2, 3]" */

/* The functions of sgl.core, by the file that holds them; core.c puts them together. */
extern const luaL_Reg HOST_ERROR[], HOST_ARGS[], HOST_MAKE[], HOST_READ[], HOST_APPLY[],
    HOST_GRAD[], HOST_RNG[], HOST_CAPTURE[], HOST_CONTROL[], HOST_EFFECT[], HOST_GRAPH[],
    HOST_INFO[], HOST_TABLES[], HOST_IO[], HOST_GUARD[], HOST_BREAK[], HOST_KNOBS[], HOST_EVENTS[],
    HOST_CACHE[], HOST_DIM[], HOST_RESULT[];
extern const luaL_Reg HOST_TENSOR_META[], HOST_TENSOR_METHODS[], HOST_READ_METHODS[];
void host_open_error(lua_State *L); /* the host is on the top */
void host_open_ops(lua_State *L); /* (methods, metatable, host): adds the operators */
/* Push (methods, metatable), or the metatable. */
void host_tensor_class(lua_State *L, Host *h);
void host_graph_class(lua_State *L);
void host_program_class(lua_State *L);
void host_push_methods(lua_State *L); /* sgl.Tensor, the table of tensors' methods */
int host_open_core(lua_State *L); /* module sgl.core */

/* interrupt.c: Ctrl-C stops a program at its next step and Lua code at its next instruction. */
void host_interrupt_arm(lua_State *L, bool on);   /* of the interpreter: installs the handler */
void host_interrupt_taken(lua_State *L, Host *h); /* the request is being answered */
void host_interrupt_check(lua_State *L, Host *h); /* raises if there is one */
void host_interrupt_again(void);                  /* it was caught where it must not end */
void host_interrupt_watch(Ctx *cx);               /* programs of this context; NULL: none */

/* loader.c, line.c */
void host_preload(lua_State *L);  /* the embedded modules, so that no file shadows them */
int host_open_line(lua_State *L); /* module sgl.line: reads lines for the REPL */

void host_open_raw(lua_State *L, Host *h); /* raw.c: rawset and others, and those of `debug` */
#endif
