/* op_undef.h: takes the row macros back after an inclusion of op.def. No include guard. */
#undef UNARY
#undef TEST
#undef BINARY
#undef COMPARE
#undef SELECT
#undef OP
