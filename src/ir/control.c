/* control.c: blocks, control nodes and their results (control.h).
 *
 * Holds: blocks of a graph are unequal, so equal control nodes are one node; a block keeps its
 *        number.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/control.h"
#include "ir/grad.h"
#include "ir/text.h"

static bool same_text(const Graph *a, const Graph *b)
{
    Str x = {0}, y = {0};
    ir_print(a, &x);
    ir_print(b, &y);
    bool same = !x.failed && !y.failed && x.n == y.n && !memcmp(x.at, y.at, x.n);
    base_str_free(&x);
    base_str_free(&y);
    return same;
}

/* What is asked of a block again and again; its own blocks know it already. */
static void know(Graph *block)
{
    block->hash = ir_graph_hash(block);
    for (int id = 0; id < block->nodes.n; id++) {
        block->masks |= ir_control_masks(block->nodes.at[id]);
        block->may_fail |= ir_may_fail(block->nodes.at[id]);
    }
}

int ir_block_add(Graph *g, Graph *block)
{
    for (int i = 0; i < g->blocks.n; i++)
        if (g->blocks.at[i] == block) return i;
    if (!block->hash) know(block);
    if (g->cx->err.code) return g->cx->err.code;
    for (int i = 0; i < g->blocks.n; i++)
        if (g->blocks.at[i]->hash == block->hash && same_text(g->blocks.at[i], block)) return i;
    if (!vec_push(&g->blocks, block)) return base_no_memory(g->cx, "a block");
    ir_graph_ref(block);
    return g->blocks.n - 1;
}

Graph *ir_block_new(Ctx *cx, int n, Node *const *of)
{
    Graph *g = ir_graph_new(cx);
    bool made = g != NULL;
    for (int i = 0; i < n && made; i++)
        made = ir_input(g, INPUT_ARG, NULL, of[i]->dtype, of[i]->rank, of[i]->dims) != NULL;
    if (made) return g;
    ir_graph_free(g);
    return NULL;
}

static Control cond_of(const Node *n)
{
    const Graph *then = n->graph->blocks.at[n->attr[0]];
    return (Control){.op = OP_cond,
                     .block = {then, n->graph->blocks.at[n->attr[1]]},
                     .ncapture = n->nin - 1,
                     .nout = then->outputs.n,
                     .count = -1,
                     .saved = -1};
}

/* Names the attributes of a scan by their places in its row of op.def. */
static Control scan_of(const Node *n)
{
    const Graph *body = n->graph->blocks.at[n->attr[0]];
    int carry = (int)n->attr[1], xs = (int)n->attr[2];
    return (Control){.op = OP_scan,
                     .block = {body},
                     .ncarry = carry,
                     .nxs = xs,
                     .ncapture = n->nin - carry - xs,
                     .ny = body->outputs.n - carry,
                     .length = n->attr[4],
                     .reverse = n->attr[5] != 0,
                     .nout = body->outputs.n + carry,
                     .count = -1,
                     .saved = body->outputs.n};
}

static Control loop_of(const Node *n)
{
    int carry = (int)n->attr[1];
    return (Control){.op = OP_loop,
                     .block = {n->graph->blocks.at[n->attr[0]]},
                     .ncarry = carry,
                     .ncapture = n->nin - carry,
                     .length = n->attr[2],
                     .nout = 2 * carry + 1,
                     .count = carry,
                     .saved = carry + 1};
}

Control ir_control(const Node *n)
{
    return n->op == OP_cond ? cond_of(n) : n->op == OP_scan ? scan_of(n) : loop_of(n);
}

/* Which of its inputs an output of a block may go to: that one, FLOWS_NONE or FLOWS_ALL. */
enum { FLOWS_NONE = -1, FLOWS_ALL = -2 };

static int output_flows(const Graph *block, int out)
{
    const Node *n = block->outputs.at[out].node;
    if (n->op == OP_input) return (int)ir_attr_int(n, 0);
    return ir_op(n)->flows ? FLOWS_ALL : FLOWS_NONE;
}

/* Into result k of a scan or loop. A carry that each step replaces is what it was at first where
 * there is no step. */
static bool repeated_flows(const Control *c, int k, int i)
{
    int to = k < c->ncarry ? output_flows(c->block[0], k) : FLOWS_ALL;
    return i == k || to == FLOWS_ALL || (to != FLOWS_NONE && to != k);
}

static bool cond_flows(const Control *c, int k, int i)
{
    bool any = false;
    for (int b = 0; b < 2; b++) {
        int to = output_flows(c->block[b], k);
        any |= to == FLOWS_ALL || (to != FLOWS_NONE && to + 1 == i);
    }
    return any;
}

bool ir_flows(const Node *n, int i)
{
    const Node *by = n->op == OP_result ? n->in[0] : n;
    if (!ir_op(by)->flows || !ir_is_control(by)) return ir_op(by)->flows;
    Control c = ir_control(by);
    int first = n == by ? 0 : (int)n->attr[0], last = n == by ? c.nout - 1 : first;
    bool any = false;
    for (int k = first; k <= last && !any; k++)
        any = c.op == OP_cond ? cond_flows(&c, k, i) : repeated_flows(&c, k, i);
    return any;
}

uint8_t ir_control_masks(const Node *n)
{
    if (!ir_is_control(n)) return n->op == OP_where ? MASK_PART : 0;
    Control c = ir_control(n);
    bool runs = n->op == OP_scan && ir_dim_is_const(c.length) && c.length > 0;
    return c.block[0]->masks | (runs ? 0 : MASK_WHOLE);
}

bool ir_may_fail(const Node *n)
{
    Family family = ir_op(n)->family;
    if (n->op == OP_result) return ir_may_fail(n->in[0]);
    if (!ir_is_control(n))
        return family == FAM_effect || family == FAM_custom || ir_op(n)->domain == DOM_INDEX;
    Control c = ir_control(n);
    return c.block[0]->may_fail || (c.block[1] && c.block[1]->may_fail);
}

Node *ir_cond(Node *pred, int n, Node *const *in, int then, int otherwise)
{
    AttrBuf b = {0};
    if (!pred) return NULL;
    Node **all = base_mem_alloc(((size_t)n + 1) * sizeof *all), *made = NULL;
    ir_attr_put(&b, then);
    ir_attr_put(&b, otherwise);
    if (all) {
        all[0] = pred;
        for (int i = 0; i < n; i++) all[i + 1] = in[i];
        made = ir_attr_node(pred->graph, OP_cond, n + 1, all, &b);
    } else {
        base_no_memory(pred->graph->cx, "a block");
    }
    base_mem_free(all);
    return made;
}

Node *ir_scan(int n, Node *const *in, int body, int ncarry, int nxs, Dim length, bool reverse)
{
    AttrBuf b = {0};
    ir_attr_put(&b, body);
    ir_attr_put(&b, ncarry);
    ir_attr_put(&b, nxs);
    ir_attr_put_list(&b, 1, &length);
    ir_attr_put(&b, reverse);
    return in[0] ? ir_attr_node(in[0]->graph, OP_scan, n, in, &b) : NULL;
}

Node *ir_loop(int n, Node *const *in, int body, int ncarry, int64_t max)
{
    AttrBuf b = {0};
    ir_attr_put(&b, body);
    ir_attr_put(&b, ncarry);
    ir_attr_put(&b, max);
    return in[0] ? ir_attr_node(in[0]->graph, OP_loop, n, in, &b) : NULL;
}
