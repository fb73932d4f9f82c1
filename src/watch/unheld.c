/* unheld.c: does a statement write to a value that nothing holds, and so to nothing?
 *
 * In:   a tensor that is about to be written to, by `t[key] = v` or t:assign(v).
 * Out:  true where it is the value of an expression of the statement itself, as in x[1][2] = 5 and
 *       x:view(6):assign(0).
 * Holds: true is certain. The instruction that wrote the tensor's register is found among those
 *        before the one that runs; a register of a variable is none of them.
 */
#include <string.h>
#include "watch/room.h"

enum { MOST_BACK = 256 };

/* Does the instruction write to register r? */
static bool defines(Instruction i, int r)
{
    int op = vm_op(i);
    bool other = op == VM_SETUPVAL || op == VM_JMP || op == VM_EXTRAARG ||
                 (op >= VM_SETTABUP && op <= VM_SETFIELD) || (op >= VM_MMBIN && op <= VM_MMBINK) ||
                 (op >= VM_EQ && op <= VM_TEST);
    return !other && vm_a(i) == r;
}

/* The instruction before `at` that wrote to register r of the frame; NULL: not known, or r is that
 * of a variable. */
static const Instruction *defined(lua_State *L, const lua_Debug *ar, const Instruction *at, int r)
{
    const char *name = lua_getlocal(L, ar, r + 1);
    if (name) lua_pop(L, 1);
    if (name && *name != '(') return NULL;
    for (int n = 0; n < MOST_BACK; n++) {
        Instruction i = *--at;
        if (defines(i, r)) return at;
        if (vm_op(i) == VM_CALL && vm_a(i) <= r) return NULL;
    }
    return NULL;
}

/* Is t what a call on this line has just made? */
static bool is_new(lua_State *L, Host *h, const Tensor *t)
{
    if (!t->node || t->leaf || !t->node->src) return false;
    SrcPos made = base_src_pos(h->cx, t->node->src);
    SrcPos here = base_src_pos(h->cx, bind_src(L, h, NULL));
    return made.file == here.file && made.line == here.line;
}

/* The value that the instruction at `def` gave, which the statement alone has. */
static bool is_value(lua_State *L, Host *h, const Tensor *t, const Instruction *def)
{
    int op = def ? vm_op(*def) : VM_COUNT;
    if (op == VM_GETI || op == VM_GETTABLE) return t->made == def + 1;
    return op == VM_CALL && is_new(L, h, t);
}

/* f(x[1]), whose result is not used: is t the argument? */
static bool is_argument(lua_State *L, const lua_Debug *ar, const Instruction *call, const Tensor *t)
{
    uintptr_t made = (uintptr_t)t->made, end = (uintptr_t)call;
    if (!made || made > end || end - made > MOST_BACK * sizeof *call) return false;
    const Instruction *def = (const Instruction *)t->made - 1;
    int first = vm_a(*call), r = vm_a(*def), op = vm_op(*def), count = vm_b(*call);
    bool reads = op == VM_GETI || op == VM_GETTABLE;
    return reads && r > first && (!count || r < first + count) && defined(L, ar, call, r) == def;
}

/* The frame that the user's statement runs in, from `level` on: a function of Lua. */
static bool user_frame(lua_State *L, int level, lua_Debug *ar)
{
    for (; lua_getstack(L, level, ar); level++) {
        lua_getinfo(L, "Sl", ar);
        bool c = !strcmp(ar->what, "C");
        if (!c && strncmp(ar->source, "=sgl/", 5) != 0) return ar->currentline > 0;
    }
    return false;
}

/* core.unheld(t), called by what t is written with -> boolean */
static int unheld(lua_State *L)
{
    enum { WRITER = 1, CALLER = 2 };
    Host *h = bind_of(L);
    const Tensor *t = tensor_at(L, h, 1);
    lua_Debug ar, caller;
    bool found = false;
    if (t && watch_fits(L, h) && user_frame(L, CALLER, &ar)) {
        const Instruction *now = bind_resume(&ar) - 1, *method;
        int op = vm_op(*now), r = vm_a(*now);
        bool direct = lua_getstack(L, CALLER, &caller) && caller.i_ci == ar.i_ci;
        if (direct && op >= VM_SETTABLE && op <= VM_SETFIELD) {
            found = is_value(L, h, t, defined(L, &ar, now, r));
        } else if (op == VM_CALL && vm_c(*now) == 1) {
            method = direct ? defined(L, &ar, now, r) : NULL;
            found = method && vm_op(*method) == VM_SELF
                        ? is_value(L, h, t, defined(L, &ar, method, vm_b(*method)))
                        : is_argument(L, &ar, now, t);
        }
    }
    lua_pushboolean(L, found);
    return 1;
}

const luaL_Reg WATCH_UNHELD[] = {{"unheld", unheld}, {NULL, NULL}};
