/* api.h: between the files of the C interface.
 */
#ifndef SGL_EXEC_API_H
#define SGL_EXEC_API_H
#include "exec/program.h"
#include "sgl.h"

/* A context's programs hang on the slot of the host, whose place the C interface takes. */
struct sgl_program {
    Ctx *cx;
    Program *program;
    Storage **in;                /* by graph input, arguments and state; made once */
    Storage **out;               /* of the run in progress */
    sgl_program *next, **link;   /* list of the context's programs */
};

/* Does the caller's array fit `want`? SGL_EDTYPE, SGL_ESHAPE, SGL_EARG with a text in cx. */
int exec_array_check(Ctx *cx, const char *what, const char *name, const sgl_array *a,
                     const sgl_array *want);
#endif
