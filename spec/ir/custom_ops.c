/* custom_ops.c: a library of ops, as a user would write one, for custom_spec.lua and the specs that
 * go through all ops. It includes nothing of the engine but sgl.h and is linked to nothing.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "sgl.h"

static int64_t count_of(const sgl_array *a)
{
    int64_t n = 1;
    for (int d = 0; d < a->rank; d++) n *= a->dims[d];
    return n;
}

/* ---- affine: by * x + plus, element by element, in f32 and f64 */

static int affine_shape(sgl_call *c)
{
    if (c->in[0].dtype != SGL_F32 && c->in[0].dtype != SGL_F64) {
        snprintf(c->error, sizeof c->error, "it takes f32 and f64");
        return SGL_EDTYPE;
    }
    c->out[0] = c->in[0];
    return SGL_OK;
}

static int affine(sgl_call *c)
{
    int64_t n = count_of(&c->in[0]);
    for (int64_t i = 0; i < n; i++) {
        if (c->in[0].dtype == SGL_F64)
            ((double *)c->out[0].data)[i] =
                ((const double *)c->in[0].data)[i] * c->attr[0].real + c->attr[1].real;
        else
            ((float *)c->out[0].data)[i] =
                ((const float *)c->in[0].data)[i] * (float)c->attr[0].real + (float)c->attr[1].real;
    }
    return SGL_OK;
}

static int affine_gradient(sgl_gradient *g)
{
    sgl_node *by = g->fill(g, g->in[0], g->attr[0].real);
    g->dx[0] = g->apply(g, "mul", 2, (sgl_node *[]){g->dy[0], by}, NULL);
    return SGL_OK;
}

static const sgl_op AFFINE = {
    .name = "t.affine",
    .attrs = "by:F plus:F=0",
    .inputs = 1,
    .outputs = 1,
    .flags = SGL_OP_ELEMENTWISE,
    .shape = affine_shape,
    .gradient = affine_gradient,
    .run = {{"cpu", affine}},
};

/* ---- halves: the two halves of a tensor along its first dim */

static int halves_shape(sgl_call *c)
{
    if (c->in[0].rank < 1) {
        snprintf(c->error, sizeof c->error, "a scalar has no halves");
        return SGL_ESHAPE;
    }
    int64_t half = c->size(c, c->in[0].dims[0], '/', 2);
    c->out[0] = c->out[1] = c->in[0];
    c->out[0].dims[0] = half;
    c->out[1].dims[0] = c->size(c, c->in[0].dims[0], '-', half);
    return SGL_OK;
}

static size_t bytes_of(const sgl_array *a)
{
    static const size_t SIZE[] = {1, 1, 4, 8, 2, 2, 4, 8};
    return (size_t)count_of(a) * SIZE[a->dtype];
}

static int halves(sgl_call *c)
{
    size_t first = bytes_of(&c->out[0]);
    memcpy(c->out[0].data, c->in[0].data, first);
    memcpy(c->out[1].data, (const char *)c->in[0].data + first, bytes_of(&c->out[1]));
    return SGL_OK;
}

static int halves_gradient(sgl_gradient *g)
{
    sgl_node *part[2];
    for (int k = 0; k < 2; k++) part[k] = g->dy[k] ? g->dy[k] : g->fill(g, g->out[k], 0);
    g->dx[0] = g->apply(g, "concat", 2, part, "{dim=1}");
    return SGL_OK;
}

static const sgl_op HALVES = {.name = "t.halves",
                              .inputs = 1,
                              .outputs = 2,
                              .shape = halves_shape,
                              .gradient = halves_gradient,
                              .reference = halves,
                              .run = {{"cpu", halves}}};

/* ---- rms: row j of x times the weights, divided by the root of its mean square; rows can be cut,
 * and there is no gradient */

static int rms_shape(sgl_call *c)
{
    if (c->in[0].rank != 2 || c->in[1].rank != 1 || c->in[0].dims[1] != c->in[1].dims[0]) {
        snprintf(c->error, sizeof c->error, "the weights have the size of a row");
        return SGL_ESHAPE;
    }
    c->out[0] = c->in[0];
    return SGL_OK;
}

static int rms(sgl_call *c)
{
    int64_t rows = c->in[0].dims[0], n = c->in[0].dims[1];
    const float *w = c->in[1].data;
    for (int64_t j = 0; j < rows; j++) {
        const float *x = (const float *)c->in[0].data + j * n;
        float *y = (float *)c->out[0].data + j * n, sum = 0;
        for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
        for (int64_t i = 0; i < n; i++) y[i] = x[i] * w[i] / sqrtf(sum / (float)n);
    }
    return SGL_OK;
}

static const sgl_op RMS = {.name = "t.rms",
                           .inputs = 2,
                           .outputs = 1,
                           .rows = 1,
                           .shape = rms_shape,
                           .run = {{"cpu", rms}}};

/* ---- tick: how often it was called; same: its input, and counts its calls, which `calls` tells */

static _Atomic int ticks, sames;

static int tick(sgl_call *c)
{
    ((float *)c->out[0].data)[0] = (float)++ticks;
    return SGL_OK;
}

static int same(sgl_call *c)
{
    sames++;
    memcpy(c->out[0].data, c->in[0].data, bytes_of(&c->in[0]));
    return SGL_OK;
}

static int calls(sgl_call *c)
{
    ((float *)c->out[0].data)[0] = (float)sames;
    return SGL_OK;
}

static int tick_gradient(sgl_gradient *g)
{
    g->dx[0] = g->dy[0];
    return SGL_OK;
}

static const sgl_op TICK = {.name = "t.tick",
                            .inputs = 1,
                            .outputs = 1,
                            .flags = SGL_OP_RANDOM,
                            .gradient = tick_gradient,
                            .run = {{"cpu", tick}}};
static const sgl_op SAME = {.name = "t.same", .inputs = 1, .outputs = 1, .run = {{"cpu", same}}};
static const sgl_op CALLS = {
    .name = "t.calls", .inputs = 1, .outputs = 1, .flags = SGL_OP_RANDOM, .run = {{"cpu", calls}}};

/* ---- sees: all kinds of attributes, as numbers in one f64 row */

static int sees_shape(sgl_call *c)
{
    c->out[0] = (sgl_array){.dtype = SGL_F64, .rank = 1, .dims = {9}};
    return SGL_OK;
}

static int sees(sgl_call *c)
{
    const sgl_attr *a = c->attr;
    double *y = c->out[0].data;
    y[0] = (double)a[0].integer;
    y[1] = a[1].real;
    y[2] = (double)strlen(a[2].text);
    y[3] = (double)a[3].integer;
    y[4] = (double)a[4].integer;
    y[5] = (double)a[5].n + 10.0 * (double)(a[5].n ? a[5].items[0] : 0);
    y[6] = (double)a[6].n + 10.0 * (double)(a[6].n ? a[6].items[a[6].n - 1] : 0);
    y[7] = (double)a[7].integer;
    y[8] = a[8].real;
    return SGL_OK;
}

static const sgl_op SEES = {.name = "t.sees",
                            .inputs = -1,
                            .outputs = 1,
                            .attrs = "i:I f:F s:S t:T a:A p:P l:L n:I=7 g:F=-0.5",
                            .shape = sees_shape,
                            .run = {{"cpu", sees}}};

/* ---- what goes wrong */

static int fails(sgl_call *c)
{
    snprintf(c->error, sizeof c->error, "the value %g is not allowed",
             (double)*(float *)c->in[0].data);
    return SGL_ENUMERIC;
}

static int no_type(sgl_call *c)
{
    c->out[0].rank = 99;
    return SGL_OK;
}

static int other_dims(sgl_call *c)
{
    c->out[0].dims[0] = 5;
    return SGL_OK;
}

static int odd_code(sgl_call *c)
{
    (void)c;
    return 12345;
}

static int wrong_gradient(sgl_gradient *g)
{
    g->dx[0] = g->apply(g, "sum", 1, &g->dy[0], "{dims=[1]}");
    return SGL_OK;
}

static int no_such_op(sgl_gradient *g)
{
    g->dx[0] = g->apply(g, "mull", 1, &g->dy[0], NULL);
    return SGL_OK;
}

static int bad_text(sgl_gradient *g)
{
    g->dx[0] = g->apply(g, "sum", 1, &g->dy[0], "{dims=[0]}");
    return SGL_OK;
}

static const sgl_op FAILS = {.name = "t.fails", .inputs = 1, .outputs = 1, .run = {{"cpu", fails}}};
static const sgl_op NO_TYPE = {
    .name = "t.no_type", .inputs = 1, .outputs = 1, .shape = no_type, .run = {{"cpu", same}}};
static const sgl_op OTHER = {.name = "t.other_dims",
                             .inputs = 1,
                             .outputs = 1,
                             .shape = other_dims,
                             .flags = SGL_OP_ELEMENTWISE,
                             .run = {{"cpu", same}}};
static const sgl_op ODD = {
    .name = "t.odd_code", .inputs = 1, .outputs = 1, .shape = odd_code, .run = {{"cpu", same}}};
static const sgl_op ELSEWHERE = {
    .name = "t.elsewhere", .inputs = 1, .outputs = 1, .run = {{"cuda", same}}};
static const sgl_op WRONG_GRAD = {.name = "t.wrong_gradient",
                                  .inputs = 1,
                                  .outputs = 1,
                                  .gradient = wrong_gradient,
                                  .run = {{"cpu", same}}};
static const sgl_op NO_OP = {.name = "t.no_such_op",
                             .inputs = 1,
                             .outputs = 1,
                             .gradient = no_such_op,
                             .run = {{"cpu", same}}};
static const sgl_op BAD_TEXT = {
    .name = "t.bad_text", .inputs = 1, .outputs = 1, .gradient = bad_text, .run = {{"cpu", same}}};

SGL_OPS(&AFFINE, &HALVES, &RMS, &TICK, &SAME, &CALLS, &SEES, &FAILS, &NO_TYPE, &OTHER, &ODD,
        &ELSEWHERE, &WRONG_GRAD, &NO_OP, &BAD_TEXT);
