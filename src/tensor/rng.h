/* rng.h: the state of the random numbers.
 */
#ifndef SGL_TENSOR_RNG_H
#define SGL_TENSOR_RNG_H
#include "bind/host.h"
#include "dev/storage.h"

/* {seed, counter} of the next draws as a new i64[2]; the counter goes on by their number. */
Storage *tensor_rng_next(Host *h, int draws);
void tensor_rng_skip(Host *h, int draws); /* goes on as far, of draws that are not made */
#endif
