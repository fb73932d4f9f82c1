/* program.c: captured programs: running them on tensors, and looking into them.
 *
 * A run reads its state from the handles of the capture, so assignments between runs are seen.
 * Holds: storage that a run updates in place belongs to one handle alone; shared storage is copied
 *        first. That covers aliases: a second handle, the pending trace, an argument.
 */
#include <string.h>
#include "exec/report.h"
#include "capture/dynamic.h"
#include "tensor/args.h"
#include "tensor/cache.h"
#include "capture/room.h"
#include "tensor/dim.h"
#include "bind/events.h"
#include "ir/solve.h"
#include "tensor/graph.h"
#include "tensor/number.h"
#include "tensor/grad_flow.h"
#include "capture/ranks.h"

typedef struct Prog {
    Owned owned;
    Cache *cache;      /* borrowed */
    CacheEntry *entry; /* NULL: closed, or symbolic sizes */
    Dynamic *dynamic;  /* with symbolic sizes; neither: closed */
    Part part;         /* static: what ranks make of it */
    Program *program;  /* of the entry, or of the sizes that ran last; NULL: none did. The cache may
                          have freed it since prog_ready */
    int nargs, nin, nout;
    Tensor **state; /* by input: anchored in the uservalue; NULL: rng, or a number. Those of the
                       arguments are there during a run only */
    bool *assigned; /* by input */
    int rng, draws; /* its input, or -1; how far the counter goes on at a run */
    bool dropped;   /* closed by hand: its memory is wanted back now */
    bool running;   /* and perhaps printing, which is Lua code */
    bool *updated;  /* by argument: its new value is one of the last outputs */
    int nupdated, nresult; /* outputs: results, new values of arguments, what `told` has */
    VEC(Told) told;
    bool *kept;              /* by input, during a run: it had no new value */
    VEC(NumberCheck) checks; /* of numbers among the arguments */
    uint8_t *number;         /* by argument: INTEGER or FLOAT; NULL: it does not matter */
    Storage **slot;          /* by argument: where the run reads a number; NULL: there was none */
    Tensor **wanted;         /* during a run: tensors whose values are needed */
    Storage **in, **out;     /* during a run: references */
    Tensor **result;         /* during a run: the handles that get the outputs */
    Flow *flow;
    Origin *origin; /* during a run */
} Prog;

static void release(Storage **list, int n)
{
    for (int i = 0; list && i < n; i++) {
        dev_storage_unref(list[i]);
        list[i] = NULL;
    }
}

/* Frees what a captured step holds. The program itself goes back to the cache, which may keep it
 * for an equal step. */
static void prog_end(Owned *o)
{
    Prog *p = (Prog *)o;
    release(p->in, p->nin);
    release(p->out, p->nout);
    if (p->dynamic) capture_dynamic_free(p->dynamic, p->dropped);
    if (p->entry) exec_cache_release(p->cache, p->entry, p->dropped);
    capture_part_free(&p->part);
    base_mem_free(p->state);
    base_mem_free(p->assigned);
    base_mem_free(p->updated);
    vec_free(&p->checks);
    vec_free(&p->told);
    base_mem_free(p->kept);
    base_mem_free(p->number);
    release(p->slot, p->nargs);
    base_mem_free(p->slot);
    base_mem_free(p->wanted);
    base_mem_free(p->in);
    base_mem_free(p->out);
    base_mem_free(p->result);
    tensor_origin_unref(p->origin);
    tensor_flow_free(p->flow);
    *p = (Prog){.owned = p->owned};
}

static int prog_gc(lua_State *L)
{
    Prog *p = lua_touserdata(L, 1);
    bind_disown(&p->owned);
    prog_end(&p->owned);
    return 0;
}

static Prog *check_open(lua_State *L, Prog *p)
{
    if (!p->entry && !p->dynamic) bind_raise(L, SGL_ECLOSED, NULL, "the program is closed");
    return p;
}

static Prog *prog_open(lua_State *L) { return check_open(L, bind_check_self(L, "sgl.program")); }

/* What a step prints is formatted by Lua, which may come back here. */
static void check_idle(lua_State *L, const Prog *p, const char *doing)
{
    if (!p->running) return;
    bind_raise(L, SGL_ESTATE, NULL, "a program cannot be %s by what it prints while it runs",
               doing);
}

/* How state was asked to lie, by input; on the Lua stack. */
static const char **places(lua_State *L, const Prog *p)
{
    const char **place = bind_scratch(L, (size_t)p->nin + 1, sizeof *place);
    for (int i = p->nargs; i < p->nin; i++) place[i] = p->state[i] ? p->state[i]->place : NULL;
    return place;
}

/* This rank's part of the step, or the step itself. Takes g. */
static Graph *make_part(Prog *p, Graph *g)
{
    const char **place = base_mem_zero((size_t)p->nin + 1, sizeof *place);
    if (!place) {
        base_no_memory(g->cx, "a program");
        ir_graph_free(g);
        return NULL;
    }
    for (int i = p->nargs; i < p->nin; i++)
        if (p->state[i]) place[i] = p->state[i]->place;
    g = capture_part_make(&p->part, g, place);
    base_mem_free(place);
    return g;
}

/* Settings that change what ranks make of the step have changed: it is made again. */
static void follow_settings(lua_State *L, Host *h, Prog *p)
{
    const Graph *whole = p->part.whole ? p->part.whole : exec_cache_graph(p->entry);
    base_err_clear(&h->cx->err);
    Graph *g = tensor_copy_whole(whole);
    if (g) g = make_part(p, g);
    CacheEntry *e = g ? capture_entry(h, g) : NULL;
    if (!e) p->part.age = 0;
    if (!e) bind_throw(L, h);
    exec_cache_release(p->cache, p->entry, false);
    p->entry = e;
}

static void prog_ready(lua_State *L, Host *h, Prog *p)
{
    if (p->entry && !capture_part_holds(h->cx, &p->part)) follow_settings(L, h, p);
    CacheEntry *e = p->dynamic ? capture_dynamic_latest(p->dynamic) : p->entry;
    p->program =
        e ? tensor_cache_ready(L, h, e, p->dynamic ? capture_dynamic_sizes(p->dynamic) : NULL)
          : NULL;
}

static Prog *prog_check(lua_State *L)
{
    Prog *p = prog_open(L);
    prog_ready(L, bind_of(L), p);
    return p;
}

/* The program that runs, of which there is none before the first run with symbolic sizes. */
static Prog *prog_compiled(lua_State *L)
{
    Prog *p = prog_check(L);
    if (!p->program) bind_raise(L, SGL_ESTATE, "run the step once", "the step has no sizes yet");
    return p;
}

/* The list at `args` must have an item for each argument. */
static void check_arity(lua_State *L, const Prog *p, int args)
{
    int n = bind_check_list(L, args, "run: the arguments");
    if (n != p->nargs)
        bind_raise(L, SGL_EARG, NULL, "the step was captured with %d argument%s, got %d", p->nargs,
                   p->nargs == 1 ? "" : "s", n);
}

/* An argument that the step also reads from outside would be two tensors to the graph; that is seen
 * only when one of them is updated. */
static bool is_alias(const Prog *p, int arg, const Tensor *t)
{
    for (int i = p->nargs; i < p->nin; i++)
        if (p->state[i] == t && (p->assigned[i] || p->updated[arg])) return true;
    return false;
}

static void check_alias(lua_State *L, const Prog *p, int arg, const Tensor *t)
{
    if (is_alias(p, arg, t))
        bind_raise(L, SGL_ESTATE, "pass a copy, t:clone(), or do not pass it at all",
                   "argument %d is a tensor that the step also takes from outside, and the "
                   "step updates it",
                   arg + 1);
}

int capture_program_aliased(lua_State *L, int program, int args)
{
    Host *h = bind_of(L);
    const Prog *p = check_open(L, lua_touserdata(L, program));
    for (int i = 0; i < p->nargs; i++) {
        lua_rawgeti(L, args, i + 1);
        const Tensor *t = tensor_at(L, h, -1);
        lua_pop(L, 1);
        if (t && is_alias(p, i, t)) return i + 1;
    }
    return 0;
}

/* program:aliased(args) -> the number of the first argument for which a run would raise that */
static int prog_aliased(lua_State *L)
{
    check_arity(L, prog_open(L), 2);
    int number = capture_program_aliased(L, 1, 2);
    if (number) lua_pushinteger(L, number);
    return number ? 1 : 0;
}

/* Collects the tensors among arguments and state, and runs what is pending for them together. */
static void realize_inputs(lua_State *L, Host *h, Prog *p, int args)
{
    int n = 0;
    for (int i = 0; i < p->nargs; i++) {
        p->state[i] = NULL;
        if (lua_rawgeti(L, args, i + 1) != LUA_TNUMBER) {
            p->state[i] = tensor_check(L, h, lua_gettop(L), "the step");
            check_alias(L, p, i, p->state[i]);
            p->wanted[n++] = p->state[i];
        }
        lua_pop(L, 1);
    }
    for (int i = p->nargs; i < p->nin; i++) {
        if (!p->state[i]) continue;
        if (p->state[i]->life != TENSOR_ALIVE)
            bind_raise(L, SGL_ECLOSED, NULL, "the step uses a tensor that is closed");
        p->wanted[n++] = p->state[i];
    }
    base_err_clear(&h->cx->err);
    if (tensor_realize(h, n, p->wanted) < 0) bind_throw(L, h);
}

static void check_numbers(lua_State *L, const Prog *p, int args)
{
    for (int i = 0; i < p->checks.n; i++) {
        lua_rawgeti(L, args, p->checks.at[i].arg + 1);
        tensor_number_check(L, &p->checks.at[i]);
        lua_pop(L, 1);
    }
}

/* Writes the number on the top into slot i; a reference to it, or NULL with the error set. */
static Storage *number_storage(lua_State *L, Host *h, Prog *p, int i)
{
    double value = lua_tonumber(L, -1);
    lua_Integer whole = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
    bool exact = !whole || (value < 0x1p63 && (lua_Integer)value == whole);
    if (p->number && !exact)
        bind_raise(L, SGL_EARG, "pass a tensor of the dtype: sgl.tensor(n, { dtype = \"i64\" })",
                   "a number among the arguments is an f64 inside the step, and the integer %I "
                   "does not fit",
                   whole);
    if (p->slot[i] && p->slot[i]->refs > 1) { /* somebody holds the value of a run before */
        dev_storage_unref(p->slot[i]);
        p->slot[i] = NULL;
    }
    if (!p->slot[i]) p->slot[i] = dev_storage_new(h->cx, DT_f64, 0, NULL);
    if (!p->slot[i] || dev_storage_write(p->slot[i], &value) < 0) return NULL;
    return dev_storage_ref(p->slot[i]);
}

/* What the run writes to for t: its storage, or, where others have that too, a copy that t gets if
 * the run comes to its end. A reference, or NULL with the error set. */
static Storage *own_storage(Host *h, const Tensor *t)
{
    return t->storage->refs == 1 ? dev_storage_ref(t->storage)
                                 : dev_storage_copy(h->cx, t->storage);
}

/* Arguments come before state, so that a tensor that is both is seen to be shared. */
static void fill_inputs(lua_State *L, Host *h, Prog *p, int args)
{
    for (int i = 0; i < p->nargs; i++) {
        if (p->state[i]) {
            p->in[i] = dev_storage_ref(p->state[i]->storage);
        } else {
            lua_rawgeti(L, args, i + 1);
            p->in[i] = number_storage(L, h, p, i);
            lua_pop(L, 1);
        }
        if (!p->in[i]) bind_throw(L, h);
    }
    for (int i = p->nargs; i < p->nin; i++) {
        if (i == p->rng) p->in[i] = tensor_rng_next(h, p->draws);
        else if (p->assigned[i]) p->in[i] = own_storage(h, p->state[i]);
        else p->in[i] = dev_storage_ref(p->state[i]->storage);
        if (!p->in[i]) bind_throw(L, h);
    }
    if (p->rng < 0) tensor_rng_skip(h, p->draws); /* of control nodes that draw nothing */
}

/* Tensors that were passed get the values that the step gave them. */
static void update_arguments(lua_State *L, Host *h, Prog *p, int args)
{
    for (int i = 0, k = p->nresult; i < p->nargs; i++) {
        if (!p->updated[i]) continue;
        lua_rawgeti(L, args, i + 1);
        Tensor *t = tensor_at(L, h, -1);
        if (t && !p->kept[i]) {
            tensor_set(t, p->out[k]);
            p->out[k] = NULL;
        }
        k++;
        lua_pop(L, 1);
    }
    release(p->out + p->nresult, p->nupdated);
}

/* Pushes the handles that get the outputs; returns how many. */
static int push_results(lua_State *L, Host *h, Prog *p)
{
    int n = p->nresult;
    luaL_checkstack(L, n + LUA_MINSTACK, "results");
    for (int k = 0; k < n; k++) p->result[k] = tensor_new(L, h);
    return n;
}

/* Which inputs the run might have assigned and did not. */
static void find_kept(lua_State *L, Host *h, Prog *p)
{
    for (int i = 0; i < p->told.n; i++) {
        const uint8_t *set = tensor_host(L, h, p->out[p->told.at[i].output]);
        p->kept[p->told.at[i].input] = !*set;
    }
    release(p->out + p->nresult + p->nupdated, p->nout - p->nresult - p->nupdated);
}

/* All handles get what the run gave them; one that it did not assign stays what it was. */
static void take_outputs(lua_State *L, Host *h, Prog *p, int args)
{
    find_kept(L, h, p);
    update_arguments(L, h, p, args);
    for (int i = p->nargs; i < p->nin; i++)
        if (p->assigned[i] && p->state[i] && !p->kept[i])
            tensor_set(p->state[i], dev_storage_ref(p->in[i]));
    release(p->in, p->nin);
    for (int k = 0; k < p->nresult; k++) {
        tensor_set(p->result[k], p->out[k]);
        p->out[k] = NULL;
    }
    tensor_flow_end(p->flow, p->origin, p->state, p->kept, p->result);
    tensor_origin_unref(p->origin);
    p->origin = NULL;
}

/* Runs what is ready to run: the storages of the inputs are there. */
static int run(lua_State *L, Host *h, Prog *p)
{
    tensor_runs(L, h);
    capture_prints_begin(h);
    p->running = true;
    exec_cache_run_begin(tensor_programs(h));
    Part *part = p->dynamic ? capture_dynamic_part(p->dynamic) : &p->part;
    int status = p->dynamic ? capture_dynamic_bind(p->dynamic, p->program) : SGL_OK;
    Storage *const *in = status < 0 ? NULL : part ? capture_part_take(h->cx, part, p->in) : p->in;
    if (status >= 0) status = in ? exec_run(p->program, in, p->out) : h->cx->err.code;
    if (status < 0 && part) capture_part_failed(h->cx, part);
    exec_cache_run_end(tensor_programs(h));
    p->running = false;
    if (status < 0) release(p->in, p->nin);
    return status;
}

int capture_program_run(lua_State *L, int program, int args)
{
    Host *h = bind_of(L);
    Prog *p = check_open(L, lua_touserdata(L, program));
    check_idle(L, p, "run");
    if (tensor_recording(h))
        return bind_raise(L, SGL_ESTATE, NULL, "a program cannot run inside another capture");
    release(p->in, p->nin);
    check_numbers(L, p, args);
    realize_inputs(L, h, p, args);
    int results = push_results(L, h, p);
    tensor_origin_unref(p->origin);
    if (tensor_flow_begin(h, p->flow, p->state, &p->origin) < 0) return bind_throw(L, h);
    fill_inputs(L, h, p, args);
    if (p->dynamic) {
        CacheEntry *e = capture_dynamic_entry(h, p->dynamic, p->in, places(L, p));
        lua_pop(L, 1); /* the results are on the top again */
        if (!e) release(p->in, p->nin);
        if (!e) return bind_throw(L, h);
    }
    prog_ready(L, h, p);
    if (run(L, h, p) < 0) {
        tensor_rng_skip(h, -p->draws);
        return capture_again(h) ? CAPTURE_AGAIN : bind_throw(L, h);
    }
    take_outputs(L, h, p, args);
    tensor_pending_idle(h);
    tensor_hint_memory(L, h);
    bind_events_flush(L, h);
    return results;
}

/* program:run(args) -> list of tensors; nil: to be done again by Lua */
static int prog_run(lua_State *L)
{
    const Prog *p = prog_open(L);
    lua_settop(L, 2);
    check_arity(L, p, 2);
    lua_createtable(L, p->nout, 0);
    int n = capture_program_run(L, 1, 2);
    if (n == CAPTURE_AGAIN) return 0;
    for (; n > 0; n--) lua_rawseti(L, 3, n);
    return 1;
}

/* program:graph(part) -> what was captured, or with `part` this rank's part of it */
static int prog_graph(lua_State *L)
{
    Host *h = bind_of(L);
    Prog *p = prog_check(L);
    bool part = lua_toboolean(L, 2);
    GraphBox *b = tensor_graph_new(L, h);
    const Graph *g = p->dynamic ? capture_dynamic_graph(p->dynamic) : exec_cache_graph(p->entry);
    while (p->dynamic && g->from) g = g->from;
    if (part && p->dynamic && capture_dynamic_part(p->dynamic))
        g = exec_cache_graph(capture_dynamic_latest(p->dynamic));
    if (p->part.whole && !part) g = p->part.whole;
    b->kernels = p->program ? exec_program_info(p->program)->kernels : -1;
    b->graph = tensor_copy_whole(g);
    return tensor_graph_made(L, h, b);
}

static void push_passes(lua_State *L, const PassTimes *times)
{
    lua_createtable(L, times->n, 0);
    for (int i = 0; i < times->n; i++) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, times->name[i]);
        lua_setfield(L, -2, "name");
        lua_pushnumber(L, times->seconds[i] * 1e3);
        lua_setfield(L, -2, "ms");
        lua_pushinteger(L, times->nodes[i]);
        lua_setfield(L, -2, "nodes");
        lua_rawseti(L, -2, i + 1);
    }
}

/* program:info() */
static int prog_info(lua_State *L)
{
    const Prog *p = prog_compiled(L);
    const ProgramInfo *info = exec_program_info(p->program);
    const struct {
        const char *name;
        int64_t value;
    } FIELDS[] = {
        {"nodes", info->nodes},
        {"groups", info->groups},
        {"kernels", info->kernels},
        {"steps", info->steps},
        {"dots", info->dots},
        {"bodies", info->bodies},
        {"blocks", info->blocks},
        {"arena_bytes", (int64_t)info->arena_bytes},
        {"bytes", (int64_t)info->bytes},
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        lua_pushinteger(L, FIELDS[i].value);
        lua_setfield(L, -2, FIELDS[i].name);
    }
    lua_pushnumber(L, exec_fusion_ratio(info));
    lua_setfield(L, -2, "fusion_ratio");
    lua_pushnumber(L, info->compile_seconds * 1e3);
    lua_setfield(L, -2, "compile_ms");
    lua_pushstring(L, info->cache);
    lua_setfield(L, -2, "cache");
    push_passes(L, &info->passes);
    lua_setfield(L, -2, "passes");
    if (!p->dynamic) return 1;
    DynamicInfo dynamic = capture_dynamic_info(p->dynamic);
    lua_pushinteger(L, dynamic.specialisations);
    lua_setfield(L, -2, "specialisations");
    lua_pushinteger(L, dynamic.bindings);
    lua_setfield(L, -2, "bindings");
    lua_pushnumber(L, dynamic.bind_seconds * 1e3);
    lua_setfield(L, -2, "bind_ms");
    tensor_push_guards(L, bind_of(L)->cx, capture_dynamic_guards(p->dynamic));
    lua_setfield(L, -2, "guards");
    return 1;
}

/* program:state() -> list of the tensors from outside that a run reads or updates */
static int prog_state(lua_State *L)
{
    prog_check(L);
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 1);
    lua_newtable(L);
    for (lua_Integer i = 1; lua_rawgeti(L, 2, i) != LUA_TNIL; i++) lua_rawseti(L, 3, i);
    lua_pop(L, 1);
    return 1;
}

/* Is a number among the arguments an integer where it was none, or the other way? Its index. */
static int other_number(lua_State *L, const Prog *p, int args)
{
    for (int i = 0; p->number && i < p->nargs; i++) {
        bool number = lua_rawgeti(L, args, i + 1) == LUA_TNUMBER;
        bool other = number && p->number[i] != (lua_isinteger(L, -1) ? INTEGER : FLOAT);
        lua_pop(L, 1);
        if (other) return i + 1;
    }
    return 0;
}

/* Pushes scratch with the shapes of the inputs: those of the arguments, in the list at `args`. */
static const Shape *input_shapes(lua_State *L, Host *h, const Prog *p, int args)
{
    Shape *list = bind_scratch(L, (size_t)p->nin, sizeof *list);
    const Graph *g = capture_dynamic_graph(p->dynamic);
    for (int i = 0; i < p->nin; i++) {
        const Node *n = g->inputs.at[i].node;
        if (i < p->nargs) lua_rawgeti(L, args, i + 1);
        else lua_pushnil(L);
        Tensor *t = tensor_at(L, h, -1);
        list[i] = (Shape){.dtype = (Dtype)n->dtype, .rank = n->rank};
        if (n->rank) memcpy(list[i].dims, n->dims, n->rank * sizeof *n->dims);
        if (t) list[i] = tensor_shape(t);
        lua_pop(L, 1);
    }
    base_err_clear(&h->cx->err);
    return list;
}

/* Do the comparisons of sizes that the capture made come out as then? */
static bool sizes_fit(lua_State *L, Host *h, const Prog *p, int args)
{
    if (!p->dynamic || !capture_dynamic_guards(p->dynamic)->n) return true;
    const Shape *list = input_shapes(L, h, p, args);
    bool fits = capture_dynamic_fits(h, p->dynamic, list);
    lua_pop(L, 1);
    if (h->cx->err.code) bind_throw(L, h);
    return fits;
}

bool capture_program_fits(lua_State *L, int program, int args)
{
    const Prog *p = check_open(L, lua_touserdata(L, program));
    return !other_number(L, p, args) && sizes_fit(L, bind_of(L), p, args);
}

/* program:fits(args) -> whether the comparisons of sizes that the capture made come out as then,
 * and the index of a number that is of the other type, where types matter. */
static int prog_fits(lua_State *L)
{
    const Prog *p = prog_open(L);
    check_arity(L, p, 2);
    int other = other_number(L, p, 2);
    lua_pushboolean(L, !other && sizes_fit(L, bind_of(L), p, 2));
    if (other) lua_pushinteger(L, other);
    return other ? 2 : 1;
}

/* program:sizes(args, list of symbolic sizes) -> what they are for these arguments */
static int prog_sizes(lua_State *L)
{
    Host *h = bind_of(L);
    const Prog *p = prog_open(L);
    check_arity(L, p, 2);
    int n = bind_check_list(L, 3, "sizes: the sizes");
    if (!p->dynamic) return bind_raise(L, SGL_ESTATE, NULL, "sizes: no size is symbolic");
    const Shape *list = input_shapes(L, h, p, 2);
    lua_createtable(L, n, 0);
    int64_t *values = ir_solve(capture_dynamic_graph(p->dynamic), list);
    if (!values) return bind_throw(L, h);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, 3, i);
        int64_t size = ir_dim_eval(h->cx, tensor_dim_at(L, -1), values);
        if (size >= DIM_MOST || size <= -DIM_MOST) {
            base_mem_free(values);
            return bind_raise(L, SGL_ESHAPE, "compute it outside, of the sizes themselves",
                              "a size that the step returns is beyond 2^60");
        }
        lua_pushinteger(L, size);
        lua_rawseti(L, -3, i);
        lua_pop(L, 1);
    }
    base_mem_free(values);
    return 1;
}

/* program:print(stage) -> string */
static int prog_print(lua_State *L)
{
    Prog *p = prog_compiled(L);
    const char *stage = lua_isnoneornil(L, 2) ? "fused" : tensor_stage(L, 2);
    Str *s = bind_text(L);
    exec_program_print(p->program, stage, s);
    return bind_text_push(L, s);
}

static int prog_close(lua_State *L)
{
    Prog *p = prog_open(L);
    check_idle(L, p, "closed");
    p->dropped = true;
    return prog_gc(L);
}

/* The end of a to-be-closed variable: it may have been closed by hand. */
static int prog_leave(lua_State *L)
{
    const Prog *p = bind_check_self(L, "sgl.program");
    return p->entry || p->dynamic ? prog_close(L) : 0;
}

static const luaL_Reg PROGRAM_META[] = {
    {"__gc", prog_gc},
    {"__close", prog_leave},
    {NULL, NULL},
};

static const luaL_Reg PROGRAM_METHODS[] = {
    {"run", prog_run},     {"graph", prog_graph}, {"info", prog_info},   {"print", prog_print},
    {"state", prog_state}, {"fits", prog_fits},   {"sizes", prog_sizes}, {"aliased", prog_aliased},
    {"close", prog_close}, {NULL, NULL},
};

void capture_program_class(lua_State *L)
{
    static const luaL_Reg *const LISTS[] = {PROGRAM_METHODS};
    bind_class(L, "sgl.program", PROGRAM_META, LISTS, 1);
}

/* Pushes a program that is not there yet, with room for its inputs and outputs. */
static Prog *prog_new(lua_State *L, Host *h, const Capture *c)
{
    const Graph *g = c->trace.graph;
    Prog *p = lua_newuserdatauv(L, sizeof *p, 1);
    *p = (Prog){.cache = tensor_programs(h),
                .nargs = c->nargs,
                .nin = g->inputs.n,
                .nout = g->outputs.n,
                .rng = -1};
    capture_program_class(L);
    lua_setmetatable(L, -2);
    bind_own(h, &p->owned, prog_end);
    size_t n = (size_t)p->nin + 1;
    p->state = base_mem_zero(n, sizeof *p->state);
    p->assigned = base_mem_zero(n, sizeof *p->assigned);
    p->wanted = base_mem_zero(n, sizeof *p->wanted);
    p->updated = base_mem_zero(n, sizeof *p->updated);
    p->kept = base_mem_zero(n, sizeof *p->kept);
    p->in = base_mem_zero(n, sizeof *p->in);
    p->out = base_mem_zero(p->nout + 1, sizeof *p->out);
    p->result = base_mem_zero(p->nout + 1, sizeof *p->result);
    p->slot = base_mem_zero(n, sizeof *p->slot);
    if (!p->slot || !p->state || !p->assigned || !p->updated || !p->kept || !p->wanted || !p->in ||
        !p->out || !p->result)
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a program");
    return p;
}

/* What can reach the results, of the graph as it was captured. */
static void take_flow(lua_State *L, Prog *p, const Graph *g)
{
    Node **value = bind_scratch(L, (size_t)p->nin, sizeof *value);
    bool *may_stay = bind_scratch(L, (size_t)p->nin, sizeof *may_stay);
    for (int i = 0; i < p->told.n; i++) may_stay[p->told.at[i].input] = true;
    for (int i = 0; i < g->assigns.n; i++) value[g->assigns.at[i].input] = g->assigns.at[i].value;
    for (int i = 0, k = p->nresult; i < p->nargs; i++)
        if (p->updated[i]) value[i] = g->outputs.at[k++].node;
    p->flow = tensor_flow_new(g, p->nresult, value, may_stay);
    if (!p->flow) bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a program");
    lua_pop(L, 2);
}

int capture_program_push(lua_State *L, Host *h, Capture *c, int states)
{
    Prog *p = prog_new(L, h, c);
    lua_pushvalue(L, states);
    lua_setiuservalue(L, -2, 1);
    for (int i = 0; i < c->states.n; i++) {
        const CapturedState *s = &c->states.at[i];
        p->state[ir_attr_int(s->input, 0)] = s->tensor;
    }
    for (int i = 0; i < c->nargs; i++) {
        p->updated[i] = c->args[i].assigned;
        p->nupdated += c->args[i].assigned;
    }
    p->nresult = p->nout - p->nupdated;
    for (int i = 0; i < c->told.n; i++) {
        if (c->told.at[i].output < p->nresult + p->nupdated)
            p->nresult = c->told.at[i].output - p->nupdated;
        if (!vec_push(&p->told, c->told.at[i]))
            bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a program");
    }
    for (int i = 0; i < c->checks.n; i++)
        if (!vec_push(&p->checks, c->checks.at[i]))
            bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a program");
    if (c->assumed.classed) p->number = base_mem_zero((size_t)c->nargs + 1, 1);
    if (c->assumed.classed && !p->number)
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a program");
    for (int i = 0; p->number && i < c->nargs; i++) p->number[i] = (uint8_t)c->args[i].number;
    if (c->rng) p->rng = (int)ir_attr_int(c->rng, 0);
    p->draws = c->draws;
    Graph *g = c->trace.graph;
    for (int i = 0; i < g->assigns.n; i++) p->assigned[g->assigns.at[i].input] = true;
    take_flow(L, p, g);
    c->trace.graph = NULL;
    base_err_clear(&h->cx->err);
    if (ir_graph_symbolic(g)) {
        p->dynamic = capture_dynamic_new(h, g, &c->assumed.sizes);
        return p->dynamic ? 1 : bind_throw(L, h);
    }
    g = make_part(p, g);
    p->entry = g ? capture_entry(h, g) : NULL;
    return p->entry ? 1 : bind_throw(L, h);
}
