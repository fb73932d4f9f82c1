/* check.h: what the shape rules share: reading attributes and refusing with the shapes shown.
 *
 * Attributes come from users (builders) and from text (the parser), so a rule trusts nothing but
 * the layout its schema promises. Every refusal reads
 *     op: what is wrong: f32[64, 128] and f32[64, 10] (64 against 128).
 * with dims and axes counted from 1, as in Lua.
 */
#ifndef SGL_IR_CHECK_H
#define SGL_IR_CHECK_H
#include "ir/graph.h"

/* The rule call being checked; the functions below name its op and its inputs' types. */
typedef struct Check { Ctx *cx; Op op; int nin; Node *const *in; } Check;

/* An attribute of kind P, L or D, borrowed from the encoded words. */
typedef struct AttrList { int n; const int64_t *at; } AttrList;

/* Takes the list that *words begins with and moves *words behind it. */
static inline AttrList ir_take_list(const int64_t **words)
{
    AttrList l = { (int)(*words)[0], *words + 1 };
    *words += 1 + l.n;
    return l;
}

/* The dims that a node's first attribute lists, as bits. */
static inline unsigned ir_listed_dims(const Node *n)
{
    int count;
    unsigned bits = 0;
    const int64_t *dims = ir_attr_list(n, 0, &count);
    for (int i = 0; i < count; i++) bits |= 1u << dims[i];
    return bits;
}

/* `hint` (a way out) may be NULL, `detail` (values against each other) may be NULL. */
int ir_check_fail(const Check *c, int code, const char *what, const char *hint,
                  const char *detail, ...) __attribute__((format(printf, 5, 6)));

/* A dim as text, for messages. */
typedef struct DimText { char at[80]; } DimText;
DimText ir_dim_name(const Ctx *cx, Dim d);

/* The gradient function of a row through which none flows. */
#define NO_GRADIENT(fn)                                                                         \
    int ir_grad_##fn(Node *n, Node *dy, Node **dx)                                              \
    {                                                                                           \
        (void)n, (void)dy, (void)dx;                                                            \
        return 0;                                                                               \
    }

/* The gradient and the reference of a row whose results come together (grad.c, eval.c): what asks
 * for those of one node does not know that. */
#define RESULTS_TOGETHER(fn)                                                                    \
    int ir_grad_##fn(Node *n, Node *dy, Node **dx)                                              \
    {                                                                                           \
        (void)dy, (void)dx;                                                                     \
        return base_fail(n->graph->cx, SGL_EINTERN, "grad: %s alone.", ir_op(n)->name);         \
    }                                                                                           \
    int ir_eval_##fn(const Node *n, const RefArray *const *in, RefArray *out)                   \
    {                                                                                           \
        (void)in, (void)out;                                                                    \
        return base_fail(n->graph->cx, SGL_EINTERN, "eval: %s alone.", ir_op(n)->name);         \
    }

/* A builder returns NULL only after it recorded why. */
static inline int ir_built(const Node *n, const Node *made)
{
    return made ? 0 : n->graph->cx->err.code ? n->graph->cx->err.code : SGL_EINTERN;
}

/* Tests of what a rule is given; each refuses with the shapes in the text, or is 0. */
int ir_check_axis(const Check *c, int64_t axis, int rank);
int ir_check_axes(const Check *c, AttrList axes, int rank);      /* in range, none twice */
int ir_check_dtype(const Check *c, int64_t dtype);               /* a number of dtype.def */
int ir_check_same_dtype(const Check *c);                         /* of all inputs */
int ir_check_number(const Check *c, int input, int classes);     /* its dtype is in the classes */
int ir_check_length(const Check *c, AttrList l, int n, const char *name);
bool ir_dim_below_zero(Ctx *cx, Dim d);                    /* for some value of its symbols */
/* Sets *out: rank, sizes, element count in range. Every rule ends with it. */
int ir_check_result(const Check *c, Dtype dtype, int rank, const Dim *dims, Shape *out);
/* blocks and units (blocks.h) fit a reduced dim of this size; 1 and 1 always do. */
int ir_check_blocks(const Check *c, int64_t blocks, int64_t units, Dim size);
/* *out = a + b, refused when it leaves the integers. */
int ir_check_add(const Check *c, Dim a, Dim b, int dim, Dim *out);
/* *out = a - b, refused with `what` when it can be negative. */
int ir_check_sub(const Check *c, Dim a, Dim b, const char *what, int dim, Dim *out);
#endif
