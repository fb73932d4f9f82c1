/* context.h: what one engine owns: its last error, settings, source positions, dims, threads.
 *
 * A context is used by one thread at a time. Folders below hang their tables on `slot`, which
 * this file knows only as pointers with a destructor, so base stays ignorant of them.
 */
#ifndef SGL_BASE_CONTEXT_H
#define SGL_BASE_CONTEXT_H
#include <stdatomic.h>
#include <stdint.h>
#include "base/err.h"
#include "base/knob.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct sgl_context Ctx;
typedef uint32_t Src;               /* a position in the user's source; 0: unknown */
typedef struct SrcPos {
    const char *file;
    int line;
    const char *in;                 /* the function of the library that the line calls, or NULL */
} SrcPos;

enum { CTX_OPS, CTX_OBS, CTX_DIMS, CTX_COMM, CTX_EXEC, CTX_HOST, CTX_SLOTS };

struct sgl_context {
    Err err;
    Knobs knobs;
    Interner names;                 /* strings that live as long as the context */
    VEC(SrcPos) sources;
    Map source_ids;
    Pool *pool;                     /* made at first use by base_ctx_pool */
    int streams;                    /* of the device that is compiled for; 0: it has none */
    void *slot[CTX_SLOTS];
    void (*slot_free[CTX_SLOTS])(void *);
    atomic_int asked;               /* set by a signal handler: what changes nothing may end, such
                                       as reading a file */
    atomic_int interrupted;         /* set there or by another thread: programs stop at the next
                                       step */
};

Ctx *base_ctx_new(Err *e);          /* reads the environment; NULL with *e set */
void base_ctx_free(Ctx *cx);
Pool *base_ctx_pool(Ctx *cx);       /* the pool, by the knob `threads`; NULL: out of memory */
/* A position, interned; 0 when memory is out. */
Src base_src(Ctx *cx, const char *file, int line, const char *in);
SrcPos base_src_pos(const Ctx *cx, Src s);              /* {"?", 0, NULL} for 0 */

/* The error of memory that was not there for `what`, such as "a graph"; SGL_ENOMEM. */
int base_no_memory(Ctx *cx, const char *what);
/* base_err_set on the context's error. */
int base_fail(Ctx *cx, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#endif
