/* lower.c: from a group of the schedule to the steps that compute it.
 *
 * In:   a schedule after `plan`: groups with loops, a buffer for each node in memory.
 * Out:  steps with kernels and views, everything in the given arena.
 * Holds: a group whose results have no elements gives no step.
 */
#include "ir/attr.h"
#include "ir/custom.h"
#include "ir/dot.h"
#include "ir/result.h"
#include "kern/lower.h"

/* ---- kernels ---- */

/* Where the loop's part begins along the concatenated dim. */
static Affine root_position(const Lower *l, const LoopRoot *root, Node **memory)
{
    const Group *g = &l->s->groups.at[l->group];
    *memory = root->node;
    if (g->kind != GROUP_CONCAT) return pass_index_linear(root->node, root->at);
    Node *concat = *memory = g->outs.at[0];
    int axis = (int)ir_attr_int(concat, 0);
    Affine at = pass_index_linear(concat, root->at);
    Ctx *cx = concat->graph->cx;
    Num start = 0;
    for (int i = 0; i < l->loop->part; i++)
        start = ir_num_add(cx, start, ir_num_of(concat->in[i]->dims[axis]));
    for (int i = axis + 1; i < concat->rank; i++)
        start = ir_num_mul(cx, start, ir_num_of(concat->dims[i]));
    at.base = ir_num_add(cx, at.base, start);
    return at;
}

static int lower_root(Lower *l, const LoopRoot *root)
{
    Node *memory;
    bool two_stages = l->loop->mode == LOOP_LONG || l->loop->mode == LOOP_COL;
    bool each = !two_stages || pass_index_on_reduced(&l->loop->space, root->at);
    int stage = each ? LOWER_EACH : LOWER_END_STAGE;
    Affine at = root_position(l, root, &memory);
    int value = kern_lower_value(l, root->node, root->at, stage);
    return value < 0 ? value : kern_lower_store(l, memory, at, value, stage);
}

/* One loop nest of a group becomes one kernel. Values that several roots share are computed once
 * (Lower.values). */
static int lower_loop(const Schedule *s, int group, const Loop *loop, Arena *arena, StepVec *out)
{
    Lower l = {.s = s, .group = group, .loop = loop, .arena = arena};
    Step step = {.kind = STEP_KERNEL, .node = s->groups.at[group].outs.at[0]};
    int rc = 0;
    l.maps = (IndexMaps){.space = loop->space, .arena = &l.scratch, .frozen = true};
    for (int i = 0; i < loop->nroot && rc >= 0; i++) rc = lower_root(&l, &loop->root[i]);
    if (rc >= 0) rc = kern_lower_finish(&l, &step);
    if (rc >= 0 && !vec_push(out, step)) rc = SGL_ENOMEM;
    pass_index_free(&l.maps);
    base_map_free(&l.values);
    base_map_free(&l.known);
    vec_free(&l.inst[0]);
    vec_free(&l.inst[1]);
    vec_free(&l.access);
    vec_free(&l.args);
    base_arena_free(&l.scratch);
    return rc < 0 ? rc : 0;
}

static int lower_loops(const Schedule *s, int group, Arena *arena, StepVec *out)
{
    const Group *g = &s->groups.at[group];
    int rc = 0;
    for (int i = 0; i < g->nloop && rc == 0; i++)
        rc = lower_loop(s, group, &g->loop[i], arena, out);
    return rc;
}

/* ---- the other steps ---- */

static View contiguous(Ctx *cx, int buffer, Dtype dtype, int rank, const Dim *dims)
{
    View v = {.buffer = buffer, .dtype = dtype, .rank = rank};
    Num stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        v.extent[i] = ir_num_of(dims[i]);
        v.stride[i] = stride;
        stride = ir_num_mul(cx, stride, v.extent[i]);
    }
    return v;
}

static View whole(const Schedule *s, const Node *n)
{
    return contiguous(n->graph->cx, s->buffer_of[n->id], (Dtype)n->dtype, n->rank, n->dims);
}

/* Makes dims whose bit is set one with the dim behind. A dim of size 1 has no stride. */
static void join_dims(Ctx *cx, View *v, unsigned joined)
{
    int rank = 0;
    for (int i = 0; i < v->rank; i++) {
        bool joins = i > 0 && joined >> (i - 1) & 1;
        if (!joins) {
            v->extent[rank] = v->extent[i];
            v->stride[rank++] = v->stride[i];
        } else if (v->extent[i] != 1) {
            v->extent[rank - 1] = ir_num_mul(cx, v->extent[rank - 1], v->extent[i]);
            v->stride[rank - 1] = v->stride[i];
        }
    }
    v->rank = rank;
}

/* The window on an input's memory in the form that the op asks for. */
static int view_of(const Schedule *s, const Node *n, int input, View *v)
{
    Arena scratch = {0};
    StridedView at;
    Node *x = n->in[input];
    ViewForm form = pass_view_form(n, input);
    int rc = pass_index_view(s->sizes, x, form, &scratch, &at);
    base_arena_free(&scratch);
    if (rc < 0) return rc;
    *v = whole(s, x);
    v->buffer = s->buffer_of[at.base->id];
    v->offset = at.offset;
    for (int i = 0; i < x->rank && !form.contiguous; i++) v->stride[i] = at.stride[i];
    join_dims(x->graph->cx, v, form.joined);
    return 0;
}

/* A product's free dims are one to its step. */
static View out_of(const Schedule *s, const Node *n)
{
    View v = whole(s, n);
    if (n->op == OP_dot) {
        DotDims d = ir_dot_dims(n);
        join_dims(n->graph->cx, &v, ((1u << (d.free - 1)) - 1) << d.batch);
    }
    return v;
}

static int push_step(const Schedule *s, const Node *n, Step step, StepVec *out)
{
    int rc = 0;
    if (pass_is_empty(s->sizes, n)) return 0;
    step.node = n;
    step.out = out_of(s, n);
    for (int i = 0; i < n->nin && rc == 0; i++) rc = view_of(s, n, i, &step.view[i]);
    return rc == 0 && !vec_push(out, step) ? SGL_ENOMEM : rc;
}

/* Which of two ways the step goes, by the attribute of its op that says so. */
static int flag_of(const StepInfo *info, const Node *n)
{
    const char *schema = ir_op(n)->attrs;
    AttrField f;
    if (info->flag >= 0) return (int)ir_attr_int(n, info->flag);
    bool second = info->flag == STEP_FLAG_AUTO && ir_attr_next(&schema, &f) &&
                  ir_attr_next(&schema, &f) && !f.optional;
    return second ? (int)ir_attr_int(n, 1) : 0;
}

/* One node, whose kind of step the table knows. */
static int lower_node(const Schedule *s, int group, Arena *arena, StepVec *out)
{
    (void)arena;
    const Node *n = s->groups.at[group].outs.at[0];
    Step step = {.kind = kern_step_of(n->op)};
    const StepInfo *info = &STEPS[step.kind];
    step.axis = info->axis < 0 ? 0 : (int)ir_attr_int(n, info->axis);
    step.flag = flag_of(info, n);
    return push_step(s, n, step, out);
}

/* A view for each argument of a registered op, results that nobody needs too: its function writes
 * them all. */
static int view_each(const Node *n, Step *step, Arena *arena)
{
    Shape types[SGL_OP_OUTPUTS];
    Ctx *cx = n->graph->cx;
    step->kind = STEP_CUSTOM;
    step->each = base_arena_alloc(arena, (size_t)step->nargs * sizeof *step->each);
    if (step->each == NULL) return SGL_ENOMEM;
    int rc = ir_custom_types(n, types);
    for (int i = 0; i < step->nargs && !rc; i++) {
        const Node *in = i < n->nin ? n->in[i] : NULL;
        const Shape *t = in ? NULL : &types[i - n->nin];
        step->each[i] = in ? contiguous(cx, step->args[i], (Dtype)in->dtype, in->rank, in->dims)
                           : contiguous(cx, step->args[i], t->dtype, t->rank, t->dims);
    }
    return rc;
}

/* A node with its results, or an effect. */
static int lower_call(const Schedule *s, int group, Arena *arena, StepVec *out)
{
    const Node *n = ir_result_of(s->groups.at[group].outs.at[0]);
    int nout = ir_result_count(n);
    int *args = base_arena_alloc(arena, (size_t)(n->nin + nout) * sizeof *args);
    if (args == NULL) return SGL_ENOMEM;
    for (int i = 0; i < n->nin; i++) args[i] = s->buffer_of[n->in[i]->id];
    for (int k = 0; k < nout; k++) {
        const Node *result = ir_result_find(n, k);
        args[n->nin + k] = result ? s->buffer_of[result->id] : -1;
    }
    Step step = {.kind = STEP_CALL, .nargs = n->nin + nout, .args = args, .node = n};
    int rc = n->op == OP_custom ? view_each(n, &step, arena) : 0;
    return rc < 0 ? rc : vec_push(out, step) ? 0 : SGL_ENOMEM;
}

static int lower_alias(const Schedule *s, int group, Arena *arena, StepVec *out)
{
    (void)s, (void)group, (void)arena, (void)out;
    return 0;
}

typedef int (*GroupFn)(const Schedule *s, int group, Arena *arena, StepVec *out);
static const GroupFn BY_KIND[] = {
    [GROUP_MAP] = lower_loops, [GROUP_REDUCE] = lower_loops, [GROUP_CONCAT] = lower_loops,
    [GROUP_DOT] = lower_node,  [GROUP_INDEX] = lower_node,   [GROUP_ALIAS] = lower_alias,
    [GROUP_CALL] = lower_call,
};

int kern_lower(const Schedule *s, int group, Arena *arena, StepVec *out)
{
    int rc = BY_KIND[s->groups.at[group].kind](s, group, arena, out);
    return rc == SGL_ENOMEM ? base_fail(s->graph->cx, rc, "lower: no memory for a kernel") : rc;
}
