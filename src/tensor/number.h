/* number.h: numbers of a step: those among its arguments, and what Lua's operators make of them.
 *
 * Each is a tensor that is weak: the f64 input that stands for an argument, or a result, f64 or
 * i64. To the user it is a number: it has no methods and no fields, and its digits are Lua's.
 */
#ifndef SGL_TENSOR_NUMBER_H
#define SGL_TENSOR_NUMBER_H
#include "tensor/tensor.h"

/* A number must be at least the one and below the other at each run; {} in the text stands for its
 * value. `arg`: its number among the arguments, where it is one. */
typedef struct NumberCheck {
    int arg;
    double least, limit;
    const char *text;
} NumberCheck;

const Tensor *tensor_number_at(lua_State *L, Host *h, int arg); /* NULL: not such a number */
const char *tensor_number_kind(const Tensor *t);                /* in words, for messages */
/* CLASS_INT or CLASS_FLOAT; the program is then for arguments of these types only. */
int tensor_number_class(Host *h, const Tensor *t);
/* The number at `arg` in a dtype, as a constant has it. One that an integer dtype has no room for
 * is an error of the run, in the name of `what`. */
Node *tensor_number_cast(lua_State *L, Host *h, const char *what, int arg, Dtype to);
/* Pushes what the operator of Lua gives for the numbers 1 …, one of which is such a number. */
void tensor_number_operator(lua_State *L, Host *h, Op op);
/* In a capture a symbolic size at `arg` becomes such a number. */
void tensor_number_of_size(lua_State *L, Host *h, int arg);
/* If the argument is such a number, `what`, done on it, needs its value: it becomes that of this
 * call, to which the step is held; or that is a break. */
void tensor_number_settle(lua_State *L, Host *h, int arg, const char *what);
/* Breaks if the argument is such a number. */
void tensor_number_refuse(lua_State *L, Host *h, int arg, const char *what);
/* Pushes the value that it has in this call, to which nothing is held; false: it is no such number,
 * or has none. */
bool tensor_number_value(lua_State *L, Host *h, int arg);
/* How the numbers at a and b, at least one such, compare in this call (LUA_OPEQ …); the step is
 * held to that. Or a break of `what`. */
bool tensor_number_compare(lua_State *L, Host *h, int op, int a, int b, const char *what);

/* Raises if the number on the top of the stack, the value of an argument, is not as it must be. */
void tensor_number_check(lua_State *L, const NumberCheck *must);
#endif
