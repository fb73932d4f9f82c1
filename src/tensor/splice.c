/* splice.c: the operations of a graph recorded anew, on tensors.
 *
 * In:   a graph, from a text or a file, and a tensor for each of its inputs.
 * Out:  its outputs, and the values that it assigns, as if they had been computed by a script: they
 *       wait, have gradients, and belong to the step that is being captured.
 * Holds: sizes of the tensors are known; a symbolic graph is bound to them. Effects would have to
 *        take their turn among those of the script: a graph with some is refused.
 */
#include "ir/bind.h"
#include "ir/rebuild.h"
#include "ir/solve.h"
#include "tensor/args.h"
#include "tensor/graph.h"
#include "tensor/recorder.h"

/* What the inputs of the graph are in the trace; by number. */
static Node *splice_node(Rebuild *rb, const Node *n, Node **in)
{
    Node *const *given = rb->arg;
    return n->op == OP_input ? given[ir_attr_int(n, 0)] : ir_rebuild_same(rb, n, in);
}

/* The shapes of the tensors, whose sizes and dtypes must be those of the inputs. */
static Shape *check_shapes(lua_State *L, const Graph *g, int n, Tensor *const *list)
{
    Shape *shapes = bind_scratch(L, n, sizeof *shapes);
    if (n != g->inputs.n)
        bind_raise(L, SGL_EARG, NULL, "apply: the graph has %d inputs, got %d tensors", g->inputs.n,
                   n);
    for (int i = 0; i < n; i++) {
        const Node *in = g->inputs.at[i].node;
        const char *name = g->inputs.at[i].name ? g->inputs.at[i].name : "";
        shapes[i] = tensor_shape(list[i]);
        for (int d = 0; d < shapes[i].rank; d++)
            if (!ir_dim_is_const(shapes[i].dims[d]))
                bind_raise(L, SGL_EUNSUP, "compile the function for known sizes",
                           "apply: input %d '%s' has a symbolic size", i + 1, name);
        if (shapes[i].dtype != (Dtype)in->dtype)
            bind_raise(L, SGL_EDTYPE, NULL, "apply: input %d '%s' is %s, got %s", i + 1, name,
                       DTYPES[in->dtype].name, DTYPES[shapes[i].dtype].name);
    }
    return shapes;
}

/* Pushes a handle on the graph with the sizes of the tensors. */
static const Graph *bound(lua_State *L, Host *h, const Graph *g, const Shape *shapes)
{
    base_err_clear(&h->cx->err);
    int64_t *values = ir_solve(g, shapes);
    if (!values) bind_throw(L, h);
    GraphBox *box = tensor_graph_new(L, h);
    box->kernels = -1;
    box->graph = ir_bind(g, values);
    base_mem_free(values);
    tensor_graph_made(L, h, box);
    return box->graph;
}

static void push_result(lua_State *L, Host *h, Trace *tr, Node *n)
{
    tensor_bind(tensor_new(L, h), tr, n);
}

/* g:apply(list of tensors) -> list of outputs, list of { number of an input, its new value } */
static int graph_apply(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 2);
    const Graph *g = tensor_graph_check(L)->graph;
    int n;
    Tensor **list = tensor_list(L, h, 2, "apply", &n);
    if (g->effects.n)
        bind_raise(L, SGL_EUNSUP, "run it as a program, or leave sgl.print and sgl.assert out",
                   "apply: the graph prints or asserts");
    g = bound(L, h, g, check_shapes(L, g, n, list));
    Node **in = bind_scratch(L, n, sizeof *in);
    Trace *tr = tensor_trace(L, h);
    for (int i = 0; i < n; i++) in[i] = tensor_node_of(L, h, 2, list[i], "apply");
    Rebuild rb = {.from = g, .to = tr->graph, .remake = splice_node, .arg = in};
    Node **out = bind_scratch(L, g->outputs.n + g->assigns.n, sizeof *out);
    int status = ir_rebuild_nodes(&rb);
    for (int i = 0; i < g->outputs.n && status == SGL_OK; i++)
        out[i] = rb.made[g->outputs.at[i].node->id];
    for (int i = 0; i < g->assigns.n && status == SGL_OK; i++)
        out[g->outputs.n + i] = rb.made[g->assigns.at[i].value->id];
    ir_rebuild_end(&rb);
    if (status < 0) bind_throw(L, h);
    lua_createtable(L, g->outputs.n, 0);
    for (int i = 0; i < g->outputs.n; i++) {
        push_result(L, h, tr, out[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_createtable(L, g->assigns.n, 0);
    for (int i = 0; i < g->assigns.n; i++) {
        lua_createtable(L, 2, 0);
        lua_pushinteger(L, g->assigns.at[i].input + 1);
        lua_rawseti(L, -2, 1);
        push_result(L, h, tr, out[g->outputs.n + i]);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, i + 1);
    }
    return 2;
}

const luaL_Reg TENSOR_SPLICE_METHODS[] = {{"apply", graph_apply}, {NULL, NULL}};
