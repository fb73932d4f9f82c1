/* fake_queue.c: what the streams of the fake device were given and have not done.
 *
 * Holds: a stream does its work in order. A wait lets the stream on when its event has been
 *        recorded as often as it had been when the wait was given. Among the streams that can go on
 *        chance decides (FAKE_SEED), and how far they go before somebody waits for them.
 */
#include <stdlib.h>
#include "fake.h"

enum { EVENTS = 4096, EAGER = 32 }; /* one piece of work in so many begins at once */

static struct {
    FakeOp *first, *last;
} queue[FAKE_STREAMS];
static uint64_t given[EVENTS], done[EVENTS]; /* records of an event */
static uint64_t seed;
static VEC(bool) happens; /* by region: is it taken? known when its decision has run */
static int region;        /* that of what is given now */
static Err failure;       /* the first of a step, until somebody waits for it */

static unsigned chance(unsigned n)
{
    if (!seed) seed = getenv("FAKE_SEED") ? strtoull(getenv("FAKE_SEED"), NULL, 10) * 2 + 1 : 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

FakeOp *fake_op(size_t extra, int (*run)(FakeOp *op))
{
    FakeOp *op = base_mem_zero(1, sizeof *op + extra);
    if (!op) return NULL;
    op->run = run;
    op->region = region;
    return op;
}

/* The op's region is that which encloses it; `step` is the new one. */
static int decide(FakeOp *op)
{
    fake_block_open(fake_block_at(op->from));
    bool taken = (*(const uint8_t *)op->from != 0) == op->wait;
    happens.at[op->step] = taken;
    if (!taken || !op->to) return SGL_OK;
    fake_block_open(fake_block_at(op->to));
    ++*(int32_t *)op->to;
    return SGL_OK;
}

int fake_region_begin(Device *d, const void *taken, bool when, void *count)
{
    int before = region;
    if ((!happens.n && !vec_push(&happens, true)) || !vec_push(&happens, false)) abort();
    FakeOp *op = fake_op(0, decide);
    if (!op) abort();
    op->device = d;
    op->from = taken;
    op->to = count;
    op->wait = when;
    op->step = happens.n - 1;
    fake_watch_begin(0);
    fake_watch_touch(0, taken, 1, false, "decision");
    if (count) fake_watch_touch(0, count, sizeof(int32_t), true, "count");
    region = happens.n - 1;
    fake_queue_give(0, op);
    return before;
}

void fake_region_end(int before) { region = before; }

static bool can_go(const FakeOp *op)
{
    return op && (op->run || !op->wait || done[op->event] >= op->version);
}

/* The errors of a step are those of whoever waits for it. */
static void run(FakeOp *op)
{
    Ctx *cx = op->device->cx;
    const Err before = cx->err;
    base_err_clear(&cx->err);
    if (op->run(op) < 0 && !failure.code) failure = cx->err;
    cx->err = before;
}

static void run_first(int stream)
{
    FakeOp *op = queue[stream].first;
    queue[stream].first = op->next;
    if (!op->next) queue[stream].last = NULL;
    if (op->run && (!op->region || happens.at[op->region])) run(op);
    else if (!op->wait) done[op->event] = op->version;
    base_mem_free(op);
}

/* One piece of work of any stream that can go on. False: there is none. */
static bool go_on(void)
{
    unsigned first = chance(FAKE_STREAMS);
    for (unsigned i = 0; i < FAKE_STREAMS; i++) {
        int stream = (int)((first + i) % FAKE_STREAMS);
        if (!can_go(queue[stream].first)) continue;
        run_first(stream);
        return true;
    }
    return false;
}

void fake_queue_give(int stream, FakeOp *op)
{
    if (queue[stream].last) queue[stream].last->next = op;
    else queue[stream].first = op;
    queue[stream].last = op;
    if (chance(EAGER)) return;
    go_on();
    fake_memory_close();
}

static void give_event(int stream, int event, bool wait)
{
    FakeOp *op = fake_op(0, NULL);
    if (!op) abort();
    op->event = event;
    op->wait = wait;
    op->version = wait ? given[event] : ++given[event];
    fake_queue_give(stream, op);
}

void fake_queue_record(int stream, int event) { give_event(stream, event, false); }
void fake_queue_wait(int stream, int event) { give_event(stream, event, true); }

int fake_queue_drain(int stream, Ctx *cx)
{
    while (queue[stream].first)
        if (!go_on()) abort(); /* streams wait for each other: no program does that */
    fake_memory_close();
    if (!failure.code) return SGL_OK;
    int code = failure.code;
    if (!cx->err.code) cx->err = failure;
    base_err_clear(&failure);
    return code;
}

static bool lies_in(const FakeBlock *b, const void *at)
{
    return (uintptr_t)at >= b->at && (uintptr_t)at < b->at + b->pages;
}

bool fake_queue_uses(const FakeBlock *b)
{
    for (int s = 0; s < FAKE_STREAMS; s++)
        for (const FakeOp *op = queue[s].first; op; op = op->next) {
            if (lies_in(b, op->to) || lies_in(b, op->from)) return true;
            StepUse use;
            for (int k = 0; op->state && kern_step_use(&op->r.steps->at[op->step], k, &use); k++)
                if (use.buffer >= 0 && lies_in(b, op->buffers[use.buffer])) return true;
        }
    return false;
}
