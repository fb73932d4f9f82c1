/* idx.c: reading the IDX format of the MNIST files: a big-endian array with its type and dims in
 * front. It has no name in the file and is called "data"; i8 and i16 widen to i32.
 *
 * The file: two zero bytes, a type code, the rank, the dims as big-endian u32, the elements.
 */
#include "io/format.h"
#include <string.h>

enum { HEAD_MAX = 4 + 4 * OP_MAX_RANK };

typedef struct IdxType {
    int code, bytes;
    Dtype dtype;
} IdxType;

static const IdxType TYPES[] = {
    {0x08, 1, DT_u8},  {0x09, 1, DT_i32}, {0x0B, 2, DT_i32},
    {0x0C, 4, DT_i32}, {0x0D, 4, DT_f32}, {0x0E, 8, DT_f64},
};

static const IdxType *type_of(int code)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].code == code) return &TYPES[i];
    return NULL;
}

static uint64_t big_endian(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

static void swap_all(const FileArray *a, int bytes, void *to)
{
    const uint8_t *from = a->data;
    for (int64_t i = 0, n = (int64_t)a->bytes / bytes; i < n; i++) {
        uint64_t value = big_endian(from + i * bytes, bytes);
        uint32_t narrow = (uint32_t)value;
        if (bytes == 8) memcpy((char *)to + 8 * i, &value, 8);
        else memcpy((char *)to + 4 * i, &narrow, 4);
    }
}

static void read_elements(const FileArray *a, void *to)
{
    const uint8_t *from = a->data;
    int bytes = type_of(a->code)->bytes;
    int32_t *wide = to;
    if (a->dtype == DT_u8) {
        if (a->bytes) memcpy(to, from, a->bytes);
    } else if (bytes >= 4) {
        swap_all(a, bytes, to);
    } else {
        for (int64_t i = 0, n = (int64_t)a->bytes / bytes; i < n; i++)
            wide[i] = bytes == 1 ? (int8_t)from[i] : (int16_t)big_endian(from + 2 * i, 2);
    }
}

/* Checks every number of the head against the bytes that are there, before anything is made of
 * it. */
static int describe(const uint8_t *at, size_t n, const char *name, FileArray *out, Err *e)
{
    const IdxType *type = n >= 4 && !at[0] && !at[1] ? type_of(at[2]) : NULL;
    if (!type)
        return base_err_set(e, SGL_EFORMAT,
                            "%s: not an IDX file (%zu bytes, no known magic number)", name, n);
    *out = (FileArray){.name = "data",
                       .dtype = type->dtype,
                       .rank = at[3],
                       .read = read_elements,
                       .code = type->code};
    size_t head = 4 + 4 * (size_t)out->rank;
    if (out->rank > OP_MAX_RANK)
        return base_err_set(e, SGL_EFORMAT, "%s: %d dims, at most %d are possible", name, out->rank,
                            OP_MAX_RANK);
    if (n < head) return base_err_set(e, SGL_EFORMAT, "%s: ends inside its header", name);

    size_t need = (size_t)type->bytes;
    for (int i = 0; i < out->rank; i++) {
        out->dims[i] = (int64_t)big_endian(at + 4 + 4 * i, 4);
        if (__builtin_mul_overflow(need, (size_t)out->dims[i], &need))
            return base_err_set(e, SGL_EFORMAT, "%s: its dims exceed any memory", name);
    }
    out->offset = head;
    out->bytes = need;
    if (n - head != need)
        return base_err_set(e, SGL_EFORMAT, "%s: %zu bytes of elements, its dims need %zu%s", name,
                            n - head, need, n - head < need ? " (truncated?)" : "");
    return SGL_OK;
}

int io_idx_load(const void *bytes, size_t have, size_t n, const char *name, FileArrays *out, Err *e)
{
    FileArray a;
    *out = (FileArrays){.need = HEAD_MAX};
    if (have < n && have < HEAD_MAX) return SGL_OK;
    int code = describe(bytes, n, name, &a, e);
    if (code < 0 || vec_push(&out->arrays, a)) return code;
    return base_err_set(e, SGL_ENOMEM, "%s: no memory", name);
}
