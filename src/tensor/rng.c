/* rng.c: random numbers: which state a draw gets. The numbers are op `rand`'s.
 *
 * Holds: outside a capture each draw has a state of its own, {seed, counter} with the counter
 *        counted on, so draws of equal shape share a program. Inside there is one state for the
 *        whole step, and each draw adds its number: the numbers are those of uncompiled execution,
 *        and the counter goes on by as much. A control construct takes one number, whatever it
 *        draws: in its functions the seed is a key drawn with that, and step i of a scan or loop
 *        counts from i * IR_RNG_STEP (control.c does the same in a capture).
 */
#include "tensor/args.h"
#include "tensor/ops.h"
#include "tensor/rng.h"
#include "tensor/room.h"
#include "ir/build.h"
#include "ir/numerics.h"
#include "ir/philox.h"

enum { PHILOX_WORDS = 4 };

Storage *tensor_rng_next(Host *h, int draws)
{
    Storage *s = dev_storage_new(h->cx, DT_i64, 1, (const int64_t[]){2});
    if (!s) return NULL;
    TensorRoom *room = room_of(h);
    dev_storage_write(s, (const int64_t[]){room->rng_seed, room->rng_counter});
    room->rng_counter += draws;
    return s;
}

void tensor_rng_skip(Host *h, int draws) { room_of(h)->rng_counter += draws; }

/* core.rand(shape, words) -> words tensors */
static int draw(lua_State *L)
{
    Host *h = bind_of(L);
    int64_t dims[OP_MAX_RANK];
    int rank = tensor_check_dims(L, 1, "rand: the shape", dims);
    int words = (int)luaL_optinteger(L, 2, 1);
    luaL_argcheck(L, words >= 1 && words <= PHILOX_WORDS, 2, "1 to 4 words");
    lua_settop(L, 2);
    for (int w = 0; w < words; w++) tensor_new(L, h);
    Trace *tr = tensor_trace(L, h);
    int number;
    Recorder *r = tensor_recorder(h);
    Node *state = r->ops->draw(r, &number);
    for (int w = 0; w < words; w++) {
        Node *made = ir_rand(state, rank, dims, number, w);
        if (!made) return bind_throw(L, h);
        tensor_bind(tensor_at(L, h, 3 + w), tr, made);
    }
    return words;
}

static void refuse_capture(lua_State *L, Host *h, const char *what)
{
    if (tensor_recording(h))
        bind_raise(L, SGL_ESTATE, "call it before the step", "%s: not inside sgl.compile", what);
}

/* core.seed(n) */
static int seed(lua_State *L)
{
    Host *h = bind_of(L);
    refuse_capture(L, h, "seed");
    int exact;
    room_of(h)->rng_seed = lua_tointegerx(L, 1, &exact);
    room_of(h)->rng_counter = 0;
    if (exact) return 0;
    return bind_raise(L, SGL_EARG, NULL, "seed: an integer is needed, got %s", bind_kind(L, 1));
}

/* core.rng() -> seed, counter; core.rng(seed, counter) sets them */
static int rng(lua_State *L)
{
    Host *h = bind_of(L);
    if (lua_gettop(L)) {
        refuse_capture(L, h, "rng");
        lua_Integer s = luaL_checkinteger(L, 1), counter = luaL_checkinteger(L, 2);
        room_of(h)->rng_seed = s;
        room_of(h)->rng_counter = counter;
    }
    lua_pushinteger(L, room_of(h)->rng_seed);
    lua_pushinteger(L, room_of(h)->rng_counter);
    return 2;
}

/* ---- control constructs outside captures */

typedef struct Scope {
    int64_t seed, counter; /* outside */
    int64_t key;
} Scope;

static int scope_close(lua_State *L)
{
    Host *h = lua_touserdata(L, lua_upvalueindex(1));
    const Scope *s = lua_touserdata(L, 1);
    room_of(h)->rng_seed = s->seed;
    room_of(h)->rng_counter = s->counter;
    return 0;
}

static const luaL_Reg SCOPE_META[] = {{"__close", scope_close}, {NULL, NULL}};

/* core.rng_scope() -> a to-be-closed value: until then draws count from a key of their own */
static int rng_scope(lua_State *L)
{
    Host *h = bind_of(L);
    uint32_t w[PHILOX_WORDS];
    Scope *s = lua_newuserdatauv(L, sizeof *s, 0);
    philox_element(room_of(h)->rng_seed, room_of(h)->rng_counter, 0, 0, w);
    *s = (Scope){.seed = room_of(h)->rng_seed, .counter = room_of(h)->rng_counter + 1};
    s->key = (int64_t)(w[0] >> 8) << 24 | (int64_t)(w[1] >> 8);
    bind_class(L, "sgl.rng_scope", SCOPE_META, NULL, 0);
    lua_setmetatable(L, -2);
    room_of(h)->rng_seed = s->key;
    room_of(h)->rng_counter = 0;
    return 1;
}

/* core.rng_step(scope, i): step i begins, from 0 */
static int rng_step(lua_State *L)
{
    Host *h = bind_of(L);
    const Scope *s = luaL_checkudata(L, 1, "sgl.rng_scope");
    room_of(h)->rng_seed = s->key;
    room_of(h)->rng_counter = luaL_checkinteger(L, 2) * IR_RNG_STEP;
    return 0;
}

const luaL_Reg TENSOR_RNG[] = {
    {"rand", draw},           {"seed", seed},         {"rng", rng},
    {"rng_scope", rng_scope}, {"rng_step", rng_step}, {NULL, NULL},
};
