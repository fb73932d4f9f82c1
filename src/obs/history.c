/* history.c: the sink that keeps the last events in a ring, for a look after the fact.
 *
 * Holds: all memory is found when the context opens, so keeping an event cannot fail. Only
 *        kinds that happen seldom are kept: others would push them out of the ring.
 */
#include "obs/obs.h"

enum { SINK = 0 };

typedef struct History {
    int cap, n, first;
    ObsRecord *at;
} History;

static void keep(void *arg, const ObsEvent *e)
{
    History *h = arg;
    obs_record(&h->at[(h->first + h->n) % h->cap], e);
    if (h->n < h->cap) h->n++;
    else h->first = (h->first + 1) % h->cap;
}

static void history_free(void *arg)
{
    History *h = arg;
    base_mem_free(h->at);
    base_mem_free(h);
}

static uint64_t seldom(void)
{
    uint64_t wants = 0;
    for (int id = 0; id < OBS_COUNT; id++)
        if (OBS_EVENTS[id].pace == OBS_SELDOM) wants |= UINT64_C(1) << id;
    return wants;
}

int obs_history_resize(Ctx *cx)
{
    History *h = obs_sink_arg(cx, SINK);
    int cap = (int)cx->knobs.value[KNOB_event_history];
    ObsRecord *at = cap ? base_mem_zero((size_t)cap, sizeof *at) : NULL;
    if (!h) {
        h = base_mem_zero(1, sizeof *h);
        if (h && obs_sink_add(cx, (ObsSink){0, keep, history_free, h}) < 0) h = NULL;
    }
    if (!h || (cap && !at)) {
        base_mem_free(at);
        return base_fail(cx, SGL_ENOMEM, "out of memory for the last %d events", cap);
    }
    base_mem_free(h->at);
    *h = (History){.cap = cap, .at = at};
    obs_sink_want(cx, SINK, cap ? seldom() : 0);
    return SGL_OK;
}

const ObsRecord *obs_history(const Ctx *cx, int i)
{
    const History *h = obs_sink_arg(cx, SINK);
    return h && i >= 0 && i < h->n ? &h->at[(h->first + i) % h->cap] : NULL;
}
