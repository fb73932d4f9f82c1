/* ops.c: ops of a program's own through the C interface: what is refused, from several threads, and
 * graphs that name them in two contexts. ops_spec.lua runs it.
 *
 * Out:   nothing, or a line for each thing that is not as it should be, and exit 1.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "sgl.h"

static int faults;

#define EXPECT(holds)                                                                              \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            printf("ops.c:%d: %s: %s\n", __LINE__, #holds, sgl_error(NULL));                       \
            faults++;                                                                              \
        }                                                                                          \
    } while (0)

static int twice(sgl_call *c)
{
    for (int64_t i = 0; i < c->in[0].dims[0]; i++)
        ((float *)c->out[0].data)[i] = 2 * ((const float *)c->in[0].data)[i];
    return SGL_OK;
}

static int thrice(sgl_call *c)
{
    for (int64_t i = 0; i < c->in[0].dims[0]; i++)
        ((float *)c->out[0].data)[i] = 3 * ((const float *)c->in[0].data)[i];
    return SGL_OK;
}

static sgl_op row(const char *name)
{
    return (sgl_op){.name = name, .inputs = 1, .outputs = 1, .run = {{"cpu", twice}}};
}

/* Is the row refused, with these words? */
static int refused(sgl_op op, const char *words)
{
    int code = sgl_op_register(&op);
    if (code == SGL_EARG && strstr(sgl_error(NULL), words)) return 1;
    printf("'%s': %d, %s\n", words, code, sgl_error(NULL));
    return 0;
}

static void refuse_rows(void)
{
    static const char *const NAMES[] = {"", "1st", "a b", "a-b", "ü", NULL};
    sgl_op op;
    EXPECT(sgl_op_register(NULL) == SGL_EARG);
    for (int i = 0; i < 6; i++) EXPECT(refused(row(NAMES[i]), "an op cannot be called"));
    EXPECT(strstr(sgl_error_hint(NULL), "letters"));
    char many[100] = {0};
    memset(many, 'a', 64);
    EXPECT(refused(row(many), "cannot be called"));
    op = row("r"), op.inputs = 0;
    EXPECT(refused(op, "inputs are 1 to 16"));
    op.inputs = 17;
    EXPECT(refused(op, "inputs are 1 to 16"));
    op = row("r"), op.outputs = 9;
    EXPECT(refused(op, "outputs are 1 to 8"));
    op = row("r"), op.flags = 64;
    EXPECT(refused(op, "no such flag"));
    op = row("r"), op.rows = 2;
    EXPECT(refused(op, "an input that is not there"));
    op = row("r"), op.run[0].backend = NULL;
    EXPECT(refused(op, "no backend has a function"));
    op = row("r"), op.run[0].run = NULL;
    EXPECT(refused(op, "a backend has no function"));
    op = row("r"), op.run[1] = op.run[0];
    EXPECT(refused(op, "a backend is there twice"));
}

static void refuse_attrs(void)
{
    static const struct {
        const char *attrs, *words;
    } CASES[] = {
        {"x", "name:kind"},
        {"x:", "name:kind"},
        {":I", "name:kind"},
        {"x:I  y:I", "name:kind"},
        {"x:G", "kinds of"},
        {"x:i", "kinds of"},
        {"op:I", "called 'op'"},
        {"x:I x:F", "twice"},
        {"x:I=1 y:I", "last ones"},
        {"x:I=", "behind '='"},
        {"x:I=1.5", "behind '='"},
        {"x:S=a", "behind '='"},
        {"x:L=[1]", "behind '='"},
        {"x:T=1", "behind '='"},
        {"x:F=nope", "behind '='"},
        {"a:L b:L c:L d:L", "at most 16"},
        {"a:I b:I c:I d:I e:I f:I g:I h:I i:I j:I k:I l:I m:I n:I o:I p:I q:I", "at most 16"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        sgl_op op = row("attrs");
        op.attrs = CASES[i].attrs;
        EXPECT(refused(op, CASES[i].words));
    }
    char many[600];
    memset(many, 'a', sizeof many);
    many[sizeof many - 1] = 0;
    sgl_op op = row("attrs");
    op.attrs = many;
    EXPECT(refused(op, "too long"));
}

/* ---- threads */

enum { THREADS = 8, EACH = 20 };
static sgl_op shared, own[THREADS][EACH];
static char names[THREADS][EACH][16];

/* Registers the shared row and rows of its own, and uses them at once. */
static void *work(void *arg)
{
    int t = (int)(intptr_t)arg;
    for (int i = 0; i < EACH; i++) {
        snprintf(names[t][i], sizeof names[t][i], "op_%d_%d", t, i);
        own[t][i] = row(names[t][i]);
        if (sgl_op_register(&shared) || sgl_op_register(&own[t][i])) return "a row is refused";
        sgl_context *cx = i % 5 ? NULL : sgl_open("threads=1");
        char text[200];
        float x[2] = {1, (float)i}, y[2];
        const sgl_array in = sgl_f32(x, 1, (int64_t[]){2});
        sgl_array out = sgl_f32(y, 1, (int64_t[]){2});
        snprintf(text, sizeof text,
                 "graph\ninput %%0 arg \"\" f32[2]\n%%1 = custom(%%0) {op=\"%s\"} : f32[2]\n"
                 "%%2 = custom(%%1) {op=\"shared\"} : f32[2]\noutput %%2 \"\"\n",
                 names[t][i]);
        if (!cx) continue;
        sgl_program *p = sgl_parse(cx, text);
        int wrong = !p || sgl_run(p, 1, &in, 1, &out) < 0 || y[1] != 4 * (float)i;
        sgl_close(cx);
        if (wrong) return "a graph does not run";
    }
    return NULL;
}

static void try_threads(void)
{
    pthread_t thread[THREADS];
    shared = row("shared");
    for (intptr_t t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++) {
        void *said;
        pthread_join(thread[t], &said);
        if (said) printf("thread %d: %s\n", t, (const char *)said), faults++;
    }
}

/* ---- graphs */

static const char TEXT[] =
    "graph\ninput %0 arg \"\" f32[2]\n%1 = custom(%0) {op=\"late\"} : f32[2]\n"
    "output %1 \"\"\n";

static void try_graph(void)
{
    static const sgl_op LATE = {
        .name = "late", .inputs = 1, .outputs = 1, .run = {{"cpu", thrice}}};
    static const sgl_op COPY = {
        .name = "late", .inputs = 1, .outputs = 1, .run = {{"cpu", thrice}}};
    float x[2] = {1, 2}, y[2] = {0};
    const sgl_array in = sgl_f32(x, 1, (int64_t[]){2});
    sgl_array out = sgl_f32(y, 1, (int64_t[]){2});
    sgl_context *cx = sgl_open(NULL);
    EXPECT(!sgl_parse(cx, TEXT) && strstr(sgl_error(cx), "no op 'late' is registered"));
    EXPECT(strstr(sgl_error_hint(cx), "sgl_op_register"));
    EXPECT(sgl_op_register(&LATE) == SGL_OK);
    EXPECT(sgl_op_register(&LATE) == SGL_OK && sgl_op_register(&COPY) == SGL_OK);
    EXPECT(refused(row("late"), "registered already"));
    sgl_program *p = sgl_parse(cx, TEXT);
    EXPECT(p && sgl_run(p, 1, &in, 1, &out) == SGL_OK && y[0] == 3 && y[1] == 6);
    EXPECT(sgl_op_load("/nowhere/ops.so") == SGL_EFILE && *sgl_error(NULL));
    EXPECT(sgl_op_load(NULL) == SGL_EARG);
    sgl_close(cx);
}

static void fill_table(void)
{
    static sgl_op op[256];
    static char name[256][8];
    int code = SGL_OK, n = 0;
    for (; n < 256 && code == SGL_OK; n++) {
        snprintf(name[n], sizeof name[n], "f%d", n);
        op[n] = row(name[n]);
        code = sgl_op_register(&op[n]);
    }
    EXPECT(code == SGL_EARG && n > 10 && n < 256 && strstr(sgl_error(NULL), "256 ops"));
}

int main(void)
{
    refuse_rows();
    refuse_attrs();
    try_threads();
    try_graph();
    fill_table();
    return faults > 0;
}
