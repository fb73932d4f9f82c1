/* safetensors_save.c: writing the format.
 *
 * Holds: the header lists tensors in the caller's order; their bytes lie by element size, largest
 *        first, so that each is aligned to it, behind a header padded to 8 bytes.
 */
#include <stdlib.h>
#include <string.h>
#include "io/json.h"
#include "io/format.h"

enum { LENGTH_BYTES = 8, ALIGN = 8, ELEMENT_MAX = 8 };

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* `names` is scratch for n. */
static int check_names(const FileArray *t, int n, const char **names, Err *e)
{
    for (int i = 0; i < n; i++) names[i] = t[i].name;
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], "__metadata__") == 0)
            return base_err_set(e, SGL_EARG, "safetensors: no tensor may be named __metadata__");
        if (i && strcmp(names[i], names[i - 1]) == 0)
            return base_err_set(e, SGL_EARG, "safetensors: two tensors are named '%s'", names[i]);
    }
    return SGL_OK;
}

/* offset[i]: where tensor i begins in the data. */
static void place(const FileArray *t, int n, size_t *offset)
{
    size_t at = 0;
    for (size_t size = ELEMENT_MAX; size > 0; size /= 2)
        for (int i = 0; i < n; i++) {
            if (DTYPES[t[i].dtype].bytes != size) continue;
            offset[i] = at;
            at += t[i].bytes;
        }
}

static void put_tensor(const FileArray *t, size_t offset, Str *out)
{
    io_json_quote(t->name, out);
    base_str_fmt(out, ":{\"dtype\":\"%s\",\"shape\":[", DTYPES[t->dtype].safetensors);
    for (int i = 0; i < t->rank; i++)
        base_str_fmt(out, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    base_str_fmt(out, "],\"data_offsets\":[%zu,%zu]}", offset, offset + t->bytes);
}

/* The JSON header, padded with blanks so that the data behind it is aligned. */
static void put_header(const FileArray *t, int n, const size_t *offset, const FilePair *pairs,
                       int npairs, Str *out)
{
    base_str_put(out, "{");
    if (npairs) base_str_put(out, "\"__metadata__\":{");
    for (int i = 0; i < npairs; i++) {
        if (i) base_str_put(out, ",");
        io_json_quote(pairs[i].key, out);
        base_str_put(out, ":");
        io_json_quote(pairs[i].value, out);
    }
    if (npairs) base_str_put(out, n ? "}," : "}");
    for (int i = 0; i < n; i++) {
        if (i) base_str_put(out, ",");
        put_tensor(&t[i], offset[i], out);
    }
    base_str_put(out, "}");
    while (!out->failed && out->n % ALIGN) base_str_put(out, " ");
}

/* All arrays, by element size. Those that are fetched are fetched to the last one: other ranks take
 * part in each. */
static int put_data(const FileArray *t, int n, FileWrite *to, Err *e)
{
    int code = SGL_OK;
    for (size_t size = ELEMENT_MAX; size > 0; size /= 2)
        for (int i = 0; i < n && code == SGL_OK; i++) {
            if (DTYPES[t[i].dtype].bytes != size || !t[i].bytes) continue;
            const void *data = t[i].fetch ? t[i].fetch(&t[i], e) : t[i].data;
            if (data) base_write_put(to, data, t[i].bytes);
            else code = e->code;
        }
    return code;
}

static int put_file(const Str *header, const FileArray *t, int n, FileWrite *to, Err *e)
{
    uint8_t length[LENGTH_BYTES];
    for (int i = 0; i < LENGTH_BYTES; i++) length[i] = (uint8_t)((uint64_t)header->n >> 8 * i);
    base_write_put(to, length, sizeof length);
    base_write_put(to, header->at, header->n);
    return put_data(t, n, to, e);
}

int io_safetensors_save(const FileArray *t, int n, const FilePair *pairs, int npairs, FileWrite *to,
                        Err *e)
{
    const char **names = base_mem_zero((size_t)n + 1, sizeof *names);
    size_t *offset = base_mem_zero((size_t)n + 1, sizeof *offset);
    Str header = {0};
    int code = SGL_ENOMEM;
    if (names && offset && (code = check_names(t, n, names, e)) == SGL_OK) {
        place(t, n, offset);
        put_header(t, n, offset, pairs, npairs, &header);
        code = header.failed ? SGL_ENOMEM : put_file(&header, t, n, to, e);
    }
    if (code == SGL_ENOMEM && e->code != code)
        base_err_set(e, code, "safetensors: no memory for %d tensors", n);
    base_str_free(&header);
    base_mem_free(offset);
    base_mem_free(names);
    return code;
}
