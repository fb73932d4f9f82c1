/* fake_memory.c: addresses of the fake device, and who may touch them.
 *
 * In:    sizes; addresses that the engine uses.
 * Out:   blocks of pages in one reserved range; a report at the first wrong touch.
 * Holds: an address is given once, so one that was kept for too long is seen. Pages are closed
 *        unless the device itself runs. A stage can be read while it has what its source has.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fake.h"

static const size_t RANGE = (size_t)64 << 30, PAGE = 4096;

static char *range;
static size_t used;
static VEC(FakeBlock) blocks; /* by address */

static const char *const SAID[FAKE_FAULTS] = {
#define FAULT(name, text) [FAKE_##name] = text,
#include "fake_fault.def"
#undef FAULT
};

void fake_report(FakeFault fault, const char *fmt, ...)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "fake device: %s: ", SAID[fault]);
    va_list ap;
    va_start(ap, fmt);
    n += vsnprintf(text + n, sizeof text - (size_t)n - 1, fmt, ap);
    va_end(ap);
    text[n] = '\n';
    if (write(STDERR_FILENO, text, (size_t)n + 1) < 0) _exit(1);
    _exit(FAKE_EXIT);
}

bool fake_is_ours(const void *at) { return (char *)at >= range && (char *)at < range + RANGE; }

/* The page at `at` was closed: why? */
static void on_fault(int sig, siginfo_t *info, void *context)
{
    const FakeBlock *b = fake_block_at(info->si_addr);
    (void)context;
    if (!fake_is_ours(info->si_addr)) {
        signal(sig, SIG_DFL);
        return;
    }
    if (!b) fake_report(FAKE_STALE_ADDRESS, "%p", info->si_addr);
    size_t at = (uintptr_t)info->si_addr - b->at;
    if (b->kind == FAKE_MEMORY) fake_report(FAKE_HOST_READ, "byte %zu of %zu", at, b->bytes);
    if (!b->source)
        fake_report(FAKE_MISSING_BACK, "nothing was copied to these %zu bytes", b->bytes);
    if (b->stale) fake_report(FAKE_MISSING_BACK, "what was copied has changed since");
    fake_report(FAKE_EARLY_READ, "byte %zu of %zu", at, b->bytes);
}

void fake_memory_begin(void)
{
    if (range) return;
    range = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) _exit(1);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* A page between blocks stays closed. */
FakeBlock *fake_block_new(FakeKind kind, size_t bytes)
{
    size_t pages = (bytes + PAGE) / PAGE * PAGE;
    FakeBlock b = {.at = (uintptr_t)range + used, .bytes = bytes, .pages = pages, .kind = kind};
    if (bytes > RANGE || used + pages + PAGE > RANGE) return NULL;
    if (kind == FAKE_MEMORY && !(b.written = base_mem_zero(1, bytes + 1))) return NULL;
    if (!vec_push(&blocks, b)) {
        base_mem_free(b.written);
        return NULL;
    }
    used += pages + PAGE;
    return &blocks.at[blocks.n - 1];
}

FakeBlock *fake_block_at(const void *at)
{
    int lo = 0, hi = blocks.n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (blocks.at[mid].at + blocks.at[mid].pages <= (uintptr_t)at) lo = mid + 1;
        else hi = mid;
    }
    return lo < blocks.n && blocks.at[lo].at <= (uintptr_t)at ? &blocks.at[lo] : NULL;
}

int fake_block_count(void) { return blocks.n; }
FakeBlock *fake_block(int i) { return &blocks.at[i]; }

static void protect(FakeBlock *b, int may)
{
    if (mprotect((void *)b->at, b->pages, may) < 0) _exit(1);
}

void fake_block_open(FakeBlock *b)
{
    if (!b->open) protect(b, PROT_READ | PROT_WRITE);
    b->open = true;
}

void fake_block_close(FakeBlock *b)
{
    bool has = b->kind == FAKE_STAGE && b->landed && !b->stale;
    protect(b, has ? PROT_READ : PROT_NONE);
    b->open = false;
}

void fake_memory_close(void)
{
    for (int i = 0; i < blocks.n; i++)
        if (blocks.at[i].open) fake_block_close(&blocks.at[i]);
}

void fake_block_free(FakeBlock *b)
{
    base_mem_free(b->written);
    vec_free(&b->touches);
    madvise((void *)b->at, b->pages, MADV_DONTNEED);
    mprotect((void *)b->at, b->pages, PROT_NONE);
    memmove(b, b + 1, (size_t)(&blocks.at[blocks.n] - (b + 1)) * sizeof *b);
    blocks.n--;
}
