/* hook_op.c: what each instruction of the virtual machine can do that capture must know.
 *
 * Register r stands at stack index r + 1, since a hook runs in the frame of its function.
 */
#include "watch/room.h"

typedef struct At {
    lua_State *L;
    lua_Debug *ar;
    Watch *w;
    Frame *f;
    Instruction i;
} At;

static int refuse(const At *at, Break reason, int index, const char *what)
{
    const Tensor *t = index ? tensor_at(at->L, at->w->host, index) : NULL;
    return tensor_break(at->L, at->w->host, reason, t, "%s", what);
}

/* ---- tensors taken for booleans or compared */

/* What is no boolean is asked for its presence, which never depends on values: Lua's choice is the
 * same outside. */
static void check_condition(const At *at, int reg, const char *what)
{
    if (at->f->library || !watch_boolean(at->L, at->w, reg + 1)) return;
    refuse(at, BREAK_COND, reg + 1, what);
}

static void op_test(const At *at) { check_condition(at, vm_a(at->i), "a condition"); }
static void op_testset(const At *at) { check_condition(at, vm_b(at->i), "'and' or 'or'"); }
static void op_not(const At *at) { check_condition(at, vm_b(at->i), "'not'"); }

static bool is_tensor(const At *at, int index)
{
    return tensor_at(at->L, at->w->host, index) != NULL;
}

/* A symbolic size against a number that it can be: Lua says false without asking. */
static void check_size(const At *at, int index, bool known, lua_Number v)
{
    Dim d = tensor_dim_at(at->L, index);
    int64_t lo, hi;
    if (d == DIM_FAIL) return;
    ir_dim_range(at->w->host->cx, d, &lo, &hi);
    if (!known || (v >= (lua_Number)lo && v <= (lua_Number)hi))
        refuse(at, BREAK_SIZE, 0, "'==' of a symbolic size and a number");
}

/* The loop runs so many times as the size of the example says. */
static void op_forprep(const At *at)
{
    for (int k = 1; k <= 3; k++) {
        if (tensor_dim_at(at->L, vm_a(at->i) + k) != DIM_FAIL)
            refuse(at, BREAK_SIZE, 0, "a 'for' loop over a symbolic size");
        tensor_number_settle(at->L, at->w->host, vm_a(at->i) + k, "a 'for' loop");
    }
}

static bool is_number(const At *at, int index)
{
    return lua_type(at->L, index) == LUA_TNUMBER || tensor_number_at(at->L, at->w->host, index);
}

/* Is one of two a number of the step, where Lua would compare values? With what is no number, that
 * says false. The step is held to what it says of numbers: for this one instruction the registers,
 * of which b may be none, have the values of the call. */
static bool compares_number(const At *at, int a, int b, bool both)
{
    Host *h = at->w->host;
    if (!tensor_number_at(at->L, h, a) && !tensor_number_at(at->L, h, b)) return false;
    if (is_number(at, a) && is_number(at, b)) {
        tensor_number_compare(at->L, h, LUA_OPEQ, a, b, "'=='");
        if (tensor_number_value(at->L, h, a)) watch_swap(at->L, at->ar, at->w, a);
        if (both && tensor_number_value(at->L, h, b)) watch_swap(at->L, at->ar, at->w, b);
    } else if (lua_isuserdata(at->L, a) && lua_isuserdata(at->L, b)) {
        tensor_number_refuse(at->L, h, a, "'=='");
        tensor_number_refuse(at->L, h, b, "'=='");
    }
    return true;
}

/* Lua compares identities, unless both have __eq; with nil that is what is meant. Numbers count in
 * the library as well. */
static void op_eq(const At *at)
{
    int a = vm_a(at->i) + 1, b = vm_b(at->i) + 1;
    if (compares_number(at, a, b, true) || at->f->library) return;
    watch_event(at->L, at->w, at->f, a, "__eq");
    watch_event(at->L, at->w, at->f, b, "__eq");
    if (lua_type(at->L, b) == LUA_TNUMBER) check_size(at, a, true, lua_tonumber(at->L, b));
    if (lua_type(at->L, a) == LUA_TNUMBER) check_size(at, b, true, lua_tonumber(at->L, a));
    if (lua_istable(at->L, a) && watch_stand_in(at->L, at->w, a, b))
        refuse(at, BREAK_EQ, 0, "'==' of a table among the arguments and one from outside");
    bool ta = is_tensor(at, a), tb = is_tensor(at, b);
    if ((!ta && !tb) || lua_isnil(at->L, ta ? b : a)) return;
    refuse(at, BREAK_EQ, ta ? a : b, ta && tb ? "'==' of two tensors" : "'==' with a tensor");
}

/* Pushes the constant of the function, or the number in the instruction, that is compared with. */
static bool push_compared(const At *at)
{
    if (vm_op(at->i) != VM_EQI)
        return watch_hook_constant(at->L, at->ar, at->w, at->f, vm_b(at->i));
    lua_pushinteger(at->L, vm_b(at->i) - VM_EQI_ZERO);
    return true;
}

static void op_eq_constant(const At *at)
{
    int a = vm_a(at->i) + 1;
    if (vm_op(at->i) == VM_EQI && !at->f->library)
        check_size(at, a, true, vm_b(at->i) - VM_EQI_ZERO);
    if (!is_tensor(at, a)) return;
    if (push_compared(at)) {
        if (lua_isnil(at->L, -1) || compares_number(at, a, lua_gettop(at->L), false)) return;
    }
    if (!at->f->library) refuse(at, BREAK_EQ, a, "'==' with a tensor");
}

/* Lua's operators on bits need the values of numbers; beside a tensor they are the tensor's. */
static void settle_bits(const At *at, int a, int b)
{
    if ((a && !is_number(at, a)) || (b && !is_number(at, b))) return;
    if (a) tensor_number_settle(at->L, at->w->host, a, "an operator on bits");
    if (b) tensor_number_settle(at->L, at->w->host, b, "an operator on bits");
}

static void op_bits(const At *at) { settle_bits(at, vm_b(at->i) + 1, vm_c(at->i) + 1); }
static void op_bits_constant(const At *at) { settle_bits(at, vm_b(at->i) + 1, 0); }

/* A tensor of the step as a key; tensors from outside are what they are for good. Each handle of a
 * size is a key of its own. */
static void check_key(const At *at, int table, int key)
{
    if (!at->f->library && lua_istable(at->L, table))
        tensor_number_settle(at->L, at->w->host, key, "the key of a table");
    const Tensor *t = tensor_at(at->L, at->w->host, key);
    if (!at->f->library && lua_istable(at->L, table) && tensor_dim_at(at->L, key) != DIM_FAIL)
        refuse(at, BREAK_SIZE, 0, "a symbolic size as the key of a table");
    if (!at->f->library && watch_given(at->L, at->w, key) && watch_old(at->L, at->w, at->f, table))
        refuse(at, BREAK_KEY, 0, "a table among the arguments as the key of a table");
    if (!t || at->f->library || !lua_istable(at->L, table)) return;
    if (tensor_recorder_holds(tensor_recorder(at->w->host), t))
        refuse(at, BREAK_KEY, key, "a tensor as the key of a table");
}

/* ---- reads */

/* In user code a read of an upvalue is guarded; in the library a table there is one of its own. */
static void op_getupval(const At *at)
{
    lua_State *L = at->L;
    int top = lua_gettop(L);
    lua_getinfo(L, "f", at->ar);
    if (!at->f->library) {
        watch_upvalue(L, at->w, top + 1, vm_b(at->i) + 1);
    } else if (lua_getupvalue(L, top + 1, vm_b(at->i) + 1)) {
        watch_own(L, at->w, top + 2, 0);
    }
    lua_settop(L, top);
}

/* A field of an upvalue, as globals are. */
static void op_gettabup(const At *at)
{
    lua_State *L = at->L;
    int top = lua_gettop(L);
    lua_getinfo(L, "f", at->ar);
    if (!at->f->library) watch_upvalue(L, at->w, top + 1, vm_b(at->i) + 1);
    lua_getupvalue(L, top + 1, vm_b(at->i) + 1);
    if (at->f->library) watch_own(L, at->w, top + 2, 0);
    if (watch_has_events(L, top + 2) && watch_hook_constant(L, at->ar, at->w, at->f, vm_c(at->i)))
        watch_read(L, at->w, at->f, top + 2);
    lua_settop(L, top);
}

/* Tensors have the fields of sgl.Tensor, which a script may change. */
static bool has_fields(const At *at, int index)
{
    return watch_has_events(at->L, index) || (!at->f->library && is_tensor(at, index));
}

static void op_gettable(const At *at)
{
    lua_State *L = at->L;
    int table = vm_b(at->i) + 1, key = vm_c(at->i) + 1;
    check_key(at, table, key);
    bool named = lua_type(L, key) == LUA_TSTRING && has_fields(at, table);
    if ((!named && !watch_has_events(L, table)) || lua_isnil(L, key)) return;
    lua_pushvalue(L, key);
    watch_read(L, at->w, at->f, table);
}

static void op_geti(const At *at)
{
    if (!watch_has_events(at->L, vm_b(at->i) + 1)) return;
    lua_pushinteger(at->L, vm_c(at->i));
    watch_read(at->L, at->w, at->f, vm_b(at->i) + 1);
}

static void op_getfield(const At *at)
{
    if (!has_fields(at, vm_b(at->i) + 1)) return;
    if (watch_hook_constant(at->L, at->ar, at->w, at->f, vm_c(at->i)))
        watch_read(at->L, at->w, at->f, vm_b(at->i) + 1);
}

static void op_self(const At *at)
{
    if (vm_k(at->i)) {
        op_getfield(at);
        return;
    }
    if (!has_fields(at, vm_b(at->i) + 1)) return;
    lua_pushvalue(at->L, vm_c(at->i) + 1);
    watch_read(at->L, at->w, at->f, vm_b(at->i) + 1);
}

static void op_len(const At *at)
{
    watch_length(at->L, at->w, at->f, vm_b(at->i) + 1);
    watch_event(at->L, at->w, at->f, vm_b(at->i) + 1, "__len");
}

/* ---- writes */

/* What was there before the step must not be written to. */
static void op_setupval(const At *at)
{
    lua_State *L = at->L;
    int top = lua_gettop(L), index = vm_b(at->i) + 1;
    if (at->f->library) return;
    lua_getinfo(L, "f", at->ar);
    Break reason = watch_once(at->w, watch_change(at->w, lua_upvalueid(L, top + 1, index)));
    if (reason == BREAK_WRITE && !at->w->block.thread) {
        watch_journal_upvalue(L, at->w, top + 1, index);
    } else if (reason != BREAK_COUNT) {
        const char *name = lua_getupvalue(L, top + 1, index);
        refuse(at, reason, 0, lua_pushfstring(L, "a write to the upvalue '%s'", name ? name : "?"));
    }
    lua_settop(L, top);
}

/* A write to what is no table goes to its handler. */
static bool is_written(const At *at, int index)
{
    if (lua_istable(at->L, index)) return true;
    watch_event(at->L, at->w, at->f, index, "__newindex");
    return false;
}

/* The key is on the top. */
static void refuse_write(const At *at, int table, bool global)
{
    lua_State *L = at->L;
    bool given = watch_given(L, at->w, table);
    Break reason = watch_write(L, at->w, at->f, table, false);
    if (reason == BREAK_COUNT) return;
    const char *key = lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TNUMBER
                          ? lua_tostring(L, -1)
                          : luaL_typename(L, -1);
    lua_pushfstring(L,
                    given    ? "a write to the field '%s' of a table among the arguments"
                    : global ? "a write to the global '%s'"
                             : "a write to the field '%s'",
                    key);
    refuse(at, reason, 0, lua_tostring(L, -1));
}

/* A write to a field of an upvalue, as to a global. */
static void op_settabup(const At *at)
{
    lua_State *L = at->L;
    int top = lua_gettop(L);
    lua_getinfo(L, "f", at->ar);
    const char *name = lua_getupvalue(L, top + 1, vm_a(at->i) + 1);
    bool global = name && name[0] == '_' && name[1] == 'E';
    if (watch_hook_constant(L, at->ar, at->w, at->f, vm_b(at->i))) {
        if (!at->f->library) refuse_write(at, top + 2, global);
    }
    lua_settop(L, top);
}

static void op_settable(const At *at)
{
    int table = vm_a(at->i) + 1, key = vm_b(at->i) + 1;
    check_key(at, table, key);
    if (!is_written(at, table)) return;
    lua_pushvalue(at->L, key);
    refuse_write(at, table, false);
}

static void op_seti(const At *at)
{
    if (!is_written(at, vm_a(at->i) + 1)) return;
    lua_pushinteger(at->L, vm_b(at->i));
    refuse_write(at, vm_a(at->i) + 1, false);
}

static void op_setfield(const At *at)
{
    if (!is_written(at, vm_a(at->i) + 1)) return;
    if (watch_hook_constant(at->L, at->ar, at->w, at->f, vm_b(at->i)))
        refuse_write(at, vm_a(at->i) + 1, false);
}

/* ---- metamethods: which there are is read as well */

/* Events by the number that instructions have for them; the first arithmetic one is 6. */
static const char *const EVENTS[] = {
    [6] = "__add", "__sub",  "__mul", "__mod",  "__pow", "__div",
    "__idiv",      "__band", "__bor", "__bxor", "__shl", "__shr",
};
enum { EVENT_COUNT = sizeof EVENTS / sizeof *EVENTS };

static void read_event(const At *at, int reg, const char *event)
{
    watch_event(at->L, at->w, at->f, reg + 1, event);
}

/* Comes after an arithmetic instruction whose operands are no numbers: Lua is about to ask for the
 * metamethod. */
static void op_mmbin(const At *at)
{
    const char *event = vm_c(at->i) < EVENT_COUNT ? EVENTS[vm_c(at->i)] : NULL;
    if (!event) return;
    read_event(at, vm_a(at->i), event);
    if (vm_op(at->i) == VM_MMBIN) read_event(at, vm_b(at->i), event);
}

static void op_unary(const At *at)
{
    if (vm_op(at->i) == VM_BNOT) settle_bits(at, vm_b(at->i) + 1, 0);
    read_event(at, vm_b(at->i), vm_op(at->i) == VM_UNM ? "__unm" : "__bnot");
}

static void op_concat(const At *at)
{
    for (int k = 0; k < vm_b(at->i); k++) read_event(at, vm_a(at->i) + k, "__concat");
}

static void op_order(const At *at)
{
    const char *event = vm_op(at->i) == VM_LT ? "__lt" : "__le";
    read_event(at, vm_a(at->i), event);
    read_event(at, vm_b(at->i), event);
}

static void op_order_number(const At *at)
{
    bool equal = vm_op(at->i) == VM_LEI || vm_op(at->i) == VM_GEI;
    read_event(at, vm_a(at->i), equal ? "__le" : "__lt");
}

static void op_close(const At *at) { read_event(at, vm_a(at->i), "__close"); }
static void op_call(const At *at) { read_event(at, vm_a(at->i), "__call"); }

/* The first TFORCALL of a loop comes without an event of its own. */
static void op_tforprep(const At *at)
{
    op_call(at);
    read_event(at, vm_a(at->i) + 3, "__close");
}

/* The frame of the callee replaces this one: the line is kept for messages. */
static void op_tailcall(const At *at)
{
    op_call(at);
    if (at->f->library) return;
    lua_getinfo(at->L, "Sl", at->ar);
    Ctx *cx = at->w->host->cx;
    at->f->tail = base_src_pos(
        cx, base_src(cx, bind_plain_name(at->ar->short_src), at->ar->currentline, NULL));
}

static void (*const ACTIONS[VM_COUNT])(const At *) = {
#define X(name, number, action) [number] = action,
#include "watch/opcode.def"
#undef X
};

void watch_hook_op(lua_State *L, lua_Debug *ar, Watch *w, Instruction i)
{
    void (*action)(const At *) = ACTIONS[vm_op(i)];
    if (!action) return;
    int top = lua_gettop(L);
    At at = {L, ar, w, watch_hook_frame(L, ar, w), i};
    action(&at);
    lua_settop(L, top);
}
