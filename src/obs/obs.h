/* obs.h: events, spans, counters and sinks: what happens inside, for whoever wants to know.
 *
 * An event (event.def) has a trace id, a time, perhaps a duration, and typed fields. It goes to
 * every sink that asked for its kind. A span is a stretch of time; events carry the innermost span
 * they happened in, and spans inside spans share one trace id.
 * Holds: where nobody listens to a kind, its fields are not even computed. Emitting never fails and
 *        never changes the context's error. A sink must not emit, nor add or remove sinks.
 */
#ifndef SGL_OBS_OBS_H
#define SGL_OBS_OBS_H
#include "base/context.h"

typedef enum ObsId {
#define EVENT(name, component, pace, fields, help) OBS_##name,
#include "obs/event.def"
#undef EVENT
    OBS_COUNT
} ObsId;

typedef enum ObsPace { OBS_SELDOM, OBS_MANY, OBS_OFTEN } ObsPace;

typedef struct ObsInfo {
    const char *name, *component;
    ObsPace pace;
    const char *fields, *help;
} ObsInfo;
extern const ObsInfo OBS_EVENTS[OBS_COUNT];

typedef enum ObsType { OBS_TYPE_INT, OBS_TYPE_NUMBER, OBS_TYPE_BOOL, OBS_TYPE_TEXT } ObsType;
typedef struct ObsField {
    const char *name;
    ObsType type;
    union { int64_t i; double f; const char *s; };
} ObsField;
#define OBS_INT(field, v)    ((ObsField){(field), OBS_TYPE_INT, .i = (int64_t)(v)})
#define OBS_NUMBER(field, v) ((ObsField){(field), OBS_TYPE_NUMBER, .f = (v)})
#define OBS_BOOL(field, v)   ((ObsField){(field), OBS_TYPE_BOOL, .i = (v) != 0})
#define OBS_TEXT(field, v)   ((ObsField){(field), OBS_TYPE_TEXT, .s = (v)})

typedef struct ObsEvent {
    ObsId id;
    int n;                     /* fields */
    const ObsField *field;     /* borrowed */
    uint64_t trace;            /* never 0 */
    uint64_t span, parent;     /* 0: none */
    double time;               /* seconds since 1970 */
    double ms;                 /* duration; negative: a moment */
    double weight;             /* how many events it stands for */
} ObsEvent;

typedef struct ObsSink {
    uint64_t wants;            /* a bit for each ObsId */
    void (*event)(void *arg, const ObsEvent *e);
    void (*free)(void *arg);   /* optional: nothing to free */
    void *arg;
} ObsSink;

typedef struct ObsCounter { int64_t count; double weight, ms; } ObsCounter;

/* Without obs_open nothing is wanted in a context. */
int obs_open(Ctx *cx);                           /* sink 0 is the history */
void obs_refresh(Ctx *cx);                       /* the knobs enable, event_rate may have changed */
int obs_sink_add(Ctx *cx, ObsSink sink);         /* its number; takes arg; negative: no memory */
void obs_sink_want(Ctx *cx, int sink, uint64_t wants);
void *obs_sink_arg(const Ctx *cx, int sink);
ObsCounter obs_counter(const Ctx *cx, ObsId id); /* of the events that were told */

/* Does some sink want the kind, and is its component enabled? */
static inline bool obs_wanted(const Ctx *cx, ObsId id)
{
    const uint64_t *wanted = cx->slot[CTX_OBS];  /* the first member of Obs */
    return wanted && (*wanted >> id & 1);
}
/* Of an OFTEN kind: is this the one to tell? To be asked once for each that happens. */
bool obs_sample(Ctx *cx, ObsId id);

/* Tells the sinks that want it; called by obs_event, which asks first. */
void obs_emit(Ctx *cx, ObsId id, double ms, int n, const ObsField *fields);
/* obs_event(cx, OBS_fallback, -1, OBS_TEXT("reason", why), OBS_INT("line", 3)): one field or more,
 * which are computed only when somebody wants the event. ms < 0: a moment. */
#define obs_event(cx, id, ms, ...)                                                            \
    do {                                                                                      \
        if (obs_wanted((cx), (id))) {                                                         \
            const ObsField obs_fields_[] = {__VA_ARGS__};                                     \
            obs_emit((cx), (id), (ms), (int)(sizeof obs_fields_ / sizeof *obs_fields_),       \
                     obs_fields_);                                                            \
        }                                                                                     \
    } while (0)

/* Spans end in the opposite order of their beginning. The outermost one opens a trace; an event
 * outside of spans belongs to the trace of the span that follows. */
typedef struct ObsSpan { uint64_t id, parent; double start; } ObsSpan;
ObsSpan obs_span_begin(Ctx *cx);
double obs_span_ms(const ObsSpan *s);            /* since it began */
void obs_span_end(Ctx *cx, const ObsSpan *s);

/* The most fields, and bytes of names and texts, that a record keeps of an event. */
enum { OBS_MAX_FIELDS = 16, OBS_MAX_TEXT = 640 };
typedef struct ObsRecord {
    ObsEvent event;            /* its fields are those below */
    ObsField field[OBS_MAX_FIELDS];
    char text[OBS_MAX_TEXT];
} ObsRecord;
void obs_record(ObsRecord *to, const ObsEvent *from);      /* a copy that owns its texts */

/* history.c: the sink that keeps the last events (knob event_history). */
int obs_history_resize(Ctx *cx);                 /* to what the knob says; empties it */
const ObsRecord *obs_history(const Ctx *cx, int i);        /* oldest first; NULL: not so many */
#endif
