/* gemm_ops.h: what gemm_isa.c shares with gemm.c: block sizes, and the product of each
 * instruction set.
 *
 * These only keep panels in cache; what is part of the numerics contract is in ir/numerics.h.
 */
#ifndef SGL_CPU_GEMM_OPS_H
#define SGL_CPU_GEMM_OPS_H
#include "cpu/gemm.h"
#include "ir/numerics.h"

enum { GEMM_COLUMNS = 2048, GEMM_MOST_ROWS = 168, GEMM_MOST_PANEL = 32 };
/* Where results of blocks wait in memory: floats of one such result, and most of its columns. */
enum { GEMM_PLANE = 4 * GEMM_MOST_ROWS * 512, GEMM_PLANE_COLUMNS = 1024 };

/* gemm_isa.c, for each instruction set; `work` is room for packed panels. */
void kern_gemm_portable(const GemmArgs *g, void *work);
void kern_gemm_avx2(const GemmArgs *g, void *work);
void kern_gemm_avx512(const GemmArgs *g, void *work);
#endif
