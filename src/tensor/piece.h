/* piece.h: slices of known values, copied out without a program.
 */
#ifndef SGL_TENSOR_PIECE_H
#define SGL_TENSOR_PIECE_H
#include "tensor/trace.h"

/* Gives a slice of a value known to the trace, or a reshape of one, its value, where that is small
 * and on the host. SGL_OK, also where it is left to a program; SGL_ENOMEM with the error set. */
int tensor_piece(Trace *tr, const Node *n);
#endif
