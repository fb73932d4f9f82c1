/* view.c: strided views: sizes, and conversion of f16 and bf16 to packed f32 and back.
 */
#include "cpu/cpu.h"

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

void cpu_widen(const View *v, const void *from, float *to)
{
    int64_t at[VIEW_MAX_RANK] = {0}, offset = 0, count = cpu_view_count(v);
    for (int64_t i = 0; i < count; i++) {
        to[i] = (float)ir_dtype_load(v->dtype, from, offset);
        for (int d = v->rank; d-- > 0;) {
            offset += v->stride[d];
            if (++at[d] < v->extent[d]) break;
            offset -= at[d] * v->stride[d];
            at[d] = 0;
        }
    }
}

void cpu_narrow(const View *v, const float *from, void *to)
{
    int64_t count = cpu_view_count(v);
    for (int64_t i = 0; i < count; i++) ir_dtype_store(v->dtype, to, i, from[i]);
}
