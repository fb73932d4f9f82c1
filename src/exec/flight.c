/* flight.c: the steps around groups that are started and waited for later.
 *
 *   record 0, event e      what came before is done for the group …
 *   wait   1, event e      … which then begins on its stream
 *   …                      its steps
 *   record 1, event e + 1
 *   wait   0, event e + 1  before the first group that needs it, or at the end
 * Holds: each group that was started is waited for, so a program ends with everything on stream 0.
 *        Events are numbered by stream as dev/backend.h wants it.
 */
#include "exec/flight.h"

static int push(StepVec *steps, StepKind kind, int stream, int event, const Node *n)
{
    Step step = {.kind = kind, .stream = stream, .event = event, .node = n};
    return vec_push(steps, step) ? SGL_OK : SGL_ENOMEM;
}

/* The event of stream `stream` for the k-th group that is started. */
static int event_of(const Schedule *s, int k, int stream)
{
    return k * s->graph->cx->streams + stream;
}

int exec_flight_wait(const Schedule *s, int group, StepVec *steps)
{
    int code = SGL_OK;
    for (int t = 0, k = 0; t < group && code == SGL_OK; t++) {
        const Group *g = &s->groups.at[t];
        if (g->stream && g->until == group)
            code = push(steps, STEP_WAIT, 0, event_of(s, k, g->stream), g->outs.at[0]);
        k += g->stream != 0;
    }
    return code;
}

static int started_before(const Schedule *s, int group)
{
    int k = 0;
    for (int t = 0; t < group; t++) k += s->groups.at[t].stream != 0;
    return k;
}

int exec_flight_begin(const Schedule *s, int group, StepVec *steps)
{
    const Group *g = &s->groups.at[group];
    if (!g->stream) return SGL_OK;
    int event = event_of(s, started_before(s, group), 0);
    int code = push(steps, STEP_RECORD, 0, event, g->outs.at[0]);
    return code < 0 ? code : push(steps, STEP_WAIT, g->stream, event, g->outs.at[0]);
}

int exec_flight_end(const Schedule *s, int group, int first, StepVec *steps)
{
    const Group *g = &s->groups.at[group];
    if (!g->stream) return SGL_OK;
    for (int i = first; i < steps->n; i++)
        if (steps->at[i].kind != STEP_RECORD && steps->at[i].kind != STEP_WAIT)
            steps->at[i].stream = g->stream;
    int event = event_of(s, started_before(s, group), g->stream);
    return push(steps, STEP_RECORD, g->stream, event, g->outs.at[0]);
}
