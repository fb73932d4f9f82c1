/* philox.h: the random numbers of op `rand`, which are rows of math.def: Philox4x32-10.
 *
 * Holds: the number depends on (seed, step, stream, word, element) alone.
 */
#ifndef SGL_IR_PHILOX_H
#define SGL_IR_PHILOX_H
#include "ir/math.h"

/* The four words of one element. */
static inline void philox_element(int64_t seed, int64_t step, int stream, int64_t element,
                                  uint32_t out[4])
{
    for (int word = 0; word < 4; word++)
        out[word] = math_rand_word(seed, step, stream, element, word);
}

static inline float philox_uniform(uint32_t word) { return math_uniform(word); }
#endif
