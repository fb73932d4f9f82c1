/* math_undef.h: takes the row macros back after an inclusion of math.def. No include guard. */
#undef CONST
#undef TABLE
#undef FN
#undef FN_ULP
#undef LIBM
