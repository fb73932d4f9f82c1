/* rule.c: the algebraic rules of elementwise ops, and the search through all rules.
 */
#include <math.h>
#include "ir/build.h"
#include "pass/rule.h"
#include "pass/simplify.h"

/* Tests of an input */

static bool is_int(const Node *x) { return DTYPES[x->dtype].class == CLASS_INT; }

static bool constant(const Node *x)
{
    double value;
    return ir_const_value(x, &value);
}

static bool variable(const Node *x) { return !constant(x); }

static bool is_value(const Node *x, double wanted)
{
    double value;
    return ir_const_value(x, &value) && value == wanted && signbit(value) == signbit(wanted);
}

static bool plus_zero(const Node *x) { return is_value(x, 0); }
static bool any_zero(const Node *x) { return is_value(x, 0) || is_value(x, -0.0); }
static bool int_zero(const Node *x) { return is_int(x) && is_value(x, 0); }
static bool adds_nothing(const Node *x) { return is_value(x, ir_is_float(x) ? -0.0 : 0); }
static bool one(const Node *x) { return is_value(x, 1); }
static bool int_one(const Node *x) { return is_int(x) && one(x); }
static bool minus_one(const Node *x) { return is_value(x, -1); }
static bool two(const Node *x) { return is_value(x, 2); }
static bool half(const Node *x) { return is_value(x, 0.5); }
static bool yes(const Node *x) { return is_value(x, 1); }
static bool no(const Node *x) { return is_value(x, 0); }

/* u8 has no negative values, so neg wraps there and its rules do not hold. */
static bool negated(const Node *x) { return x->op == OP_neg && x->dtype != DT_u8; }
static bool inverted(const Node *x) { return x->op == OP_logical_not; }
static bool is_abs(const Node *x) { return x->op == OP_abs; }
static bool is_eq(const Node *x) { return x->op == OP_eq; }
static bool is_ne(const Node *x) { return x->op == OP_ne; }
static bool from_bool(const Node *x) { return x->op == OP_cast && x->in[0]->dtype == DT_bool; }

static bool choice_of_constants(const Node *x)
{
    return x->op == OP_where && constant(x->in[1]) && constant(x->in[2]);
}

static bool int_plus_constant(const Node *x)
{
    return x->op == OP_add && is_int(x) && constant(x->in[1]);
}

/* A power of two whose reciprocal the dtype holds: both round the same real number. */
static bool power_of_two(const Node *x)
{
    double value;
    int exponent;
    if (!ir_const_value(x, &value) || value == 0 || isinf(value)) return false;
    return fabs(frexp(value, &exponent)) == 0.5 && ir_dtype_round(x->dtype, 1 / value) == 1 / value;
}

/* Ops whose result is never below zero nor -0, always or if no input is. */
enum { ALWAYS = 1, IF_INPUTS };
static const uint8_t KEEPS_SIGN[OP_COUNT] = {
    [OP_abs] = ALWAYS,          [OP_exp] = ALWAYS,        [OP_exp2] = ALWAYS,
    [OP_sigmoid] = ALWAYS,      [OP_add] = IF_INPUTS,     [OP_mul] = IF_INPUTS,
    [OP_div] = IF_INPUTS,       [OP_sum] = IF_INPUTS,     [OP_max] = IF_INPUTS,
    [OP_broadcast] = IF_INPUTS, [OP_reshape] = IF_INPUTS, [OP_permute] = IF_INPUTS,
};

static bool never_negative(const Node *x, int depth)
{
    double value;
    if (ir_const_value(x, &value)) return !signbit(value);
    if (KEEPS_SIGN[x->op] == ALWAYS || (x->op == OP_mul && x->in[0] == x->in[1])) return true;
    if (KEEPS_SIGN[x->op] != IF_INPUTS || depth == 0) return false;
    for (int i = 0; i < x->nin; i++)
        if (!never_negative(x->in[i], depth - 1)) return false;
    return true;
}

/* Deep enough for a standard deviation. */
static bool no_sign(const Node *x) { return never_negative(x, 8); }

/* A cumulative sum starts from 0, and 0 + -0 is 0. */
static bool no_minus_zero(const Node *x) { return x->op == OP_cumsum || no_sign(x); }

/* What takes the place of a node */

static Node *x_itself(Node *n) { return n->in[0]; }
static Node *y_itself(Node *n) { return n->in[1]; }
static Node *inside_x(Node *n) { return n->in[0]->in[0]; }
static Node *zeros(Node *n) { return ir_const_like(n, 0); }
static Node *ones(Node *n) { return ir_const_like(n, 1); }
static Node *negative_x(Node *n) { return ir_neg(n->in[0]); }
static Node *square(Node *n) { return ir_mul(n->in[0], n->in[0]); }

/* In f64 a power is the C library's, which is Lua's: the last digit may be another. */
static Node *inverse(Node *n)
{
    return n->dtype == DT_f64 ? NULL : ir_div(ir_const_like(n, 1), n->in[0]);
}

static Node *root(Node *n) { return n->dtype == DT_f64 ? NULL : ir_sqrt(n->in[0]); }

static Node *abs_inside(Node *n) { return ir_abs(n->in[0]->in[0]); }
static Node *not_inside(Node *n) { return ir_logical_not(n->in[0]->in[0]); }
static Node *add_inside_y(Node *n) { return ir_add(n->in[0], n->in[1]->in[0]); }
static Node *sub_inside_y(Node *n) { return ir_sub(n->in[0], n->in[1]->in[0]); }
static Node *sub_inside_x(Node *n) { return ir_sub(n->in[1], n->in[0]->in[0]); }
static Node *unequal(Node *n) { return ir_ne(n->in[0]->in[0], n->in[0]->in[1]); }
static Node *equal(Node *n) { return ir_eq(n->in[0]->in[0], n->in[0]->in[1]); }
static Node *x_if_twice(Node *n) { return n->in[0] == n->in[1] ? n->in[0] : NULL; }

static Node *int_zero_if_twice(Node *n)
{
    return n->in[0] == n->in[1] && is_int(n) ? ir_const_like(n, 0) : NULL;
}

static Node *swapped(Node *n)
{
    return ir_elementwise(n->graph, n->op, 2, (Node *[]){n->in[1], n->in[0]});
}

static Node *signs_off(Node *n)
{
    return ir_elementwise(n->graph, n->op, 2, (Node *[]){n->in[0]->in[0], n->in[1]->in[0]});
}

static Node *sign_into_constant(Node *n)
{
    double value;
    ir_const_value(n->in[1], &value);
    if (!ir_is_float(n) || isnan(value)) return NULL;
    Node *in[] = {n->in[0]->in[0], ir_const_like(n->in[1], -value)};
    return ir_elementwise(n->graph, n->op, 2, in);
}

static Node *times_reciprocal(Node *n)
{
    double value;
    ir_const_value(n->in[1], &value);
    return ir_mul(n->in[0], ir_const_like(n->in[1], 1 / value));
}

static Node *constants_joined(Node *n)
{
    return ir_add(n->in[0]->in[0], ir_add(n->in[0]->in[1], n->in[1]));
}

static Node *known_side(Node *n) { return n->in[yes(n->in[0]) ? 1 : 2]; }

/* The two negations are folded when their turn comes. */
static Node *negated_choice(Node *n)
{
    const Node *x = n->in[0];
    return ir_where(x->in[0], ir_neg(x->in[1]), ir_neg(x->in[2]));
}

static Node *same_side(Node *n) { return n->in[1] == n->in[2] ? n->in[1] : NULL; }

static Node *sides_swapped(Node *n) { return ir_where(n->in[0]->in[0], n->in[2], n->in[1]); }

static Node *cast_of_condition(Node *n)
{
    return plus_zero(n->in[2]) ? ir_cast(n->in[0], n->dtype) : NULL;
}

const Rule PASS_ELEMENT_RULES[] = {
    {OP_add, constant, variable, swapped, "constants stand second"},
    {OP_mul, constant, variable, swapped, "constants stand second"},
    {OP_eq, constant, variable, swapped, "constants stand second"},
    {OP_ne, constant, variable, swapped, "constants stand second"},
    {OP_logical_and, constant, variable, swapped, "constants stand second"},
    {OP_logical_or, constant, variable, swapped, "constants stand second"},
    {OP_logical_xor, constant, variable, swapped, "constants stand second"},

    {OP_add, NULL, adds_nothing, x_itself, "x + -0 = x; for integers x + 0. But -0 + 0 is 0"},
    {OP_add, no_minus_zero, plus_zero, x_itself, "x + 0 = x where x cannot be -0"},
    {OP_sub, NULL, plus_zero, x_itself, "x - 0 = x, also for -0"},
    {OP_mul, NULL, one, x_itself, "x·1 = x"},
    {OP_mul, NULL, int_zero, y_itself, "x·0 = 0 for integers; inf·0 is NaN"},
    {OP_mul, NULL, minus_one, negative_x, "x·-1 = -x"},
    {OP_div, NULL, one, x_itself, "x/1 = x"},
    {OP_div, NULL, power_of_two, times_reciprocal, "x/2^k and x·2^-k round the same number"},
    {OP_floordiv, NULL, int_one, x_itself, "x//1 = x for integers"},
    {OP_mod, NULL, int_one, zeros, "x%1 = 0 for integers; inf % 1 is NaN"},
    {OP_sub, is_int, NULL, int_zero_if_twice, "x - x = 0 for integers; inf - inf is NaN"},
    {OP_add, int_plus_constant, constant, constants_joined, "(x + a) + b = x + (a + b), integers"},
    {OP_min, NULL, NULL, x_if_twice, "min(x, x) = x"},
    {OP_max, NULL, NULL, x_if_twice, "max(x, x) = x"},

    {OP_detach, NULL, NULL, x_itself, "gradients are taken before the pipeline"},
    {OP_neg, negated, NULL, inside_x, "-(-x) = x"},
    {OP_neg, choice_of_constants, NULL, negated_choice, "-where(c, a, b) = where(c, -a, -b)"},
    {OP_add, NULL, negated, sub_inside_y, "x + -y = x - y"},
    {OP_add, negated, NULL, sub_inside_x, "-x + y = y - x"},
    {OP_sub, NULL, negated, add_inside_y, "x - -y = x + y"},
    {OP_mul, negated, negated, signs_off, "-x·-y = x·y"},
    {OP_div, negated, negated, signs_off, "-x/-y = x/y"},
    {OP_mul, negated, constant, sign_into_constant, "-x·c = x·-c"},
    {OP_div, negated, constant, sign_into_constant, "-x/c = x/-c"},
    {OP_abs, negated, NULL, abs_inside, "|-x| = |x|"},
    {OP_abs, is_abs, NULL, x_itself, "||x|| = |x|"},

    {OP_pow, NULL, one, x_itself, "x^1 = x"},
    {OP_pow, NULL, any_zero, ones, "x^0 = 1, also for NaN"},
    {OP_pow, NULL, two, square, "x^2 = x·x, rounded once"},
    {OP_pow, NULL, minus_one, inverse, "x^-1 = 1/x, rounded once"},
    {OP_pow, no_sign, half, root, "x^0.5 = sqrt(x) but for -0 and -inf"},

    {OP_logical_and, NULL, yes, x_itself, "x and true = x"},
    {OP_logical_and, NULL, no, y_itself, "x and false = false"},
    {OP_logical_and, NULL, NULL, x_if_twice, "x and x = x"},
    {OP_logical_or, NULL, no, x_itself, "x or false = x"},
    {OP_logical_or, NULL, yes, y_itself, "x or true = true"},
    {OP_logical_or, NULL, NULL, x_if_twice, "x or x = x"},
    {OP_logical_xor, NULL, no, x_itself, "x xor false = x"},
    {OP_logical_not, inverted, NULL, inside_x, "not not x = x"},
    {OP_logical_not, is_eq, NULL, unequal, "not x == y is x ~= y, also for NaN"},
    {OP_logical_not, is_ne, NULL, equal, "not x ~= y is x == y, also for NaN"},
    {OP_ne, from_bool, any_zero, inside_x, "a truth as number ~= 0 is the truth"},
    {OP_eq, from_bool, any_zero, not_inside, "a truth as number == 0 is its opposite"},

    {OP_where, constant, NULL, known_side, "the condition is known"},
    {OP_where, NULL, NULL, same_side, "both sides are the same"},
    {OP_where, inverted, NULL, sides_swapped, "where(not c, y, z) = where(c, z, y)"},
    {OP_where, NULL, one, cast_of_condition, "where(c, 1, 0) is c as a number"},
    {0},
};

static Node *search(const Rule *rules, Node *n)
{
    for (const Rule *r = rules; r->make; r++) {
        if (r->op != n->op || (r->x && !r->x(n->in[0])) || (r->y && !r->y(n->in[1]))) continue;
        Node *made = r->make(n);
        if (made || n->graph->cx->err.code) return made;
    }
    return NULL;
}

Node *pass_apply_rules(Node *n)
{
    Node *made = search(PASS_ELEMENT_RULES, n);
    return made || n->graph->cx->err.code ? made : search(PASS_MOVEMENT_RULES, n);
}
