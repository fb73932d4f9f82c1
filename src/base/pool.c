/* pool.c: fork and join over chunks.
 *
 * Protocol. A region starts when the caller writes fn, arg, chunks and then stores `unclaimed`.
 * Whoever takes `unclaimed` from r to r - 1 owns chunk `chunks - r` and reads the other fields only
 * then: the region cannot end before its chunk is finished, so they are stable, and a thread
 * that comes late simply helps with the region of the day. `unfinished` falls by what a thread
 * has done when it finds nothing more to claim; at 0 the region is over.
 * Waiting. Both sides spin for a short time and then sleep: workers on `region`, the caller on
 * `unfinished`. A sleeper announces itself before it looks at its word again and the waker changes
 * the word before it looks for sleepers, so no wake-up is lost.
 * Holds: base_pool_run returns after every chunk ran exactly once and its writes are visible.
 */
#include "base/pool.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/limit.h"
#include "base/mem.h"
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

enum { LINE = 64, THREADS_MAX = 256, SPINS_A_LOOK = 64 };
static const double SPIN_SECONDS = 40e-6; /* about what a sleep and a wake-up cost */

typedef struct Worker {
    Pool *pool;
    int number;
    pthread_t thread;
} Worker;

struct Pool {
    int threads;    /* the caller is number 0 */
    bool crowded;   /* more threads than processors: spinning would only steal time */
    Worker *worker; /* [threads]; entry 0 has no thread of its own */
#ifndef __linux__
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
    PoolFn fn;
    void *arg;
    int chunks;
    _Alignas(LINE) _Atomic int unclaimed;
    _Alignas(LINE) _Atomic int unfinished;
    _Atomic int caller_sleeps;
    _Alignas(LINE) _Atomic int region; /* number of the newest region; what workers watch */
    _Atomic int asleep;
    _Atomic bool ends;
};

/* The pool whose chunk this thread is running, and as which worker. */
static _Thread_local const Pool *running_in;
static _Thread_local int running_as;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Sleeps while *word is `seen`; may return early. */
static void word_sleep(Pool *p, _Atomic int *word, int seen)
{
#ifdef __linux__
    (void)p;
    syscall(SYS_futex, (void *)word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
    pthread_mutex_lock(&p->mutex);
    if (atomic_load(word) == seen) pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
#endif
}

static void word_wake(Pool *p, _Atomic int *word, int sleepers)
{
#ifdef __linux__
    (void)p;
    syscall(SYS_futex, (void *)word, FUTEX_WAKE_PRIVATE, sleepers, NULL, NULL, 0);
#else
    (void)word, (void)sleepers;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
#endif
}

/* Spins until *word differs from `seen`; false when the time for spinning is over. */
static bool spin_until_changed(const Pool *p, _Atomic int *word, int seen)
{
    if (p->crowded) return atomic_load_explicit(word, memory_order_acquire) != seen;
    double until = 0;
    for (;;) {
        for (int i = 0; i < SPINS_A_LOOK; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen) return true;
            relax();
        }
        double now = base_clock();
        if (until == 0) until = now + SPIN_SECONDS;
        else if (now > until) return false;
    }
}

/* Claims and runs chunks until none is left. */
static void work(Pool *p, int number)
{
    int finished = 0;
    int r = atomic_load_explicit(&p->unclaimed, memory_order_acquire);
    running_in = p;
    running_as = number;
    while (r > 0) {
        if (!atomic_compare_exchange_weak_explicit(&p->unclaimed, &r, r - 1, memory_order_acquire,
                                                   memory_order_acquire))
            continue;
        p->fn(p->arg, p->chunks - r, number);
        finished++;
        r = atomic_load_explicit(&p->unclaimed, memory_order_acquire);
    }
    running_in = NULL;
    if (finished == 0) return;
    bool last = atomic_fetch_sub(&p->unfinished, finished) == finished;
    if (last && number != 0 && atomic_load(&p->caller_sleeps)) word_wake(p, &p->unfinished, 1);
}

/* A worker spins for a short while before it sleeps, because the next region of a program mostly
 * comes at once. */
static void *worker_main(void *arg)
{
    const Worker *self = arg;
    Pool *p = self->pool;
    int seen = 0;
    while (!atomic_load(&p->ends)) {
        if (!spin_until_changed(p, &p->region, seen)) {
            atomic_fetch_add(&p->asleep, 1);
            if (atomic_load(&p->region) == seen) word_sleep(p, &p->region, seen);
            atomic_fetch_sub(&p->asleep, 1);
        }
        seen = atomic_load_explicit(&p->region, memory_order_acquire);
        work(p, self->number);
    }
    return NULL;
}

static void announce(Pool *p, int helpers)
{
    atomic_fetch_add(&p->region, 1);
    if (atomic_load(&p->asleep) > 0) word_wake(p, &p->region, helpers);
}

static void wait_for_end(Pool *p)
{
    int left;
    while ((left = atomic_load_explicit(&p->unfinished, memory_order_acquire)) > 0) {
        if (spin_until_changed(p, &p->unfinished, left)) continue;
        atomic_store(&p->caller_sleeps, 1);
        left = atomic_load(&p->unfinished);
        if (left > 0) word_sleep(p, &p->unfinished, left);
        atomic_store(&p->caller_sleeps, 0);
    }
}

void base_pool_run(Pool *p, int chunks, PoolFn fn, void *arg)
{
    if (p->threads == 1 || chunks <= 1 || running_in) {
        int number = running_in == p ? running_as : 0;
        for (int i = 0; i < chunks; i++) fn(arg, i, number);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    p->chunks = chunks;
    atomic_store_explicit(&p->unfinished, chunks, memory_order_relaxed);
    atomic_store_explicit(&p->unclaimed, chunks, memory_order_release);
    int helpers = chunks < p->threads ? chunks - 1 : p->threads - 1;
    announce(p, helpers);
    work(p, 0);
    wait_for_end(p);
}

/* Starts the workers with all signals blocked, so that Ctrl-C reaches the caller's thread. A
 * system that refuses a thread leaves a smaller pool, which computes the same. */
static void start_workers(Pool *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 1; i < p->threads; i++) {
        p->worker[i] = (Worker){.pool = p, .number = i};
        if (pthread_create(&p->worker[i].thread, NULL, worker_main, &p->worker[i]) != 0)
            p->threads = i;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

Pool *base_pool_new(int threads)
{
    int available = base_limit_threads("").threads;
    if (threads <= 0) threads = available;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    Pool *p = base_mem_big(sizeof *p);
    if (!p) return NULL;
    *p = (Pool){.threads = threads, .crowded = threads > available};
    p->worker = base_mem_zero((size_t)threads, sizeof *p->worker);
    if (!p->worker) {
        base_mem_free(p);
        return NULL;
    }
#ifndef __linux__
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
#endif
    start_workers(p);
    return p;
}

void base_pool_free(Pool *p)
{
    if (!p) return;
    atomic_store(&p->ends, true);
    announce(p, p->threads);
    for (int i = 1; i < p->threads; i++) pthread_join(p->worker[i].thread, NULL);
#ifndef __linux__
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->changed);
#endif
    base_mem_free(p->worker);
    base_mem_free(p);
}

int base_pool_threads(const Pool *p) { return p->threads; }
