/* format.h: files of named arrays, and the table of the formats they come in (format.def).
 *
 * A format is one file and one row. Reading trusts no byte: on an error nothing is left, and the
 * message names the file.
 */
#ifndef SGL_IO_FORMAT_H
#define SGL_IO_FORMAT_H
#include "base/arena.h"
#include "base/vec.h"
#include "base/write.h"
#include "ir/op.h"

typedef struct FileArray FileArray;
struct FileArray {
    const char *name;
    const char *foreign;     /* NULL, or a dtype that there is not here: only `name` holds then */
    Dtype dtype;
    int rank;
    int64_t dims[OP_MAX_RANK];
    size_t offset, bytes;    /* of its data in the file that is read */
    const void *data;        /* when it is written, and for `read`; borrowed, not aligned */
    /* When it is written and has no `data`: the bytes, until the next call. NULL: the error is set.
     * It is called once, in the order of the file, also when writing has failed. */
    const void *(*fetch)(const FileArray *, Err *e);
    const void *from;        /* for `fetch`: where they are, */
    void *to;                /* and room for them */
    /* Writes the elements in the dtype and the machine's byte order; NULL: `data` is that. */
    void (*read)(const FileArray *, void *to);
    int code;                /* for `read` */
};
typedef struct FilePair { const char *key, *value; } FilePair;
typedef struct FileArrays {
    Arena arena;             /* names, keys, values */
    VEC(FileArray) arrays;   /* in the order of the file */
    VEC(FilePair) pairs;     /* metadata */
    size_t need;             /* of more than is there: no arrays yet, but so many bytes at first */
} FileArrays;

/* Describes the file of n bytes, whose first `have` are at `bytes`; `name` is for messages.
 * Elements are not looked at. A head that goes on behind what is there sets out->need. */
typedef int (*FormatLoad)(const void *bytes, size_t have, size_t n, const char *name,
                          FileArrays *out, Err *e);
/* Writes the file's bytes. SGL_EARG: what it cannot hold. */
typedef int (*FormatSave)(const FileArray *arrays, int n, const FilePair *pairs, int npairs,
                          FileWrite *to, Err *e);

typedef struct Format {
    const char *name, *endings, *doc;
    FormatLoad load;
    FormatSave save;         /* NULL: it is only read */
} Format;
extern const Format FORMATS[];                       /* ends with a NULL name */

#define READS(name, endings, doc) \
    int io_##name##_load(const void *bytes, size_t have, size_t n, const char *file, \
                         FileArrays *out, Err *e);
#define BOTH(name, endings, doc) \
    READS(name, endings, doc) \
    int io_##name##_save(const FileArray *arrays, int n, const FilePair *pairs, int npairs, \
                         FileWrite *to, Err *e);
#include "io/format.def"
#undef READS
#undef BOTH

const Format *io_format_find(const char *name);      /* NULL: none is called so */
const Format *io_format_of(const char *path);        /* by its ending, .gz left out; the first */
void io_format_free(FileArrays *f);
#endif
