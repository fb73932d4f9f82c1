/* api.h: between the files of the C interface.
 */
#ifndef SGL_CAPI_API_H
#define SGL_CAPI_API_H
#include <pthread.h>
#include "exec/program.h"
#include "sgl.h"

/* Hangs on the slot of the host, whose place the C interface takes. */
typedef struct Api {
    pthread_mutex_t lock;        /* recursive: a callback's calls are refused, not waited for */
    sgl_program *programs;
    bool telling;                /* a callback is being called */
} Api;

struct sgl_program {
    Ctx *cx;
    Program *program;
    int64_t age;                 /* of the context's programs when it was made (exec/settings.h) */
    Storage **in;                /* by graph input, arguments and state; made once */
    Storage **out;               /* of the run in progress */
    int64_t *values;             /* of symbolic sizes, those of the last run; NULL: all are known */
    int nvalues;
    sgl_program *next, **link;   /* list of the context's programs */
};

/* What the C interface keeps for the context. */
Api *capi_api(const Ctx *cx);
/* The error of calls without a context, which sgl_error(NULL) tells, cleared. */
Err *capi_api_error(void);
/* Begins a call: clears the error. SGL_EARG: no context; SGL_ESTATE: called from a callback, whose
 * caller's error stays. */
int capi_api_enter(Ctx *cx);
/* The same for calls that several threads may make at once: they go one after the other. What one
 * fails with is told to its thread. */
int capi_api_lock(Ctx *cx);
int capi_api_unlock(Ctx *cx, int code);                  /* returns the code */

Storage *capi_state(const sgl_program *p, int i);        /* of state i, which there is */

/* sizes.c: programs whose graph has symbolic sizes. */
/* Values to compile with: some that the sizes may have. Negative with the context's error set. */
int capi_sizes_begin(sgl_program *p, const Graph *g);
/* The values that the inputs have, which must fit; 1: others than before. Negative as above. */
int capi_sizes_read(sgl_program *p, const Graph *g, const sgl_array *in);
SizeValues capi_sizes(const sgl_program *p);
/* The type of a node for the sizes at hand. */
sgl_array capi_type_now(const sgl_program *p, const Node *n);

/* Does the caller's array fit `want`, where a size of -1 is any? SGL_EDTYPE, SGL_ESHAPE, SGL_EARG
 * with a text in cx. */
int capi_array_check(Ctx *cx, const char *what, const char *name, const sgl_array *a,
                     const sgl_array *want);
#endif
