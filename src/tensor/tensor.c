/* tensor.c: the life of tensor handles.
 *
 * Holds: a handle is in the host's ring from birth to death; its storage is a reference of its
 *        own. Closing is final: a closed handle only answers that it is closed.
 */
#include <limits.h>
#include <string.h>
#include "tensor/grad_origin.h"
#include "tensor/room.h"

enum {
    HINT_BYTES = 1 << 18, /* smaller amounts wait until they add up */
    ALLOWED_KB = 1 << 15, /* garbage that is no reason to hurry */
};

void tensor_detach(Tensor *t)
{
    if (!t->trace) return;
    t->prev->next = t->next;
    t->next->prev = t->prev;
    t->trace = NULL;
    t->node = NULL;
}

static void drop_origin(Tensor *t)
{
    tensor_origin_unref(t->origin);
    t->origin = NULL;
}

/* Puts t into the ring of its trace: computed handles are before those that are pending. */
static void enter_ring(Tensor *t)
{
    Tensor *ring = &t->trace->handles;
    t->prev = t->storage ? ring : ring->prev;
    t->next = t->prev->next;
    t->prev->next = t->next->prev = t;
}

/* Leaves the trace it was on, if any; a value that is known beside the node is its value at
 * once. */
void tensor_bind(Tensor *t, Trace *tr, Node *n)
{
    Storage *known = tensor_trace_value(tr, n);
    if (known) dev_storage_ref(known);
    dev_storage_unref(t->storage);
    tensor_detach(t);
    drop_origin(t);
    t->storage = known;
    t->trace = tr;
    t->node = n;
    enter_ring(t);
}

void tensor_computed(Tensor *t, Storage *s)
{
    t->storage = dev_storage_ref(s);
    t->prev->next = t->next;
    t->next->prev = t->prev;
    enter_ring(t);
}

uint64_t tensor_id(void)
{
    static _Atomic uint64_t count;
    return ++count;
}

void tensor_set(Tensor *t, Storage *s)
{
    dev_storage_unref(t->storage);
    tensor_detach(t);
    t->storage = s;
    tensor_renew(t);
    t->leaf = t->cut = false;
}

void tensor_renew(Tensor *t)
{
    drop_origin(t);
    t->id = tensor_id();
}

static void tensor_end(Owned *o)
{
    Tensor *t = (Tensor *)o;
    tensor_set(t, NULL);
    t->life = TENSOR_CLOSED;
}

bool tensor_ids(const Host *h, Map *ids)
{
    for (const Owned *o = h->owned.next; o != &h->owned; o = o->next)
        if (o->end == tensor_end && !base_map_set(ids, ((const Tensor *)o)->id, 1)) return false;
    return true;
}

Tensor *tensor_new(lua_State *L, Host *h)
{
    Tensor *t = lua_newuserdatauv(L, sizeof *t, 0);
    memset(t, 0, sizeof *t);
    tensor_set(t, NULL);
    t->born = t->id;
    const void *meta = room_of(h)->meta;
    lua_rawgetp(L, LUA_REGISTRYINDEX, meta);
    lua_setmetatable(L, -2);
    bind_own(h, &t->owned, tensor_end);
    return t;
}

Tensor *tensor_make(lua_State *L, Host *h, Dtype dtype, int rank, const int64_t *dims)
{
    Tensor *t = tensor_new(L, h);
    t->storage = dev_storage_new(h->cx, dtype, rank, dims);
    if (!t->storage) bind_throw(L, h);
    tensor_hint_memory(L, h);
    return t;
}

Tensor *tensor_at(lua_State *L, Host *h, int arg)
{
    void *at = lua_touserdata(L, arg);
    if (!at || !lua_getmetatable(L, arg)) return NULL;
    bool is = lua_topointer(L, -1) == room_of(h)->meta;
    lua_pop(L, 1);
    return is ? at : NULL;
}

Dtype tensor_dtype(const Tensor *t) { return t->node ? (Dtype)t->node->dtype : t->storage->dtype; }

Shape tensor_shape(const Tensor *t)
{
    Shape s = {.dtype = t->node ? (Dtype)t->node->dtype : t->storage->dtype,
               .rank = t->node ? t->node->rank : t->storage->rank};
    memcpy(s.dims, t->node ? t->node->dims : t->storage->dims, s.rank * sizeof *s.dims);
    return s;
}

/* Lua starts a new collection when its heap has doubled. Storage shall do the same: what was
 * allocated counts as the share of Lua's heap that it is of all storage. So collecting costs a
 * program with large tensors no more than one with small ones. */
void tensor_hint_memory(lua_State *L, Host *h)
{
    TensorRoom *room = room_of(h);
    int64_t live = dev_storage_live_bytes(), grown = live - room->hinted;
    if (grown < 0) room->hinted = live;
    if (grown < HINT_BYTES) return;
    room->hinted = live;
    if (!lua_gc(L, LUA_GCISRUNNING)) return;
    int64_t all = live / 1024 > ALLOWED_KB ? live / 1024 : ALLOWED_KB;
    int64_t share = grown / 1024 * lua_gc(L, LUA_GCCOUNT) / all;
    lua_gc(L, LUA_GCSTEP, share < INT_MAX ? (int)share + 1 : INT_MAX);
    room->hinted = dev_storage_live_bytes();
}

static int tensor_gc(lua_State *L)
{
    Tensor *t = lua_touserdata(L, 1);
    bind_disown(&t->owned);
    tensor_end(&t->owned);
    return 0;
}

/* The end of a to-be-closed variable; unlike a finalizer it may be called by anyone. */
static int tensor_leave(lua_State *L)
{
    luaL_checkudata(L, 1, "sgl.tensor");
    return tensor_gc(L);
}

const luaL_Reg TENSOR_META[] = {
    {"__gc", tensor_gc},
    {"__close", tensor_leave},
    {NULL, NULL},
};
