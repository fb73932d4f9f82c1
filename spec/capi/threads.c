/* threads.c: one program of the C interface in several threads. threads_spec.lua runs it.
 *
 * Out:   nothing, or a line for each thing that is not as it should be, and exit 1.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sgl.h"

enum { THREADS = 8, MOST_ROWS = 16, COLUMNS = 64 };

static const char INFER[] = "graph\n"
                            "dim n 1 64 1\n"
                            "input %0 arg \"x\" f32[n, 64]\n"
                            "input %1 state \"w\" f32[64, 64]\n"
                            "%2 = dot(%0, %1) : f32[n, 64]\n"
                            "%3 = tanh(%2) : f32[n, 64]\n"
                            "%4 = sum(%3) {dims=[2]} : f32[n]\n"
                            "output %4 \"y\"\n";

/* Each element of w becomes one more, and v the same. */
static const char TRAIN[] = "graph\n"
                            "input %0 state \"w\" f32[64, 64]\n"
                            "%1 = const() {value=1, dims=[64, 64], dtype=f32} : f32[64, 64]\n"
                            "%2 = add(%0, %1) : f32[64, 64]\n"
                            "%3 = sum(%2) {dims=[1, 2]} : f32[]\n"
                            "output %3 \"y\"\n"
                            "assign %0 = %2\n";

static _Atomic int faults, training;
static int times;
static sgl_context *cx;
static sgl_program *infer, *train;
static float input[THREADS][MOST_ROWS * COLUMNS], wanted[THREADS][MOST_ROWS];

static void fault(const char *what, int thread)
{
    printf("thread %d: %s: %s\n", thread, what, sgl_error(cx));
    faults++;
}

static int rows_of(int thread) { return 1 + 2 * thread; }

static int run(int thread, float *y)
{
    int64_t rows = rows_of(thread);
    const sgl_array in = sgl_f32(input[thread], 2, ((int64_t[]){rows, COLUMNS}));
    sgl_array out = sgl_f32(y, 1, &rows);
    return sgl_run(infer, 1, &in, 1, &out);
}

/* Every result has the bits that one thread alone got; a wrong call has its own error. */
static void *infer_often(void *arg)
{
    int thread = (int)(intptr_t)arg;
    float y[MOST_ROWS];
    char text[32];
    for (int i = 0; i < times; i++) {
        if (run(thread, y) < 0) fault("sgl_run", thread);
        if (memcmp(y, wanted[thread], (size_t)rows_of(thread) * sizeof *y))
            fault("other bits", thread);
        if (i % 16) continue;
        if (sgl_run(infer, thread, NULL, 0, NULL) != SGL_EARG) fault("not refused", thread);
        snprintf(text, sizeof text, "%d inputs", thread);
        if (!strstr(sgl_error(cx), text)) fault("another's error", thread);
    }
    return NULL;
}

static void *train_often(void *arg)
{
    float y;
    sgl_array out = sgl_f32(&y, 0, NULL);
    for (int i = 0; i < times; i++)
        if (sgl_run(train, 0, NULL, 1, &out) < 0) fault("training", 0);
    training = 0;
    return arg;
}

/* State is that behind a step, never of two. */
static void *read_often(void *arg)
{
    float w[COLUMNS * COLUMNS], before = 0;
    sgl_array to = sgl_f32(w, 2, ((int64_t[]){COLUMNS, COLUMNS}));
    while (training) {
        if (sgl_state_read(train, 0, &to) < 0) fault("sgl_state_read", 1);
        for (int i = 1; i < COLUMNS * COLUMNS; i++)
            if (w[i] != w[0]) {
                fault("state of two steps", 1);
                break;
            }
        if (w[0] < before) fault("an older step", 1);
        before = w[0];
    }
    return arg;
}

static void all_threads(int n, void *(*first)(void *), void *(*others)(void *))
{
    pthread_t thread[THREADS];
    for (intptr_t i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, i ? others : first, (void *)i)) abort();
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

static void fill(float *at, int n, unsigned seed)
{
    for (int i = 0; i < n; i++) at[i] = (float)((seed + 37u * (unsigned)i) % 101u) / 101 - 0.5f;
}

int main(int argc, char **argv)
{
    static float w[COLUMNS * COLUMNS];
    times = argc > 1 ? atoi(argv[1]) : 1000;
    if (!(cx = sgl_open("threads=2"))) return 1;
    infer = sgl_parse(cx, INFER);
    train = sgl_parse(cx, TRAIN);
    fill(w, COLUMNS * COLUMNS, 1);
    const sgl_array weights = sgl_f32(w, 2, ((int64_t[]){COLUMNS, COLUMNS}));
    if (!infer || !train || sgl_state_write(infer, 0, &weights) < 0) fault("making programs", 0);
    for (int t = 0; t < THREADS && !faults; t++) {
        fill(input[t], rows_of(t) * COLUMNS, (unsigned)t);
        if (run(t, wanted[t]) < 0) fault("sgl_run", t);
    }
    if (!faults) all_threads(THREADS, infer_often, infer_often);
    training = 1;
    if (!faults) all_threads(2, train_often, read_often);
    sgl_close(cx);
    return faults != 0;
}
