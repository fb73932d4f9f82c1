/* recorder.c: the recorder that is on, and recording with it.
 */
#include "tensor/args.h"
#include "tensor/room.h"

Recorder *tensor_recorder(const Host *h) { return room_of(h)->recorder; }

bool tensor_recording(const Host *h) { return room_of(h)->recorder != &room_of(h)->pending; }

void tensor_recorder_on(Host *h, Recorder *r)
{
    TensorRoom *room = room_of(h);
    room->recorder = r ? r : &room->pending;
}

bool tensor_recorder_holds(const Recorder *r, const Tensor *t)
{
    while (r && (!r->assumed || t->trace != r->trace)) r = r->outer;
    return r != NULL;
}

/* The name of the outermost composite that is open: the function that the user called; or NULL. */
static const char *open_function(const Graph *g)
{
    const Composite *all = g->composites.at;
    uint32_t c = g->composite;
    while (c && all[c].parent) c = all[c].parent;
    return c ? all[c].name : NULL;
}

Trace *tensor_trace(lua_State *L, Host *h)
{
    Recorder *r = tensor_recorder(h);
    bind_interrupt_check(L, h);
    base_err_clear(&h->cx->err);
    if (r->ops->ready(L, r) < 0) bind_throw(L, h);
    r->trace->graph->src = bind_src(L, h, open_function(r->trace->graph));
    return r->trace;
}

Node *tensor_node_of(lua_State *L, Host *h, int arg, Tensor *t, const char *what)
{
    Recorder *r = tensor_recorder(h);
    tensor_check_alive(L, t, what);
    Node *n = r->ops->node(L, r, arg, t);
    if (!n) bind_throw(L, h);
    return n;
}

Node *tensor_node(lua_State *L, Host *h, int arg, const char *what)
{
    return tensor_node_of(L, h, arg, tensor_or_number(L, h, arg, what), what);
}
