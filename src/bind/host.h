/* host.h: what the rooms of Lua share: the host of a Lua state, errors, arguments.
 *
 * One Host, and so one context, belongs to a Lua state. It is a userdata that the registry and
 * every function of the module hold. A room above that keeps something for each Lua state keeps it
 * in its place here, which only the room itself looks into.
 * Holds: Lua may raise a memory error in any call that allocates. So the userdata that owns a
 *        thing is made before the thing, and scratch memory is a userdata too (bind_scratch).
 *        A function that takes a lua_State raises; the others return a status.
 */
#ifndef SGL_BIND_HOST_H
#define SGL_BIND_HOST_H
#include <lauxlib.h>
#include <lua.h>
#include "base/context.h"
#include "ir/op.h"

/* The part of a handle by which the host ends what Lua did not. */
typedef struct Owned Owned;
struct Owned {
    Owned *prev, *next;
    void (*end)(Owned *);
};

typedef struct Host Host;

/* Who is told of errors while Lua code is watched (watch/). */
typedef struct Lookout {
    /* Where the user's tail call stands that became this frame; false: it was none. */
    bool (*tail)(const Host *h, const lua_Debug *ar, SrcPos *out);
    /* The error object on the top, of that code (0: a break), is about to be raised. */
    void (*raising)(lua_State *L, Host *h, int code);
} Lookout;

/* The rooms that keep something, which end in the opposite order. */
typedef enum Room { ROOM_TENSOR, ROOM_WATCH, ROOM_CAPTURE, ROOM_COUNT } Room;

struct Host {
    Ctx *cx;                /* NULL once the Lua state closed */
    Owned owned;            /* head of the ring of handles */
    struct Events *events;  /* on their way to Lua's callbacks */
    uint64_t version;       /* counts writes to objects that have their fields behind */
    const Lookout *lookout; /* NULL: nothing is watched */
    struct {
        void *state; /* NULL: the room is not open */
        void (*close)(Host *h, void *state);
    } room[ROOM_COUNT];
};

/* host.c */
Host *bind_of(lua_State *L);   /* of a C function: its first upvalue */
Host *bind_open(lua_State *L); /* finds or makes it; pushes the userdata */
Host *bind_peek(lua_State *L); /* the one there is, or NULL; pushes nothing */
/* The room's state, zeroed; raises. It is closed, then freed, when the Lua state ends. */
void *bind_room(lua_State *L, Host *h, Room room, size_t size, void (*close)(Host *h, void *state));
void bind_own(Host *h, Owned *o, void (*end)(Owned *));
void bind_disown(Owned *o);
void *bind_scratch(lua_State *L, size_t count, size_t size); /* pushes it; zeroed */
Str *bind_text(lua_State *L);             /* pushes a string builder that Lua frees */
int bind_text_push(lua_State *L, Str *s); /* its content as a Lua string; returns 1 */

/* class.c */
/* Pushes the metatable of that name; makes it if it is new, its __index from n lists. */
void bind_class(lua_State *L, const char *name, const luaL_Reg *meta,
                const luaL_Reg *const *methods, int n);
bool bind_is_class(lua_State *L, int meta); /* is it a metatable that bind_class made? */
/* How bind_kind calls the objects of the class on the top, where it is not by the class's name. */
typedef struct ClassKind {
    const char *(*of)(lua_State *L, int arg); /* NULL: it is; may push */
} ClassKind;
void bind_class_kind(lua_State *L, const ClassKind *kind);
/* Adds functions, which hold the host, to the table on the top. */
void bind_functions(lua_State *L, const luaL_Reg *const *lists, int n);
void bind_open_functions(lua_State *L); /* those of this room */

/* error.c. The first two do not return: their int is for `return bind_raise(…)`. */
int bind_raise(lua_State *L, int code, const char *hint, const char *fmt, ...);
void bind_raising(lua_State *L, Host *h, int code); /* tells the lookout, if there is one */
int bind_throw(lua_State *L, Host *h);             /* raises the context's error and clears it */
int bind_fail(lua_State *L, const Err *e);         /* pushes nil, message, code; returns 3 */
SrcPos bind_position(lua_State *L, lua_Debug *ar); /* the user's; file is NULL if unknown, or
                                                      lives as long as *ar and the context */
Src bind_src(lua_State *L, Host *h, const char *in); /* in: a function of the library, or NULL */
const char *bind_plain_name(const char *file); /* without "./" */

/* explain.c: the message of an error that nobody caught, with its cause where that is known;
 * pushes. */
const char *bind_explain(lua_State *L, const char *message);

/* args.c: `what` begins the message, such as the name of the op. */
const char *bind_kind(lua_State *L, int arg);                 /* "a tensor", "nil" …; pushes */
/* The object of class "sgl.graph" … that a method was called on; raises where a dot stood for the
 * colon. */
void *bind_check_self(lua_State *L, const char *class);
Dtype bind_check_dtype(lua_State *L, int arg, int otherwise); /* for nil; -1: not allowed */
/* Raises: what is not among the names that there are, with the nearest of them. */
int bind_unknown(lua_State *L, const char *what, const char *all, const char *name,
                 const char *const *known, int n);
Op bind_check_op(lua_State *L, int arg);
/* The length of the list; one with its fields behind is replaced by those. */
int bind_check_list(lua_State *L, int arg, const char *what);
int bind_check_axis(lua_State *L, const char *what, lua_Integer axis, const Shape *of);
void bind_push_type(lua_State *L, const Shape *s); /* "f32[2, 3]" */
/* A text as a field of the table on the top; NULL: no field. */
void bind_set_text(lua_State *L, const char *key, const char *value);

/* fields.c: objects that have their fields in a table behind, and a version that counts writes. */
/* Pushes the table at `at`, or, if it is such an object, the one with its fields: true. */
bool bind_push_fields(lua_State *L, int at);
void bind_fields_touch(lua_State *L, int at); /* such fields are written to */

/* interrupt.c: the first Ctrl-C lets a step end, the second stops it, the next ends the process. */
void bind_interrupt_arm(lua_State *L, bool on);   /* of the interpreter: installs the handler */
lua_State *bind_interrupt_state(void);            /* the one that is armed, or NULL */
void bind_interrupt_taken(lua_State *L, Host *h); /* the request is being answered */
void bind_interrupt_check(lua_State *L, Host *h); /* raises if there is one */
void bind_interrupt_again(void);                  /* it was caught where it must not end */
void bind_interrupt_ready(void);                  /* a session begins its next line */
void bind_interrupt_hold(bool on);                /* the hook is another's until it is off again */
void bind_interrupt_watch(Ctx *cx);               /* programs of this context; NULL: none */
#endif
