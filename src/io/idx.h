/* idx.h: the IDX format of the MNIST files: a big-endian array with its type and dims in front.
 */
#ifndef SGL_IO_IDX_H
#define SGL_IO_IDX_H
#include "base/err.h"
#include "ir/op.h"

typedef struct IdxArray {
    Dtype dtype;             /* of the tensor: i8 and i16 widen to i32 */
    int rank;
    int64_t dims[OP_MAX_RANK];
    int64_t count;
    const uint8_t *at;       /* elements in the file, borrowed from its bytes */
    int code;                /* type in the file */
} IdxArray;

/* Describes the array in the n bytes. SGL_EFORMAT when they are no IDX file, or end early, or go on
 * behind the last element; `name` (NULL: "idx") is for messages. */
int io_idx_parse(const void *bytes, size_t n, const char *name, IdxArray *out, Err *e);
/* Writes the `count` elements in the dtype of the array, in the machine's byte order. */
void io_idx_read(const IdxArray *a, void *to);
#endif
