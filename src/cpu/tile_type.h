/* tile_type.h: the elementwise loops of one register type, from the rows of op.def, and its
 * conversions, from those of cast.def. Included by tile_isa.c once a type, so there is no include
 * guard.
 *
 * In:   TYPE (the suffix: f32 …), T (the C type), and for each set of classes a macro IF_<set>
 *       that keeps or drops a row.
 * Out:  functions, and their tables tile_rows_<TYPE> and tile_casts_<TYPE>.
 */
#define FN_(name, form, type) loop_##name##_##form##_##type
#define FN__(name, form, type) FN_(name, form, type)
#define FN(name, form) FN__(name, form, TYPE)

/* The pointer named like the scalar operand is read before the loop, the others in it. */
#define LOOP(name, form, R, A, B, C, X, Y, Z, value)                                           \
    static void FN(name, form)(void *out, const void *pa, const void *pb, const void *pc,      \
                               int64_t n)                                                      \
    {                                                                                          \
        R *o = out;                                                                            \
        A B C                                                                                  \
        LANES_FREE for (int64_t i = 0; i < n; i++) { X Y Z o[i] = (R)(value); }                \
        (void)pa, (void)pb, (void)pc;                                                          \
    }
#define VECTOR(type, p) const type *v##p = p;
#define SINGLE(type, p) const type s##p = *(const type *)p;
#define EACH(type, x, p) const type x = v##p[i];
#define SAME(type, x, p) const type x = s##p;

#define LOOP1(name, R, value) LOOP(name, vv, R, VECTOR(T, pa), , , EACH(T, x, pa), , , value)
#define LOOP2(name, R, value)                                                                  \
    LOOP(name, vv, R, , VECTOR(T, pb), VECTOR(T, pc), EACH(T, x, pb), EACH(T, y, pc), , value) \
    LOOP(name, sv, R, , SINGLE(T, pb), VECTOR(T, pc), SAME(T, x, pb), EACH(T, y, pc), , value) \
    LOOP(name, vs, R, , VECTOR(T, pb), SINGLE(T, pc), EACH(T, x, pb), SAME(T, y, pc), , value)
#define LOOP3(name, Y, EY, Z, EZ, form, value)                                                 \
    LOOP(name, form, T, VECTOR(uint8_t, pa), Y(T, pb), Z(T, pc), EACH(uint8_t, x, pa),         \
         EY(T, y, pb), EZ(T, z, pc), value)

#define UNARY(name, types, value, grad, domain, onnx, doc) IF_##types(LOOP1(name, T, value))
#define TEST(name, types, value, domain, onnx, doc) IF_##types(LOOP1(name, uint8_t, value))
#define BINARY(name, types, value, gx, gy, domain, onnx, doc) IF_##types(LOOP2(name, T, value))
#define COMPARE(name, types, value, domain, onnx, doc) IF_##types(LOOP2(name, uint8_t, value))
#define SELECT(name, types, value, domain, onnx, doc)                                          \
    IF_##types(LOOP3(name, VECTOR, EACH, VECTOR, EACH, vv, value)                              \
               LOOP3(name, SINGLE, SAME, VECTOR, EACH, sv, value)                              \
               LOOP3(name, VECTOR, EACH, SINGLE, SAME, vs, value)                              \
               LOOP3(name, SINGLE, SAME, SINGLE, SAME, ss, value))
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)
#include "ir/op.def"
#include "ir/op_undef.h"

#define ROW1(name) [OP_##name] = {FN(name, vv)},
#define ROW2(name) [OP_##name] = {FN(name, vv), FN(name, sv), FN(name, vs)},
#define ROW3(name) [OP_##name] = {FN(name, vv), FN(name, sv), FN(name, vs), FN(name, ss)},
#define UNARY(name, types, value, grad, domain, onnx, doc) IF_##types(ROW1(name))
#define TEST(name, types, value, domain, onnx, doc) IF_##types(ROW1(name))
#define BINARY(name, types, value, gx, gy, domain, onnx, doc) IF_##types(ROW2(name))
#define COMPARE(name, types, value, domain, onnx, doc) IF_##types(ROW2(name))
#define SELECT(name, types, value, domain, onnx, doc) IF_##types(ROW3(name))
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)
static const TileRow ISA_PASTE(tile_rows, TYPE)[OP_COUNT] = {
#include "ir/op.def"
};
#include "ir/op_undef.h"

#define CAST(to, R, value) LOOP(cast_##to, v, R, VECTOR(T, pa), , , EACH(T, x, pa), , , value)
#include "ir/cast.def"
#undef CAST
#define CAST(to, R, value) [DT_##to] = FN(cast_##to, v),
static TileFn *const ISA_PASTE(tile_casts, TYPE)[DT_COUNT] = {
#include "ir/cast.def"
};
#undef CAST

#undef FN_
#undef FN__
#undef FN
#undef LOOP
#undef VECTOR
#undef SINGLE
#undef EACH
#undef SAME
#undef LOOP1
#undef LOOP2
#undef LOOP3
#undef ROW1
#undef ROW2
#undef ROW3
#undef TYPE
#undef T
#undef IF_FLOAT
#undef IF_INT
#undef IF_BOOL
#undef IF_NUM
#undef IF_ANY
