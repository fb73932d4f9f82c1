/* tile_math.h: the m_<f> that rows of op.def and cast.def name, for each register type: m_exp(x)
 * becomes math_exp_<TYPE>(x), a row of math.def.
 */
#ifndef SGL_CPU_TILE_MATH_H
#define SGL_CPU_TILE_MATH_H
#include "ir/math.h"

#define TYPED_(f, type) math_##f##_##type
#define TYPED__(f, type) TYPED_(f, type)
#define TYPED(f) TYPED__(f, TYPE)
#define m_abs TYPED(abs)
#define m_exp TYPED(exp)
#define m_exp2 TYPED(exp2)
#define m_expm1 TYPED(expm1)
#define m_log TYPED(log)
#define m_log2 TYPED(log2)
#define m_log1p TYPED(log1p)
#define m_sqrt TYPED(sqrt)
#define m_sin TYPED(sin)
#define m_cos TYPED(cos)
#define m_tan TYPED(tan)
#define m_asin TYPED(asin)
#define m_acos TYPED(acos)
#define m_atan TYPED(atan)
#define m_sinh TYPED(sinh)
#define m_cosh TYPED(cosh)
#define m_tanh TYPED(tanh)
#define m_erf TYPED(erf)
#define m_floor TYPED(floor)
#define m_ceil TYPED(ceil)
#define m_rint TYPED(rint)
#define m_floordiv TYPED(floordiv)
#define m_mod TYPED(mod)
#define m_pow TYPED(pow)
#define m_atan2 TYPED(atan2)
#define m_to_u8 TYPED(to_u8)
#define m_to_i32 TYPED(to_i32)
#define m_to_i64 TYPED(to_i64)
#define m_to_f16 TYPED(to_f16)
#define m_to_bf16 TYPED(to_bf16)
#endif
