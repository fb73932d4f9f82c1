/* gemm.c: the parts of the matrix product that no instruction set changes: the workspace's size,
 * and f64, whose products are rare enough for plain loops.
 *
 * Holds: f64 follows rule N5 as f32 does.
 */
#include "cpu/gemm.h"
#include <math.h>
#include "cpu/gemm_ops.h"

/* Panels of B, panels of A, and a vector that a packed panel may be written past its end. */
size_t cpu_gemm_workspace(void)
{
    size_t b = (size_t)GEMM_K_BLOCK * (GEMM_COLUMNS + GEMM_MOST_PANEL);
    size_t a = (size_t)GEMM_K_BLOCK * GEMM_MOST_ROWS;
    return (a + b + GEMM_MOST_PANEL) * sizeof(float);
}

enum { WIDTH = 32 };

/* c[0 .. n) gets, or is added, a row of A times kc rows of at most WIDTH columns of B. */
static void row_f64(int64_t kc, const double *a, int64_t csa, const double *b, int64_t rsb,
                    int64_t csb, double *c, int n, int adds)
{
    double sum[WIDTH] = {0};
    for (int64_t k = 0; k < kc; k++)
        for (int j = 0; j < n; j++) sum[j] = fma(a[k * csa], b[k * rsb + j * csb], sum[j]);
    for (int j = 0; j < n; j++) c[j] = adds ? c[j] + sum[j] : sum[j];
}

void cpu_gemm_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rsa, int64_t csa,
                   const double *b, int64_t rsb, int64_t csb, double *c, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j += WIDTH) {
            int columns = n - j < WIDTH ? (int)(n - j) : WIDTH;
            int64_t k0 = 0;
            do {
                int64_t kc = k - k0 < GEMM_K_BLOCK ? k - k0 : GEMM_K_BLOCK;
                row_f64(kc, a + i * rsa + k0 * csa, csa, b + k0 * rsb + j * csb, rsb, csb,
                        c + i * ldc + j, columns, k0 > 0);
                k0 += GEMM_K_BLOCK;
            } while (k0 < k);
        }
}
