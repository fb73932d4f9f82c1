/* grad_step.c: is each way of a gradient recorded?
 *
 * In a step, arguments and tensors from outside are inputs. The gradient by an input w is whole
 * unless another input that the loss reads depends on w: through operations recorded before the
 * step, through a program that made it, or because it is w by another name.
 * Holds: what a gradient in a block that repeats depends on is not known before the step ends:
 *        there the loss counts as reading all inputs of the step.
 */
#include "tensor/break.h"
#include "capture/room.h"
#include "tensor/gradient.h"
#include "tensor/grad_walk.h"
#include "ir/grad.h"

enum { IN_LOSS = 1, IN_WRT = 2 };

/* An input of the step that takes part. */
typedef struct Party {
    int number;       /* of the input */
    int place;        /* in the list of the states; 0: an argument */
    const char *name; /* of an argument */
    Tensor *tensor;   /* a state's, or that of the call at hand; NULL: a number */
    uint64_t asked;   /* its id when it was last asked for; 0: it did not matter */
    uint8_t roles;
} Party;

typedef struct History {
    Condition condition;
    Src src;
    bool conflict;   /* the answer that the capture was made for */
    bool in_block;   /* that repeats */
    bool answer;     /* the last one, */
    uint64_t cut;    /* and Host.last_cut then */
    int from, by;    /* the parties that the last conflict was between */
    VEC(Party) list; /* arguments first */
} History;

static int no_memory(lua_State *L)
{
    return bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a gradient");
}

/* ---- what is asked of the tensors of a call */

/* Is one of them an argument, and a tensor from outside as well? */
static bool find_alias(History *r)
{
    for (int a = 0; a < r->list.n && !r->list.at[a].place; a++) {
        const Party *p = &r->list.at[a];
        for (int b = a + 1; p->tensor && b < r->list.n; b++) {
            const Party *q = &r->list.at[b];
            if (q->tensor != p->tensor || !q->place) continue;
            bool forth = p->roles & IN_LOSS && q->roles & IN_WRT;
            bool back = q->roles & IN_LOSS && p->roles & IN_WRT;
            if (!forth && !back) continue;
            r->from = forth ? a : b;
            r->by = forth ? b : a;
            return true;
        }
    }
    return false;
}

static bool has_history(const Party *p)
{
    const Tensor *t = p->roles & IN_LOSS ? p->tensor : NULL;
    return t && (t->trace || t->origin || t->cut);
}

/* The first that the walk meets; -1: none. `only`: the one it began at; -1: at all of the loss. */
static int first_met(const History *r, const Walk *w, int only)
{
    for (int i = 0; i < r->list.n; i++) {
        const Party *p = &r->list.at[i];
        bool among = only < 0 ? p->roles & IN_LOSS : i == only;
        if (p->roles & IN_WRT && p->tensor && tensor_walk_meets(w, p->tensor, among)) return i;
    }
    return -1;
}

/* From party `only`, or, if it is -1, from all of the loss; -2: no memory. */
static int walk_from(Host *h, const History *r, int only)
{
    Walk *w = tensor_walk_begin(h);
    bool ok = w != NULL;
    for (int i = 0; i < r->list.n && ok; i++) {
        const Party *p = &r->list.at[i];
        if (has_history(p) && (only < 0 || i == only))
            ok = tensor_walk_from(w, p->tensor, p->roles & IN_WRT);
    }
    return ok && tensor_walk_run(w, false) ? first_met(r, w, only) : -2;
}

/* Between which parties it is. */
static void find_pair(Host *h, History *r, int by)
{
    r->by = by;
    for (int i = 0; i < r->list.n; i++) {
        int met = has_history(&r->list.at[i]) && i != by ? walk_from(h, r, i) : -1;
        if (met < 0) continue;
        r->from = i;
        r->by = met;
        return;
    }
}

/* Notes the ids that the answer depends on, which together with the cuts decide it. Are they those
 * of the last time? *any: is there a history at all? */
static bool note_ids(const Host *h, History *r, bool *any)
{
    bool same = r->cut == tensor_last_cut(h);
    r->cut = tensor_last_cut(h);
    *any = false;
    for (int i = 0; i < r->list.n; i++) {
        Party *p = &r->list.at[i];
        bool has = has_history(p);
        uint64_t id = p->tensor && (has || p->roles & IN_WRT) ? p->tensor->id : 0;
        *any |= has;
        same &= p->asked == id;
        p->asked = id;
    }
    return same;
}

static bool has_conflict(lua_State *L, Host *h, History *r)
{
    bool any, same = note_ids(h, r, &any);
    if (find_alias(r)) return true;
    if (any && same) return r->answer;
    int met = any ? walk_from(h, r, -1) : -1;
    if (met < -1) no_memory(L);
    if (met >= 0) find_pair(h, r, met);
    return r->answer = met >= 0;
}

/* ---- the condition */

/* Pushes the name of a party, or, if it has none, its tensor. */
static void push_party(lua_State *L, const History *r, int which, int states)
{
    const Party *p = &r->list.at[which];
    if (p->place) lua_rawgeti(L, states, p->place);
    else lua_pushstring(L, p->name);
}

/* { kind, position, by, through }: the gradient at that position by one tensor misses what another
 * was before; each is a name or a tensor. */
static void put(lua_State *L, Host *h, const Condition *c, int states)
{
    const History *r = (const History *)c;
    SrcPos at = base_src_pos(h->cx, r->src);
    int table = lua_gettop(L);
    lua_pushstring(L, "history");
    lua_setfield(L, table, "kind");
    lua_pushfstring(L, "%s:%d", at.file ? at.file : "?", at.line);
    lua_setfield(L, table, "position");
    if (!r->list.n) return;
    push_party(L, r, r->by, states);
    lua_setfield(L, table, "by");
    push_party(L, r, r->from, states);
    lua_setfield(L, table, "through");
}

/* Takes the tensors of the call at hand for the arguments, and asks again. */
static bool holds(lua_State *L, Host *h, Condition *c, int leaves)
{
    History *r = (History *)c;
    for (int i = 0; i < r->list.n && !r->list.at[i].place; i++) {
        r->list.at[i].tensor = NULL;
        if (!lua_istable(L, leaves)) continue;
        lua_rawgeti(L, leaves, r->list.at[i].number + 1);
        r->list.at[i].tensor = tensor_at(L, h, -1);
        lua_pop(L, 1);
    }
    return has_conflict(L, h, r) == r->conflict;
}

static void history_free(Condition *c)
{
    History *r = (History *)c;
    vec_free(&r->list);
    base_mem_free(r);
}

static const ConditionOps CONDITION = {holds, put, history_free, false};

/* ---- in a step */

/* Did the blocks around give t another value for sure? */
static bool is_replaced(const Capture *c, const Tensor *t)
{
    uint64_t place;
    for (; c->outer; c = c->outer)
        if (base_map_get(&c->state_of, (uintptr_t)t, &place) &&
            c->states.at[place].now != c->states.at[place].input && !c->states.at[place].set)
            return true;
    return false;
}

/* The number of the step's input that t stands for, or may stand for, if what might have given it
 * another value did not; -1: none. */
static int input_of(const Host *h, const Capture *step, const Tensor *t)
{
    uint64_t place;
    Node *set;
    const Node *n = t->trace == &step->trace ? t->node : NULL;
    if (!n && !tensor_recorder_holds(tensor_recorder(h), t) && !is_replaced(capture_on(h), t) &&
        base_map_get(&step->state_of, (uintptr_t)t, &place))
        n = step->states.at[place].now;
    while (n && n->op != OP_input) n = capture_maybe_before(step, n, &set);
    return n ? (int)ir_attr_int(n, 0) : -1;
}

/* Marks the inputs of the step that the loss, a node of c, reads. false: that is not known yet. */
static bool mark_read(lua_State *L, const Capture *c, const Node *loss, uint8_t *roles)
{
    int top = lua_gettop(L);
    uint8_t *mark = bind_scratch(L, (size_t)c->trace.graph->nodes.n, 1);
    mark[loss->id] = 1;
    ir_grad_reach(c->trace.graph, mark);
    for (; c->outer && !c->repeats; c = c->outer) mark = capture_carry_outside(L, c, mark);
    const Graph *g = c->trace.graph;
    for (int i = 0; i < g->inputs.n && !c->outer; i++)
        if (mark[g->inputs.at[i].node->id] && ir_is_float(g->inputs.at[i].node))
            roles[i] |= IN_LOSS;
    lua_settop(L, top);
    return !c->outer;
}

static void mark_all(const Graph *g, uint8_t *roles)
{
    for (int i = 0; i < g->inputs.n; i++)
        if (ir_is_float(g->inputs.at[i].node)) roles[i] |= IN_LOSS;
}

/* The parties from the roles of the inputs. */
static void fill(lua_State *L, History *r, const Capture *step, const uint8_t *roles)
{
    const Graph *g = step->trace.graph;
    int *place = bind_scratch(L, (size_t)g->inputs.n + 1, sizeof *place);
    for (int k = 0; k < step->states.n; k++)
        place[ir_attr_int(step->states.at[k].input, 0)] = k + 1;
    r->list.n = 0;
    for (int i = 0; i < g->inputs.n; i++) {
        Party p = {.number = i, .place = place[i], .roles = roles[i]};
        if (!p.roles || (i >= step->nargs && !place[i])) continue;
        if (i < step->nargs) p.name = g->inputs.at[i].name;
        p.tensor = i < step->nargs ? step->args[i].given : step->states.at[place[i] - 1].tensor;
        if (!vec_push(&r->list, p)) no_memory(L);
    }
    lua_pop(L, 1);
}

static void break_here(lua_State *L, Host *h, const Capture *step, const History *r)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, step);
    int states = lua_gettop(L);
    push_party(L, r, r->by, states);
    push_party(L, r, r->from, states);
    tensor_break_between(L, h, BREAK_GRAD, r->list.at[r->from].tensor, "grad");
}

static void ask(lua_State *L, Host *h, const Capture *step, History *r)
{
    r->conflict = has_conflict(L, h, r);
    if (r->conflict) break_here(L, h, step, r);
}

/* The record, in the guards from now on; it keeps the list of the states. */
static History *record_new(lua_State *L, Capture *step)
{
    History *r = base_mem_zero(1, sizeof *r);
    lua_rawgetp(L, LUA_REGISTRYINDEX, step);
    if (r) r->condition.ops = &CONDITION;
    if (!r || !watch_guards_condition(L, step->guards, &r->condition)) {
        base_mem_free(r);
        no_memory(L);
        return NULL;
    }
    r->src = step->trace.graph->src;
    return r;
}

/* Finds which inputs of the step the loss reads and which the gradient is by; if some are both
 * sides of a way before the step, that is a break. */
void capture_grad_step(lua_State *L, Host *h, Capture *c, const Node *loss)
{
    Capture *step = capture_step(c);
    const Graph *g = step->trace.graph;
    int top = lua_gettop(L), wrt = 0;
    uint8_t *roles = bind_scratch(L, (size_t)g->inputs.n, 1);
    for (int i = 1, n = (int)lua_rawlen(L, 2); i <= n; i++) {
        lua_rawgeti(L, 2, i);
        int number = input_of(h, step, tensor_at(L, h, -1));
        if (number >= 0) roles[number] |= IN_WRT;
        wrt += number >= 0;
        lua_pop(L, 1);
    }
    if (wrt && step->guards) {
        History *r = record_new(L, step);
        r->in_block = !mark_read(L, c, loss, roles);
        if (r->in_block) mark_all(g, roles);
        fill(L, r, step, roles);
        ask(L, h, step, r);
    }
    lua_settop(L, top);
}

/* Gradients in blocks that repeat were noted before all inputs were there: they are asked again
 * with all of them. */
void capture_grad_step_end(lua_State *L, Host *h, Capture *step)
{
    const Graph *g = step->trace.graph;
    Condition *c;
    for (int i = 0; (c = watch_guards_condition_at(step->guards, i)); i++) {
        History *r = (History *)c;
        if (c->ops != &CONDITION || !r->in_block) continue;
        uint8_t *roles = bind_scratch(L, (size_t)g->inputs.n, 1);
        for (int k = 0; k < r->list.n; k++) roles[r->list.at[k].number] = r->list.at[k].roles;
        mark_all(g, roles);
        fill(L, r, step, roles);
        ask(L, h, step, r);
        lua_pop(L, 1);
    }
}
