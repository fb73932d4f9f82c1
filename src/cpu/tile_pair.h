/* tile_pair.h: two f32 operations in one loop, for tile_isa.c: out = (b first c) second a.
 *
 * A chain of cheap operations is bound by the registers' trips through the cache; a pair halves
 * them. Both results are rounded, as in two loops.
 * Out:  the table tile_pairs, by first, second, form of b and c, and whether a is one value.
 *       add and mul take the one value among b and c as c.
 */
#ifndef SGL_CPU_TILE_PAIR_H
#define SGL_CPU_TILE_PAIR_H
#include "cpu/tile_ops.h"

#define FIRST_add (x + y)
#define FIRST_sub (x - y)
#define FIRST_mul (x * y)
#define SECOND_add (u + z)
#define SECOND_sub (u - z)
#define SECOND_rsub (z - u)
#define SECOND_mul (u * z)
#define SECOND_div (u / z)
#define SECOND_max (z > u || z != z ? z : u)

#define VECTOR(p) const float *v##p = p;
#define SINGLE(p) const float s##p = *(const float *)p;
#define EACH(p) v##p[i]
#define SAME(p) s##p
#define PAIR(first, second, form, B, XB, C, XC, A, XA)                                         \
    static void pair_##first##_##second##_##form(void *out, const void *pa, const void *pb,    \
                                                 const void *pc, int64_t n)                    \
    {                                                                                          \
        float *o = out;                                                                        \
        A(pa) B(pb) C(pc)                                                                      \
        LANES_FREE for (int64_t i = 0; i < n; i++) {                                           \
            const float x = XB(pb), y = XC(pc), z = XA(pa), u = FIRST_##first;                 \
            o[i] = SECOND_##second;                                                            \
        }                                                                                      \
    }
#define PAIR_A(first, second, form, B, XB, C, XC)                                              \
    PAIR(first, second, form##v, B, XB, C, XC, VECTOR, EACH)                                   \
    PAIR(first, second, form##s, B, XB, C, XC, SINGLE, SAME)
#define PAIR_COMMUTING(first, second)                                                          \
    PAIR_A(first, second, vv, VECTOR, EACH, VECTOR, EACH)                                      \
    PAIR_A(first, second, vs, VECTOR, EACH, SINGLE, SAME)
#define PAIR_ORDERED(first, second)                                                            \
    PAIR_COMMUTING(first, second)                                                              \
    PAIR_A(first, second, sv, SINGLE, SAME, VECTOR, EACH)
#define SECONDS(m, first) \
    m(first, add) m(first, sub) m(first, rsub) m(first, mul) m(first, div) m(first, max)
SECONDS(PAIR_COMMUTING, add)
SECONDS(PAIR_ORDERED, sub)
SECONDS(PAIR_COMMUTING, mul)

#define AT(first, second, form) {pair_##first##_##second##_##form##v, \
                                 pair_##first##_##second##_##form##s}
#define ROW_COMMUTING(first, second) \
    [PAIR_##second] = {[0] = AT(first, second, vv), [FORM_C] = AT(first, second, vs)},
#define ROW_ORDERED(first, second) \
    [PAIR_##second] = {AT(first, second, vv), AT(first, second, sv), AT(first, second, vs)},
static const PairTable tile_pairs = {
    [PAIR_add] = {SECONDS(ROW_COMMUTING, add)},
    [PAIR_sub] = {SECONDS(ROW_ORDERED, sub)},
    [PAIR_mul] = {SECONDS(ROW_COMMUTING, mul)},
};
#undef VECTOR
#undef SINGLE
#undef EACH
#undef SAME
#endif
