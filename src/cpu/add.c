/* add.c: to += from in each type, for the steps that accumulate.
 */
#include "cpu/cpu.h"

#define ADD(name, T, OP)                                                                           \
    static void add_##name(void *to, int64_t to_step, const void *from, int64_t step, int64_t n)   \
    {                                                                                              \
        T *restrict y = to;                                                                        \
        const T *restrict x = from;                                                                \
        if (to_step == 1 && step == 1)                                                             \
            for (int64_t i = 0; i < n; i++) y[i] = (T)(y[i] OP x[i]);                              \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++) y[i * to_step] = (T)(y[i * to_step] OP x[i * step]);   \
    }
ADD(bool, uint8_t, |)
ADD(u8, uint8_t, +)
ADD(i32, uint32_t, +)
ADD(i64, uint64_t, +)
ADD(f32, float, +)
ADD(f64, double, +)

CpuAddFn cpu_add(Dtype t)
{
    static const CpuAddFn adds[DT_COUNT] = {
        [DT_bool] = add_bool, [DT_u8] = add_u8,   [DT_i32] = add_i32,
        [DT_i64] = add_i64,   [DT_f32] = add_f32, [DT_f64] = add_f64,
    };
    return adds[t];
}
