/* array.c: the C interface: arrays over the caller's memory.
 */
#include "capi/api.h"

#define SAME_DTYPE(public, own) _Static_assert((int)public == (int)own, "sgl.h: not as dtype.def")
SAME_DTYPE(SGL_BOOL, DT_bool);
SAME_DTYPE(SGL_U8, DT_u8);
SAME_DTYPE(SGL_I32, DT_i32);
SAME_DTYPE(SGL_I64, DT_i64);
SAME_DTYPE(SGL_F16, DT_f16);
SAME_DTYPE(SGL_BF16, DT_bf16);
SAME_DTYPE(SGL_F32, DT_f32);
SAME_DTYPE(SGL_F64, DT_f64);
_Static_assert((int)SGL_RANK_MAX == (int)OP_MAX_RANK, "sgl.h: not as op.h");

sgl_array sgl_view(sgl_dtype dtype, const void *data, int rank, const int64_t *dims)
{
    sgl_array a = {.dtype = dtype, .rank = rank, .data = (void *)(uintptr_t)data};
    for (int i = 0; i < rank && i < SGL_RANK_MAX; i++) a.dims[i] = dims[i];
    return a;
}

#define VIEW(name, T, dtype)                                                                       \
    sgl_array sgl_##name(T *data, int rank, const int64_t *dims)                                   \
    {                                                                                              \
        return sgl_view(dtype, data, rank, dims);                                                  \
    }
VIEW(bool, uint8_t, SGL_BOOL)
VIEW(u8, uint8_t, SGL_U8)
VIEW(i32, int32_t, SGL_I32)
VIEW(i64, int64_t, SGL_I64)
VIEW(f32, float, SGL_F32)
VIEW(f64, double, SGL_F64)

static void type_text(const sgl_array *a, Str *out)
{
    bool known = a->dtype >= SGL_BOOL && a->dtype <= SGL_F64;
    base_str_fmt(out, "%s[", known ? DTYPES[a->dtype].name : "?");
    for (int i = 0; i < a->rank && i < SGL_RANK_MAX; i++)
        if (a->dims[i] == -1) base_str_fmt(out, "%s?", i ? ", " : "");
        else base_str_fmt(out, "%s%lld", i ? ", " : "", (long long)a->dims[i]);
    base_str_put(out, "]");
}

static int refuse(Ctx *cx, int code, const char *what, const char *name, const sgl_array *a,
                  const sgl_array *want)
{
    Str got = {0}, text = {0};
    type_text(a, &got);
    type_text(want, &text);
    if (got.failed || text.failed) base_fail(cx, code, "%s '%s' does not fit", what, name);
    else base_fail(cx, code, "%s '%s' is %s, the program has %s", what, name, got.at, text.at);
    base_str_free(&got);
    base_str_free(&text);
    return code;
}

int capi_array_check(Ctx *cx, const char *what, const char *name, const sgl_array *a,
                     const sgl_array *want)
{
    bool fits = a->rank == want->rank, empty = false;
    if (a->dtype != want->dtype) return refuse(cx, SGL_EDTYPE, what, name, a, want);
    for (int d = 0; fits && d < a->rank; d++) {
        fits = want->dims[d] == -1 ? a->dims[d] >= 0 : a->dims[d] == want->dims[d];
        empty |= a->dims[d] == 0;
    }
    if (!fits) return refuse(cx, SGL_ESHAPE, what, name, a, want);
    if (a->data || empty) return SGL_OK;
    return base_fail(cx, SGL_EARG, "%s '%s': its data is NULL", what, name);
}
