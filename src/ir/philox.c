/* philox.c: the callable form of philox.h. */
#include "ir/eval.h"
#include "ir/philox.h"

float ir_rand_value(int64_t seed, int64_t step, int draw, int word, int64_t element)
{
    uint32_t out[4];
    philox_element(seed, step + draw, 0, element, out);
    return philox_uniform(out[word & 3]);
}
