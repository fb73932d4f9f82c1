/* prelude.c: what all texts of kernels stand on: the dialect, and the orders of reductions.
 *
 * Holds: rules N2, N3 and N6 (kern/kernel.h). A row belongs to a warp, whose lanes are the lanes of
 *        rule N2; a column belongs to a thread. Functions of the C library that values call are
 *        those of the device, which differ from the host's in the last bits.
 */
#include "cuda/cuda.h"

#pragma GCC diagnostic ignored "-Woverlength-strings"

#define TEXT(...) #__VA_ARGS__
#define LANES IR_NUMBER_TEXT(IR_LANES)
#define ROW_CHUNK IR_NUMBER_TEXT(IR_ROW_CHUNK)
#define COLUMN_BLOCK IR_NUMBER_TEXT(IR_COLUMN_BLOCK)
#define LEVELS IR_NUMBER_TEXT(IR_BLOCKS_LEVELS)

const CDialect CUDA_DIALECT = {
    .type = {"int", "uint8_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float",
             "double"},
    .function = "static __device__ __forceinline__ ",
    .prelude = CUDA_PRELUDE,
    .fold = "struct $o_$n {\n"
            "    typedef $a T;\n"
            "    static __device__ T none() { return $i; }\n"
            "    static __device__ auto on(T a, T b) { return $c(a, b); }\n"
            "};\n",
};

/* clang-format off */
const char CUDA_PRELUDE[] =
    "typedef unsigned char uint8_t;\ntypedef unsigned short uint16_t;\ntypedef int int32_t;\n"
    "typedef unsigned uint32_t;\ntypedef long long int64_t;\ntypedef unsigned long long uint64_t;\n"
    "#define INFINITY __int_as_float(0x7f800000)\n"
    "#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n"
    "#define INT64_MIN (-9223372036854775807LL - 1)\n#define INT64_MAX 9223372036854775807LL\n"
    "#define UINT8_MAX 255\n#define INT64_C(x) x##LL\n#define UINT64_C(x) x##ULL\n"
    "enum { LANES = " LANES ", ROW_CHUNK = " ROW_CHUNK ", COLUMN_BLOCK = " COLUMN_BLOCK
    ", LEVELS = " LEVELS ", DOT_PIECE = " IR_NUMBER_TEXT(IR_DOT_PIECE) " };\n"
    TEXT(
static __device__ __forceinline__ int32_t bits_of_f32(float x) { return __float_as_int(x); }
static __device__ __forceinline__ float f32_of_bits(int32_t i) { return __int_as_float(i); }
static __device__ __forceinline__ uint64_t bits_of_f64(double x)
{
    return (uint64_t)__double_as_longlong(x);
}
static __device__ __forceinline__ double f64_of_bits(uint64_t i)
{
    return __longlong_as_double((int64_t)i);
}

template <int A, int N> struct Args { void *a[A]; int64_t n[N]; };

/* The first step of a program whose values were refused; those behind it leave everything alone. */
struct Fault { int64_t step, position, value; };

/* Rule N2 for one warp. The caller gives each lane every 32nd element and says when 32 are done. */
template <class F> struct Row {
    typedef typename F::T T;
    T lane, above, all;
    int levels, chunks;
    __device__ Row(int64_t longest) : lane(F::none()), above(F::none()), all(F::none())
    {
        chunks = 0;
        levels = longest < LANES ? 0 : longest <= (int64_t)ROW_CHUNK * (LANES - 1) ? 1 : 2;
    }
    static __device__ T folded(T x)
    {
        for (int half = LANES / 2; half >= 1; half /= 2) {
            const T other = __shfl_down_sync(~0u, x, half);
            x = F::on(x, other);
        }
        return __shfl_sync(~0u, x, 0);
    }
    __device__ void take(T x, int64_t) { lane = levels ? F::on(lane, x) : x; }
    __device__ void chunk(T x)
    {
        if (levels == 1) {
            all = F::on(all, x);
            return;
        }
        if ((threadIdx.x & 31) == chunks % LANES) above = F::on(above, x);
        if (++chunks == ROW_CHUNK) over();
    }
    __device__ void over()
    {
        const T x = folded(above);
        all = F::on(all, x);
        above = F::none();
        chunks = 0;
    }
    /* All 32 lanes have taken theirs, up to element `done` of `n`. */
    __device__ void next(int64_t done, int64_t n)
    {
        if (!levels || (done % ROW_CHUNK && done < n)) return;
        const T x = folded(lane);
        chunk(x);
        lane = F::none();
    }
    __device__ T end(int64_t n)
    {
        if (levels == 2 && chunks) over();
        for (int j = 0; !levels && j < LANES; j++) {
            const T x = __shfl_sync(~0u, lane, j);
            if (j < n) all = F::on(all, x);
        }
        return all;
    }
};

/* Rule N3 for one thread. */
template <class F> struct Column {
    typedef typename F::T T;
    enum { DEPTH = 6 };
    T level[DEPTH];
    int count[DEPTH];
    __device__ Column(int64_t)
    {
        for (int l = 0; l < DEPTH; l++) level[l] = F::none(), count[l] = 0;
    }
    __device__ void take(T x, int64_t)
    {
        level[0] = F::on(level[0], x);
        if (++count[0] == COLUMN_BLOCK) up();
    }
    __device__ void up()
    {
        for (int l = 0; l + 1 < DEPTH && count[l] == COLUMN_BLOCK; l++) lift(l);
    }
    __device__ void lift(int l)
    {
        level[l + 1] = F::on(level[l + 1], level[l]);
        count[l + 1]++;
        level[l] = F::none();
        count[l] = 0;
    }
    __device__ void next(int64_t, int64_t) {}
    __device__ T end(int64_t)
    {
        for (int l = 0; l + 1 < DEPTH; l++)
            if (count[l]) lift(l);
        return level[DEPTH - 1];
    }
};

/* Rule N4: the first of equals; a NaN beats all but a NaN. */
template <class F> struct ColumnBest {
    typedef typename F::T T;
    T best;
    int64_t at;
    __device__ ColumnBest(int64_t) : best(F::none()), at(0) {}
    __device__ void take(T x, int64_t i)
    {
        if (F::on(x, best) || (x != x && best == best)) best = x, at = i;
    }
    __device__ void next(int64_t, int64_t) {}
    __device__ int32_t end(int64_t) { return (int32_t)at; }
};
template <class F> struct RowBest : ColumnBest<F> {
    typedef typename F::T T;
    __device__ RowBest(int64_t n) : ColumnBest<F>(n) {}
    __device__ int32_t end(int64_t)
    {
        for (int half = LANES / 2; half >= 1; half /= 2) {
            const T x = __shfl_xor_sync(~0u, this->best, half);
            const int64_t i = __shfl_xor_sync(~0u, this->at, half);
            const bool mine = F::on(this->best, x) || (this->best != this->best && x == x);
            const bool other = F::on(x, this->best) || (x != x && this->best == this->best);
            if (other || (!mine && i < this->at)) this->best = x, this->at = i;
        }
        return (int32_t)this->at;
    }
};

/* Rule N6: results of blocks wait on a stack until they meet; so often does one behind block i. */
static __device__ int joins_of(int64_t block, int64_t blocks)
{
    int64_t lo = 0; int64_t hi = blocks;
    int joins = 0;
    while (hi - lo > 1) {
        const int64_t middle = (lo + hi) / 2;
        if (block < middle) hi = middle, joins = 0;
        else lo = middle, joins++;
    }
    return joins;
}
template <class F> struct Tree {
    typename F::T wait[LEVELS];
    int top;
    __device__ Tree() : top(0) {}
    __device__ void put(typename F::T x, int block, int blocks)
    {
        int joins = joins_of(block, blocks);
        wait[top++] = x;
        for (; joins > 0; joins--, top--) wait[top - 2] = F::on(wait[top - 2], wait[top - 1]);
    }
    __device__ typename F::T end() const { return wait[0]; }
};
) "\n";
/* clang-format on */
