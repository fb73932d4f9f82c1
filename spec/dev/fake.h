/* fake.h: a device that is none: it finds what a program for a real one would get wrong.
 *
 * It has memory of its own, which the host must not touch, and two streams, which run what they
 * were given later and in any order that their events allow. Steps are computed by the CPU backend,
 * so results have its bits. What goes wrong is said on stderr as `fake device: <what>: …`, and the
 * process ends with FAKE_EXIT.
 *
 *   fake.c         the vtable, where the faults of fake_fault.def can be planted
 *   fake_queue.c   what streams were given, and in which order it happens
 *   fake_memory.c  addresses, protection, which bytes have been written
 *   fake_watch.c   who touches what, and whether the order of that is certain
 *
 * FAKE_CONTROL has it decide control flow by itself.
 * FAKE_FAULT  plants one; FAKE_SEED orders the queues; FAKE_LOG names a file that gets a line with
 *             the addresses of each run of a program.
 * Holds: all checks are made when work is given, so they do not depend on the seed.
 */
#ifndef SGL_SPEC_FAKE_H
#define SGL_SPEC_FAKE_H
#include "dev/backend.h"

enum { FAKE_STREAMS = 2, FAKE_HOST = FAKE_STREAMS, FAKE_ACTORS, FAKE_EXIT = 86 };

typedef enum FakeFault {
#define FAULT(name, text) FAKE_##name,
#include "fake_fault.def"
#undef FAULT
    FAKE_FAULTS
} FakeFault;

/* What each actor knows of the others: clock[a] of an actor counts what it knows a to have done. */
typedef struct FakeClock { uint64_t at[FAKE_ACTORS]; } FakeClock;

/* A use of memory by something given to a stream. */
typedef struct FakeTouch {
    uintptr_t from, to;
    int actor;
    uint64_t when;           /* on its clock */
    bool write;
    char what[96];           /* for the report */
} FakeTouch;

typedef enum FakeKind { FAKE_MEMORY, FAKE_STAGE } FakeKind;
typedef struct FakeBlock {
    uintptr_t at;
    size_t bytes, pages;     /* asked for; taken */
    FakeKind kind;
    bool open;               /* the device runs and may touch it */
    uint8_t *written;        /* MEMORY: by byte, was it ever? */
    VEC(FakeTouch) touches;  /* MEMORY: that not everybody knows to be over */
    bool dying;              /* MEMORY: its end has been given to stream 0 */
    uintptr_t source;        /* STAGE: what it is a copy of; 0: of nothing */
    size_t copied;           /* STAGE: so many bytes */
    bool landed;             /* STAGE: the host has waited for the copy */
    bool stale;              /* STAGE: its source was written since */
    uint64_t when;           /* STAGE: of the copy, on the clock of */
    int stream;
} FakeBlock;

/* ---- fake_memory.c */
void fake_memory_begin(void);
FakeBlock *fake_block_new(FakeKind kind, size_t bytes);
FakeBlock *fake_block_at(const void *at);         /* the one that the address lies in, or NULL */
bool fake_is_ours(const void *at);                /* an address that is or was in a block */
int fake_block_count(void);
FakeBlock *fake_block(int i);
void fake_block_open(FakeBlock *b);               /* for the device, until: */
void fake_block_close(FakeBlock *b);
void fake_memory_close(void);                     /* all that is open */
void fake_block_free(FakeBlock *b);
_Noreturn void fake_report(FakeFault fault, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- fake_watch.c */
/* The stream was given something: its number on the stream's clock. */
uint64_t fake_watch_begin(int stream);
void fake_watch_touch(int stream, const void *at, size_t bytes, bool write, const char *what);
void fake_watch_record(int stream, int event);
void fake_watch_wait(int stream, int event);
void fake_watch_sync(int stream);
bool fake_watch_over(const FakeTouch *t);         /* does the host know that it is over? */

/* ---- fake_queue.c */
typedef struct FakeOp FakeOp;
struct FakeOp {
    int (*run)(FakeOp *op);  /* NULL: a record or a wait */
    FakeOp *next;
    int region;              /* it is left out unless that one is taken; 0: it is not */
    int event;               /* of a record or a wait */
    uint64_t version;        /* of it */
    bool wait;
    Device *device;
    void *to;
    const void *from;
    size_t bytes;
    void *state;             /* of a step */
    DevRun r;
    int step;
    void *buffers[];         /* of a step; or bytes on their way in */
};
FakeOp *fake_op(size_t extra, int (*run)(FakeOp *op));
/* What is given from now on happens only if the bool at `taken` is `when`, and what encloses it
 * happens; then the i32 at `count`, unless NULL, goes up. Returns the region before. */
int fake_region_begin(Device *d, const void *taken, bool when, void *count);
void fake_region_end(int before);
void fake_queue_give(int stream, FakeOp *op);
void fake_queue_record(int stream, int event);
void fake_queue_wait(int stream, int event);
/* Until the stream has nothing left; negative: a step failed. */
int fake_queue_drain(int stream, Ctx *cx);
bool fake_queue_uses(const FakeBlock *b);         /* does anything not yet done touch it? */
#endif
