/* ops.c: the steps that are no kernels: which text of op_text.c, with which numbers.
 *
 * In:   a step with plain numbers.
 * Out:  plans, in order: what may be refused by its values is checked by a kernel before it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cuda/cuda.h"
#include "ir/custom.h"

enum { OP_BLOCK = 256, DOT_SIDE = 64 };

/* What struct E is for a dtype. `sum`: T wraps as unsigned does. */
typedef struct Element {
    const char *raw, *type, *none, *running, *key;
} Element;
static const Element ELEMENTS[DT_COUNT] = {
    [DT_bool] = {"uint8_t", "uint8_t", "0", "RunningTruth", "key_of(x)"},
    [DT_u8] = {"uint8_t", "uint8_t", "0", "RunningWhole<uint8_t>", "key_of(x)"},
    [DT_i32] = {"int32_t", "uint32_t", "0", "RunningWhole<uint32_t>", "key_of(x)"},
    [DT_i64] = {"int64_t", "uint64_t", "0", "RunningWhole<uint64_t>", "(uint64_t)x ^ 1ULL << 63"},
    [DT_f16] = {"uint16_t", "float", "-0.0f", "RunningF32", "key_of(get(x))"},
    [DT_bf16] = {"uint16_t", "float", "-0.0f", "RunningF32", "key_of(get(x))"},
    [DT_f32] = {"float", "float", "-0.0f", "RunningF32", "key_of(x)"},
    [DT_f64] = {"double", "double", "-0.0", "RunningF64", "key_of(x)"},
};

static bool is_half(Dtype d) { return d == DT_f16 || d == DT_bf16; }

/* The struct E of the dtype, and the conversions that it calls. */
static void put_element(Dtype d, Str *out)
{
    const Element *e = &ELEMENTS[d];
    const char *get = "", *put = "";
    const char *add = d == DT_bool ? "a | b" : "a + b";
    const char *mad = d == DT_f64                 ? "fma(a, b, c)"
                      : d == DT_f32 || is_half(d) ? "fmaf(a, b, c)"
                                                  : "a * b + c";
    if (is_half(d)) {
        ExprFn widen = d == DT_f16 ? EXPR_WIDEN_F16 : EXPR_WIDEN_BF16;
        ExprFn narrow = d == DT_f16 ? EXPR_NARROW_F16 : EXPR_NARROW_BF16;
        get = kern_c_fn(widen), put = kern_c_fn(narrow);
        if (!ir_expr_fn(widen) || !ir_expr_fn(narrow)) out->failed = true;
        else {
            kern_print_expr(&CUDA_DIALECT, ir_expr_fn(widen), get, out);
            kern_print_expr(&CUDA_DIALECT, ir_expr_fn(narrow), put, out);
        }
    }
    base_str_fmt(out,
                 "struct E {\n    typedef %s Raw;\n    typedef %s T;\n    typedef %s Running;\n"
                 "    enum { SAME = %d };\n"
                 "    static __device__ T get(Raw x) { return (T)%s(x); }\n"
                 "    static __device__ Raw put(T x) { return (Raw)%s(x); }\n"
                 "    static __device__ T none() { return %s; }\n"
                 "    static __device__ T add(T a, T b) { return (T)(%s); }\n"
                 "    static __device__ T mad(T a, T b, T c) { return (T)(%s); }\n"
                 "    static __device__ uint64_t key(Raw x) { return %s; }\n};\n",
                 e->raw, e->type, e->running, !is_half(d), get, put, e->none, add, mad, e->key);
}

/* ---- a plan while it is made */

typedef struct Making {
    CudaPlan *p;
    bool failed;
} Making;

static Making begin(CudaPlans *out, const char *name)
{
    Making m = {.failed = !vec_push(out, (CudaPlan){.block = OP_BLOCK})};
    if (m.failed) return m;
    m.p = &vec_last(out);
    snprintf(m.p->name, sizeof m.p->name, "%s", name);
    return m;
}

static void put_buffer(Making *m, int buffer)
{
    m->failed = m->failed || !vec_push(&m->p->buffers, buffer);
}

static void put_number(Making *m, int64_t n)
{
    m->failed = m->failed || !vec_push(&m->p->numbers, n);
}

static int end(Ctx *cx, Making *m, int64_t threads, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The body is one call: of the text, for these types. Negative: no memory. */
static int end(Ctx *cx, Making *m, int64_t threads, const char *fmt, ...)
{
    va_list ap;
    if (m->failed) return base_no_memory(cx, "a step of a CUDA program");
    Str *text = &m->p->text;
    m->p->threads = threads;
    base_str_put(text, "    ");
    va_start(ap, fmt);
    base_str_vfmt(text, fmt, ap);
    va_end(ap);
    base_str_put(text, "(q);\n");
    if (text->failed || m->p->functions.failed)
        return base_no_memory(cx, "a step of a CUDA program");
    return SGL_OK;
}

static int64_t count(const View *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++) n *= v->extent[i];
    return n;
}

/* Numbers of a dim: what lies before, along and behind it. Returns how many lines there are. */
static int64_t put_axis(Making *m, const View *v, int axis)
{
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; i++) outer *= v->extent[i];
    for (int i = axis + 1; i < v->rank; i++) inner *= v->extent[i];
    put_number(m, outer);
    put_number(m, v->extent[axis]);
    put_number(m, inner);
    return outer * inner;
}

static const char *raw(const View *v) { return ELEMENTS[v->dtype].raw; }

/* ---- one function for each kind */

/* A product: a block of threads for each tile of each batch. */
static int plan_dot(Ctx *cx, const Step *s, CudaPlans *out)
{
    const View *a = &s->view[0], *b = &s->view[1], *c = &s->out;
    int r = c->rank, batch = r - 2;
    const int64_t rows = c->extent[r - 2], columns = c->extent[r - 1];
    const Blocks blocks = ir_blocks(s->node);
    Making m = begin(out, "dot");
    const View *const views[] = {a, b, c};
    for (int i = 0; i < 3; i++) put_buffer(&m, views[i]->buffer);
    const int64_t numbers[] = {rows,
                               columns,
                               a->extent[r - 1],
                               a->stride[r - 2],
                               a->stride[r - 1],
                               b->stride[r - 2],
                               b->stride[r - 1],
                               a->offset,
                               b->offset,
                               c->offset,
                               blocks.n,
                               blocks.units};
    for (int i = 0; i < 12; i++) put_number(&m, numbers[i]);
    int64_t tiles = ((rows + DOT_SIDE - 1) / DOT_SIDE) * ((columns + DOT_SIDE - 1) / DOT_SIDE);
    for (int d = 0; d < batch; d++) {
        put_number(&m, c->extent[d]);
        put_number(&m, a->stride[d]);
        put_number(&m, b->stride[d]);
        tiles *= c->extent[d];
    }
    if (!m.failed) put_element(c->dtype, &m.p->functions);
    return end(cx, &m, tiles * OP_BLOCK, "dot<E, %d, %s>", batch, blocks.n > 1 ? "true" : "false");
}

/* Is every position inside the dim? */
static int plan_check(Ctx *cx, const Step *s, int step, CudaPlans *out)
{
    const View *index = &s->view[1];
    Making m = begin(out, "check_index");
    put_buffer(&m, index->buffer);
    put_buffer(&m, CUDA_FAULT);
    put_number(&m, count(index));
    put_number(&m, s->view[0].extent[s->axis]);
    put_number(&m, index->offset);
    put_number(&m, step + 1);
    return end(cx, &m, count(index) ? OP_BLOCK : 0, "check<%s>", raw(index));
}

static int plan_gather(Ctx *cx, const Step *s, CudaPlans *out)
{
    Making m = begin(out, "gather");
    put_buffer(&m, s->view[0].buffer);
    put_buffer(&m, s->view[1].buffer);
    put_buffer(&m, s->out.buffer);
    put_axis(&m, &s->view[0], s->axis);
    put_number(&m, count(&s->view[1]));
    put_number(&m, s->view[0].offset);
    put_number(&m, s->view[1].offset);
    put_number(&m, s->out.offset);
    return end(cx, &m, count(&s->out), "gather<%s, %s>", raw(&s->out), raw(&s->view[1]));
}

/* A line of the dim for each thread; in blocks an element for each. */
static int plan_scatter(Ctx *cx, const Step *s, CudaPlans *out, size_t *work)
{
    const Blocks blocks = ir_blocks(s->node);
    bool tree = blocks.n > 1 && DTYPES[s->out.dtype].class == CLASS_FLOAT;
    Making m = begin(out, "scatter_add");
    for (int i = 0; i < 3; i++) put_buffer(&m, s->view[i].buffer);
    put_buffer(&m, s->out.buffer);
    put_buffer(&m, CUDA_WORK);
    int64_t lines = put_axis(&m, &s->view[0], s->axis);
    put_number(&m, count(&s->view[1]));
    for (int i = 0; i < 3; i++) put_number(&m, s->view[i].offset);
    put_number(&m, s->out.offset);
    put_number(&m, blocks.n);
    put_number(&m, blocks.units);
    if (!m.failed) put_element(s->out.dtype, &m.p->functions);
    size_t bytes = is_half(s->out.dtype) ? (size_t)count(&s->out) * sizeof(float) : 0;
    if (bytes > *work) *work = bytes;
    return end(cx, &m,
               tree             ? count(&s->out)
               : count(&s->out) ? lines
                                : 0,
               "scatter%s<E, %s>", tree ? "_blocks" : "", raw(&s->view[1]));
}

/* cumsum and argsort: lines of one dim. */
static int plan_lines(Ctx *cx, const Step *s, CudaPlans *out, const char *name, bool each)
{
    Making m = begin(out, name);
    put_buffer(&m, s->view[0].buffer);
    put_buffer(&m, s->out.buffer);
    int64_t lines = put_axis(&m, &s->view[0], s->axis);
    put_number(&m, s->view[0].offset);
    put_number(&m, s->out.offset);
    put_number(&m, s->flag != 0);
    if (!m.failed) put_element(s->view[0].dtype, &m.p->functions);
    return end(cx, &m, each || !count(&s->out) ? count(&s->out) : lines, "%s<E>", name);
}

/* An element of the result for each thread, which looks for the windows that it is in. */
static int plan_fold(Ctx *cx, const Step *s, CudaPlans *out)
{
    const View *x = &s->view[0], *o = &s->out;
    int windows;
    const int64_t *axes = ir_attr_list(s->node, 0, &windows);
    const int64_t *stride = ir_attr_list(s->node, 2, &windows);
    const int64_t *dilation = ir_attr_list(s->node, 3, &windows);
    Making m = begin(out, "fold");
    put_buffer(&m, x->buffer);
    put_buffer(&m, o->buffer);
    put_number(&m, x->offset);
    put_number(&m, o->offset);
    for (int d = 0; d < o->rank; d++) {
        put_number(&m, o->extent[d]);
        put_number(&m, x->stride[d]);
    }
    for (int w = 0; w < windows; w++) {
        const int64_t numbers[] = {axes[w],     x->extent[o->rank + w], stride[w],
                                   dilation[w], x->stride[o->rank + w], x->extent[axes[w]]};
        for (int i = 0; i < 6; i++) put_number(&m, numbers[i]);
    }
    if (!m.failed) put_element(o->dtype, &m.p->functions);
    return end(cx, &m, count(o), "fold<E, %d, %d>", o->rank, windows);
}

static int plan_copy(Ctx *cx, const Step *s, CudaPlans *out)
{
    Making m = begin(out, "copy");
    put_buffer(&m, s->args[0]);
    put_buffer(&m, s->args[1]);
    put_number(&m, s->bytes / 4);
    put_number(&m, s->bytes % 4);
    return end(cx, &m, s->bytes / 4 + 4, "copy");
}

static int refuse_custom(Ctx *cx, const Step *s)
{
    base_fail(cx, SGL_EUNSUP, "%s: the op has no function for the backend cuda",
              ir_custom_op(s->node)->name);
    base_err_hint(&cx->err, "its row names the backends that it runs on");
    return SGL_EUNSUP;
}

int cuda_plan_op(Ctx *cx, const Step *s, int step, CudaPlans *out, size_t *work)
{
    int code = SGL_OK;
    if (STEPS[s->kind].fails && s->kind != STEP_CUSTOM && s->kind != STEP_CALL)
        code = plan_check(cx, s, step, out);
    if (code < 0) return code;
    if (s->kind == STEP_DOT) return plan_dot(cx, s, out);
    if (s->kind == STEP_gather) return plan_gather(cx, s, out);
    if (s->kind == STEP_scatter_add) return plan_scatter(cx, s, out, work);
    if (s->kind == STEP_cumsum) return plan_lines(cx, s, out, "cumsum", false);
    if (s->kind == STEP_argsort) return plan_lines(cx, s, out, "argsort", true);
    if (s->kind == STEP_FOLD) return plan_fold(cx, s, out);
    if (s->kind == STEP_COPY) return plan_copy(cx, s, out);
    return s->kind == STEP_CUSTOM ? refuse_custom(cx, s) : SGL_OK;
}
