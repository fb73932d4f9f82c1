/* gemm_vec.h: the vectors gemm_isa.c is written in, for the instruction set it is compiled for.
 *
 * Vec holds VEC_WIDTH floats; GEMM_ROWS rows of two vectors of C fit the registers beside two of
 * B and one of A. A Mask selects the first n lanes, n from 0 to VEC_WIDTH.
 * Holds: vec_fma is one rounding on every instruction set.
 */
#ifndef SGL_CPU_GEMM_VEC_H
#define SGL_CPU_GEMM_VEC_H
#include <stdint.h>
#include <string.h>
#include "cpu/vec_transpose.h"

#if defined(__AVX512F__)
#include <immintrin.h>
enum { VEC_WIDTH = 16, GEMM_ROWS = 14, GEMM_ROW_BLOCK = 12 * GEMM_ROWS };
typedef __m512 Vec;
typedef __mmask16 Mask;
INLINE Mask vec_mask(int n) { return (Mask)((1u << n) - 1); }
INLINE Vec vec_zero(void) { return _mm512_setzero_ps(); }
INLINE Vec vec_set(float x) { return _mm512_set1_ps(x); }
INLINE Vec vec_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE Vec vec_load_some(const float *p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
INLINE void vec_store(float *p, Vec v) { _mm512_storeu_ps(p, v); }
INLINE void vec_store_some(float *p, Mask m, Vec v) { _mm512_mask_storeu_ps(p, m, v); }
INLINE Vec vec_add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
INLINE Vec vec_fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }

#elif defined(__AVX2__)
#include <immintrin.h>
enum { VEC_WIDTH = 8, GEMM_ROWS = 6, GEMM_ROW_BLOCK = 24 * GEMM_ROWS };
typedef __m256 Vec;
typedef __m256i Mask;
INLINE Mask vec_mask(int n)
{
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(ones + 8 - n));
}
INLINE Vec vec_zero(void) { return _mm256_setzero_ps(); }
INLINE Vec vec_set(float x) { return _mm256_set1_ps(x); }
INLINE Vec vec_load(const float *p) { return _mm256_loadu_ps(p); }
INLINE Vec vec_load_some(const float *p, Mask m) { return _mm256_maskload_ps(p, m); }
INLINE void vec_store(float *p, Vec v) { _mm256_storeu_ps(p, v); }
INLINE void vec_store_some(float *p, Mask m, Vec v) { _mm256_maskstore_ps(p, m, v); }
INLINE Vec vec_add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
INLINE Vec vec_fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }

#else
enum { VEC_WIDTH = 8, GEMM_ROWS = 4, GEMM_ROW_BLOCK = 32 * GEMM_ROWS };
typedef struct Vec { float at[VEC_WIDTH]; } Vec;
typedef int Mask;
#define EACH_LANE for (int l = 0; l < VEC_WIDTH; l++)
INLINE Mask vec_mask(int n) { return n; }
INLINE Vec vec_zero(void) { return (Vec){{0}}; }
INLINE Vec vec_set(float x)
{
    Vec v;
    EACH_LANE v.at[l] = x;
    return v;
}
INLINE Vec vec_load(const float *p)
{
    Vec v;
    memcpy(v.at, p, sizeof v.at);
    return v;
}
INLINE Vec vec_load_some(const float *p, Mask m)
{
    Vec v = {{0}};
    for (int l = 0; l < m; l++) v.at[l] = p[l];
    return v;
}
INLINE void vec_store(float *p, Vec v) { memcpy(p, v.at, sizeof v.at); }
INLINE void vec_store_some(float *p, Mask m, Vec v)
{
    for (int l = 0; l < m; l++) p[l] = v.at[l];
}
INLINE Vec vec_add(Vec a, Vec b)
{
    EACH_LANE a.at[l] += b.at[l];
    return a;
}
INLINE Vec vec_fma(Vec a, Vec b, Vec c)
{
    EACH_LANE c.at[l] = __builtin_fmaf(a.at[l], b.at[l], c.at[l]);
    return c;
}
#endif

/* Copies n <= GEMM_ROWS floats. */
#if defined(__AVX512F__)
INLINE void vec_copy(float *to, const float *from, int n)
{
    Mask m = vec_mask(n);
    vec_store_some(to, m, vec_load_some(from, m));
}
#else
INLINE void vec_copy(float *to, const float *from, int n)
{
    if (n == GEMM_ROWS) memcpy(to, from, GEMM_ROWS * sizeof *to);
    else
        for (int i = 0; i < n; i++) to[i] = from[i];
}
#endif
#endif
