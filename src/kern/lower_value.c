/* lower_value.c: values of nodes as instructions.
 *
 * In:   a node and the map it is read at.
 * Out:  the number of the instruction that gives it; earlier ones as needed.
 * Holds: equal instructions are one; a node is loaded when it is in a buffer that this group does
 *        not fill; maps need no new variables, because `fuse` has split them already.
 */
#include "kern/lower.h"
#include <string.h>

/* The number of an equal instruction in the same stage, or a negative one: equal values are
 * computed once. */
static int inst_find(Lower *l, const KernInst *i, int stage)
{
    uint64_t bits[9] = {i->code,        i->dtype,       i->from,        i->op,
                        (uint32_t)i->a, (uint32_t)i->b, (uint32_t)i->c, (uint32_t)i->access,
                        (uint64_t)stage};
    uint64_t key = base_hash(base_hash(0, bits, sizeof bits), &i->value, sizeof i->value), found;
    for (; base_map_get(&l->known, key, &found); key++) {
        const KernInst *o = &l->inst[stage].at[found & (LOWER_END - 1)];
        bool same = (found >= LOWER_END) == (stage != LOWER_EACH) && o->code == i->code &&
                    o->dtype == i->dtype && o->from == i->from && o->op == i->op && o->a == i->a &&
                    o->b == i->b && o->c == i->c && o->access == i->access &&
                    memcmp(&o->value, &i->value, sizeof i->value) == 0;
        if (same) return (int)found;
    }
    int at = l->inst[stage].n + (stage == LOWER_EACH ? 0 : LOWER_END);
    if (!base_map_set(&l->known, key, (uint64_t)at) || !vec_push(&l->inst[stage], *i))
        return SGL_ENOMEM;
    return at;
}

static const KernInst *inst_at(const Lower *l, int inst)
{
    return &l->inst[inst >= LOWER_END].at[inst & (LOWER_END - 1)];
}

static bool on_reduced(const LoopNest *s, const Affine *a)
{
    for (int v = 0; v < s->nvar; v++)
        if (s->reduced[v] && a->coef[v] != 0) return true;
    return false;
}

/* One value a row: only in the modes that walk rows, and only if nothing moves along the row. */
static bool is_scalar(const Lower *l, const KernInst *i)
{
    const LoopNest *s = &l->loop->space;
    const int operand[] = {i->a, i->b, i->c};
    if (l->loop->mode != LOOP_ROW && l->loop->mode != LOOP_LONG) return false;
    if (i->access >= 0) {
        const Access *access = &l->access.at[i->access];
        bool moves = on_reduced(s, &access->at);
        for (int g = 0; g < access->nguard; g++)
            moves = moves || on_reduced(s, &access->guard[g].at);
        return !moves;
    }
    if (i->code == KI_REDUCE) return true;
    for (int k = 0; k < 3; k++)
        if (operand[k] >= 0 && !inst_at(l, operand[k])->scalar) return false;
    return true;
}

static int emit(Lower *l, int stage, KernInst inst)
{
    inst.scalar = is_scalar(l, &inst);
    return inst_find(l, &inst, stage);
}

static int arg_of(Lower *l, const Node *n)
{
    int buffer = l->s->buffer_of[n->id];
    for (int i = 0; i < l->args.n; i++)
        if (l->args.at[i] == buffer) return i;
    return vec_push(&l->args, buffer) ? l->args.n - 1 : SGL_ENOMEM;
}

static bool same_access(const Access *a, const Access *b)
{
    if (a->arg != b->arg || a->dtype != b->dtype || a->nguard != b->nguard ||
        memcmp(&a->at, &b->at, sizeof a->at) != 0)
        return false;
    for (int g = 0; g < a->nguard; g++)
        if (memcmp(&a->guard[g], &b->guard[g], sizeof *a->guard) != 0) return false;
    return true;
}

static int access_find(Lower *l, const Node *memory, Dtype dtype, Affine at, int nguard,
                       const Guard *guard)
{
    Access a = {.arg = -1, .dtype = dtype, .at = at, .nguard = nguard, .guard = guard};
    if (memory != NULL) {
        a.arg = arg_of(l, memory);
        if (a.arg < 0) return a.arg;
    }
    for (int i = 0; i < l->access.n; i++)
        if (same_access(&l->access.at[i], &a)) return i;
    return vec_push(&l->access, a) ? l->access.n - 1 : SGL_ENOMEM;
}

static KernInst new_inst(KernCode code, Dtype dtype)
{
    return (KernInst){.code = (uint8_t)code,
                      .dtype = (uint8_t)dtype,
                      .from = (uint8_t)dtype,
                      .a = -1,
                      .b = -1,
                      .c = -1,
                      .access = -1};
}

static int emit_const(Lower *l, Dtype dtype, double value, int stage)
{
    KernInst i = new_inst(KI_CONST, dtype);
    i.value = value;
    return emit(l, stage, i);
}

static int emit_load(Lower *l, const Node *n, const IndexMap *at, double fill, int stage)
{
    KernInst i = new_inst(KI_LOAD, n->dtype);
    i.access = access_find(l, n, n->dtype, pass_index_linear(n, at), at->nguard, at->guard);
    i.value = fill;
    return i.access < 0 ? i.access : emit(l, stage, i);
}

static bool is_loaded(const Lower *l, const Node *n)
{
    return l->s->buffer_of[n->id] >= 0 && l->s->group_of[n->id] != l->group;
}

static int through(Lower *l, const Node *n, const IndexMap *at, IndexMap **below)
{
    int rc = pass_index_through(&l->maps, n, at, below);
    if (rc == 0)
        return base_fail(l->s->graph->cx, SGL_EINTERN, "lower: %s cannot be read in its group",
                         ir_op(n)->name);
    return rc < 0 ? rc : 0;
}

/* ---- one function for each kind of node ---- */

static int lower_const(Lower *l, Node *n, const IndexMap *at, int stage)
{
    (void)at;
    return emit_const(l, n->dtype, ir_attr_float(n, 0), stage);
}

static int lower_iota(Lower *l, Node *n, const IndexMap *at, int stage)
{
    KernInst i = new_inst(KI_INDEX, n->dtype);
    Affine position = at->dim[ir_attr_int(n, 0)];
    int part;
    const int64_t *start = ir_attr_list(n, 3, &part);
    if (part) position.base = ir_num_add(n->graph->cx, position.base, ir_num_of(start[0]));
    i.access = access_find(l, NULL, n->dtype, position, 0, NULL);
    return i.access < 0 ? i.access : emit(l, stage, i);
}

/* A size as a number. A conversion to a narrow dtype is that of the number, rounded once. */
static int lower_size(Lower *l, Node *n, const IndexMap *at, int stage)
{
    (void)at;
    bool wide =
        n->dtype == DT_f32 || n->dtype == DT_f64 || n->dtype == DT_i32 || n->dtype == DT_i64;
    int count;
    KernInst i = new_inst(KI_INDEX, wide ? n->dtype : DT_f64);
    Num size = ir_num_of(ir_attr_list(n, 0, &count)[0]);
    i.access = access_find(l, NULL, i.dtype, (Affine){.base = size}, 0, NULL);
    if (i.access < 0) return i.access;
    int value = emit(l, stage, i);
    if (wide || value < 0) return value;
    KernInst cast = new_inst(KI_CAST, n->dtype);
    cast.from = DT_f64;
    cast.a = value;
    return emit(l, stage, cast);
}

static int lower_rand(Lower *l, Node *n, const IndexMap *at, int stage)
{
    KernInst i = new_inst(KI_RAND, n->dtype);
    int part;
    const int64_t *global = ir_attr_list(n, 3, &part), *start = ir_attr_list(n, 4, &part);
    Affine place = part ? pass_index_linear_in(n, at, global, start) : pass_index_linear(n, at);
    i.access = access_find(l, n->in[0], DT_i64, place, 0, NULL);
    i.b = (int32_t)ir_attr_int(n, 0);
    i.c = (int32_t)ir_attr_int(n, 1);
    return i.access < 0 ? i.access : emit(l, stage, i);
}

static int lower_elementwise(Lower *l, Node *n, const IndexMap *at, int stage)
{
    KernInst i = new_inst(KI_OP, n->dtype);
    int32_t *operand[] = {&i.a, &i.b, &i.c};
    i.op = n->op;
    i.from = n->in[n->nin == 3]->dtype;
    for (int k = 0; k < n->nin; k++) {
        *operand[k] = kern_lower_value(l, n->in[k], at, stage);
        if (*operand[k] < 0) return *operand[k];
    }
    return emit(l, stage, i);
}

static int lower_cast(Lower *l, Node *n, const IndexMap *at, int stage)
{
    KernInst i = new_inst(KI_CAST, n->dtype);
    i.from = n->in[0]->dtype;
    i.a = kern_lower_value(l, n->in[0], at, stage);
    return i.a < 0 ? i.a : emit(l, stage, i);
}

static int lower_movement(Lower *l, Node *n, const IndexMap *at, int stage)
{
    IndexMap *below;
    int rc = through(l, n, at, &below);
    return rc < 0 ? rc : kern_lower_value(l, n->in[0], below, stage);
}

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/* The pad's value as the fill of the load below it, if only movement ops are between. */
enum { NO_LOAD = INT32_MAX };
static int load_below(Lower *l, const Node *n, const IndexMap *at, double fill, int stage)
{
    while (!is_loaded(l, n)) {
        IndexMap *below;
        if (ir_op(n)->family != FAM_movement || pass_is_empty(l->s->sizes, n->in[0]) ||
            (n->op == OP_pad && !same_bits(ir_attr_float(n, 2), fill)))
            return NO_LOAD;
        int rc = through(l, n, at, &below);
        if (rc < 0) return rc;
        n = n->in[0];
        at = below;
    }
    return emit_load(l, n, at, fill, stage);
}

/* Reads inside and takes the fill outside: by the guards of a load if the input is one, else by
 * a mask and a choice. */
static int lower_pad(Lower *l, Node *n, const IndexMap *at, int stage)
{
    double fill = ir_attr_float(n, 2);
    IndexMap *below;
    if (pass_is_empty(l->s->sizes, n->in[0])) return emit_const(l, n->dtype, fill, stage);
    int found = load_below(l, n, at, fill, stage);
    if (found != NO_LOAD) return found;
    int rc = through(l, n, at, &below);
    int value = rc < 0 ? rc : kern_lower_value(l, n->in[0], below, stage);
    if (value < 0 || below->nguard == at->nguard) return value;
    KernInst mask = new_inst(KI_MASK, DT_bool), where = new_inst(KI_OP, n->dtype);
    mask.access = access_find(l, NULL, DT_bool, (Affine){0}, below->nguard - at->nguard,
                              below->guard + at->nguard);
    where.op = OP_where;
    where.a = mask.access < 0 ? mask.access : emit(l, stage, mask);
    where.b = value;
    where.c = where.a < 0 ? where.a : emit_const(l, n->dtype, fill, stage);
    return where.c < 0 ? where.c : emit(l, stage, where);
}

/* A reduction over the variables that the group's loop keeps for it. A sum of nothing is 0, a
 * product 1. */
static int lower_reduce(Lower *l, Node *n, const IndexMap *at, int stage)
{
    (void)stage;
    IndexMap *below;
    if (pass_is_empty(l->s->sizes, n->in[0]))
        return emit_const(l, n->dtype, n->op == OP_prod, stage);
    int rc = pass_index_reduce(&l->maps, n, at, &below);
    if (rc == 0)
        return base_fail(l->s->graph->cx, SGL_EINTERN, "lower: %s does not fit its group",
                         ir_op(n)->name);
    KernInst i = new_inst(KI_REDUCE, n->dtype);
    i.op = n->op;
    i.from = n->in[0]->dtype;
    Blocks blocks = ir_blocks(n);
    if (blocks.n > 1 && DTYPES[n->dtype].class == CLASS_FLOAT) {
        i.b = (int32_t)blocks.n;
        i.c = (int32_t)blocks.units;
    }
    i.a = rc < 0 ? rc : kern_lower_value(l, n->in[0], below, LOWER_EACH);
    return i.a < 0 ? i.a : emit(l, LOWER_EACH, i);
}

typedef int (*LowerFn)(Lower *l, Node *n, const IndexMap *at, int stage);
static const LowerFn BY_OP[OP_COUNT] = {
    [OP_const] = lower_const, [OP_iota] = lower_iota, [OP_size] = lower_size,
    [OP_rand] = lower_rand,   [OP_pad] = lower_pad,
};
static const LowerFn BY_FAMILY[] = {
    [FAM_unary] = lower_elementwise,
    [FAM_test] = lower_elementwise,
    [FAM_binary] = lower_elementwise,
    [FAM_compare] = lower_elementwise,
    [FAM_select] = lower_elementwise,
    [FAM_cast] = lower_cast,
    [FAM_movement] = lower_movement,
    [FAM_reduce] = lower_reduce,
    [FAM_leaf] = NULL,
    [FAM_dot] = NULL,
    [FAM_index] = NULL,
    [FAM_control] = NULL,
    [FAM_custom] = NULL,
    [FAM_result] = NULL,
    [FAM_effect] = NULL,
    [FAM_comm] = NULL,
};

static LowerValue *value_find(const Lower *l, const Node *n, const IndexMap *at, int stage,
                              uint64_t *list)
{
    *list = 0;
    base_map_get(&l->values, n->id, list);
    LowerValue *v = (LowerValue *)(uintptr_t)*list;
    while (v != NULL && (v->stage != stage || !pass_index_same(&l->loop->space, v->at, at)))
        v = v->next;
    return v;
}

int kern_lower_value(Lower *l, Node *n, const IndexMap *at, int stage)
{
    uint64_t list;
    const LowerValue *known = value_find(l, n, at, stage, &list);
    if (known != NULL) return known->inst;
    LowerFn fn = BY_OP[n->op] ? BY_OP[n->op] : BY_FAMILY[ir_op(n)->family];
    int inst = is_loaded(l, n) ? emit_load(l, n, at, 0, stage)
               : fn == NULL ? base_fail(l->s->graph->cx, SGL_EINTERN, "lower: %s is in no buffer",
                                        ir_op(n)->name)
                            : fn(l, n, at, stage);
    if (inst < 0) return inst;
    base_map_get(&l->values, n->id, &list);
    LowerValue *v = base_arena_alloc(&l->scratch, sizeof *v);
    if (v == NULL) return SGL_ENOMEM;
    *v = (LowerValue){(LowerValue *)(uintptr_t)list, at, stage, inst};
    return base_map_set(&l->values, n->id, (uint64_t)(uintptr_t)v) ? inst : SGL_ENOMEM;
}

int kern_lower_store(Lower *l, Node *buffer_of, Affine at, int value, int stage)
{
    KernInst i = new_inst(KI_STORE, buffer_of->dtype);
    i.a = value;
    i.access = access_find(l, buffer_of, buffer_of->dtype, at, 0, NULL);
    return i.access < 0 ? i.access : emit(l, stage, i);
}
