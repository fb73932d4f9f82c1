/* op.h: what op.def expands to: the enum and the table OPS.
 *
 * A new elementwise op is one row of op.def. A new structured op is a row and three functions in
 * op_<family>.c (rules.c puts them into a table). Nothing outside ir/ and kern/ asks which op a
 * node is by a switch.
 */
#ifndef SGL_IR_OP_H
#define SGL_IR_OP_H
#include <stdbool.h>
#include <stdint.h>
#include "ir/dim.h"
#include "ir/dtype.h"

typedef enum Op {
#define UNARY(name, types, value, grad, domain, onnx, doc) OP_##name,
#define TEST(name, types, value, domain, onnx, doc) OP_##name,
#define BINARY(name, types, value, gx, gy, domain, onnx, doc) OP_##name,
#define COMPARE(name, types, value, domain, onnx, doc) OP_##name,
#define SELECT(name, types, value, domain, onnx, doc) OP_##name,
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc) OP_##name,
#include "ir/op.def"
#include "ir/op_undef.h"
    OP_COUNT
} Op;

typedef enum Family {
    FAM_unary, FAM_test, FAM_binary, FAM_compare, FAM_select,      /* elementwise */
    FAM_leaf, FAM_cast, FAM_movement, FAM_reduce, FAM_dot, FAM_index, FAM_control, FAM_custom,
    FAM_result, FAM_effect, FAM_comm
} Family;
static inline bool ir_family_elementwise(Family f) { return f <= FAM_select; }

typedef enum Domain {
    DOM_NONE, DOM_REAL, DOM_NONZERO, DOM_POSITIVE, DOM_UNIT, DOM_BROKEN, DOM_APART, DOM_SMALLINT,
    DOM_ANYTHING, DOM_INDEX, DOM_RNGSTATE
} Domain;

/* Which dims are cut into shards together: factor.h. */
typedef enum FactorLayout {
    LAYOUT_same, LAYOUT_fresh, LAYOUT_grow, LAYOUT_groups, LAYOUT_permute, LAYOUT_touch,
    LAYOUT_less, LAYOUT_dot, LAYOUT_gather, LAYOUT_scatter, LAYOUT_blocks, LAYOUT_whole
} FactorLayout;
typedef enum FactorKind {
    FACTOR_keep,             /* passes through */
    FACTOR_new,              /* in the result only */
    FACTOR_fix,              /* must be whole */
    FACTOR_sum, FACTOR_prod, FACTOR_max, FACTOR_min,   /* gone: the result is partial */
    FACTOR_pick,             /* gathered: the owner gives the row, the others -0 */
    FACTOR_own               /* scattered: a shard adds the rows it has */
} FactorKind;

typedef struct Node Node;
typedef struct Graph Graph;
typedef struct RefArray RefArray;

enum { OP_MAX_RANK = 12 };
typedef struct Shape { Dtype dtype; int rank; Dim dims[OP_MAX_RANK]; } Shape;

/* Dtype and dims of the result from the inputs and attributes (which are complete and well formed
 * by the schema); or a negative code with the context's error set, the shapes in its text. */
typedef int (*ShapeFn)(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out);
/* Sets dx[i] for each input that has a gradient, NULL for those without; *dx starts all NULL. */
typedef int (*GradFn)(Node *n, Node *dy, Node **dx);
/* Computes the node in double from its inputs' arrays; out->at is allocated, out->dims known.
 * Negative with the context's error set on, say, an index out of range. */
typedef int (*EvalFn)(const Node *n, const RefArray *const *in, RefArray *out);

typedef struct OpInfo {
    const char *name;
    Family family;
    int inputs;            /* -1: any number, at least one */
    int types;             /* classes taken (CLASS_*), for elementwise ops */
    const char *value;     /* text of the value expression, for elementwise ops */
    const char *attrs;     /* schema */
    bool flows;            /* a gradient flows through it, to some input */
    Domain domain;
    FactorLayout layout;
    FactorKind kind;       /* of the dims that the op treats in a special way */
    const char *onnx, *doc;
} OpInfo;

/* What an op does. Files that make and walk graphs reach it through the context (ir_rules), so
 * that they do not know the ops, which are written with them. */
typedef struct OpRules {
    ShapeFn shape;
    GradFn grad;           /* NULL: no gradient flows */
    EvalFn eval;
} OpRules;

extern const OpInfo OPS[OP_COUNT];

/* The text of a gradient column of op.def is the word NULL or an expression, and no expression is
 * as short. */
#define NO_GRAD(text) (sizeof text == sizeof "NULL")
int ir_op_find(const char *name);      /* Op, or -1 */
#endif
