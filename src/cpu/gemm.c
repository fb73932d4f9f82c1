/* gemm.c: the parts of the matrix product that no instruction set changes: the workspace's size,
 * and f64, whose products are rare enough for plain loops.
 *
 * Holds: f64 follows rule N5 as f32 does.
 */
#include "cpu/gemm.h"
#include <math.h>
#include <string.h>
#include "cpu/gemm_ops.h"

/* How many results of blocks wait at most behind the first. */
static int levels(Blocks blocks)
{
    int n = 0;
    while (INT64_C(1) << n < blocks.n) n++;
    return n;
}

/* Panels of B, panels of A, and a vector that a packed panel may be written past its end; results
 * of blocks that wait, beside C. */
size_t cpu_gemm_workspace(Blocks blocks)
{
    size_t b = (size_t)IR_DOT_PIECE * (GEMM_COLUMNS + GEMM_MOST_PANEL);
    size_t a = (size_t)IR_DOT_PIECE * GEMM_MOST_ROWS;
    size_t waiting = (size_t)levels(blocks) * GEMM_PLANE;
    return (a + b + GEMM_MOST_PANEL + waiting) * sizeof(float);
}

enum { WIDTH = 32 };

/* sum[0 .. n): row i of A times the columns from j of B, at most WIDTH, over [from, to) of k. */
static void leaf_f64(const GemmArgs64 *g, int64_t i, int64_t j, int n, int64_t from, int64_t to,
                     double *sum)
{
    for (int l = 0; l < n; l++) sum[l] = -0.0;
    for (int64_t k0 = from; k0 < to; k0 += IR_DOT_PIECE) {
        int64_t end = to - k0 < IR_DOT_PIECE ? to : k0 + IR_DOT_PIECE;
        double part[WIDTH] = {0};
        for (int64_t k = k0; k < end; k++) {
            const double x = g->a[i * g->rsa + k * g->csa], *y = g->b + k * g->rsb + j * g->csb;
            for (int l = 0; l < n; l++) part[l] = fma(x, y[l * g->csb], part[l]);
        }
        for (int l = 0; l < n; l++) sum[l] += part[l];
    }
}

static void piece_f64(const GemmArgs64 *g, const BlockTree *tree, int64_t i, int64_t j, int n)
{
    double waiting[IR_BLOCKS_LEVELS][WIDTH], (*top)[WIDTH] = waiting;
    for (int64_t s = 0; s < g->blocks.n; s++, top++) {
        leaf_f64(g, i, j, n, ir_block_start(g->blocks, g->k, s),
                 ir_block_start(g->blocks, g->k, s + 1), *top);
        for (int join = 0; join < tree->joins[s]; join++, top--)
            for (int l = 0; l < n; l++) top[-1][l] += top[0][l];
    }
    memcpy(g->c + i * g->ldc + j, waiting, (size_t)n * sizeof *g->c);
}

void cpu_gemm_f64(const GemmArgs64 *g)
{
    BlockTree tree;
    ir_block_tree(g->blocks.n, &tree);
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j += WIDTH) {
            int n = g->n - j < WIDTH ? (int)(g->n - j) : WIDTH;
            if (g->k > 0) piece_f64(g, &tree, i, j, n);
            else memset(g->c + i * g->ldc + j, 0, (size_t)n * sizeof *g->c);
        }
}
