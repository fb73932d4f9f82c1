/* outcome.c: what a step is held to where Lua looks at a number among its arguments.
 *
 * In:    a number of the step, computed of its arguments alone.
 * Out:   its value in the call that is captured; a condition among the guards: that a comparison
 *        comes out as it did, or that the number has that value.
 * Holds: the number is computed as Lua computes it, by Lua's own arithmetic on the arguments, at
 *        the capture and at each call.
 */
#include <string.h>
#include "capture/room.h"

enum { MOST_TERMS = 32 };

typedef enum TermKind {
    TERM_ARG,
    TERM_INT,
    TERM_FLOAT,
    TERM_TO_INT,
    TERM_TO_FLOAT,
    TERM_ARITH
} TermKind;

/* One word of a number in postfix. */
typedef struct Term {
    TermKind kind;
    int what;        /* ARG: which; ARITH: Lua's operator */
    lua_Integer i;   /* INT */
    lua_Number real; /* FLOAT */
} Term;

typedef struct Formula {
    Term at[MOST_TERMS];
    int n;
} Formula;

/* Lua's operators by ops; the others are none of numbers. */
static const int8_t OPERATOR[OP_COUNT] = {
    [OP_add] = 1 + LUA_OPADD, [OP_sub] = 1 + LUA_OPSUB,       [OP_mul] = 1 + LUA_OPMUL,
    [OP_div] = 1 + LUA_OPDIV, [OP_mod] = 1 + LUA_OPMOD,       [OP_pow] = 1 + LUA_OPPOW,
    [OP_neg] = 1 + LUA_OPUNM, [OP_floordiv] = 1 + LUA_OPIDIV,
};

static bool put(Formula *f, Term t)
{
    if (f->n == MOST_TERMS) return false;
    f->at[f->n++] = t;
    return true;
}

static bool put_const(Formula *f, const Node *n)
{
    double v;
    if (!ir_const_value(n, &v)) return false;
    if (n->dtype == DT_i64) return put(f, (Term){.kind = TERM_INT, .i = (lua_Integer)v});
    return put(f, (Term){.kind = TERM_FLOAT, .real = v});
}

/* Writes what n was computed by; false: it is not of the arguments alone, or too long. */
static bool write(const Capture *step, const Node *n, Formula *f)
{
    int which = n->op == OP_input ? (int)ir_attr_int(n, 0) : 0;
    if (n->op == OP_const) return put_const(f, n);
    if (n->op == OP_input)
        return which < step->nargs && step->args[which].number &&
               put(f, (Term){.kind = TERM_ARG, .what = which});
    if (f->n == MOST_TERMS || (n->op != OP_cast && !OPERATOR[n->op])) return false;
    for (int i = 0; i < n->nin; i++)
        if (!write(step, n->in[i], f)) return false;
    if (n->op != OP_cast) return put(f, (Term){.kind = TERM_ARITH, .what = OPERATOR[n->op] - 1});
    return (n->dtype == DT_i64 || n->dtype == DT_f64) &&
           put(f, (Term){.kind = n->dtype == DT_i64 ? TERM_TO_INT : TERM_TO_FLOAT});
}

/* The number at `at`, which may be one of Lua, as a formula. */
static bool formula(lua_State *L, const Capture *step, int at, Formula *f)
{
    const Tensor *t = tensor_number_at(L, step->host, at);
    f->n = 0;
    if (t) return t->trace == &step->trace && write(step, t->node, f);
    if (lua_isinteger(L, at)) return put(f, (Term){.kind = TERM_INT, .i = lua_tointeger(L, at)});
    return lua_type(L, at) == LUA_TNUMBER &&
           put(f, (Term){.kind = TERM_FLOAT, .real = lua_tonumber(L, at)});
}

/* Argument k: of the call whose list stands at `leaves`; 0: of the call that is captured. */
static void push_argument(lua_State *L, const Capture *step, int leaves, int k)
{
    if (leaves) lua_rawgeti(L, leaves, k + 1);
    else if (step->args[k].number == INTEGER) lua_pushinteger(L, step->args[k].value.integer);
    else lua_pushnumber(L, step->args[k].value.real);
}

/* Pushes one term, or replaces the operands on the top by what it makes of them. */
static void push_term(lua_State *L, const Capture *step, int leaves, const Term *t)
{
    switch (t->kind) {
    case TERM_ARG:
        push_argument(L, step, leaves, t->what);
        return;
    case TERM_INT:
        lua_pushinteger(L, t->i);
        return;
    case TERM_FLOAT:
        lua_pushnumber(L, t->real);
        return;
    case TERM_TO_INT:
        if (!lua_isinteger(L, -1)) lua_pushinteger(L, (lua_Integer)lua_tonumber(L, -1));
        else lua_pushvalue(L, -1);
        break;
    case TERM_TO_FLOAT:
        lua_pushnumber(L, lua_tonumber(L, -1));
        break;
    case TERM_ARITH:
        lua_arith(L, t->what);
        return;
    }
    lua_replace(L, -2);
}

/* Pushes the value of a formula. */
static void push_value(lua_State *L, const Capture *step, int leaves, const Formula *f)
{
    luaL_checkstack(L, MOST_TERMS + LUA_MINSTACK, "a number");
    for (int i = 0; i < f->n; i++) push_term(L, step, leaves, &f->at[i]);
}

/* ---- conditions */

/* The two sides of a comparison; or a number, and in `b` the value that it has. */
typedef struct Outcome {
    Condition condition;
    int op; /* LUA_OPEQ, LUA_OPLT, LUA_OPLE; -1: the value, and whether it is an integer */
    bool result;
    Formula a, b;
    Src src;
} Outcome;

/* Compares the top two, pops them. */
static bool compared(lua_State *L, int op)
{
    bool same = op >= 0 || lua_isinteger(L, -1) == lua_isinteger(L, -2);
    bool result = same && lua_compare(L, -2, -1, op < 0 ? LUA_OPEQ : op);
    lua_pop(L, 2);
    return result;
}

static bool holds(lua_State *L, Host *h, Condition *c, int leaves)
{
    const Outcome *o = (const Outcome *)c;
    (void)h;
    push_value(L, NULL, leaves, &o->a);
    push_value(L, NULL, leaves, &o->b);
    return compared(L, o->op) == o->result;
}

/* What is kept is the text of what looked at the number. */
static void explain(lua_State *L, Host *h, const Condition *c, int kept)
{
    const Outcome *o = (const Outcome *)c;
    SrcPos at = base_src_pos(h->cx, o->src);
    lua_pushstring(L, o->op < 0 ? "number" : "comparison");
    lua_setfield(L, -2, "kind");
    lua_pushvalue(L, kept);
    lua_setfield(L, -2, "what");
    lua_pushfstring(L, "%s:%d", at.file ? at.file : "?", at.line);
    lua_setfield(L, -2, "position");
    if (o->op >= 0) return;
    push_value(L, NULL, 0, &o->b);
    lua_setfield(L, -2, "value");
}

static void release(Condition *c) { base_mem_free(c); }

static bool same_formula(const Formula *a, const Formula *b)
{
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++) {
        const Term *x = &a->at[i], *y = &b->at[i];
        if (x->kind != y->kind || x->what != y->what || x->i != y->i) return false;
        if (memcmp(&x->real, &y->real, sizeof x->real) != 0) return false;
    }
    return true;
}

static const ConditionOps VALUE = {holds, explain, release, true};
static const ConditionOps COMPARISON = {holds, explain, release, false};

/* The same condition, if there is one already. */
static const Outcome *known(const Capture *step, const Outcome *o)
{
    Condition *c;
    for (int i = 0; (c = watch_guards_condition_at(step->guards, i)); i++) {
        const Outcome *k = (const Outcome *)c;
        if ((c->ops == &VALUE || c->ops == &COMPARISON) && k->op == o->op &&
            same_formula(&k->a, &o->a) && same_formula(&k->b, &o->b))
            return k;
    }
    return NULL;
}

/* `what` looks at the numbers at a and b: adds the condition that it sees the same again. NULL: at
 * least one is not computed of arguments alone. */
static const Outcome *hold(lua_State *L, Capture *step, int op, int a, int b, const char *what)
{
    Outcome o = {.op = op};
    if (!step->guards || !formula(L, step, a, &o.a) || !formula(L, step, b, &o.b)) return NULL;
    const Outcome *before = known(step, &o);
    if (before) return before;
    o.condition.ops = op < 0 ? &VALUE : &COMPARISON;
    o.src = bind_src(L, step->host, NULL);
    push_value(L, step, 0, &o.a);
    push_value(L, step, 0, &o.b);
    o.result = compared(L, op);
    lua_pushstring(L, what);
    Outcome *made = base_mem_alloc(sizeof *made);
    if (made) *made = o;
    if (!made || !watch_guards_condition(L, step->guards, &made->condition)) {
        base_mem_free(made);
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a guard");
    }
    return made;
}

bool capture_number_value(lua_State *L, const Capture *step, int at)
{
    Formula f;
    if (!formula(L, step, at, &f)) return false;
    push_value(L, step, 0, &f);
    return true;
}

bool capture_number_settle(lua_State *L, Capture *step, int at, const char *what)
{
    at = lua_absindex(L, at);
    if (!step->held || !capture_number_value(L, step, at)) return false;
    bool held = hold(L, step, -1, at, lua_gettop(L), what) != NULL;
    if (held) lua_replace(L, at);
    else lua_pop(L, 1);
    return held;
}

int capture_number_compare(lua_State *L, Capture *step, int op, int a, int b)
{
    static const char *const SIGN[] = {
        [LUA_OPEQ] = "'=='", [LUA_OPLT] = "'<'", [LUA_OPLE] = "'<='"};
    const Outcome *o = hold(L, step, op, a, b, SIGN[op]);
    return o ? o->result : -1;
}
