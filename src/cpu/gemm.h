/* gemm.h: the row-invariant matrix product.
 *
 * C[M×N] = A·B (row-major C with row stride ldc), A(i,k) = a[i*rsa + k*csa],
 * B(k,j) = b[k*rsb + j*csb]. Bits of an element depend only on its row of A, its column of B and
 * K (contract N5): not on M, N, its position, alignment, threads or instruction set. K = 0 gives 0.
 */
#ifndef SGL_CPU_GEMM_H
#define SGL_CPU_GEMM_H
#include <stddef.h>
#include <stdint.h>

typedef struct GemmArgs {
    int64_t m, n, k;
    const float *a; int64_t rsa, csa;
    const float *b; int64_t rsb, csb;
    float *c; int64_t ldc;
} GemmArgs;

/* One thread; `work` holds cpu_gemm_workspace() bytes, 64-byte aligned. */
typedef void (*GemmFn)(const GemmArgs *g, void *work);
size_t cpu_gemm_workspace(void);
void cpu_gemm_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rsa, int64_t csa,
                   const double *b, int64_t rsb, int64_t csb, double *c, int64_t ldc);
#endif
