/* combine.c: how values of ranks meet, and how parts lie in a whole.
 *
 * Holds: combining two is what the op of that name computes (op.def): the larger of two is NaN if
 *        either is, the first where both are equal. Several meet by the tree of comm.h, tile by
 *        tile; halves in f32, rounded once.
 */
#include <string.h>
#include "comm/comm.h"

enum { TILE = 1024, TREE_DEPTH = 8 }; /* elements combined at once; 2^8 members */

int64_t comm_parts_total(const CommParts *p, int members)
{
    int64_t n = 0;
    for (int m = 0; m < members; m++) n += p->length[m];
    return n;
}

int64_t comm_parts_bytes(const CommParts *p, int m) { return p->outer * p->length[m] * p->inner; }

static const char *const KINDS[] = {
    [COMM_sum] = "sum",
    [COMM_prod] = "prod",
    [COMM_max] = "max",
    [COMM_min] = "min",
};

int comm_kind_find(const char *name)
{
    for (int k = 0; k < COMM_KINDS; k++)
        if (strcmp(name, KINDS[k]) == 0) return k;
    return -1;
}

/* ---- two values: x = x and y, element by element */

typedef void (*CombineFn)(void *x, const void *y, int64_t count);

#define COMBINE(name, T, value)                                                                    \
    static void name(void *at, const void *by, int64_t count)                                      \
    {                                                                                              \
        T *a = at;                                                                                 \
        const T *b = by;                                                                           \
        for (int64_t i = 0; i < count; i++) {                                                      \
            T x = a[i], y = b[i];                                                                  \
            a[i] = (T)(value);                                                                     \
        }                                                                                          \
    }
#define COMBINE_ALL(T, name)                                                                       \
    COMBINE(sum_##name, T, x + y)                                                                  \
    COMBINE(prod_##name, T, x *y)                                                                  \
    COMBINE(max_##name, T, y > x || y != y ? y : x)                                                \
    COMBINE(min_##name, T, y < x || y != y ? y : x)
COMBINE_ALL(float, f32)
COMBINE_ALL(double, f64)
COMBINE_ALL(int32_t, i32)
COMBINE_ALL(int64_t, i64)
COMBINE_ALL(uint8_t, u8)

#define ROW(name)                                                                                  \
    {                                                                                              \
        sum_##name, prod_##name, max_##name, min_##name                                            \
    }
static const CombineFn BY_DTYPE[DT_COUNT][COMM_KINDS] = {
    [DT_f32] = ROW(f32), [DT_f64] = ROW(f64), [DT_i32] = ROW(i32),
    [DT_i64] = ROW(i64), [DT_u8] = ROW(u8),   [DT_bool] = ROW(u8),
};

/* ---- several */

typedef struct Tree {
    const void *const *value;
    CommKind kind;
    Dtype dtype, work; /* halves meet in f32 */
    char *scratch;     /* a tile for each level */
} Tree;

/* Elements [at, at + n) of a value, in the dtype that is combined. */
static void take(const Tree *t, int member, int64_t at, int64_t n, void *out)
{
    size_t bytes = DTYPES[t->dtype].bytes;
    const char *from = (const char *)t->value[member] + (size_t)at * bytes;
    if (t->work == t->dtype) {
        memcpy(out, from, (size_t)n * bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++) ((float *)out)[i] = (float)ir_dtype_load(t->dtype, from, i);
}

/* A leaf on the right is added from where it lies. */
static void combine(const Tree *t, int lo, int hi, int64_t at, int64_t n, char *out, int level)
{
    char *right = t->scratch + (size_t)level * TILE * sizeof(double);
    const void *other = right;
    int middle = (lo + hi) / 2;
    if (hi - lo == 1) {
        take(t, lo, at, n, out);
        return;
    }
    combine(t, lo, middle, at, n, out, level + 1);
    if (hi - middle == 1 && t->work == t->dtype)
        other = (const char *)t->value[middle] + (size_t)at * DTYPES[t->dtype].bytes;
    else combine(t, middle, hi, at, n, right, level + 1);
    BY_DTYPE[t->work][t->kind](out, other, n);
}

void comm_combine(CommKind kind, Dtype dtype, int n, const void *const *value, int64_t count,
                  void *out)
{
    _Alignas(64) char scratch[(TREE_DEPTH + 1) * TILE * sizeof(double)];
    bool half = dtype == DT_f16 || dtype == DT_bf16;
    Tree t = {value, kind, dtype, half ? DT_f32 : dtype, scratch + TILE * sizeof(double)};
    size_t bytes = DTYPES[dtype].bytes;
    for (int64_t i = 0; i < count; i += TILE) {
        int64_t some = count - i < TILE ? count - i : TILE;
        char *to = (char *)out + (size_t)i * bytes;
        combine(&t, 0, n, i, some, scratch, 0);
        if (half)
            for (int64_t k = 0; k < some; k++) ir_dtype_store(dtype, to, k, ((float *)scratch)[k]);
        else memcpy(to, scratch, (size_t)some * bytes);
    }
}

/* ---- parts */

void comm_place(const CommParts *p, int members, int member, int64_t at, int64_t n, char *whole,
                char *packed, bool out)
{
    int64_t row = p->length[member] * p->inner, all = comm_parts_total(p, members) * p->inner,
            before = 0;
    for (int m = 0; m < member; m++) before += p->length[m] * p->inner;
    while (n > 0) {
        int64_t within = at % row, some = row - within < n ? row - within : n;
        char *there = whole + at / row * all + before + within;
        if (out) memcpy(there, packed, (size_t)some);
        else memcpy(packed, there, (size_t)some);
        packed += some;
        at += some;
        n -= some;
    }
}
