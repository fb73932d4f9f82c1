/* factor.h: how an op's dims belong together when its inputs and result are cut into shards.
 *
 * A factor is one dim of some inputs and of the result, that are cut alike or not at all. Which
 * there are is data: the two columns `layout` and `kind` of op.def. A dim without a factor must be
 * whole. The layout says which dims of inputs are which of the result:
 *
 *   same     dim by dim, on all inputs
 *   fresh    only the result has dims
 *   grow     dim by dim; a dim of size 1 that is repeated is new
 *   groups   per run of dims with equal product, the outermost of each; in units if sizes differ
 *   permute  dim i of the result is dim dims[i] of the input
 *   touch    dim by dim, but for dims in the op's list or of another size
 *   less     the result lacks the dims in the op's list
 *   dot      [b…, m…, k] times [b…, k, n] gives [b…, m…, n]
 *   gather   the dim gives way to those of the index
 *   scatter  the same for the third input, which is added to the first
 *   blocks   what the blocks of a control node say
 *   whole    no dim may be cut
 *
 * and `kind` what the dims are that the op treats in a special way: those in its list, the
 * contracted, the gathered one.
 */
#ifndef SGL_IR_FACTOR_H
#define SGL_IR_FACTOR_H
#include "ir/graph.h"

typedef struct Factors {
    int n;
    uint8_t kind[3 * OP_MAX_RANK]; /* FactorKind, by factor */
    int8_t out[OP_MAX_RANK];       /* by dim of the result: its factor, or -1 */
} Factors;

/* The factors of n: in[i][d] is that of dim d of input i, or -1; it has room for all inputs. */
void ir_factors(const Node *n, Factors *out, int8_t (*in)[OP_MAX_RANK]);
const char *ir_factor_name(FactorKind kind);
const char *ir_layout_name(FactorLayout layout);
#endif
