/* meta.c: how tensors answer Lua: indexing, operators that cannot work, assignment.
 *
 * The metamethods look methods up in core.Tensor, their second upvalue, to which the Lua files
 * add: __getitem, __setitem and __show serve keys that are no names, and printing; __hint says what
 * is written for a name that is missing, __unheld whether a write would be lost; __shape is the
 * metatable of shapes.
 */
#include <string.h>
#include "tensor/args.h"
#include "tensor/number.h"
#include "tensor/ops.h"
#include "tensor/room.h"
#include "bind/frame.h"
#include "ir/build.h"

enum { METHODS = lua_upvalueindex(2) };

static int push_shape(lua_State *L, const Shape *s)
{
    tensor_push_dims(L, s->rank, s->dims);
    lua_getfield(L, METHODS, "__shape");
    lua_setmetatable(L, -2);
    return 1;
}

static int push_dtype(lua_State *L, const Shape *s)
{
    lua_pushstring(L, DTYPES[s->dtype].name);
    return 1;
}

static int push_rank(lua_State *L, const Shape *s)
{
    lua_pushinteger(L, s->rank);
    return 1;
}

static const struct {
    const char *name;
    int (*push)(lua_State *, const Shape *);
} PROPERTIES[] = {
    {"shape", push_shape},
    {"dtype", push_dtype},
    {"ndim", push_rank},
};

/* Raises with what is written for the name here, or with the nearest name of a method, as a slip is
 * likelier than a wish. */
static int unknown_name(lua_State *L, const char *name)
{
    int n = 0, top;
    lua_getfield(L, METHODS, "__hint");
    lua_pushvalue(L, 2);
    lua_call(L, 1, 1);
    if (!lua_isnil(L, -1))
        return bind_raise(L, SGL_EARG, lua_tostring(L, -1), "tensor has no method '%s'", name);
    top = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, METHODS); lua_pop(L, 1)) n++;
    const char **names = bind_scratch(L, n + 1, sizeof *names);
    n = 0;
    for (lua_pushnil(L); lua_next(L, METHODS); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) names[n++] = lua_tostring(L, -2);
    const char *near = base_str_nearest(name, names, n);
    lua_settop(L, top);
    if (near) lua_pushfstring(L, " (did you mean '%s'?)", near);
    return bind_raise(L, SGL_EARG, NULL, "tensor has no method '%s'%s", name,
                      near ? lua_tostring(L, -1) : "");
}

/* Calls core.Tensor[name] on the arguments. */
static int call_method(lua_State *L, const char *name, int results)
{
    lua_getfield(L, METHODS, name);
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, results);
    return results;
}

/* As Lua refuses it. */
static void refuse_fields(lua_State *L, Host *h)
{
    const Tensor *t = tensor_number_at(L, h, 1);
    if (!t) return;
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    bind_raise(L, SGL_EARG, "sgl.tensor(n) makes a tensor of it", "%s has no %s%s",
               tensor_number_kind(t), name ? "field " : "elements", name ? name : "");
}

/* The tensor on the top was read out of the one at 1 by the code of Lua above. */
static void note_made(lua_State *L, Host *h)
{
    lua_Debug ar;
    Tensor *t = lua_rawequal(L, 1, -1) ? NULL : tensor_at(L, h, -1);
    if (t && lua_getstack(L, 1, &ar)) t->made = bind_resume(&ar);
}

/* Refuses to write to the tensor at 1 where nothing holds it but the statement (watch/unheld.c). */
static void check_held(lua_State *L, const char *what)
{
    const Tensor *t = tensor_at(L, bind_of(L), 1);
    if (!t || (!t->made && (t->leaf || !t->node))) return;
    int top = lua_gettop(L);
    tensor_push_methods(L);
    lua_getfield(L, -1, "__unheld");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    if (lua_toboolean(L, -1))
        bind_raise(L, SGL_EARG,
                   "x[{1, 2}] = v writes into x, where x[1][2] = v would not; a tensor of its own "
                   "is named first: local row = x[1]",
                   "%s: this would write to a copy that nothing else holds, so nothing would "
                   "change",
                   what);
    lua_settop(L, top);
}

/* Names are methods or properties; all else is a key, which Lua's part of the library reads. */
static int tensor_index(lua_State *L)
{
    Host *h = bind_of(L);
    refuse_fields(L, h);
    if (lua_type(L, 2) != LUA_TSTRING) {
        lua_settop(L, 2);
        lua_getfield(L, METHODS, "__getitem");
        lua_pushvalue(L, 1);
        lua_pushvalue(L, 2);
        lua_call(L, 2, 1);
        note_made(L, h);
        return 1;
    }
    lua_pushvalue(L, 2);
    if (lua_rawget(L, METHODS) != LUA_TNIL) return 1;
    const char *name = lua_tostring(L, 2);
    for (size_t i = 0; i < sizeof PROPERTIES / sizeof *PROPERTIES; i++) {
        if (strcmp(PROPERTIES[i].name, name) != 0) continue;
        Shape s = tensor_shape(tensor_check(L, h, 1, name));
        return PROPERTIES[i].push(L, &s);
    }
    return unknown_name(L, name);
}

static int tensor_newindex(lua_State *L)
{
    refuse_fields(L, bind_of(L));
    check_held(L, "t[key] = v");
    return call_method(L, "__setitem", 0);
}

static int tensor_len(lua_State *L)
{
    Host *h = bind_of(L);
    Shape s = tensor_shape(tensor_check(L, h, 1, "#"));
    if (!s.rank) return bind_raise(L, SGL_ESHAPE, NULL, "#: a tensor without dims has no length");
    tensor_push_size(L, s.dims[0]);
    return 1;
}

/* Printing reads the value; a tensor that is closed or of a step that is over says just that. */
static int tensor_tostring(lua_State *L)
{
    Host *h = bind_of(L);
    const Tensor *t = tensor_at(L, h, 1);
    lua_settop(L, 1);
    if (t && t->life == TENSOR_ALIVE && tensor_number_at(L, h, 1)) {
        tensor_number_settle(L, h, 1, "tostring");
        luaL_tolstring(L, 1, NULL);
        return 1;
    }
    if (!t || t->life == TENSOR_ALIVE) {
        tensor_value(L, h, 1, "tostring");
        return call_method(L, "__show", 1);
    }
    lua_pushstring(L, t->life == TENSOR_CLOSED ? "closed tensor" : "tensor of a captured step");
    return 1;
}

static bool is_number(lua_State *L, Host *h, int arg)
{
    return lua_type(L, arg) == LUA_TNUMBER || tensor_number_at(L, h, arg);
}

/* Lua turns the result of a comparison into one boolean, so tensors have none; numbers of a step
 * have that of the call. */
static int compare(lua_State *L, int op, const char *sign, const char *method)
{
    Host *h = bind_of(L);
    if (is_number(L, h, 1) && is_number(L, h, 2)) {
        const char *what = lua_pushfstring(L, "'%s'", sign);
        lua_pushboolean(L, tensor_number_compare(L, h, op, 1, 2, what));
        return 1;
    }
    return bind_raise(L, SGL_EARG, method,
                      "'%s' does not work on tensors: Lua would turn the result into one boolean",
                      sign);
}

static int tensor_eq(lua_State *L)
{
    return compare(L, LUA_OPEQ, "==", "use t:eq(u) for the elements, rawequal(t, u) for identity");
}

static int tensor_lt(lua_State *L) { return compare(L, LUA_OPLT, "<", "use t:lt(u) or t:gt(u)"); }

static int tensor_le(lua_State *L) { return compare(L, LUA_OPLE, "<=", "use t:le(u) or t:ge(u)"); }

static int tensor_concat(lua_State *L)
{
    Host *h = bind_of(L);
    bool number = tensor_number_at(L, h, 1) || tensor_number_at(L, h, 2);
    for (int arg = 1; arg <= 2; arg++) tensor_number_settle(L, h, arg, "'..'");
    if (number) {
        lua_settop(L, 2);
        lua_concat(L, 2);
        return 1;
    }
    return bind_raise(L, SGL_EARG, "use tostring(t), t:item(), or sgl.cat to join tensors",
                      "'..' does not work on tensors");
}

static void check_assignable(lua_State *L, const Shape *to, const Node *v)
{
    if (ir_dtype_promote(to->dtype, v->dtype) == to->dtype) return;
    bind_raise(L, SGL_EDTYPE,
               lua_pushfstring(L, "convert it first: v:to(\"%s\")", DTYPES[to->dtype].name),
               "assign: a value of %s does not go into a tensor of %s", DTYPES[v->dtype].name,
               DTYPES[to->dtype].name);
}

/* The value at 2 as a node of the type of `to`. */
static Node *assigned_node(lua_State *L, Host *h, Trace *tr, const Shape *to)
{
    Node *v = tensor_operand(L, h, tr, "assign", 2, to->dtype);
    if (v) check_assignable(L, to, v);
    Shape from = v ? (Shape){(Dtype)v->dtype, v->rank, {0}} : (Shape){0};
    if (v) memcpy(from.dims, v->dims, (size_t)v->rank * sizeof *v->dims);
    if (v) v = ir_cast(v, to->dtype);
    if (v && !ir_has_dims(v, to->rank, to->dims)) v = ir_broadcast(v, to->rank, to->dims);
    if (!v && h->cx->err.code == SGL_ESHAPE) {
        base_err_clear(&h->cx->err);
        bind_push_type(L, &from);
        bind_push_type(L, to);
        bind_raise(L, SGL_ESHAPE,
                   "the dims must be equal, or 1 in the value, counted from the last",
                   "assign: a value %s does not go into a tensor %s", lua_tostring(L, -2),
                   lua_tostring(L, -1));
    }
    if (!v) bind_throw(L, h);
    return v;
}

/* Gives the tensor at 1 the value at 2. A leaf has no history, whether it is computed yet or not:
 * so gradients do not depend on when that happens. */
static int give(lua_State *L, bool leaf)
{
    Host *h = bind_of(L);
    lua_settop(L, 2);
    Tensor *t = tensor_check(L, h, 1, "assign");
    Shape to = tensor_shape(t);
    Trace *tr = tensor_trace(L, h);
    Node *v = assigned_node(L, h, tr, &to);
    if (leaf) check_held(L, "assign");
    bool known = tensor_trace_value(tr, v);
    if (leaf && !known && DTYPES[v->dtype].class == CLASS_FLOAT) v = ir_detach(v);
    Recorder *r = tensor_recorder(h);
    if (!v || r->ops->assign(L, r, 1, t, v, leaf) < 0) return bind_throw(L, h);
    lua_settop(L, 1);
    return 1;
}

/* t:assign(v) -> t */
static int tensor_assign(lua_State *L) { return give(L, true); }

/* t:__put(v) -> t: part of t is written, the rest stays: an operation like others */
static int tensor_put(lua_State *L) { return give(L, false); }

static const luaL_Reg META[] = {
    {"__index", tensor_index},
    {"__newindex", tensor_newindex},
    {"__len", tensor_len},
    {"__tostring", tensor_tostring},
    {"__eq", tensor_eq},
    {"__lt", tensor_lt},
    {"__le", tensor_le},
    {"__concat", tensor_concat},
    {NULL, NULL},
};

static const luaL_Reg METHODS_HERE[] = {
    {"assign", tensor_assign},
    {"__put", tensor_put},
    {NULL, NULL},
};

/* As tensors are called in messages. A number of a step is no tensor to the user. */
static const char *kind_of(lua_State *L, int arg)
{
    const Tensor *t = luaL_testudata(L, arg, "sgl.tensor");
    return t && t->weak ? lua_pushstring(L, tensor_number_kind(t)) : "a tensor";
}

static const char METHODS_KEY; /* its address is the registry's key of the methods */

void tensor_push_methods(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &METHODS_KEY); }

/* Pushes (methods, metatable). The methods are kept under a key of their own, as scripts may add to
 * them. */
void tensor_class(lua_State *L, Host *h)
{
    static const luaL_Reg *const LISTS[] = {METHODS_HERE, TENSOR_READ_METHODS};
    bind_class(L, "sgl.tensor", TENSOR_META, LISTS, sizeof LISTS / sizeof *LISTS);
    int meta = lua_gettop(L);
    static const ClassKind KIND = {kind_of};
    bind_class_kind(L, &KIND);
    lua_pushliteral(L,
                    "tensor (t:item() is its value)"); /* what Lua's own functions say they got */
    lua_setfield(L, meta, "__name");
    room_of(h)->meta = lua_topointer(L, meta);
    lua_pushvalue(L, meta);
    lua_rawsetp(L, LUA_REGISTRYINDEX, room_of(h)->meta);
    lua_getfield(L, meta, "__index");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &METHODS_KEY);
    lua_insert(L, meta);
    bind_open(L);
    lua_pushvalue(L, meta);
    luaL_setfuncs(L, META, 2);
    bind_open(L);
    tensor_open_ops(L);
    lua_pop(L, 2);
}
