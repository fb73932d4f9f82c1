/* vec_transpose.h: transposes of small squares of 4-byte elements, for files compiled for each
 * instruction set.
 *
 * to[i][j] = from[j][i]; strides are those of the rows of each, in elements.
 */
#ifndef SGL_CPU_VEC_TRANSPOSE_H
#define SGL_CPU_VEC_TRANSPOSE_H
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX2__)
#include <immintrin.h>
INLINE void vec_transpose4(const float *from, int64_t from_stride, float *to, int64_t to_stride)
{
    __m128 r0 = _mm_loadu_ps(from), r1 = _mm_loadu_ps(from + from_stride);
    __m128 r2 = _mm_loadu_ps(from + 2 * from_stride), r3 = _mm_loadu_ps(from + 3 * from_stride);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(to, r0);
    _mm_storeu_ps(to + to_stride, r1);
    _mm_storeu_ps(to + 2 * to_stride, r2);
    _mm_storeu_ps(to + 3 * to_stride, r3);
}
INLINE void vec_transpose8(const float *from, int64_t from_stride, float *to, int64_t to_stride)
{
    __m256 r[8], pair[8], quad[8];
    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(from + i * from_stride);
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
        quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xEE);
        quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xEE);
    }
    for (int i = 0; i < 8; i++) {
        __m256 low = quad[i % 4], high = quad[i % 4 + 4];
        _mm256_storeu_ps(to + i * to_stride, i < 4 ? _mm256_permute2f128_ps(low, high, 0x20)
                                                   : _mm256_permute2f128_ps(low, high, 0x31));
    }
}
#else
INLINE void vec_transpose4(const float *from, int64_t from_stride, float *to, int64_t to_stride)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) to[i * to_stride + j] = from[j * from_stride + i];
}
INLINE void vec_transpose8(const float *from, int64_t from_stride, float *to, int64_t to_stride)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) to[i * to_stride + j] = from[j * from_stride + i];
}
#endif
#endif
