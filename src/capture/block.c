/* block.c: what a block of control flow reads from the capture around it: its inputs.
 *
 * In:    a tensor, the state of random numbers or the last effect, outside.
 * Out:   a node of the block; NULL with the error set.
 */
#include "capture/room.h"
#include "ir/build.h"
#include "ir/numerics.h"
#include "ir/rebuild.h"

/* A new input of the block of the type of `like`; NULL with the error set. */
static Node *block_input(Capture *c, BlockKind kind, Tensor *t, Node *from, const Node *like)
{
    Graph *g = c->trace.graph;
    Node *n = like ? ir_input(g, INPUT_ARG, NULL, like->dtype, like->rank, like->dims)
                   : ir_input(g, INPUT_ARG, NULL, DT_i64, 0, NULL);
    BlockInput input = {kind, t, from, n, NULL};
    if (n && !vec_push(&c->inputs, input)) {
        base_fail(g->cx, SGL_ENOMEM, "out of memory for a block");
        return NULL;
    }
    return n;
}

/* A constant stays one, until the block assigns its handle (capture_block_changes). A block that
 * repeats may find that after it read it. */
Node *capture_block_tensor(lua_State *L, Host *h, Capture *c, int arg, Tensor *t)
{
    Node *from = capture_node_in(L, h, c->outer, arg, t);
    if (from->op == OP_const && !c->repeats) return ir_node_over(c->trace.graph, from, NULL);
    return block_input(c, BLOCK_TENSOR, t, from, from);
}

/* The input that the block's value of t comes in by, before t is assigned. */
Node *capture_block_changes(lua_State *L, Host *h, Capture *c, int arg, Tensor *t, Node *input)
{
    if (input->op == OP_input) return input;
    Node *from = capture_node_in(L, h, c->outer, arg, t);
    return block_input(c, BLOCK_TENSOR, t, from, from);
}

Node *capture_block_effect(Capture *c)
{
    Node *from = capture_effect(c->outer);
    return from ? block_input(c, BLOCK_EFFECT, NULL, from, from) : NULL;
}

/* A block that repeats has it from the steps before. */
Node *capture_block_set(Capture *c, Tensor *t, Node *set)
{
    Node *from = ir_const(c->outer->trace.graph, DT_bool, 0, NULL, 0);
    Node *input = from ? block_input(c, BLOCK_SET, t, from, from) : NULL;
    if (!input) return NULL;
    Node *after = !set ? ir_const_like(input, 1) : c->repeats ? ir_logical_or(input, set) : set;
    return c->inputs.at[c->inputs.n - 1].after = after;
}

/* 48 bits that the state gives for a draw, i64[1], as core.rng_scope has them: the words' 24 bits
 * are exact in f32. */
static Node *draw_key(Node *state, int draw)
{
    const Dim one = 1;
    Node *word[2];
    for (int w = 0; w < 2; w++) {
        Node *u = ir_rand(state, 1, &one, draw, w);
        word[w] = ir_cast(ir_mul(u, ir_const_like(u, 0x1p24)), DT_i64);
    }
    return ir_add(ir_mul(word[0], ir_const_like(word[0], 0x1p24)), word[1]);
}

/* Draws in a block count from a key of the control node's own, and in each step from another
 * number, so that those outside are what they are whichever block runs, and how often. */
Node *capture_block_rng(Capture *c)
{
    const Dim one = 1;
    Node *outside = capture_rng(c->outer);
    Node *key = outside ? draw_key(outside, c->number) : NULL;
    Node *in = key ? block_input(c, BLOCK_RNG, NULL, key, key) : NULL;
    if (!in) return NULL;
    Node *first = ir_const(c->trace.graph, DT_i64, 1, &one, 0);
    if (c->repeats) {
        c->index = block_input(c, BLOCK_INDEX, NULL, NULL, NULL);
        first = c->index ? ir_reshape(c->index, 1, &one) : NULL;
        first = ir_mul(first, first ? ir_const_like(first, IR_RNG_STEP) : NULL);
    }
    Node *state[] = {in, first};
    return first ? ir_concat(2, state, 0) : NULL;
}
