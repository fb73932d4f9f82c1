/* pool.h: the thread pool.
 *
 * Work is `n` chunks claimed one by one; the caller works too and returns when all are done.
 * Chunk boundaries belong to the caller and must depend on shapes alone, never on the number of
 * threads, so results do not either. Workers spin a few microseconds, then sleep on a futex.
 * Nested calls run serially. One caller at a time per pool.
 */
#ifndef SGL_BASE_POOL_H
#define SGL_BASE_POOL_H

typedef struct Pool Pool;
typedef void (*PoolFn)(void *arg, int chunk, int worker);  /* worker: 0 .. threads-1 */

Pool *base_pool_new(int threads);   /* threads counts the caller; 0: all the process may use */
void base_pool_free(Pool *p);
int base_pool_threads(const Pool *p);
void base_pool_run(Pool *p, int chunks, PoolFn fn, void *arg);
#endif
