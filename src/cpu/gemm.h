/* gemm.h: the row-invariant matrix product.
 *
 * C[M×N] = A·B (row-major C with row stride ldc), A(i,k) = a[i*rsa + k*csa],
 * B(k,j) = b[k*rsb + j*csb]. Bits of an element depend only on its row of A, its column of B, K
 * and the blocks that K is cut into (contract N5): not on M, N, its position, alignment, threads or
 * instruction set. K = 0 gives 0.
 */
#ifndef SGL_CPU_GEMM_H
#define SGL_CPU_GEMM_H
#include <stddef.h>
#include <stdint.h>
#include "ir/blocks.h"

typedef struct GemmArgs {
    int64_t m, n, k;
    const float *a; int64_t rsa, csa;
    const float *b; int64_t rsb, csb;
    float *c; int64_t ldc;
    Blocks blocks;         /* of k */
} GemmArgs;

/* One thread; `work` holds the bytes that cpu_gemm_workspace says, 64-byte aligned. */
typedef void (*GemmFn)(const GemmArgs *g, void *work);
size_t cpu_gemm_workspace(Blocks blocks);

typedef struct GemmArgs64 {
    int64_t m, n, k;
    const double *a; int64_t rsa, csa;
    const double *b; int64_t rsb, csb;
    double *c; int64_t ldc;
    Blocks blocks;
} GemmArgs64;
void cpu_gemm_f64(const GemmArgs64 *g);
#endif
