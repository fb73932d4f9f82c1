/* obs.c: who wants which events, handing them out, spans and the sampler.
 *
 * Holds: `wanted` is what the sinks want, less what the knob `enable` takes out. The clock is read
 *        for an event that is told, and now and then for one of an OFTEN kind that is not: the
 *        sampler guesses from the pace so far how many may pass until one is due.
 */
#include "obs/obs.h"
#include <string.h>
#include <unistd.h>
#include "base/clock.h"

enum { MOST_PASSED = 64 }; /* events of an OFTEN kind between two looks at the clock */

const ObsInfo OBS_EVENTS[OBS_COUNT] = {
#define EVENT(name, component, pace, fields, help) {#name, component, OBS_##pace, fields, help},
#include "obs/event.def"
#undef EVENT
};

typedef struct Sampler {
    double due, looked; /* when the next may be told; when the clock was last read */
    int pass, passed;   /* to let pass before the next look; since the last look */
    double since;       /* events since one was told */
} Sampler;

typedef struct Obs {
    uint64_t wanted; /* the first member: obs_wanted reads it */
    VEC(ObsSink) sinks;
    ObsCounter counter[OBS_COUNT];
    Sampler sampler[OBS_COUNT];
    double weight[OBS_COUNT]; /* of the event about to be emitted */
    double interval;          /* seconds between two of an OFTEN kind */
    uint64_t seed, serial;
    uint64_t trace, span, parent; /* where we are; trace 0: nowhere */
} Obs;

static bool enabled(const Ctx *cx, ObsId id)
{
    if (!*OBS_EVENTS[id].component) return true;
    return base_knob_has(&cx->knobs, KNOB_enable, OBS_EVENTS[id].component);
}

void obs_refresh(Ctx *cx)
{
    Obs *o = cx->slot[CTX_OBS];
    if (!o) return;
    uint64_t wants = 0;
    for (int i = 0; i < o->sinks.n; i++) wants |= o->sinks.at[i].wants;
    for (int id = 0; id < OBS_COUNT; id++)
        if (!enabled(cx, (ObsId)id)) wants &= ~(UINT64_C(1) << id);
    int64_t rate = cx->knobs.value[KNOB_event_rate];
    for (int id = 0; id < OBS_COUNT && rate == 0; id++)
        if (OBS_EVENTS[id].pace == OBS_OFTEN) wants &= ~(UINT64_C(1) << id);
    o->interval = rate > 0 ? 1.0 / (double)rate : 0;
    o->wanted = wants;
}

static void obs_free(void *slot)
{
    Obs *o = slot;
    for (int i = 0; i < o->sinks.n; i++)
        if (o->sinks.at[i].free) o->sinks.at[i].free(o->sinks.at[i].arg);
    vec_free(&o->sinks);
    base_mem_free(o);
}

int obs_open(Ctx *cx)
{
    _Static_assert(OBS_COUNT <= 64, "a bit for each kind");
    Obs *o = base_mem_zero(1, sizeof *o);
    if (!o) return base_fail(cx, SGL_ENOMEM, "out of memory for events");
    const double at[2] = {base_clock(), base_clock_wall()};
    o->seed = base_hash((uint64_t)getpid(), at, sizeof at);
    cx->slot[CTX_OBS] = o;
    cx->slot_free[CTX_OBS] = obs_free;
    obs_refresh(cx);
    return obs_history_resize(cx);
}

int obs_sink_add(Ctx *cx, ObsSink sink)
{
    Obs *o = cx->slot[CTX_OBS];
    if (!vec_push(&o->sinks, sink)) {
        if (sink.free) sink.free(sink.arg);
        return base_fail(cx, SGL_ENOMEM, "out of memory for a sink of events");
    }
    obs_refresh(cx);
    return o->sinks.n - 1;
}

void obs_sink_want(Ctx *cx, int sink, uint64_t wants)
{
    Obs *o = cx->slot[CTX_OBS];
    o->sinks.at[sink].wants = wants;
    obs_refresh(cx);
}

void *obs_sink_arg(const Ctx *cx, int sink)
{
    const Obs *o = cx->slot[CTX_OBS];
    return o && sink < o->sinks.n ? o->sinks.at[sink].arg : NULL;
}

ObsCounter obs_counter(const Ctx *cx, ObsId id)
{
    const Obs *o = cx->slot[CTX_OBS];
    return o ? o->counter[id] : (ObsCounter){0};
}

/* Not yet due at `now`: how many may pass, going by the pace since the last look. Half of them, so
 * that events that come faster are not told late. */
static int may_pass(const Sampler *s, double now)
{
    double pace = (now - s->looked) / (s->passed + 1);
    double n = pace > 0 ? (s->due - now) / pace / 2 : 0;
    return n < MOST_PASSED ? (int)n : MOST_PASSED;
}

bool obs_sample(Ctx *cx, ObsId id)
{
    if (!obs_wanted(cx, id)) return false;
    Obs *o = cx->slot[CTX_OBS];
    Sampler *s = &o->sampler[id];
    s->since++;
    if (s->passed < s->pass) {
        s->passed++;
        return false;
    }
    double now = base_clock();
    bool due = now >= s->due;
    if (due) {
        s->due = now + o->interval;
        o->weight[id] = s->since;
        s->since = 0;
    }
    s->pass = s->looked > 0 ? may_pass(s, now) : 0;
    s->looked = now;
    s->passed = 0;
    return due;
}

static uint64_t new_id(Obs *o)
{
    o->serial++;
    uint64_t id = base_hash(o->seed, &o->serial, sizeof o->serial);
    return id ? id : 1;
}

void obs_emit(Ctx *cx, ObsId id, double ms, int n, const ObsField *fields)
{
    Obs *o = cx->slot[CTX_OBS];
    if (!o->trace) o->trace = new_id(o);
    ObsEvent e = {.id = id,
                  .n = n,
                  .field = fields,
                  .trace = o->trace,
                  .span = o->span,
                  .parent = o->parent,
                  .time = base_clock_wall(),
                  .ms = ms,
                  .weight = o->weight[id] > 0 ? o->weight[id] : 1};
    ObsCounter *c = &o->counter[id];
    c->count++;
    c->weight += e.weight;
    if (ms > 0) c->ms += ms * e.weight;
    for (int i = 0; i < o->sinks.n; i++) {
        const ObsSink *sink = &o->sinks.at[i];
        if (sink->wants >> id & 1) sink->event(sink->arg, &e);
    }
}

ObsSpan obs_span_begin(Ctx *cx)
{
    Obs *o = cx->slot[CTX_OBS];
    if (!o) return (ObsSpan){.start = base_clock()};
    ObsSpan s = {.id = new_id(o), .parent = o->parent, .start = base_clock()};
    if (!o->trace) o->trace = new_id(o);
    o->parent = o->span;
    o->span = s.id;
    return s;
}

double obs_span_ms(const ObsSpan *s) { return (base_clock() - s->start) * 1e3; }

void obs_span_end(Ctx *cx, const ObsSpan *s)
{
    Obs *o = cx->slot[CTX_OBS];
    if (!o) return;
    o->span = o->parent;
    o->parent = s->parent;
    if (!o->span) o->trace = 0;
}

/* The place in `to` of a copy of the text, as much of it as there is room for. */
static const char *keep(ObsRecord *to, size_t *used, const char *text)
{
    size_t n = strlen(text ? text : ""), room = sizeof to->text - *used;
    if (room == 0) return "";
    if (n >= room) n = room - 1;
    char *at = to->text + *used;
    if (n > 0) memcpy(at, text, n);
    at[n] = 0;
    *used += n + 1;
    return at;
}

void obs_record(ObsRecord *to, const ObsEvent *from)
{
    size_t used = 0;
    to->event = *from;
    to->event.field = to->field;
    if (to->event.n > OBS_MAX_FIELDS) to->event.n = OBS_MAX_FIELDS;
    for (int i = 0; i < to->event.n; i++) {
        to->field[i] = from->field[i];
        to->field[i].name = keep(to, &used, from->field[i].name);
    }
    for (int i = 0; i < to->event.n; i++)
        if (to->field[i].type == OBS_TYPE_TEXT) to->field[i].s = keep(to, &used, to->field[i].s);
}
