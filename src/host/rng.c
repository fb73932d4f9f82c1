/* rng.c: random numbers: which state and stream a draw gets. The numbers are op `rand`'s.
 *
 * Holds: outside a capture each draw has a state of its own, {seed, counter} with the counter
 *        counted on, and stream 0, so draws of equal shape share a program. Inside, one state for
 *        the whole step, fresh at each run, and streams 0, 1, 2 … in the order of the draws.
 */
#include "host/capture.h"
#include "host/ops.h"
#include "ir/build.h"

enum { PHILOX_WORDS = 4 };

Storage *host_rng_next(Host *h)
{
    Storage *s = exec_storage_new(h->cx, DT_i64, 1, (const int64_t[]){2});
    if (!s) return NULL;
    int64_t *state = s->data;
    state[0] = h->rng_seed;
    state[1] = h->rng_counter++;
    return s;
}

/* A new leaf with the next state. */
static Node *pending_rng(Host *h)
{
    Storage *s = host_rng_next(h);
    Node *n = s ? ir_input(h->pending->graph, INPUT_STATE, NULL, DT_i64, 1, s->dims) : NULL;
    if (n && host_trace_store(h->pending, n, s) < 0) n = NULL;
    exec_storage_unref(s);
    return n;
}

/* core.rand(shape, words) -> words tensors */
static int draw(lua_State *L)
{
    Host *h = host_of(L);
    int64_t dims[OP_MAX_RANK];
    int rank = host_check_dims(L, 1, "rand: the shape", dims);
    int words = (int)luaL_optinteger(L, 2, 1);
    luaL_argcheck(L, words >= 1 && words <= PHILOX_WORDS, 2, "1 to 4 words");
    lua_settop(L, 2);
    for (int w = 0; w < words; w++) host_tensor_new(L, h);
    Trace *tr = host_trace(L, h);
    Node *state = h->capture ? host_capture_rng(h->capture) : pending_rng(h);
    int stream = h->capture ? host_capture_stream(h->capture) : 0;
    for (int w = 0; w < words; w++) {
        Node *made = ir_rand(state, rank, dims, stream, w);
        if (!made) return host_throw(L, h);
        host_tensor_bind(host_tensor_at(L, h, 3 + w), tr, made);
    }
    return words;
}

static void refuse_capture(lua_State *L, Host *h, const char *what)
{
    if (h->capture)
        host_raise(L, SGL_ESTATE, "call it before the step", "%s: not inside sgl.compile", what);
}

/* core.seed(n) */
static int seed(lua_State *L)
{
    Host *h = host_of(L);
    refuse_capture(L, h, "seed");
    int exact;
    h->rng_seed = lua_tointegerx(L, 1, &exact);
    h->rng_counter = 0;
    if (exact) return 0;
    return host_raise(L, SGL_EARG, NULL, "seed: an integer is needed, got %s", host_kind(L, 1));
}

/* core.rng() -> seed, counter; core.rng(seed, counter) sets them */
static int rng(lua_State *L)
{
    Host *h = host_of(L);
    if (lua_gettop(L)) {
        refuse_capture(L, h, "rng");
        lua_Integer s = luaL_checkinteger(L, 1), counter = luaL_checkinteger(L, 2);
        h->rng_seed = s;
        h->rng_counter = counter;
    }
    lua_pushinteger(L, h->rng_seed);
    lua_pushinteger(L, h->rng_counter);
    return 2;
}

const luaL_Reg HOST_RNG[] = {
    {"rand", draw},
    {"seed", seed},
    {"rng", rng},
    {NULL, NULL},
};
