/* safetensors.h: named tensors in a file that other tools read: a JSON header and the raw bytes.
 *
 * Holds: reading trusts no byte: offsets lie inside the data, cover it without overlap or hole, and
 *        fit the dims; names are unique. Writing then reading gives the same tensors in the same
 *        order, each aligned to its element size.
 */
#ifndef SGL_IO_SAFETENSORS_H
#define SGL_IO_SAFETENSORS_H
#include "base/arena.h"
#include "base/vec.h"
#include "ir/op.h"

typedef struct SafeTensor {
    const char *name;
    Dtype dtype;
    int rank;
    int64_t dims[OP_MAX_RANK];
    const void *data;        /* borrowed; not aligned when it points into a file */
    size_t bytes;
} SafeTensor;
typedef struct SafePair { const char *key, *value; } SafePair;       /* of __metadata__ */
typedef struct SafeFile {
    Arena arena;             /* names, keys, values */
    VEC(SafeTensor) tensors; /* in the order of the header */
    VEC(SafePair) pairs;
} SafeFile;

/* Describes the file in the n bytes, which must outlive *out. `name` is for messages. On an error
 * *out is empty. */
int io_safetensors_load(const void *bytes, size_t n, const char *name, SafeFile *out, Err *e);
void io_safetensors_free(SafeFile *f);

/* The file's bytes; *bytes is the caller's (base_mem_free). SGL_EARG on a name given twice. */
int io_safetensors_save(const SafeTensor *tensors, int n, const SafePair *pairs, int npairs,
                        char **bytes, size_t *size, Err *e);
#endif
