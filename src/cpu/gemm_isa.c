/* gemm_isa.c: the matrix product of f32, compiled once for each instruction set.
 *
 * In:   GemmArgs; a workspace for packed panels of A and B.
 * Out:  kern_gemm_<ISA>.
 * Holds: rule N5. An element of C is summed in pieces of IR_DOT_PIECE along k, upwards with fused
 *        multiply-add from 0 inside a piece, pieces added upwards. Packing, panels, edges
 *        and the rows done together only move data, so they cannot change a bit.
 * B is cut into panels of two vectors of columns, A into panels of at most GEMM_ROWS rows. A panel
 * is read where it lies when that is contiguous enough and it is not read often.
 * Blocks (ir/blocks.h): a run is a subtree of blocks no longer than IR_DOT_PIECE, whose results the
 * micro kernel joins in registers and a small stack; or one piece of a longer block. Results of
 * runs wait in planes: C itself, and beside it a plane for each level of the tree.
 */
#include "cpu/gemm.h"
#include "cpu/gemm_ops.h"
#include "cpu/gemm_vec.h"
#include "cpu/tile_ops.h"

enum { PANEL = 2 * VEC_WIDTH, AHEAD = 16 };
_Static_assert((int)GEMM_ROW_BLOCK <= (int)GEMM_MOST_ROWS, "workspace");
_Static_assert((int)PANEL <= (int)GEMM_MOST_PANEL, "workspace");

typedef struct Block { /* a panel of A or B, or where it lies */
    const float *at;
    int64_t row, step; /* A: from row to row, from k to k. B: step from k to k */
} Block;

INLINE void prefetch(const float *p) { __builtin_prefetch(p, 0, 3); }

/* left and right get the product of `rows` rows and a panel over kc. */
INLINE void product(int rows, int kc, Block a, Block b, Vec *left, Vec *right)
{
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) left[i] = right[i] = vec_zero();
    const float *ak = a.at, *bk = b.at;
#pragma GCC unroll 2
    for (int k = 0; k < kc; k++, ak += a.step, bk += b.step) {
        Vec b0 = vec_load(bk), b1 = vec_load(bk + VEC_WIDTH);
        prefetch(bk + AHEAD * b.step);
        prefetch(bk + AHEAD * b.step + VEC_WIDTH);
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            Vec x = vec_set(ak[i * a.row]);
            left[i] = vec_fma(x, b0, left[i]);
            right[i] = vec_fma(x, b1, right[i]);
        }
    }
}

/* C[rows x columns] gets, or is added, the product over kc. */
INLINE void micro(int rows, int kc, Block a, Block b, float *c, int64_t ldc, int columns, bool adds)
{
    Vec left[GEMM_ROWS], right[GEMM_ROWS];
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        prefetch(c + i * ldc);
        prefetch(c + i * ldc + columns - 1);
    }
    product(rows, kc, a, b, left, right);
    if (columns == PANEL) {
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++, c += ldc) {
            vec_store(c, adds ? vec_add(vec_load(c), left[i]) : left[i]);
            float *d = c + VEC_WIDTH;
            vec_store(d, adds ? vec_add(vec_load(d), right[i]) : right[i]);
        }
        return;
    }
    Mask m0 = vec_mask(columns < VEC_WIDTH ? columns : VEC_WIDTH);
    Mask m1 = vec_mask(columns > VEC_WIDTH ? columns - VEC_WIDTH : 0);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++, c += ldc) {
        vec_store_some(c, m0, adds ? vec_add(vec_load_some(c, m0), left[i]) : left[i]);
        float *d = c + VEC_WIDTH;
        vec_store_some(d, m1, adds ? vec_add(vec_load_some(d, m1), right[i]) : right[i]);
    }
}

/* Where results wait: C or a plane of the workspace. */
typedef struct Plane {
    float *at;
    int64_t ld;
} Plane;

/* Consecutive blocks, or a piece of one; `joins` of a leaf: how many results that wait inside the
 * run its own meets. The result of the run meets those in the `joins` planes below plane `level`
 * and stays in the last of them. */
typedef struct Run {
    int level, joins, leaves;
    struct {
        int kc, joins;
    } leaf[IR_BLOCKS_MAX];
} Run;

/* left and right get what stands in rows of c added, or are put there. */
INLINE void meet(int rows, const Plane *plane, int64_t i, int64_t j, int columns, bool puts,
                 Vec *left, Vec *right)
{
    float *c = plane->at + i * plane->ld + j;
    const Mask m0 = vec_mask(columns < VEC_WIDTH ? columns : VEC_WIDTH);
    const Mask m1 = vec_mask(columns > VEC_WIDTH ? columns - VEC_WIDTH : 0);
    const bool whole = columns == PANEL;
#pragma GCC unroll 14
    for (int l = 0; l < rows; l++, c += plane->ld) {
        float *d = c + VEC_WIDTH;
        if (!puts) {
            left[l] = vec_add(whole ? vec_load(c) : vec_load_some(c, m0), left[l]);
            right[l] = vec_add(whole ? vec_load(d) : vec_load_some(d, m1), right[l]);
        } else if (whole) {
            vec_store(c, left[l]);
            vec_store(d, right[l]);
        } else {
            vec_store_some(c, m0, left[l]);
            vec_store_some(d, m1, right[l]);
        }
    }
}

/* The run's result for rows x columns from (i, j) of the planes. */
INLINE void micro_tree(int rows, const Run *run, Block a, Block b, const Plane *plane, int64_t i,
                       int64_t j, int columns)
{
    Vec left[GEMM_ROWS], right[GEMM_ROWS], waiting[IR_BLOCKS_LEVELS][2 * GEMM_ROWS];
    int top = 0;
    for (int s = 0;; s++) {
        const int kc = run->leaf[s].kc;
        product(rows, kc, a, b, left, right);
        for (int l = 0; kc == 0 && l < rows; l++) left[l] = right[l] = vec_set(-0.0f);
        a.at += kc * a.step;
        b.at += kc * b.step;
        for (int join = run->leaf[s].joins; join > 0; join--) {
            top--;
#pragma GCC unroll 14
            for (int l = 0; l < rows; l++) {
                left[l] = vec_add(waiting[top][2 * l], left[l]);
                right[l] = vec_add(waiting[top][2 * l + 1], right[l]);
            }
        }
        if (s + 1 == run->leaves) break;
#pragma GCC unroll 14
        for (int l = 0; l < rows; l++) {
            waiting[top][2 * l] = left[l];
            waiting[top][2 * l + 1] = right[l];
        }
        top++;
    }
    const Plane *to = plane + run->level;
    for (int join = run->joins; join > 0; join--)
        meet(rows, --to, i, j, columns, false, left, right);
    meet(rows, to, i, j, columns, true, left, right);
}

/* Functions for each number of rows, and more where both panels are packed and all strides are
 * known. */
typedef void MicroFn(int kc, Block a, Block b, float *c, int64_t ldc, int columns, bool adds);
typedef void TreeFn(const Run *run, Block a, Block b, const Plane *plane, int64_t i, int64_t j,
                    int columns);
#define MICRO(rows)                                                                                \
    static void strided_##rows(int kc, Block a, Block b, float *c, int64_t ldc, int columns,       \
                               bool adds)                                                          \
    {                                                                                              \
        micro(rows, kc, a, b, c, ldc, columns, adds);                                              \
    }                                                                                              \
    static void packed_##rows(int kc, Block a, Block b, float *c, int64_t ldc, int columns,        \
                              bool adds)                                                           \
    {                                                                                              \
        micro(rows, kc, (Block){a.at, 1, GEMM_ROWS}, (Block){b.at, 0, PANEL}, c, ldc, columns,     \
              adds);                                                                               \
    }                                                                                              \
    static void tree_strided_##rows(const Run *run, Block a, Block b, const Plane *plane,          \
                                    int64_t i, int64_t j, int columns)                             \
    {                                                                                              \
        micro_tree(rows, run, a, b, plane, i, j, columns);                                         \
    }                                                                                              \
    static void tree_packed_##rows(const Run *run, Block a, Block b, const Plane *plane,           \
                                   int64_t i, int64_t j, int columns)                              \
    {                                                                                              \
        micro_tree(rows, run, (Block){a.at, 1, GEMM_ROWS}, (Block){b.at, 0, PANEL}, plane, i, j,   \
                   columns);                                                                       \
    }
#define MICROS_4(m) m(1) m(2) m(3) m(4)
#define MICROS_6(m) MICROS_4(m) m(5) m(6)
#define MICROS_14(m) MICROS_6(m) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14)
#if defined(__AVX512F__)
#define MICROS MICROS_14
#elif defined(__AVX2__)
#define MICROS MICROS_6
#else
#define MICROS MICROS_4
#endif
MICROS(MICRO)
#define ROW_STRIDED(rows) [rows] = strided_##rows,
#define ROW_PACKED(rows) [rows] = packed_##rows,
#define ROW_TREE_STRIDED(rows) [rows] = tree_strided_##rows,
#define ROW_TREE_PACKED(rows) [rows] = tree_packed_##rows,
static MicroFn *const STRIDED[GEMM_ROWS + 1] = {MICROS(ROW_STRIDED)};
static MicroFn *const PACKED[GEMM_ROWS + 1] = {MICROS(ROW_PACKED)};
static TreeFn *const TREE_STRIDED[GEMM_ROWS + 1] = {MICROS(ROW_TREE_STRIDED)};
static TreeFn *const TREE_PACKED[GEMM_ROWS + 1] = {MICROS(ROW_TREE_PACKED)};

/* A panel of B: kc rows of PANEL columns, the missing ones 0. */
static void pack_b(int kc, int columns, const float *b, int64_t rsb, int64_t csb, float *to)
{
    int k = 0;
    if (csb == 1) {
        Mask m0 = vec_mask(columns < VEC_WIDTH ? columns : VEC_WIDTH);
        Mask m1 = vec_mask(columns > VEC_WIDTH ? columns - VEC_WIDTH : 0);
        for (; k < kc; k++, b += rsb, to += PANEL) {
            vec_store(to, vec_load_some(b, m0));
            vec_store(to + VEC_WIDTH, vec_load_some(b + VEC_WIDTH, m1));
        }
        return;
    }
    for (; rsb == 1 && columns == PANEL && k + 8 <= kc; k += 8, b += 8, to += 8 * PANEL)
        for (int j = 0; j < PANEL; j += 8) vec_transpose8(b + j * csb, csb, to + j, PANEL);
    for (; k < kc; k++, b += rsb, to += PANEL)
        for (int j = 0; j < PANEL; j++) to[j] = j < columns ? b[j * csb] : 0;
}

/* A panel of A: kc columns of GEMM_ROWS rows, those from `rows` on unused. Four rows that overlap
 * the ones before do for a rest. */
static void pack_a(int kc, int rows, const float *a, int64_t rsa, int64_t csa, float *to)
{
    int k = 0;
    for (; csa == 1 && rows >= 4 && k + 4 <= kc; k += 4, a += 4, to += 4 * GEMM_ROWS)
        for (int i = 0; i < rows; i += 4) {
            int row = i < rows - 4 ? i : rows - 4;
            vec_transpose4(a + row * rsa, rsa, to + row, GEMM_ROWS);
        }
    for (; k < kc; k++, a += csa, to += GEMM_ROWS)
        for (int i = 0; i < rows; i++) to[i] = a[i * rsa];
}

/* All panels of a block of A whose columns are contiguous, k by k as they lie in memory. */
static void pack_a_columns(int kc, int m, int rows, const float *a, int64_t csa, float *to)
{
    for (int k = 0; k < kc; k++, a += csa, to += GEMM_ROWS) {
        float *q = to;
        int i = 0;
        for (; i + rows <= m; i += rows, q += (int64_t)GEMM_ROWS * kc) vec_copy(q, a + i, rows);
        vec_copy(q, a + i, m - i);
    }
}

/* A block of rows of A with its packed copy, if worth it. */
typedef struct RowBlock {
    int m, rows; /* rows in all, rows of a panel: as even as GEMM_ROWS allows */
    bool packed;
    const float *a;
} RowBlock;

static void pack_row_block(const GemmArgs *g, RowBlock *r, int kc, int nc, float *room)
{
    int panels = (r->m + GEMM_ROWS - 1) / GEMM_ROWS;
    r->rows = (r->m + panels - 1) / panels;
    r->packed = g->csa == 1 ? nc > 4 * PANEL : nc >= 2 * PANEL && g->csa >= 64;
    if (!r->packed) return;
    if (g->rsa == 1) pack_a_columns(kc, r->m, r->rows, r->a, g->csa, room);
    else
        for (int i = 0, p = 0; i < r->m; i += r->rows, p++)
            pack_a(kc, r->m - i < r->rows ? r->m - i : r->rows, r->a + i * g->rsa, g->rsa, g->csa,
                   room + (int64_t)p * GEMM_ROWS * kc);
    r->a = room;
}

/* What becomes of the product over a range of k: it is put into C or added to it; or it is a run
 * of a tree. */
typedef struct Target {
    bool adds;
    const Run *run; /* NULL: no tree */
    const Plane *plane;
} Target;

/* One panel of B, columns from j, with all row panels of the block, whose first row is i0. */
static void multiply(const GemmArgs *g, const RowBlock *r, int kc, Block b, const Target *t,
                     int64_t i0, int64_t j, int columns)
{
    const bool packed = r->packed && b.step == PANEL;
    float *c = g->c + i0 * g->ldc + j;
    for (int i = 0, p = 0; i < r->m; i += r->rows, p++) {
        Block a = {r->a + i * g->rsa, g->rsa, g->csa};
        if (r->packed) a = (Block){r->a + (int64_t)p * GEMM_ROWS * kc, 1, GEMM_ROWS};
        int rows = r->m - i < r->rows ? r->m - i : r->rows;
        if (t->run)
            (packed ? TREE_PACKED : TREE_STRIDED)[rows](t->run, a, b, t->plane, i0 + i, j, columns);
        else (packed ? PACKED : STRIDED)[rows](kc, a, b, c + i * g->ldc, g->ldc, columns, t->adds);
    }
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* The block [k, k + kc) x [j, j + nc) of B with all of A. A panel of B is packed just before the
 * first rows need it. */
static void multiply_block(const GemmArgs *g, int64_t k, int kc, int64_t j, int nc, const Target *t,
                           float *work)
{
    const float *b = g->b + k * g->rsb + j * g->csb;
    float *pack_room = work + (int64_t)IR_DOT_PIECE * (GEMM_COLUMNS + PANEL);
    const bool direct = g->csb == 1 && g->m <= 5 * GEMM_ROWS;
    for (int64_t i = 0; i < g->m; i += GEMM_ROW_BLOCK) {
        RowBlock r = {.m = (int)min64(g->m - i, GEMM_ROW_BLOCK),
                      .a = g->a + i * g->rsa + k * g->csa};
        pack_row_block(g, &r, kc, nc, pack_room);
        for (int p = 0; p < nc; p += PANEL) {
            int columns = nc - p < PANEL ? nc - p : PANEL;
            bool there = direct && columns == PANEL;
            float *packed = work + (int64_t)p * kc;
            if (i == 0 && !there) pack_b(kc, columns, b + p * g->csb, g->rsb, g->csb, packed);
            Block panel = {there ? b + p : packed, 0, there ? g->rsb : PANEL};
            multiply(g, &r, kc, panel, t, i, j + p, columns);
        }
    }
}

/* ---- blocks ---- */

typedef struct Tree {
    const GemmArgs *g;
    BlockTree joins;
    Plane plane[1 + IR_BLOCKS_LEVELS];
    float *work;
} Tree;

static void run_range(const Tree *t, const Run *run, int64_t k, int kc)
{
    const Target target = {.run = run, .plane = t->plane};
    for (int64_t j = 0; j < t->g->n; j += GEMM_COLUMNS)
        multiply_block(t->g, k, kc, j, (int)min64(t->g->n - j, GEMM_COLUMNS), &target, t->work);
}

/* The blocks [lo, hi), a subtree that fits a run. */
static void run_subtree(const Tree *t, int64_t lo, int64_t hi, int level, int joins)
{
    const GemmArgs *g = t->g;
    int64_t first = ir_block_start(g->blocks, g->k, lo), end = first;
    Run run = {.level = level, .joins = joins, .leaves = (int)(hi - lo)};
    for (int64_t s = lo; s < hi; s++) {
        int64_t k = end;
        end = ir_block_start(g->blocks, g->k, s + 1);
        run.leaf[s - lo].kc = (int)(end - k);
        run.leaf[s - lo].joins = t->joins.joins[s] - (s == hi - 1 ? joins : 0);
    }
    run_range(t, &run, first, (int)(end - first));
}

/* The blocks [lo, hi), whose result meets `joins` results that wait below `level`. The pieces of a
 * long block are added to the one before, then its result is one of the tree. */
static void run_tree(const Tree *t, int64_t lo, int64_t hi, int level, int joins)
{
    const GemmArgs *g = t->g;
    int64_t first = ir_block_start(g->blocks, g->k, lo), end = ir_block_start(g->blocks, g->k, hi);
    if (end - first <= IR_DOT_PIECE) {
        run_subtree(t, lo, hi, level, joins);
    } else if (hi - lo > 1) {
        run_tree(t, lo, (lo + hi) / 2, level, 0);
        run_tree(t, (lo + hi) / 2, hi, level + 1, joins + 1);
    } else {
        for (int64_t k = first; k < end; k += IR_DOT_PIECE) {
            Run run = {.level = level + (k > first), .joins = k > first, .leaves = 1};
            run.leaf[0].kc = (int)min64(end - k, IR_DOT_PIECE);
            if (k + IR_DOT_PIECE >= end) run.joins += joins;
            run_range(t, &run, k, run.leaf[0].kc);
        }
    }
}

/* n in parts of at most `most`, as even as multiples of `unit` allow. */
static int64_t even_part(int64_t n, int64_t most, int64_t unit)
{
    int64_t parts = (n + most - 1) / most, part = (n + parts - 1) / parts;
    return (part + unit - 1) / unit * unit;
}

/* Where the whole is one run nothing waits in memory. Else so much of C at a time as a plane
 * holds. */
static void gemm_blocks(const GemmArgs *g, float *work)
{
    Tree t = {.g = g, .plane[0] = {g->c, g->ldc}, .work = work};
    ir_block_tree(g->blocks.n, &t.joins);
    if (g->k <= IR_DOT_PIECE) {
        run_tree(&t, 0, g->blocks.n, 0, 0);
        return;
    }
    GemmArgs part = *g;
    int64_t columns = even_part(g->n, GEMM_PLANE_COLUMNS, PANEL);
    int64_t rows = even_part(g->m, GEMM_PLANE / columns - GEMM_ROWS, GEMM_ROWS);
    float *planes = work + cpu_gemm_workspace((Blocks){1, 1}) / sizeof *work;
    t.g = &part;
    for (int l = 1; l <= IR_BLOCKS_LEVELS; l++)
        t.plane[l] = (Plane){planes + (l - 1) * (int64_t)GEMM_PLANE, columns};
    for (int64_t j = 0; j < g->n; j += columns)
        for (int64_t i = 0; i < g->m; i += rows) {
            part.m = min64(g->m - i, rows);
            part.n = min64(g->n - j, columns);
            part.a = g->a + i * g->rsa;
            part.b = g->b + j * g->csb;
            t.plane[0].at = g->c + i * g->ldc + j;
            run_tree(&t, 0, g->blocks.n, 0, 0);
        }
}

void ISA_NAME(kern_gemm)(const GemmArgs *g, void *work)
{
    for (int64_t i = 0; g->k == 0 && i < g->m; i++)
        memset(g->c + i * g->ldc, 0, (size_t)g->n * sizeof *g->c);
    if (g->blocks.n > 1 && g->k > 0) {
        gemm_blocks(g, work);
        return;
    }
    for (int64_t j = 0; j < g->n; j += GEMM_COLUMNS)
        for (int64_t k = 0; k < g->k; k += IR_DOT_PIECE)
            multiply_block(g, k, (int)min64(g->k - k, IR_DOT_PIECE), j,
                           (int)min64(g->n - j, GEMM_COLUMNS), &(Target){.adds = k > 0}, work);
}
