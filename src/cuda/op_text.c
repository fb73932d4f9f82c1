/* op_text.c: the steps that are no kernels, as CUDA C over a struct E of the element type.
 *
 * E has Raw, what memory holds, and T, what is computed with: get and put go between them; add,
 * mad (a times b plus c) and none, which adds nothing.
 * Holds: N5 of kern/kernel.h for products: FMA upwards in pieces of 384. What meets at one element
 *        is added by one thread in the order of the CPU's steps; no atomics on floats.
 */
#include "cuda/cuda.h"

#pragma GCC diagnostic ignored "-Woverlength-strings"

#define TEXT(...) #__VA_ARGS__

/* clang-format off */
const char CUDA_OPS[] = TEXT(

static __device__ __forceinline__ int64_t thread()
{
    return blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* n: m n k, strides of a and b along rows and columns, offsets, blocks, units; then each dim of the
 * batch with its extent and strides. A block of threads has a tile of SIDE by SIDE, a thread EACH
 * by EACH of it. */
enum { SIDE = 64, EACH = 4, DEEP = 16, DOT_NUMBERS = 12 };
template <class E> struct Tile {
    typedef typename E::T T;
    T sum[EACH][EACH];
    __device__ void set(T x)
    {
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++) sum[i][j] = x;
    }
    __device__ void add(const Tile &o)
    {
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++) sum[i][j] = E::add(sum[i][j], o.sum[i][j]);
    }
};
template <class E> struct Dot {
    typedef typename E::T T;
    typedef typename E::Raw Raw;
    const Raw *a;
    const Raw *b;
    int64_t m, n, rsa, csa, rsb, csb;
    int x, y, id;
    /* [from, to) of k; pieces begin at from. */
    __device__ void leaf(Tile<E> &sum, int64_t from, int64_t to, T (*as)[SIDE + 1], T (*bs)[SIDE])
    {
        Tile<E> part;
        sum.set(E::none());
        part.set(T(0));
        for (int64_t k0 = from; k0 < to; k0 += DEEP) {
            const int deep = (int)least(DEEP, to - k0);
            for (int i = id; i < DEEP * SIDE; i += 256) {
                const int l = i % DEEP; const int r = i / DEEP;
                const int c = i % SIDE; const int h = i / SIDE;
                as[l][r] = l < deep && r < m ? E::get(a[r * rsa + (k0 + l) * csa]) : T(0);
                bs[h][c] = h < deep && c < n ? E::get(b[(k0 + h) * rsb + c * csb]) : T(0);
            }
            __syncthreads();
            for (int l = 0; l < deep; l++)
                for (int i = 0; i < EACH; i++)
                    for (int j = 0; j < EACH; j++)
                        part.sum[i][j] =
                            E::mad(as[l][y + i * 16], bs[l][x + j * 16], part.sum[i][j]);
            __syncthreads();
            if ((k0 + DEEP - from) % DOT_PIECE == 0 || k0 + DEEP >= to) {
                sum.add(part);
                part.set(T(0));
            }
        }
    }
};
template <class E, int R, bool TREE, class Q> __device__ void dot(const Q &q)
{
    typedef typename E::T T;
    __shared__ T as[DEEP][SIDE + 1];
    __shared__ T bs[DEEP][SIDE];
    const int64_t m = q.n[0]; const int64_t n = q.n[1]; const int64_t k = q.n[2];
    const int64_t rows = (m + SIDE - 1) / SIDE; const int64_t columns = (n + SIDE - 1) / SIDE;
    int64_t rest = blockIdx.x / (rows * columns);
    int64_t at = rest * m * n + q.n[9]; int64_t in = q.n[7]; int64_t with = q.n[8];
    for (int d = R - 1; d >= 0; d--) {
        const int64_t *dim = q.n + DOT_NUMBERS + 3 * d;
        in += rest % dim[0] * dim[1];
        with += rest % dim[0] * dim[2];
        rest /= dim[0];
    }
    const int64_t row = blockIdx.x / columns % rows * SIDE;
    const int64_t column = blockIdx.x % columns * SIDE;
    Dot<E> d;
    d.rsa = q.n[3], d.csa = q.n[4], d.rsb = q.n[5], d.csb = q.n[6];
    d.a = (const typename E::Raw *)q.a[0] + in + row * d.rsa;
    d.b = (const typename E::Raw *)q.a[1] + with + column * d.csb;
    d.m = m - row, d.n = n - column;
    d.id = threadIdx.x, d.x = d.id % 16, d.y = d.id / 16;
    Tile<E> sum;
    if (TREE && k) {
        Tile<E> wait[LEVELS];
        const int64_t blocks = q.n[10]; const int64_t units = q.n[11];
        int top = 0;
        for (int64_t i = 0; i < blocks; i++) {
            d.leaf(wait[top++], i * units / blocks * (k / units),
                   (i + 1) * units / blocks * (k / units), as, bs);
            for (int joins = joins_of(i, blocks); joins > 0; joins--, top--)
                wait[top - 2].add(wait[top - 1]);
        }
        sum = wait[0];
    } else {
        d.leaf(sum, 0, k, as, bs);
    }
    typename E::Raw *c = (typename E::Raw *)q.a[2] + at;
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            const int r = d.y + i * 16; const int l = d.x + j * 16;
            if (r < d.m && l < d.n)
                c[(row + r) * n + column + l] = E::put(k ? sum.sum[i][j] : T(0));
        }
}

/* n: positions, size of the dim, offset, step. Says which position first lies outside. */
template <class I, class Q> __device__ void check(const Q &q)
{
    __shared__ unsigned long long first;
    const I *index = (const I *)q.a[0] + q.n[2];
    Fault *fault = (Fault *)q.a[1];
    if (threadIdx.x == 0) first = ~0ULL;
    __syncthreads();
    if (fault->step == 0)
        for (int64_t p = threadIdx.x; p < q.n[0]; p += blockDim.x)
            if ((int64_t)index[p] < 0 || (int64_t)index[p] >= q.n[1]) {
                atomicMin(&first, (unsigned long long)p);
                break;
            }
    __syncthreads();
    if (threadIdx.x != 0 || first == ~0ULL) return;
    fault->position = (int64_t)first;
    fault->value = (int64_t)index[first];
    fault->step = q.n[3];
}

/* n: outer, size, inner, positions, offsets of x, index, out. */
template <class R, class I, class Q> __device__ void gather(const Q &q)
{
    const int64_t inner = q.n[2]; const int64_t positions = q.n[3];
    const int64_t all = q.n[0] * positions * inner;
    const R *x = (const R *)q.a[0] + q.n[4];
    const I *index = (const I *)q.a[1] + q.n[5];
    R *out = (R *)q.a[2] + q.n[6];
    for (int64_t t = thread(); t < all; t += gridDim.x * (int64_t)blockDim.x) {
        const int64_t p = t / inner % positions; const int64_t o = t / inner / positions;
        out[t] = x[(o * q.n[1] + (int64_t)index[p]) * inner + t % inner];
    }
}

/* n: outer, size, inner, positions, offsets of x, index, updates, out. Each thread has a line of
 * the dim, which it sums in `work` where memory holds other numbers. */
template <class E, class I, class Q> __device__ void scatter(const Q &q)
{
    typedef typename E::T T;
    const int64_t size = q.n[1]; const int64_t inner = q.n[2]; const int64_t positions = q.n[3];
    const typename E::Raw *x = (const typename E::Raw *)q.a[0] + q.n[4];
    const I *index = (const I *)q.a[1] + q.n[5];
    const typename E::Raw *updates = (const typename E::Raw *)q.a[2] + q.n[6];
    typename E::Raw *out = (typename E::Raw *)q.a[3] + q.n[7];
    T *work = E::SAME ? (T *)(void *)out : (T *)q.a[4];
    for (int64_t t = thread(); t < q.n[0] * inner; t += gridDim.x * (int64_t)blockDim.x) {
        const int64_t line = t / inner * size * inner + t % inner;
        const int64_t from = t / inner * positions * inner + t % inner;
        for (int64_t i = 0; i < size; i++) work[line + i * inner] = E::get(x[line + i * inner]);
        for (int64_t p = 0; p < positions; p++) {
            T *to = &work[line + (int64_t)index[p] * inner];
            *to = E::add(*to, E::get(updates[from + p * inner]));
        }
        if (!E::SAME)
            for (int64_t i = 0; i < size; i++)
                out[line + i * inner] = E::put(work[line + i * inner]);
    }
}
/* In blocks, which n[8], n[9] tell: each thread has an element and looks for what is added to
 * it. */
template <class E, class I, class Q> __device__ void scatter_blocks(const Q &q)
{
    typedef typename E::T T;
    const int64_t size = q.n[1]; const int64_t inner = q.n[2]; const int64_t positions = q.n[3];
    const int64_t blocks = q.n[8]; const int64_t units = q.n[9];
    const typename E::Raw *x = (const typename E::Raw *)q.a[0] + q.n[4];
    const I *index = (const I *)q.a[1] + q.n[5];
    const typename E::Raw *updates = (const typename E::Raw *)q.a[2] + q.n[6];
    typename E::Raw *out = (typename E::Raw *)q.a[3] + q.n[7];
    for (int64_t t = thread(); t < q.n[0] * size * inner; t += gridDim.x * (int64_t)blockDim.x) {
        const int64_t row = t / inner % size;
        const typename E::Raw *u = updates + t / inner / size * positions * inner + t % inner;
        T wait[LEVELS];
        bool there[LEVELS];
        int top = 0;
        int64_t p = 0;
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t end = (b + 1) * units / blocks * (positions / units);
            there[top] = false;
            for (; p < end; p++) {
                if ((int64_t)index[p] != row) continue;
                const T v = E::get(u[p * inner]);
                wait[top] = there[top] ? E::add(wait[top], v) : v;
                there[top] = true;
            }
            top++;
            for (int joins = joins_of(b, blocks); joins > 0; joins--, top--) {
                if (!there[top - 1]) continue;
                wait[top - 2] =
                    there[top - 2] ? E::add(wait[top - 2], wait[top - 1]) : wait[top - 1];
                there[top - 2] = true;
            }
        }
        const T v = E::get(x[t]);
        out[t] = E::put(there[0] ? E::add(v, wait[0]) : v);
    }
}

/* n: outer, size, inner, offsets of x and out, backwards. */
template <class E, class Q> __device__ void cumsum(const Q &q)
{
    const int64_t size = q.n[1]; const int64_t inner = q.n[2];
    const int64_t step = q.n[5] ? -inner : inner;
    const typename E::Raw *x = (const typename E::Raw *)q.a[0] + q.n[3];
    typename E::Raw *out = (typename E::Raw *)q.a[1] + q.n[4];
    for (int64_t t = thread(); t < q.n[0] * inner; t += gridDim.x * (int64_t)blockDim.x) {
        int64_t at = t / inner * size * inner + t % inner + (q.n[5] ? (size - 1) * inner : 0);
        typename E::Running sum;
        for (int64_t i = 0; i < size; i++, at += step) out[at] = E::put(sum.next(E::get(x[at])));
    }
}
/* f32 is carried in f64; f64 carries what each addition loses; others wrap. */
struct RunningF32 {
    double sum = -0.0;
    __device__ float next(float x) { return (float)(sum += x); }
};
struct RunningF64 {
    double sum = -0.0;
    double lost = -0.0;
    __device__ double next(double b)
    {
        const double a = sum; const double t = a + b;
        const double rest = fabs(a) >= fabs(b) ? a - t + b : b - t + a;
        sum = t;
        if (rest != 0 && rest - rest == 0) lost += rest;
        return t + lost;
    }
};
template <class T> struct RunningWhole {
    T sum = 0;
    __device__ T next(T x) { return sum += x; }
};
struct RunningTruth {
    uint8_t sum = 0;
    __device__ uint8_t next(uint8_t x) { return sum |= x; }
};

/* n: outer, size, inner, offsets of x and out, descending. An element's place is how many come
 * before it; equal ones stay in order. */
static __device__ uint64_t key_of(double value)
{
    const uint64_t sign = 1ULL << 63;
    value += 0.0;
    const uint64_t bits = bits_of_f64(value);
    return value != value ? ~0ULL : bits & sign ? ~bits : bits | sign;
}
template <class E, class Q> __device__ void argsort(const Q &q)
{
    const int64_t size = q.n[1]; const int64_t inner = q.n[2];
    const typename E::Raw *x = (const typename E::Raw *)q.a[0] + q.n[3];
    int32_t *out = (int32_t *)q.a[1] + q.n[4];
    for (int64_t t = thread(); t < q.n[0] * size * inner; t += gridDim.x * (int64_t)blockDim.x) {
        const int64_t line = t / inner / size * size * inner + t % inner;
        const int64_t own = t / inner % size;
        const uint64_t turn = q.n[5] ? ~0ULL : 0;
        const uint64_t key = E::key(x[line + own * inner]) ^ turn;
        int64_t place = 0;
        for (int64_t i = 0; i < size; i++) {
            const uint64_t other = E::key(x[line + i * inner]) ^ turn;
            place += other < key || (other == key && i < own);
        }
        out[line + place * inner] = (int32_t)own;
    }
}

/* n: offsets of x and out; each dim of out: extent, stride of x; each window: dim, size, stride,
 * dilation, stride of x along the window, positions. */
template <class E, int R, int W, class Q> __device__ void fold(const Q &q)
{
    const typename E::Raw *x = (const typename E::Raw *)q.a[0] + q.n[0];
    typename E::Raw *out = (typename E::Raw *)q.a[1] + q.n[1];
    const int64_t *dim = q.n + 2; const int64_t *window = q.n + 2 + 2 * R;
    int64_t all = 1; int64_t sizes = 1;
    for (int d = 0; d < R; d++) all *= dim[2 * d];
    for (int w = 0; w < W; w++) sizes *= window[6 * w + 1];
    for (int64_t t = thread(); t < all; t += gridDim.x * (int64_t)blockDim.x) {
        int64_t at[R + 1];
        int64_t rest = t;
        typename E::T sum = 0;
        for (int d = R - 1; d >= 0; d--) at[d] = rest % dim[2 * d], rest /= dim[2 * d];
        for (int64_t s = sizes - 1; s >= 0; s--) {
            int64_t place[R + 1];
            int64_t from = 0; int64_t left = s;
            bool inside = true;
            for (int d = 0; d < R; d++) place[d] = at[d];
            for (int w = W - 1; w >= 0; w--) {
                const int64_t *g = window + 6 * w;
                const int64_t k = left % g[1];
                const int64_t p = place[g[0]] - k * g[3];
                left /= g[1];
                inside = inside && p >= 0 && p % g[2] == 0 && p / g[2] < g[5];
                place[g[0]] = p / g[2];
                from += k * g[4];
            }
            for (int d = 0; d < R; d++) from += place[d] * dim[2 * d + 1];
            if (inside) sum = E::add(sum, E::get(x[from]));
        }
        out[t] = E::put(sum);
    }
}

/* n: words of 4 bytes, and bytes behind them. */
template <class Q> __device__ void copy(const Q &q)
{
    const uint32_t *from = (const uint32_t *)q.a[0];
    uint32_t *to = (uint32_t *)q.a[1];
    for (int64_t t = thread(); t < q.n[0]; t += gridDim.x * (int64_t)blockDim.x) to[t] = from[t];
    if (thread() >= q.n[1]) return;
    ((uint8_t *)(to + q.n[0]))[thread()] = ((const uint8_t *)(from + q.n[0]))[thread()];
}
);
/* clang-format on */
