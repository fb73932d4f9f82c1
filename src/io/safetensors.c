/* safetensors.c: reading the format: an 8-byte length, a JSON header, the tensors' bytes.
 *
 * A tensor of a dtype that there is not here is described by its name: the others can be read.
 * Holds: offsets lie inside the data, cover it without overlap or hole, and fit the dims; names
 *        are unique. Writing (safetensors_save.c) then reading gives the same tensors in the same
 *        order, each aligned to its element size.
 */
#include "io/format.h"
#include <stdlib.h>
#include <string.h>
#include "io/json.h"

enum { LENGTH_BYTES = 8, HEADER_MAX = 100 << 20 };

/* A file being read: offsets of tensor i are begin[i] and its end. */
typedef struct Reader {
    Json json;
    FileArrays *file;
    size_t data, data_bytes; /* where it begins, and its size */
} Reader;

static int fail(const Reader *r, const FileArray *t, const char *what)
{
    return base_err_set(r->json.err, SGL_EFORMAT, "%s: tensor '%s': %s", r->json.name, t->name,
                        what);
}

static int read_dtype(Reader *r, FileArray *t)
{
    const char *name = io_json_string(&r->json);
    if (!name) return r->json.code;
    for (int i = 0; i < DT_COUNT; i++)
        if (strcmp(name, DTYPES[i].safetensors) == 0) {
            t->dtype = (Dtype)i;
            return SGL_OK;
        }
    t->foreign = name;
    return SGL_OK;
}

static int read_shape(Reader *r, FileArray *t)
{
    bool first = true;
    int64_t dim;
    io_json_expect(&r->json, '[');
    while (io_json_more(&r->json, ']', &first) && io_json_natural(&r->json, &dim)) {
        if (t->rank == OP_MAX_RANK) return fail(r, t, "more than 12 dims");
        t->dims[t->rank++] = dim;
    }
    return r->json.code;
}

/* Where the tensor's bytes lie. Whether they overlap those of others is seen when all are known
 * (check_all). */
static int read_offsets(Reader *r, FileArray *t)
{
    Json *j = &r->json;
    int64_t begin, end;
    if (!io_json_expect(j, '[') || !io_json_natural(j, &begin) || !io_json_expect(j, ',') ||
        !io_json_natural(j, &end) || !io_json_expect(j, ']'))
        return j->code;
    if (begin > end || (uint64_t)end > r->data_bytes)
        return base_err_set(j->err, SGL_EFORMAT,
                            "%s: tensor '%s': bytes %lld to %lld are outside the %zu of the file%s",
                            j->name, t->name, (long long)begin, (long long)end, r->data_bytes,
                            begin > end ? "" : " (truncated?)");
    t->offset = r->data + (size_t)begin;
    t->bytes = (size_t)(end - begin);
    return SGL_OK;
}

typedef struct TensorField {
    const char *name;
    int (*read)(Reader *r, FileArray *t);
} TensorField;

static const TensorField FIELDS[] = {
    {"dtype", read_dtype},
    {"shape", read_shape},
    {"data_offsets", read_offsets},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

static int check_size(const Reader *r, const FileArray *t)
{
    size_t bytes = DTYPES[t->dtype].bytes;
    for (int i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(bytes, (size_t)t->dims[i], &bytes))
            return fail(r, t, "its dims exceed any memory");
    return bytes == t->bytes ? SGL_OK : fail(r, t, "its bytes do not fit its dims");
}

/* One member of the header: each field once, in any order, and no other. */
static int read_tensor(Reader *r, const char *name)
{
    FileArray t = {.name = name};
    bool first = true, seen[FIELD_COUNT] = {0};
    io_json_expect(&r->json, '{');
    while (io_json_more(&r->json, '}', &first)) {
        const char *key = io_json_string(&r->json);
        int i = 0, code;
        while (key && i < FIELD_COUNT && strcmp(key, FIELDS[i].name) != 0) i++;
        if (!key || !io_json_expect(&r->json, ':')) return r->json.code;
        if (i == FIELD_COUNT || seen[i]) return io_json_fail(&r->json, "unexpected key");
        seen[i] = true;
        if ((code = FIELDS[i].read(r, &t)) < 0) return code;
    }
    if (r->json.code < 0) return r->json.code;
    for (int i = 0; i < FIELD_COUNT; i++)
        if (!seen[i]) return fail(r, &t, "dtype, shape or data_offsets is missing");
    if (!t.foreign && check_size(r, &t) < 0) return SGL_EFORMAT;
    if (vec_push(&r->file->arrays, t)) return SGL_OK;
    return base_err_set(r->json.err, SGL_ENOMEM, "%s: no memory for its header", r->json.name);
}

static int read_metadata(Reader *r)
{
    bool first = true;
    io_json_expect(&r->json, '{');
    while (io_json_more(&r->json, '}', &first)) {
        FilePair p = {.key = io_json_string(&r->json)};
        if (p.key && io_json_expect(&r->json, ':')) p.value = io_json_string(&r->json);
        if (!p.value) return r->json.code;
        if (!vec_push(&r->file->pairs, p))
            return base_err_set(r->json.err, SGL_ENOMEM, "%s: no memory for its metadata",
                                r->json.name);
    }
    return r->json.code;
}

/* Tensors and metadata, in the order of the file. */
static int read_header(Reader *r)
{
    bool first = true, metadata = false;
    io_json_expect(&r->json, '{');
    while (io_json_more(&r->json, '}', &first)) {
        const char *name = io_json_string(&r->json);
        if (!name || !io_json_expect(&r->json, ':')) return r->json.code;
        bool is_metadata = strcmp(name, "__metadata__") == 0;
        if (is_metadata && metadata) return io_json_fail(&r->json, "__metadata__ comes twice");
        metadata |= is_metadata;
        int code = is_metadata ? read_metadata(r) : read_tensor(r, name);
        if (code < 0) return code;
    }
    io_json_end(&r->json);
    return r->json.code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(FileArray *const *)a)->name, (*(FileArray *const *)b)->name);
}

/* By place in the file; empty tensors before those that begin where they stand. */
static int by_data(const void *a, const void *b)
{
    const FileArray *x = *(FileArray *const *)a, *y = *(FileArray *const *)b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Names are unique, and the data is covered once. `sorted` has room for all tensors. */
static int check_all(const Reader *r, const FileArray **sorted)
{
    const FileArrays *f = r->file;
    size_t n = (size_t)f->arrays.n, at = 0;
    for (size_t i = 0; i < n; i++) sorted[i] = &f->arrays.at[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
            return fail(r, sorted[i], "the name comes twice");
    qsort(sorted, n, sizeof *sorted, by_data);
    for (size_t i = 0; i < n; i++) {
        size_t begin = sorted[i]->offset - r->data;
        if (begin < at) return fail(r, sorted[i], "its bytes overlap those of another tensor");
        if (begin > at) return fail(r, sorted[i], "bytes before it belong to no tensor");
        at += sorted[i]->bytes;
    }
    if (at == r->data_bytes) return SGL_OK;
    return base_err_set(r->json.err, SGL_EFORMAT, "%s: %zu bytes at the end belong to no tensor",
                        r->json.name, r->data_bytes - at);
}

static int load(Reader *r)
{
    int code = read_header(r);
    if (code < 0) return code;
    const FileArray **sorted = base_mem_zero((size_t)r->file->arrays.n + 1, sizeof *sorted);
    if (!sorted)
        return base_err_set(r->json.err, SGL_ENOMEM, "%s: no memory for its header", r->json.name);
    code = check_all(r, sorted);
    base_mem_free(sorted);
    return code;
}

int io_safetensors_load(const void *bytes, size_t have, size_t n, const char *name, FileArrays *out,
                        Err *e)
{
    uint64_t header = 0;
    *out = (FileArrays){.need = LENGTH_BYTES};
    if (have < n && have < LENGTH_BYTES) return SGL_OK;
    if (n < LENGTH_BYTES)
        return base_err_set(e, SGL_EFORMAT, "%s: %zu bytes are no safetensors file", name, n);
    for (int i = 0; i < LENGTH_BYTES; i++) header |= (uint64_t)((const uint8_t *)bytes)[i] << 8 * i;
    if (header > n - LENGTH_BYTES || header > HEADER_MAX)
        return base_err_set(e, SGL_EFORMAT,
                            "%s: no safetensors file, or cut off: a header of %llu bytes in a file "
                            "of %zu",
                            name, (unsigned long long)header, n);

    out->need = LENGTH_BYTES + (size_t)header;
    if (have < out->need) return SGL_OK;
    const char *text = (const char *)bytes + LENGTH_BYTES;
    Reader r = {.json = {text, text, text + header, name, &out->arena, e, SGL_OK},
                .file = out,
                .data = out->need,
                .data_bytes = n - LENGTH_BYTES - header};
    int code = load(&r);
    if (code < 0) io_format_free(out);
    return code;
}
