/* close.c: closure conversion of blocks (close.h).
 *
 * The inputs of all blocks are joined, each thing once, and put into the order that a control node
 * has: carries, xs, captures. Each block is then made anew over these, with what it changes among
 * its outputs: behind the carries, or for cond behind the results.
 */
#include "ir/build.h"
#include "ir/close.h"
#include "ir/rebuild.h"
#include "ir/result.h"

typedef enum Place { PLACE_CARRY, PLACE_CHANGE, PLACE_XS, PLACE_CAPTURE, PLACE_COUNT } Place;

/* An input of the control node. */
typedef struct Joined {
    const OpenInput *first; /* the input that it was met as */
    Place place;
    bool changes;
    Node *made; /* in the block at hand */
    Node *changed;
} Joined;

typedef struct Join {
    Closing *c;
    Arena arena;
    Joined *in;
    int n, place[PLACE_COUNT]; /* inputs, and how many of each place */
    int nchange;
    Node **node; /* outside */
    int number[2];
} Join;

static int no_memory(const Join *j) { return base_no_memory(j->c->outer->cx, "a block"); }

/* ---- the inputs */

static bool same_thing(const OpenInput *a, const OpenInput *b)
{
    return a->role == b->role && a->role != OPEN_ARGUMENT && a->key == b->key;
}

/* The joined input that stands for the same; an argument is one of its own. */
static Joined *find(const Join *j, const OpenInput *in)
{
    for (int i = 0; i < j->n; i++)
        if (j->in[i].first == in || same_thing(j->in[i].first, in)) return &j->in[i];
    return NULL;
}

static Place place_of(const Closing *c, const Joined *in, int number)
{
    if (in->first->role == OPEN_ARGUMENT) return number < c->ncarry ? PLACE_CARRY : PLACE_XS;
    if (in->first->role == OPEN_STEP) return c->op == OP_loop ? PLACE_CHANGE : PLACE_XS;
    return in->changes && c->op != OP_cond ? PLACE_CHANGE : PLACE_CAPTURE;
}

/* Stable, so carries, xs and changes keep their order. */
static int sort_inputs(Join *j)
{
    Joined *sorted = base_arena_zero(&j->arena, (size_t)j->n + 1, sizeof *sorted);
    int n = 0;
    if (!sorted) return no_memory(j);
    for (int i = 0; i < j->n; i++) j->in[i].place = place_of(j->c, &j->in[i], i);
    for (Place place = 0; place < PLACE_COUNT; place++)
        for (int i = 0; i < j->n; i++) {
            if (j->in[i].place != place) continue;
            sorted[n++] = j->in[i];
            j->place[place]++;
            j->nchange += j->c->op == OP_cond ? j->in[i].changes : place == PLACE_CHANGE;
        }
    j->in = sorted;
    return SGL_OK;
}

/* The node outside that is the input. */
static Node *outside(const Closing *c, const OpenInput *in)
{
    if (in->role != OPEN_STEP) return in->from;
    return c->op == OP_loop ? ir_const(c->outer, DT_i64, 0, NULL, 0)
                            : ir_iota(c->outer, DT_i64, 1, &c->length, 0);
}

/* What the blocks read, each thing once. */
static int join(Join *j)
{
    const Closing *c = j->c;
    int most = 0;
    for (int b = 0; b < c->nblock; b++) most += c->block[b].nin;
    j->in = base_arena_zero(&j->arena, (size_t)most + 1, sizeof *j->in);
    j->node = base_arena_zero(&j->arena, (size_t)most + 1, sizeof *j->node);
    if (!j->in || !j->node) return no_memory(j);
    for (int b = 0; b < c->nblock; b++)
        for (int i = 0; i < c->block[b].nin; i++) {
            const OpenInput *in = &c->block[b].in[i];
            Joined *to = find(j, in);
            if (!to) {
                to = &j->in[j->n++];
                *to = (Joined){.first = in};
            }
            to->changes |= in->after != in->input || in->role == OPEN_STEP;
        }
    int rc = sort_inputs(j);
    for (int i = 0; i < j->n && !rc; i++)
        if (!(j->node[i] = outside(c, j->in[i].first))) rc = c->outer->cx->err.code;
    return rc;
}

/* ---- the blocks */

/* The inputs in the new graph of a block; false with the error set. */
static bool make_inputs(const Join *j, Graph *g)
{
    for (int i = 0; i < j->n; i++) {
        Joined *in = &j->in[i];
        const Node *n = j->node[i];
        int slice = in->place == PLACE_XS;
        in->made = ir_input(g, INPUT_ARG, NULL, n->dtype, n->rank - slice, n->dims + slice);
        /* The input stays, unused, and is dropped when the graph is compiled. */
        if (in->made && n->op == OP_const && in->place == PLACE_CAPTURE)
            in->made = ir_node_over(g, n, NULL);
        if (!in->made) return false;
    }
    return true;
}

/* The value of an input after the block, in its new graph; out: the block's results and then what
 * its inputs are afterwards. */
static Node *value_after(const OpenBlock *b, const Joined *in, Node *const *out)
{
    if (in->first->role == OPEN_STEP) return ir_add(in->made, ir_const_like(in->made, 1));
    for (int i = 0; i < b->nin; i++)
        if (same_thing(in->first, &b->in[i])) return out[b->nresult + i];
    return in->made;
}

static bool is_result(const Closing *c, const Joined *in)
{
    return c->op == OP_cond ? in->changes : in->place == PLACE_CHANGE;
}

/* Results before what changed: those of the carries; of a cond all. */
static int results_first(const Closing *c, const OpenBlock *b)
{
    return c->op == OP_cond ? b->nresult : c->ncarry;
}

/* The outputs in order: those of the carries, what changed, the others. */
static bool give(const Join *j, const OpenBlock *b, Graph *g, Node *const *out)
{
    int first = results_first(j->c, b);
    bool ok = true;
    for (int k = 0; k < first && ok; k++) ok = ir_output(g, out[k], NULL) == SGL_OK;
    for (int i = 0; i < j->n && ok; i++)
        if (is_result(j->c, &j->in[i]))
            ok = ir_output(g, value_after(b, &j->in[i], out), NULL) == SGL_OK;
    for (int k = first; k < b->nresult && ok; k++) ok = ir_output(g, out[k], NULL) == SGL_OK;
    return ok;
}

/* The graph of block b over the joined inputs, in g. */
static bool make_block(const Join *j, const OpenBlock *b, Graph *g, Node **args, Node **out)
{
    Graph *from = b->graph;
    bool ok = make_inputs(j, g);
    for (int i = 0; i < b->nin && ok; i++) args[i] = find(j, &b->in[i])->made;
    for (int k = 0; k < b->nresult && ok; k++) ok = ir_output(from, b->result[k], NULL) == SGL_OK;
    for (int i = 0; i < b->nin && ok; i++) ok = ir_output(from, b->in[i].after, NULL) == SGL_OK;
    return ok && ir_block_splice(g, from, args, NULL, out) == SGL_OK && give(j, b, g, out);
}

/* Adds block number b to the graph outside. */
static int add_block(Join *j, int number)
{
    const Closing *c = j->c;
    const OpenBlock *b = &c->block[number];
    Node **args = base_arena_zero(&j->arena, (size_t)b->nin + 1, sizeof *args);
    Node **out = base_arena_zero(&j->arena, (size_t)(b->nresult + b->nin) + 1, sizeof *out);
    if (!args || !out) return no_memory(j);
    Graph *g = ir_graph_new(c->outer->cx);
    bool ok = g && make_block(j, b, g, args, out);
    j->number[number] = ok ? ir_block_add(c->outer, g) : c->outer->cx->err.code;
    ir_graph_free(g);
    return j->number[number] < 0 ? j->number[number] : SGL_OK;
}

/* ---- the node */

static Node *control_node(const Join *j)
{
    const Closing *c = j->c;
    int ncarry = j->place[PLACE_CARRY] + j->place[PLACE_CHANGE];
    switch (c->op) {
    case OP_cond:
        return ir_cond(c->pred, j->n, j->node, j->number[0], j->number[1]);
    case OP_scan:
        return ir_scan(j->n, j->node, j->number[0], ncarry, j->place[PLACE_XS], c->length,
                       c->reverse);
    default:
        return ir_loop(j->n, j->node, j->number[0], ncarry, c->length);
    }
}

/* All results of the node; what changed is told of the first input that stands for it. */
static int make_results(Join *j)
{
    Closing *c = j->c;
    int first = results_first(c, &c->block[0]), out = first;
    int n = c->op == OP_loop ? first + 1 : c->block[0].nresult;
    Node *made = n + j->nchange ? control_node(j) : NULL;
    if (n + j->nchange && !made) return c->outer->cx->err.code;
    for (int k = 0; k < n; k++) {
        c->result[k] = ir_result(made, k < first ? k : k + j->nchange);
        if (!c->result[k]) return c->outer->cx->err.code;
    }
    for (int i = 0; i < j->n; i++) {
        if (!is_result(c, &j->in[i])) continue;
        j->in[i].changed = ir_result(made, out++);
        if (!j->in[i].changed) return c->outer->cx->err.code;
    }
    for (int b = 0; b < c->nblock; b++)
        for (int i = 0; i < c->block[b].nin; i++) {
            const Joined *in = find(j, &c->block[b].in[i]);
            if (in->first == &c->block[b].in[i]) c->block[b].in[i].changed = in->changed;
        }
    return SGL_OK;
}

int ir_close(Closing *c)
{
    Join j = {.c = c};
    int rc = join(&j);
    for (int b = 0; b < c->nblock && !rc; b++) rc = add_block(&j, b);
    if (!rc) rc = make_results(&j);
    base_arena_free(&j.arena);
    return rc;
}
