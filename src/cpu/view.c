/* view.c: strided views: sizes, and conversion of f16 and bf16 to packed f32 and back.
 */
#include "cpu/cpu.h"
#include "cpu/tile_ops.h"

enum { WIDEN_PIECE = 512 };

int64_t cpu_view_count(const View *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++) n *= v->extent[i];
    return n;
}

void cpu_view_pack(View *v)
{
    int64_t stride = 1;
    v->offset = 0;
    for (int i = v->rank; i-- > 0;) {
        v->stride[i] = stride;
        stride *= v->extent[i];
    }
}

AxisSplit cpu_view_axis(const View *v, int axis)
{
    AxisSplit s = {1, v->extent[axis], 1};
    for (int i = 0; i < axis; i++) s.outer *= v->extent[i];
    for (int i = axis + 1; i < v->rank; i++) s.inner *= v->extent[i];
    return s;
}

/* n elements, `stride` apart, to f32. */
static void widen_row(const TileOps *ops, Dtype t, const uint16_t *from, int64_t stride, int64_t n,
                      float *to)
{
    uint16_t raw[WIDEN_PIECE];
    if (stride == 1) {
        ops->widen[t](to, from, NULL, NULL, n);
        return;
    }
    for (int64_t done = 0, len; done < n; done += len) {
        len = n - done < WIDEN_PIECE ? n - done : WIDEN_PIECE;
        for (int64_t i = 0; i < len; i++) raw[i] = from[(done + i) * stride];
        ops->widen[t](to + done, raw, NULL, NULL, len);
    }
}

void cpu_widen(const TileOps *ops, const View *v, const void *from, float *to)
{
    int inner = v->rank - 1;
    int64_t n = v->rank ? v->extent[inner] : 1, stride = v->rank ? v->stride[inner] : 1;
    int64_t at[VIEW_MAX_RANK] = {0}, offset = 0, count = cpu_view_count(v);
    for (int64_t i = 0; i < count; i += n) {
        widen_row(ops, v->dtype, (const uint16_t *)from + offset, stride, n, to + i);
        for (int d = inner; d-- > 0;) {
            offset += v->stride[d];
            if (++at[d] < v->extent[d]) break;
            offset -= at[d] * v->stride[d];
            at[d] = 0;
        }
    }
}

void cpu_narrow(const TileOps *ops, const View *v, const float *from, void *to)
{
    ops->narrow[v->dtype](to, from, NULL, NULL, cpu_view_count(v));
}
