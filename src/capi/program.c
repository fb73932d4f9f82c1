/* program.c: the C interface: compiling and running programs, their state.
 *
 * Holds: a program keeps one storage for each input and state, made when it is compiled, so a run
 *        copies but allocates nothing. Nothing is written to the caller before a run succeeded.
 */
#include <string.h>
#include "capi/api.h"
#include "exec/debug.h"
#include "exec/settings.h"
#include "ir/rebuild.h"
#include "ir/text.h"

static const Graph *graph_of(const sgl_program *p) { return exec_program_graph(p->program); }

/* The number of the i-th graph input of the kind, or -1. */
static int find_input(const sgl_program *p, InputKind kind, int i)
{
    const Graph *g = graph_of(p);
    for (int k = 0; k < g->inputs.n; k++)
        if (g->inputs.at[k].kind == kind && i-- == 0) return k;
    return -1;
}

/* The storage of input i for the sizes at hand, zero at first. */
static Storage *make_storage(const sgl_program *p, int i)
{
    sgl_array a = capi_type_now(p, graph_of(p)->inputs.at[i].node);
    Storage *s = dev_storage_new(p->cx, (Dtype)a.dtype, a.rank, a.dims);
    if (s && dev_storage_zero(s) == SGL_OK) return s;
    dev_storage_unref(s);
    return NULL;
}

/* Storages for inputs and state, so that a run allocates nothing. */
static bool make_storages(sgl_program *p)
{
    const Graph *g = graph_of(p);
    p->in = base_mem_zero((size_t)g->inputs.n + 1, sizeof(Storage *));
    p->out = base_mem_zero((size_t)g->outputs.n + 1, sizeof(Storage *));
    if (!p->in || !p->out) {
        base_fail(p->cx, SGL_ENOMEM, "no memory for a program");
        return false;
    }
    for (int i = 0; i < g->inputs.n; i++)
        if (!(p->in[i] = make_storage(p, i))) return false;
    return true;
}

/* Compiles the graph, which it takes, for the sizes at hand. */
static int compile(sgl_program *p, Graph *g)
{
    SizeValues sizes = capi_sizes(p);
    p->age = exec_programs_age(p->cx);
    p->program = exec_debug_compile(g, NULL, p->values ? &sizes : NULL);
    if (!p->program) return p->cx->err.code ? p->cx->err.code : SGL_ENOMEM;
    if (p->values) return exec_program_resize(p->program, &sizes);
    return SGL_OK;
}

sgl_program *sgl_parse(sgl_context *cx, const char *text)
{
    if (capi_api_enter(cx) < 0) return NULL;
    if (!text) {
        base_fail(cx, SGL_EARG, "sgl_parse: the text is NULL");
        return NULL;
    }
    sgl_program *p = base_mem_zero(1, sizeof *p), **list = &capi_api(cx)->programs;
    if (!p) {
        base_fail(cx, SGL_ENOMEM, "no memory for a program");
        return NULL;
    }
    p->cx = cx;
    p->next = *list;
    p->link = list;
    if (p->next) p->next->link = &p->next;
    *list = p;
    Graph *g = ir_parse(cx, text);
    int code = g ? capi_sizes_begin(p, g) : cx->err.code;
    if (code == SGL_OK) code = compile(p, g);
    else ir_graph_free(g);
    if (code == SGL_OK && make_storages(p)) return p;
    sgl_program_free(p);
    return NULL;
}

static void free_parts(sgl_program *p)
{
    for (int i = 0; p->in && i < graph_of(p)->inputs.n; i++) dev_storage_unref(p->in[i]);
    base_mem_free(p->in);
    base_mem_free(p->out);
    exec_program_free(p->program);
}

/* State of the old program into the storages of the new one. */
static int take_state(sgl_program *p, const sgl_program *old)
{
    int status = SGL_OK;
    for (int i = 0; i < graph_of(p)->inputs.n && status == SGL_OK; i++) {
        if (graph_of(p)->inputs.at[i].kind != INPUT_STATE) continue;
        const void *value = dev_storage_host(old->in[i]);
        status = value ? dev_storage_write(p->in[i], value) : p->cx->err.code;
    }
    return status;
}

/* Makes the program again: a setting that programs are made with has changed, or sizes have come
 * that it does not serve. Its state stays; on an error all stays as it was. */
static int make_again(sgl_program *p)
{
    sgl_program old = *p;
    const Graph *from = graph_of(p);
    while (from->from) from = from->from;
    p->in = p->out = NULL;
    p->program = NULL;
    int code = compile(p, ir_rebuild_graph(&(Rebuild){.from = from, .to = ir_graph_new(p->cx)}));
    if (code == SGL_OK) code = make_storages(p) ? take_state(p, &old) : SGL_ENOMEM;
    if (code == SGL_OK) {
        free_parts(&old);
        return SGL_OK;
    }
    if (p->program) free_parts(p);
    p->program = old.program;
    p->in = old.in;
    p->out = old.out;
    p->age = old.age;
    return p->cx->err.code ? p->cx->err.code : code;
}

/* Makes the storages of the inputs anew whose sizes are others now. */
static int resize_inputs(sgl_program *p)
{
    for (int i = 0; i < graph_of(p)->inputs.n; i++) {
        const Storage *s = p->in[i];
        sgl_array now = capi_type_now(p, graph_of(p)->inputs.at[i].node);
        if (!memcmp(s->dims, now.dims, (size_t)now.rank * sizeof *now.dims)) continue;
        Storage *made = make_storage(p, i);
        if (!made) return p->cx->err.code;
        dev_storage_unref(p->in[i]);
        p->in[i] = made;
    }
    return SGL_OK;
}

/* The program serves the inputs, with the settings as they are now. */
static int serve(sgl_program *p, const sgl_array *in)
{
    int changed = capi_sizes_read(p, graph_of(p), in);
    if (changed < 0) return changed;
    SizeValues sizes = capi_sizes(p);
    if (p->age != exec_programs_age(p->cx) || (changed && !exec_program_fits(p->program, &sizes)))
        return make_again(p);
    if (!changed) return SGL_OK;
    int code = exec_program_resize(p->program, &sizes);
    return code < 0 ? code : resize_inputs(p);
}

/* After a failure the sizes at hand are not those of the program: the next run starts anew. */
static int make_ready(sgl_program *p, const sgl_array *in)
{
    int code = serve(p, in);
    if (code < 0 && p->values) p->nvalues = -1;
    return code;
}

void sgl_program_free(sgl_program *p)
{
    if (!p || capi_api(p->cx)->telling) return;
    if (p->next) p->next->link = p->link;
    *p->link = p->next;
    free_parts(p);
    base_mem_free(p->values);
    base_mem_free(p);
}

int sgl_count(const sgl_program *p, sgl_port port)
{
    if (!p) return 0;
    if (port == SGL_OUTPUT) return graph_of(p)->outputs.n;
    int n = 0;
    while (find_input(p, port == SGL_STATE ? INPUT_STATE : INPUT_ARG, n) >= 0) n++;
    return n;
}

/* The node and name behind a port; NULL: no such. */
static const Node *port_node(const sgl_program *p, sgl_port port, int i, const char **name)
{
    *name = NULL;
    if (!p || i < 0) return NULL;
    const Graph *g = graph_of(p);
    if (port == SGL_OUTPUT) {
        if (i >= g->outputs.n) return NULL;
        *name = g->outputs.at[i].name ? g->outputs.at[i].name : "";
        return g->outputs.at[i].node;
    }
    int k = find_input(p, port == SGL_STATE ? INPUT_STATE : INPUT_ARG, i);
    if (k < 0) return NULL;
    *name = g->inputs.at[k].name ? g->inputs.at[k].name : "";
    return g->inputs.at[k].node;
}

const char *sgl_name(const sgl_program *p, sgl_port port, int i)
{
    const char *name;
    port_node(p, port, i, &name);
    return name;
}

static int name_unknown(sgl_program *p, sgl_port port, const char *name)
{
    static const char *const WHAT[] = {"input", "output", "state"};
    int n = sgl_count(p, port);
    const char **known = base_mem_alloc(((size_t)n + 1) * sizeof *known);
    for (int i = 0; known && i < n; i++) known[i] = sgl_name(p, port, i);
    const char *near = known ? base_str_nearest(name, known, n) : NULL;
    base_fail(p->cx, SGL_EARG, "the program has no %s '%s'", WHAT[port], name);
    if (near) base_err_hint(&p->cx->err, "did you mean '%s'?", near);
    base_mem_free(known);
    return SGL_EARG;
}

int sgl_find(sgl_program *p, sgl_port port, const char *name)
{
    int code = capi_api_enter(p ? p->cx : NULL), n = sgl_count(p, port);
    if (code < 0) return code;
    if (!name || port < SGL_INPUT || port > SGL_STATE)
        return base_fail(p->cx, SGL_EARG, "sgl_find: a port and a name");
    for (int i = 0; i < n; i++)
        if (strcmp(sgl_name(p, port, i), name) == 0) return i;
    return name_unknown(p, port, name);
}

sgl_array sgl_type(const sgl_program *p, sgl_port port, int i)
{
    const char *name;
    const Node *n = port_node(p, port, i, &name);
    sgl_array a = {.rank = -1};
    if (n) a = sgl_view((sgl_dtype)n->dtype, NULL, n->rank, n->dims);
    for (int d = 0; d < a.rank; d++)
        if (!ir_dim_is_const(a.dims[d])) a.dims[d] = -1;
    return a;
}

/* Bytes other than 0 are true. */
static int copy_bools(Storage *to, const uint8_t *from)
{
    uint8_t *bytes = dev_storage_edit(to);
    for (int64_t i = 0; bytes && i < to->count; i++) bytes[i] = from[i] != 0;
    return bytes ? SGL_OK : SGL_ENOMEM;
}

static int copy_in(Storage *to, const sgl_array *from)
{
    return to->dtype == DT_bool ? copy_bools(to, from->data) : dev_storage_write(to, from->data);
}

/* Outputs are checked when the sizes at hand are known. */
static int check_port(sgl_program *p, sgl_port port, const char *what, int n, const sgl_array *a)
{
    const char *name;
    int count = sgl_count(p, port), code = SGL_OK;
    if (n != count || (n && !a))
        return base_fail(p->cx, SGL_EARG, "sgl_run: %d %ss, the program has %d", n, what, count);
    for (int i = 0; i < n && code == SGL_OK; i++) {
        sgl_array want = port == SGL_OUTPUT ? capi_type_now(p, port_node(p, port, i, &name))
                                            : sgl_type(p, port, i);
        code = capi_array_check(p->cx, what, sgl_name(p, port, i), &a[i], &want);
    }
    return code;
}

/* Under the lock: checks all, copies in, runs, copies out. */
static int run(sgl_program *p, int nin, const sgl_array *in, int nout, sgl_array *out)
{
    p->cx->interrupted = 0; /* one that came before was meant for no run, or for one that ended */
    int code = check_port(p, SGL_INPUT, "input", nin, in);
    if (code == SGL_OK) code = make_ready(p, in);
    if (code == SGL_OK) code = check_port(p, SGL_OUTPUT, "output", nout, out);
    if (code < 0) return code;
    for (int i = 0; i < nin && code >= 0; i++)
        code = copy_in(p->in[find_input(p, INPUT_ARG, i)], &in[i]);
    if (code >= 0) code = exec_run(p->program, p->in, p->out);
    if (code < 0) return code;
    for (int i = 0; i < nout; i++) {
        if (code >= 0) code = dev_storage_read(p->out[i], out[i].data);
        dev_storage_unref(p->out[i]);
    }
    return code;
}

int sgl_run(sgl_program *p, int nin, const sgl_array *in, int nout, sgl_array *out)
{
    int code = capi_api_lock(p ? p->cx : NULL);
    return code < 0 ? code : capi_api_unlock(p->cx, run(p, nin, in, nout, out));
}

Storage *capi_state(const sgl_program *p, int i) { return p->in[find_input(p, INPUT_STATE, i)]; }

static Storage *find_state(sgl_program *p, int i, const sgl_array *a)
{
    sgl_array want = sgl_type(p, SGL_STATE, i);
    if (want.rank < 0 || !a) {
        base_fail(p->cx, SGL_EARG, "state %d: the program has %d", i, sgl_count(p, SGL_STATE));
        return NULL;
    }
    if (capi_array_check(p->cx, "state", sgl_name(p, SGL_STATE, i), a, &want) < 0) return NULL;
    return capi_state(p, i);
}

static int state_read(sgl_program *p, int i, sgl_array *to)
{
    const Storage *s = find_state(p, i, to);
    if (!s) return p->cx->err.code;
    return dev_storage_read(s, to->data);
}

int sgl_state_read(sgl_program *p, int i, sgl_array *to)
{
    int code = capi_api_lock(p ? p->cx : NULL);
    return code < 0 ? code : capi_api_unlock(p->cx, state_read(p, i, to));
}

static int state_write(sgl_program *p, int i, const sgl_array *from)
{
    Storage *s = find_state(p, i, from);
    if (!s) return p->cx->err.code;
    return copy_in(s, from);
}

int sgl_state_write(sgl_program *p, int i, const sgl_array *from)
{
    int code = capi_api_lock(p ? p->cx : NULL);
    return code < 0 ? code : capi_api_unlock(p->cx, state_write(p, i, from));
}
