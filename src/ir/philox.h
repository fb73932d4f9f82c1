/* philox.h: Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011).
 *
 * Inline, so that the kernels and the reference compute op `rand` from the same lines.
 * Holds: the number depends on (seed, step, stream, word, element) alone.
 */
#ifndef SGL_IR_PHILOX_H
#define SGL_IR_PHILOX_H
#include <stdint.h>

static inline void philox4x32(uint64_t key, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* The four words of one element of op `rand`. Counter: element (low, high), low half of step,
 * stream. Key: seed, with the high half of step xored into its high half. */
static inline void philox_element(int64_t seed, int64_t step, int stream, int64_t element,
                                  uint32_t out[4])
{
    uint64_t high = (uint64_t)step >> 32 << 32;
    const uint32_t counter[4] = { (uint32_t)element, (uint32_t)((uint64_t)element >> 32),
                                  (uint32_t)step, (uint32_t)stream };
    philox4x32((uint64_t)seed ^ high, counter, out);
}

static inline float philox_uniform(uint32_t word)      /* in [0, 1), exact in f32 */
{
    return (float)(word >> 8) * 0x1p-24f;
}
#endif
