/* tile_loop.c: operations of a kernel as loops of the instruction set.
 *
 * Holds: a result's span is the widest of its operands'. A loop takes operands of its own span,
 *        or single values as its form allows; any other is expanded first. Two cheap operations
 *        of f32, the first used by the second alone, become one loop (tile_pair.h).
 */
#include <string.h>
#include "cpu/tile_coder.h"

/* Value v for a loop over `span`: sets *single when the loop must take it as one value. */
static int operand(Coder *c, int v, Span span, bool *single)
{
    Span from = c->list->value[v].span;
    *single = from != span && (from == SPAN_ONE || (from == SPAN_OUTER && c->list->points == 1));
    return *single ? v : cpu_code_expand(c, v, span);
}

/* The number of an operation in a pair, or -1. */
static int pair_first(int op)
{
    return op == OP_add ? PAIR_add : op == OP_sub ? PAIR_sub : op == OP_mul ? PAIR_mul : -1;
}

/* The same for the second; turned: the first one's result is its right operand. */
static int pair_second(int op, bool turned)
{
    if (op == OP_add || op == OP_mul) return pair_first(op);
    if (op == OP_sub) return turned ? PAIR_rsub : PAIR_sub;
    return turned ? -1 : op == OP_div ? PAIR_div : op == OP_max ? PAIR_max : -1;
}

/* Makes t, the loop of a binary operation, do an earlier one too whose result is its left (turned:
 * right) operand and nobody else's. */
static bool join_pair(const Coder *c, const KernInst *in, TileInst *t, bool turned)
{
    TileCodeList *l = c->list;
    int second = pair_second(in->op, turned), at = l->n - 1;
    int inner = turned ? t->c : t->b;
    if (second < 0 || c->uses[turned ? in->b : in->a] != 1) return false;
    while (at >= 0 && l->inst[at].dst != inner) at--;
    if (at < 0 || l->inst[at].first == 0 || l->inst[at].span != t->span) return false;
    const TileInst e = l->inst[at];
    bool swaps = e.form == FORM_B && e.first - 1 != PAIR_sub;
    bool single = (t->form & (turned ? FORM_B : FORM_C)) != 0;
    t->fn = (*c->p->ops->pair)[e.first - 1][second][swaps ? FORM_C : e.form][single];
    t->first = 0;
    t->a = turned ? t->b : t->c;
    t->b = swaps ? e.c : e.b;
    t->c = swaps ? e.b : e.c;
    memmove(&l->inst[at], &l->inst[at + 1], (size_t)(--l->n - at) * sizeof e);
    return true;
}

static void code_op(const Coder *c, const KernInst *in, TileInst *t)
{
    t->fn = c->p->ops->op[cpu_reg(in->from)][in->op][t->form];
    t->round = c->p->ops->round[in->dtype];
    if (OPS[in->op].inputs != 2 || in->from != DT_f32 || in->dtype != DT_f32) return;
    if (join_pair(c, in, t, false) || join_pair(c, in, t, true)) return;
    t->first = (uint8_t)(1 + pair_first(in->op));
}

/* Loops have their operands at a; b, c; a, b, c. */
void cpu_code_loop(Coder *c, const KernInst *in, int i)
{
    const int from[3] = {in->a, in->b, in->c};
    int n = cpu_code_operands(in), left = n == 2 ? 1 : 0, v[3] = {-1, -1, -1};
    bool single[3] = {false, false, false};
    Span span = SPAN_ONE;
    for (int j = 0; j < n; j++) {
        Span s = c->list->value[c->value[from[j]]].span;
        if (s > span) span = s;
    }
    for (int j = 0; j < n; j++) {
        int value = c->value[from[j]], at = left + j;
        v[at] = at == 0 ? cpu_code_expand(c, value, span) : operand(c, value, span, &single[at]);
    }
    TileInst t = cpu_code_blank(c, TI_OP, span, cpu_reg(in->dtype));
    t.a = v[0];
    t.b = v[1];
    t.c = v[2];
    t.form = (uint8_t)((single[1] ? FORM_B : 0) | (single[2] ? FORM_C : 0));
    if (in->code == KI_CAST) t.fn = c->p->ops->cast[cpu_reg(in->from)][in->dtype];
    else code_op(c, in, &t);
    cpu_code_emit(c, t);
    c->value[i] = t.dst;
}
