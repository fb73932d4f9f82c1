/* memory.c: the memory of the simulated device.
 *
 * An address that a program sees is never mapped for the host: a read by the host ends the process.
 * The simulator sees the same pages elsewhere. With checks on, each word remembers who wrote it
 * last and who read it last.
 * Holds: a block is followed by a gap, so an access past its end meets no other block.
 */
#include "sim.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULE = 256 };
#define WINDOW_BYTES ((size_t)1 << 30)

typedef struct Touch {
    uint32_t deed, thread, barrier, warp_step;
} Touch;
/* `written`: bytes that anybody ever wrote; `writing`, `reading`: those of the last touch. */
typedef struct Cell {
    Touch wrote, read;
    uint8_t written, writing, reading;
} Cell;

typedef struct SimBlock {
    uint64_t at;
    size_t bytes;
} SimBlock;

Toucher sim_now;
int sim_error;
bool sim_checks;

static uint8_t *host, *device; /* the two views */
static uint32_t *block_of;     /* by granule: number of the block, from 1 */
static SimBlock *blocks;
static int nblocks;
static Cell *cells, *shared_cells;
static size_t shared_words, top, limit;

int64_t sim_setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 0) : otherwise;
}

bool sim_fault(const char *name)
{
    const char *planted = getenv("SIM_FAULT");
    return planted && strcmp(planted, name) == 0;
}

static uint32_t rng;
bool sim_seeded(void) { return rng != 0; }
uint32_t sim_random(uint32_t n)
{
    if (!rng || n < 2) return 0;
    rng ^= rng << 13, rng ^= rng >> 17, rng ^= rng << 5;
    return rng % n;
}

void sim_log(const char *fmt, ...)
{
    const char *name = getenv("SIM_LOG");
    FILE *f = name ? fopen(name, "a") : NULL;
    va_list ap;
    if (!f) return;
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fputc('\n', f);
    fclose(f);
}

void sim_report(const char *what, const char *fmt, ...)
{
    enum { ILLEGAL_ADDRESS = 700 };
    va_list ap;
    if (sim_error) return;
    sim_error = ILLEGAL_ADDRESS;
    fprintf(stderr, "simulated device: %s: ", what);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    const Deed *d = sim_now.deed ? sim_deed(sim_now.deed) : NULL;
    if (d) fprintf(stderr, " in %s", d->name);
    if (sim_now.line) fprintf(stderr, ", line %d of the PTX", sim_now.line);
    fputc('\n', stderr);
}

static void *reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

void sim_memory_begin(void)
{
    if (host) return;
    int file = memfd_create("simulated device", 0);
    if (file < 0 || ftruncate(file, (off_t)WINDOW_BYTES) < 0) abort();
    host = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    device =
        mmap(NULL, WINDOW_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host == MAP_FAILED || device == MAP_FAILED) abort();
    close(file);
    block_of = reserve(WINDOW_BYTES / GRANULE * sizeof *block_of);
    sim_checks = sim_setting("SIM_CHECK", 1) != 0;
    rng = (uint32_t)sim_setting("SIM_SEED", 0) * 2654435761u;
    limit = (size_t)sim_setting("SIM_MEMORY", (int64_t)WINDOW_BYTES);
    if (limit > WINDOW_BYTES) limit = WINDOW_BYTES;
    if (sim_checks) cells = reserve(WINDOW_BYTES / 4 * sizeof *cells);
}

/* ---- blocks: first fit behind the last, then from the beginning */

static bool is_free(size_t from, size_t granules)
{
    for (size_t g = from; g < from + granules; g++)
        if (block_of[g]) return false;
    return true;
}

static size_t place(size_t granules)
{
    size_t all = limit / GRANULE;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t g = turn ? 1 : top; g + granules <= all; g++) {
            if (block_of[g]) continue;
            if (is_free(g, granules)) return g;
        }
    }
    return 0;
}

uint64_t sim_alloc(size_t bytes)
{
    size_t granules = (bytes + GRANULE - 1) / GRANULE + 1;
    if (top == 0) top = 1;
    size_t from = place(granules);
    if (!from) return 0;
    blocks = realloc(blocks, (size_t)(nblocks + 1) * sizeof *blocks);
    if (!blocks) abort();
    blocks[nblocks++] = (SimBlock){(uint64_t)(uintptr_t)device + from * GRANULE, bytes};
    for (size_t g = from; g < from + granules; g++) block_of[g] = (uint32_t)nblocks;
    top = from + granules;
    memset(host + from * GRANULE, 0xa5, bytes);
    if (cells) memset(cells + from * GRANULE / 4, 0, granules * GRANULE / 4 * sizeof *cells);
    return blocks[nblocks - 1].at;
}

static SimBlock *find(uint64_t at)
{
    uint64_t offset = at - (uint64_t)(uintptr_t)device;
    if (offset >= WINDOW_BYTES || !block_of[offset / GRANULE]) return NULL;
    return &blocks[block_of[offset / GRANULE] - 1];
}

bool sim_free(uint64_t at)
{
    SimBlock *b = find(at);
    if (!b || b->at != at) return false;
    size_t from = (at - (uint64_t)(uintptr_t)device) / GRANULE;
    size_t granules = (b->bytes + GRANULE - 1) / GRANULE + 1;
    memset(block_of + from, 0, granules * sizeof *block_of);
    return true;
}

size_t sim_block_left(uint64_t at)
{
    const SimBlock *b = find(at);
    return b && at >= b->at && at < b->at + b->bytes ? (size_t)(b->at + b->bytes - at) : 0;
}

/* ---- who touched what */

/* Inside one kernel: is the order of an earlier touch and this one certain? */
static bool ordered_inside(const Touch *t, bool shared)
{
    if (t->thread == sim_now.thread) return true;
    bool same_block = shared || t->thread >> 10 == sim_now.thread >> 10;
    if (!same_block) return false;
    if (t->barrier != sim_now.barrier) return true;
    return t->thread >> 5 == sim_now.thread >> 5 && t->warp_step != sim_now.warp_step;
}

static bool ordered(const Touch *t, bool shared)
{
    if (t->deed == 0) return true;
    if (shared || t->deed == sim_now.deed) return ordered_inside(t, shared);
    return sim_before(t->deed, sim_now.deed);
}

static void report_race(const Touch *t, bool shared, bool write, bool wrote, uint64_t at)
{
    const char *verb = write ? "writes" : "reads", *past = wrote ? "wrote" : "read";
    if (shared)
        sim_report("race in shared memory",
                   "thread %u %s byte %llu, which thread %u %s, and no "
                   "barrier is between",
                   sim_now.thread & 1023, verb, (unsigned long long)at, t->thread & 1023, past);
    else if (t->deed == sim_now.deed)
        sim_report("race in global memory",
                   "thread %u of block %u %s 0x%llx, which thread %u of "
                   "block %u %s",
                   sim_now.thread & 1023, sim_now.thread >> 10, verb, (unsigned long long)at,
                   t->thread & 1023, t->thread >> 10, past);
    else
        sim_report("missing wait", "it %s 0x%llx, which %s %s", verb, (unsigned long long)at,
                   sim_deed(t->deed)->name, past);
}

/* Notes a touch of the bytes of one word. */
static void touch(Cell *c, uint8_t bytes, bool write, bool atomic, bool shared, uint64_t at)
{
    const Touch now = {sim_now.deed, sim_now.thread, sim_now.barrier, sim_now.warp_step};
    if (!write && !shared && (c->written & bytes) != bytes)
        sim_report("memory that nobody has written", "0x%llx is read", (unsigned long long)at);
    if (!atomic && c->writing & bytes && !ordered(&c->wrote, shared))
        report_race(&c->wrote, shared, write, true, at);
    if (!atomic && write && c->reading & bytes && !ordered(&c->read, shared))
        report_race(&c->read, shared, write, false, at);
    Touch *last = write ? &c->wrote : &c->read;
    uint8_t *of = write ? &c->writing : &c->reading;
    *of = memcmp(last, &now, sizeof now) == 0 ? *of | bytes : bytes;
    *last = now;
    if (!write) return;
    c->written |= bytes;
    c->reading &= (uint8_t)~bytes;
}

static void touch_all(Cell *of, uint64_t offset, size_t n, bool write, bool atomic, bool shared,
                      uint64_t at)
{
    for (uint64_t from = offset; from < offset + n && !sim_error;) {
        uint64_t word = from / 4, end = (word + 1) * 4 < offset + n ? (word + 1) * 4 : offset + n;
        uint8_t bytes = (uint8_t)(((1u << (end - from)) - 1) << (from & 3));
        touch(&of[word], bytes, write, atomic, shared, at + (from - offset));
        from = end;
    }
}

void *sim_global(uint64_t at, size_t n, bool write, bool atomic)
{
    uint64_t offset = at - (uint64_t)(uintptr_t)device;
    const SimBlock *b = find(at);
    if (!b || at < b->at || at + n > b->at + b->bytes) {
        sim_report("out of bounds", "%zu bytes at 0x%llx, %s", n, (unsigned long long)at,
                   b ? "past the end of their memory" : "where there is no memory");
        return NULL;
    }
    if (at % n) {
        sim_report("misaligned", "%zu bytes at 0x%llx", n, (unsigned long long)at);
        return NULL;
    }
    if (cells) touch_all(cells, offset, n, write, atomic, false, at);
    return host + offset;
}

void *sim_range(uint64_t at, size_t n, bool write)
{
    uint64_t offset = at - (uint64_t)(uintptr_t)device;
    if (sim_block_left(at) < n) {
        sim_report("out of bounds", "a copy of %zu bytes at 0x%llx", n, (unsigned long long)at);
        return NULL;
    }
    if (cells) touch_all(cells, offset, n, write, false, false, at);
    return host + offset;
}

void sim_shared_begin(size_t bytes)
{
    size_t words = bytes / 4 + 2;
    if (!sim_checks) return;
    if (words > shared_words) {
        shared_cells = realloc(shared_cells, words * sizeof *shared_cells);
        if (!shared_cells) abort();
        shared_words = words;
    }
    memset(shared_cells, 0, words * sizeof *shared_cells);
}

void *sim_shared(uint8_t *base, size_t size, uint64_t at, size_t n, bool write, bool atomic)
{
    if (at + n > size || at % n) {
        sim_report("out of bounds", "%zu bytes at %llu of %zu bytes of shared memory", n,
                   (unsigned long long)at, size);
        return NULL;
    }
    if (sim_checks) touch_all(shared_cells, at, n, write, atomic, true, at);
    return base + at;
}
