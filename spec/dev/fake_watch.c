/* fake_watch.c: is the order of two uses of the same bytes certain?
 *
 * In:    what streams are given, events, waits of streams and of the host, in the order of calls.
 * Out:   a report of the first two uses, one of them a write, that may happen in either order, and
 *        of the first byte that is read and was never written.
 * How:   vector clocks. An actor (a stream, the host) knows what it waited for and what that knew;
 *        of two uses the first is over for the second if the second's actor knows of it.
 */
#include <stdio.h>
#include <string.h>
#include "fake.h"

enum { EVENTS = 4096 };

static FakeClock clocks[FAKE_ACTORS], events[EVENTS];
static bool waited[FAKE_ACTORS][EVENTS]; /* did the actor ever wait for the event? */

static void join(FakeClock *to, const FakeClock *from)
{
    for (int a = 0; a < FAKE_ACTORS; a++)
        if (to->at[a] < from->at[a]) to->at[a] = from->at[a];
}

uint64_t fake_watch_begin(int stream)
{
    join(&clocks[stream], &clocks[FAKE_HOST]);
    return ++clocks[stream].at[stream];
}

void fake_watch_record(int stream, int event)
{
    join(&clocks[stream], &clocks[FAKE_HOST]);
    events[event] = clocks[stream];
}

void fake_watch_wait(int stream, int event)
{
    join(&clocks[stream], &events[event]);
    waited[stream][event] = true;
}

void fake_watch_sync(int stream)
{
    join(&clocks[FAKE_HOST], &clocks[stream]);
    for (int i = 0; i < fake_block_count(); i++) {
        FakeBlock *b = fake_block(i);
        if (b->kind != FAKE_STAGE || b->landed || !b->source) continue;
        b->landed = clocks[FAKE_HOST].at[b->stream] >= b->when;
        if (b->landed) fake_block_close(b);
    }
}

static bool over_for(int actor, const FakeTouch *t)
{
    return clocks[actor].at[t->actor] >= t->when;
}

bool fake_watch_over(const FakeTouch *t) { return over_for(FAKE_HOST, t); }

/* Did the actor wait for an event of that stream that was recorded before the use? */
static bool waited_in_vain(int actor, const FakeTouch *t)
{
    for (int e = t->actor; e < EVENTS; e += FAKE_STREAMS)
        if (waited[actor][e] && events[e].at[t->actor] + 1 == t->when) return true;
    return false;
}

static _Noreturn void report(const FakeTouch *first, const FakeTouch *then)
{
    FakeFault fault = FAKE_MISSING_WAIT;
    if (strncmp(then->what, "copy out", 8) == 0) fault = FAKE_EARLY_OUTPUT;
    else if (strncmp(then->what, "free", 4) == 0) fault = FAKE_EARLY_FREE;
    else if (waited_in_vain(then->actor, first)) fault = FAKE_EARLY_EVENT;
    else if (then->write) fault = FAKE_REUSED;
    fake_report(fault, "%s %s what %s %s, and nothing says which is first", then->what,
                then->write ? "writes" : "reads", first->what, first->write ? "writes" : "reads");
}

static void check_order(FakeBlock *b, const FakeTouch *now)
{
    int kept = 0;
    bool known = false;
    for (int i = 0; i < b->touches.n; i++) {
        FakeTouch *t = &b->touches.at[i];
        bool meets = t->from < now->to && now->from < t->to && (t->write || now->write);
        if (meets && !over_for(now->actor, t)) report(t, now);
        bool over = true, same = t->from == now->from && t->to == now->to &&
                                 t->actor == now->actor && t->write == now->write;
        for (int a = 0; a < FAKE_ACTORS; a++) over = over && over_for(a, t);
        if (same) *t = *now;
        known |= same;
        if (same || !over) b->touches.at[kept++] = *t;
    }
    b->touches.n = kept;
    if (!known && !vec_push(&b->touches, *now)) fake_report(FAKE_MISSING_WAIT, "out of memory");
}

/* Copies that the host has of these bytes are old. */
static void outdate(uintptr_t from, uintptr_t to)
{
    for (int i = 0; i < fake_block_count(); i++) {
        FakeBlock *b = fake_block(i);
        if (b->kind != FAKE_STAGE || b->stale || b->source >= to || b->source + b->copied <= from)
            continue;
        b->stale = true;
        fake_block_close(b);
    }
}

void fake_watch_touch(int stream, const void *at, size_t bytes, bool write, const char *what)
{
    FakeBlock *b = fake_block_at(at);
    FakeTouch now = {.from = (uintptr_t)at,
                     .to = (uintptr_t)at + bytes,
                     .actor = stream,
                     .when = clocks[stream].at[stream],
                     .write = write};
    snprintf(now.what, sizeof now.what, "%s", what);
    if (!fake_is_ours(at) || (b && b->kind == FAKE_STAGE))
        fake_report(FAKE_WRONG_DEVICE, "%s is given %p", what, at);
    if (!b || b->dying || now.to > b->at + b->pages)
        fake_report(FAKE_STALE_ADDRESS, "%s is given %p", what, at);
    if (bytes == 0) return;
    size_t offset = now.from - b->at, end = offset + bytes < b->bytes ? offset + bytes : b->bytes;
    check_order(b, &now);
    if (write) {
        memset(b->written + offset, 1, end - offset);
        outdate(now.from, now.to);
    } else if (memchr(b->written + offset, 0, end - offset)) {
        fake_report(FAKE_MISSING_IN, "%s reads bytes that nothing has written", what);
    }
}
