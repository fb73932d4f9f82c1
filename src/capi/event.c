/* event.c: the C interface: functions that are called with events.
 *
 * Holds: while a function is being told, its context refuses every call (capi_api_enter): an event
 *        happens in the midst of a compilation or a run. Each listener is a sink of its own for
 *        good; one that was switched off is taken by the next.
 */
#include <string.h>
#include "capi/api.h"
#include "obs/obs.h"

typedef struct Listener {
    Api *api;
    sgl_event_fn *fn; /* NULL: off */
    void *arg;
} Listener;

static const ObsEvent *event_of(const sgl_event *e) { return (const ObsEvent *)e; }

static void tell(void *arg, const ObsEvent *e)
{
    const Listener *l = arg;
    l->api->telling = true;
    l->fn((const sgl_event *)e, l->arg);
    l->api->telling = false;
}

static int find_event(Ctx *cx, const char *name)
{
    const char *names[OBS_COUNT];
    for (int id = 0; id < OBS_COUNT; id++) {
        names[id] = OBS_EVENTS[id].name;
        if (strcmp(names[id], name) == 0) return id;
    }
    const char *near = base_str_nearest(name, names, OBS_COUNT);
    return base_fail(cx, SGL_EARG, "sgl_on: no event is called '%s'%s%s%s", name,
                     near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* The number of a sink that was switched off, or of a new one. */
static int free_sink(Ctx *cx)
{
    Listener *l;
    for (int i = 1; (l = obs_sink_arg(cx, i)); i++)
        if (!l->fn) return i;
    l = base_mem_zero(1, sizeof *l);
    if (!l) return base_fail(cx, SGL_ENOMEM, "sgl_on: out of memory");
    l->api = capi_api(cx);
    return obs_sink_add(cx, (ObsSink){.event = tell, .free = base_mem_free, .arg = l});
}

int sgl_on(sgl_context *cx, const char *event, sgl_event_fn *fn, void *arg)
{
    int code = capi_api_enter(cx);
    if (code < 0) return code;
    if (!event || !fn) return base_fail(cx, SGL_EARG, "sgl_on: an event and a function");
    int id = find_event(cx, event);
    if (id < 0) return id;
    int sink = free_sink(cx);
    if (sink < 0) return sink;
    Listener *l = obs_sink_arg(cx, sink);
    l->fn = fn;
    l->arg = arg;
    obs_sink_want(cx, sink, UINT64_C(1) << id);
    return sink;
}

int sgl_off(sgl_context *cx, int listener)
{
    int code = capi_api_enter(cx);
    if (code < 0) return code;
    Listener *l = listener > 0 ? obs_sink_arg(cx, listener) : NULL;
    if (!l || !l->fn) return base_fail(cx, SGL_EARG, "sgl_off: no listener %d", listener);
    l->fn = NULL;
    obs_sink_want(cx, listener, 0);
    return SGL_OK;
}

const char *sgl_event_name(const sgl_event *e) { return OBS_EVENTS[event_of(e)->id].name; }
uint64_t sgl_event_trace(const sgl_event *e) { return event_of(e)->trace; }

static const ObsField *find_field(const ObsEvent *e, const char *name)
{
    for (int i = 0; i < e->n; i++)
        if (strcmp(e->field[i].name, name) == 0) return &e->field[i];
    return NULL;
}

const char *sgl_event_text(const sgl_event *e, const char *field)
{
    const ObsField *f = find_field(event_of(e), field);
    return f && f->type == OBS_TYPE_TEXT ? f->s : NULL;
}

double sgl_event_number(const sgl_event *e, const char *field, double otherwise)
{
    const ObsEvent *o = event_of(e);
    const ObsField *f = find_field(o, field);
    if (f && f->type != OBS_TYPE_TEXT) return f->type == OBS_TYPE_NUMBER ? f->f : (double)f->i;
    if (strcmp(field, "ms") == 0 && o->ms >= 0) return o->ms;
    if (strcmp(field, "time") == 0) return o->time;
    return strcmp(field, "weight") == 0 ? o->weight : otherwise;
}
