/* op_leaf.c: input, const, iota, size, rand: nodes whose dims and dtype are attributes.
 *
 * Shape rules, gradients (none flows) and reference evaluation.
 * A size is symbolic: binding the symbols makes it a constant before anything is evaluated.
 * Holds: ir_input makes the `input` nodes itself and ir_eval_nodes binds their arrays, so the rule
 *        and the evaluation of `input` only refuse.
 */
#include <string.h>
#include "ir/check.h"
#include "ir/philox.h"
#include "ir/ref.h"
#include "ir/rules.h"

int ir_shape_input(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    (void)attr, (void)out;
    return ir_check_fail(&c, SGL_EARG, "only ir_input makes it", NULL, NULL);
}

NO_GRADIENT(input)

int ir_eval_input(const Node *n, const RefArray *const *in, RefArray *out)
{
    (void)in, (void)out;
    return base_fail(n->graph->cx, SGL_EINTERN, "input: evaluated without a value");
}

int ir_shape_const(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    const int64_t *word = attr + 1;
    AttrList dims = ir_take_list(&word);
    int rc = ir_check_dtype(&c, *word);
    return rc ? rc : ir_check_result(&c, (Dtype)*word, dims.n, dims.at, out);
}

NO_GRADIENT(const)

int ir_eval_const(const Node *n, const RefArray *const *in, RefArray *out)
{
    double value = ir_dtype_round(n->dtype, ir_attr_float(n, 0));
    (void)in;
    if (DTYPES[n->dtype].class == CLASS_FLOAT) value = ir_attr_float(n, 0);
    for (int64_t i = 0; i < out->count; i++) out->at[i] = value;
    return 0;
}

int ir_shape_iota(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    const int64_t *word = attr + 1;
    AttrList dims = ir_take_list(&word);
    int rc = ir_check_dtype(&c, *word);
    Dtype dtype = (Dtype)*word++;
    AttrList start = ir_take_list(&word);
    if (!rc) rc = ir_check_axis(&c, attr[0], dims.n);
    if (!rc && start.n) rc = ir_check_length(&c, start, 1, "start");
    if (!rc && start.n && ir_dim_below_zero(cx, start.at[0]))
        rc = ir_check_fail(&c, SGL_ESHAPE, "the start can be negative", NULL, "%s",
                           ir_dim_name(cx, start.at[0]).at);
    return rc ? rc : ir_check_result(&c, dtype, dims.n, dims.at, out);
}

NO_GRADIENT(iota)

int ir_eval_iota(const Node *n, const RefArray *const *in, RefArray *out)
{
    int64_t dim = ir_attr_int(n, 0);
    int count;
    const int64_t *start = ir_attr_list(n, 3, &count);
    Walk w = ir_walk_over(out);
    (void)in;
    for (int64_t i = 0; i < out->count; i++, ir_walk_next(&w))
        out->at[i] = (double)(w.at[dim] + (count ? start[0] : 0));
    return 0;
}

int ir_shape_size(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList of = ir_take_list(&attr);
    int rc = ir_check_length(&c, of, 1, "of");
    if (!rc) rc = ir_check_dtype(&c, *attr);
    if (!rc && ir_dim_is_const(of.at[0]))
        return ir_check_fail(&c, SGL_EARG, "a size that is known is a constant", "use const", NULL);
    return rc ? rc : ir_check_result(&c, (Dtype)*attr, 0, NULL, out);
}

NO_GRADIENT(size)

int ir_eval_size(const Node *n, const RefArray *const *in, RefArray *out)
{
    (void)in, (void)out;
    return base_fail(n->graph->cx, SGL_EARG, "size: the symbols are not bound");
}

/* A part of dims `global`, from `start` on; both lists are empty for the whole. */
static int check_part(const Check *c, AttrList dims, AttrList global, AttrList start)
{
    if (!global.n && !start.n) return 0;
    int rc = ir_check_length(c, global, dims.n, "global");
    if (!rc) rc = ir_check_length(c, start, dims.n, "start");
    for (int d = 0; !rc && d < dims.n; d++) {
        Dim end, left;
        if (ir_dim_below_zero(c->cx, start.at[d]))
            return ir_check_fail(c, SGL_ESHAPE, "the start can be negative", NULL, "dim %d: %s",
                                 d + 1, ir_dim_name(c->cx, start.at[d]).at);
        rc = ir_check_add(c, start.at[d], dims.at[d], d, &end);
        if (!rc)
            rc = ir_check_sub(c, global.at[d], end, "the part does not lie in the whole", d, &left);
    }
    Shape whole;
    return rc ? rc : ir_check_result(c, DT_f32, global.n, global.at, &whole);
}

int ir_shape_rand(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    const int64_t *word = attr + 2;
    AttrList dims = ir_take_list(&word);
    if (in[0]->dtype != DT_i64 || in[0]->rank != 1 || in[0]->dims[0] != 2)
        return ir_check_fail(&c, SGL_ESHAPE, "the state must be i64[2], {seed, step}", NULL, NULL);
    if (attr[0] < 0 || attr[0] > INT32_MAX)
        return ir_check_fail(&c, SGL_EARG, "the draw is out of range", NULL,
                             "%lld outside 0 to 2^31-1", (long long)attr[0]);
    if (attr[1] < 0 || attr[1] > 3)
        return ir_check_fail(&c, SGL_EARG, "the word is out of range", NULL, "%lld outside 0 to 3",
                             (long long)attr[1]);
    AttrList global = ir_take_list(&word), start = ir_take_list(&word);
    int rc = check_part(&c, dims, global, start);
    return rc ? rc : ir_check_result(&c, DT_f32, dims.n, dims.at, out);
}

NO_GRADIENT(rand)

int ir_eval_rand(const Node *n, const RefArray *const *in, RefArray *out)
{
    int64_t seed = ir_ref_int(in[0]->at[0]), step = ir_ref_int(in[0]->at[1]);
    int draw = (int)ir_attr_int(n, 0), word = (int)ir_attr_int(n, 1), rank = out->rank, part;
    const int64_t *global = ir_attr_list(n, 3, &part), *start = ir_attr_list(n, 4, &part);
    Walk w = ir_walk_over(out); /* its offset: the place in the whole */
    if (part) ir_row_steps(rank, global, w.step);
    for (int d = 0; d < part; d++) w.offset += start[d] * w.step[d];
    for (int64_t i = 0; i < out->count; i++, ir_walk_next(&w))
        out->at[i] = ir_rand_value(seed, step, draw, word, w.offset);
    return 0;
}
