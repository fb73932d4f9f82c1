/* agree.c: see agree.h.
 *
 * In:    the captured graph, the plan, the exchanges of this rank's part in their order.
 * Out:   nothing, or a verdict for all ranks with the first line in which a step differs.
 * Holds: numbers of which the least and the largest over the ranks are the same are equal on all.
 *        Texts travel only where they are not. Exchanges alone would not do: ranks with 10 and with
 *        3 rows have the same, and wrong means.
 */
#include "capture/agree.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/map.h"
#include "comm/job.h"
#include "ir/print.h"
#include "ir/text.h"

enum { LOOKS = 2000, LOOK_US = 1000 }; /* how long the verdict of another may be on its way */

/* ---- the step */

/* The number of the step tells steps apart, and the text says how they differ; how long a rank's
 * own part is, `to`, follows from the rest. */
static bool is_schedule(const AttrField *f)
{
    bool own = f->length == 2 && memcmp(f->name, "to", 2) == 0;
    return !own && strncmp(f->name, "step", 4) != 0;
}

void capture_agree_note(Part *p, const ShardPlan *plan, const Graph *made)
{
    Str *s = &p->schedule;
    base_str_fmt(s, "plan: mesh");
    for (int a = 0; a < plan->mesh.n; a++)
        base_str_fmt(s, " %s=%d", plan->mesh.name[a], plan->mesh.size[a]);
    base_str_fmt(s, ", samples %x, state %x, blocks %d%s\n", plan->samples, plan->storage,
                 plan->blocks, plan->all ? ", all" : "");
    for (int i = 0; i < made->nodes.n; i++) {
        const Node *n = made->nodes.at[i];
        if (ir_op(n)->family != FAM_comm) continue;
        base_str_fmt(s, "exchange: %s %s", ir_op(n)->name, DTYPES[n->dtype].name);
        ir_print_attrs(n, is_schedule, NULL, s);
        base_str_put(s, "\n");
    }
}

/* What is compared, with positions in the source or, so that folders may differ, without. */
static Str text_of(const Part *p, bool plain)
{
    Str s = {0};
    if (plain) ir_print_plain(p->whole, &s);
    else ir_print(p->whole, &s);
    base_str_put(&s, p->schedule.at ? p->schedule.at : "");
    return s;
}

/* The first line in which two texts differ, of each, and its number. */
static int first_difference(const char *a, const char *b, const char **in_a, const char **in_b)
{
    int line = 1;
    *in_a = a;
    *in_b = b;
    for (; *a && *a == *b; a++, b++) {
        if (*a != '\n') continue;
        line++;
        *in_a = a + 1;
        *in_b = b + 1;
    }
    return line;
}

static void show_difference(Comm *c, const char *theirs, const char *mine)
{
    char text[JOB_REASON];
    const char *a, *b;
    int line = first_difference(theirs, mine, &a, &b);
    snprintf(text, sizeof text,
             "the ranks take different steps: line %d of the step's graph differs\n"
             "rank 0: %.*s\nrank %d: %.*s",
             line, (int)strcspn(a, "\n"), a, c->rank, (int)strcspn(b, "\n"), b);
    comm_job_stop(c->job, -1, text);
}

/* Rank 0 shows its text to all; who has another one says where they differ. */
static int compare_texts(Ctx *cx, Comm *c, const Part *p, bool same)
{
    Str mine = text_of(p, false);
    int64_t n = mine.failed ? 0 : (int64_t)mine.n + 1, own = c->rank == 0 ? n : 0, all = 0;
    char *theirs = NULL;
    int code = comm_meet(c, "the text of a step", COMM_max, 1, &own, &all);
    if (code >= 0 && all > 0 && n > 0) theirs = base_mem_zero((size_t)all + 1, 1);
    if (code >= 0 && !theirs) code = base_no_memory(cx, "the text of a step");
    CommWork w = {.op = COMM_broadcast, .dtype = DT_u8, .count = all, .in = mine.at};
    w.call = comm_call_all(c, "the text of a step, which differs");
    w.out = theirs;
    if (code >= 0) code = comm_run(c, &w);
    if (code >= 0 && !same) show_difference(c, theirs, mine.at);
    /* Who has rank 0's text waits here for the verdict of another. */
    if (code >= 0)
        code = comm_meet(c, "the text of a step, which differs", COMM_max, 1, &own, &all);
    base_mem_free(theirs);
    base_str_free(&mine);
    if (code < 0) return code;
    for (int i = 0; i < LOOKS && !comm_job_stopped(c->job); i++) usleep(LOOK_US);
    return comm_job_error(c->job, &cx->err);
}

/* One exchange of three numbers where all is well: least, largest, and that of rank 0. */
static int agree_on_step(Ctx *cx, Comm *c, const Part *p)
{
    Str plain = text_of(p, true);
    if (plain.failed) return base_no_memory(cx, "the text of a step");
    int64_t hash = (int64_t)(base_hash(0, plain.at, plain.n) >> 2);
    int64_t mine[3] = {hash, -hash, c->rank == 0 ? hash : INT64_MAX}, all[3];
    base_str_free(&plain);
    int code = comm_meet(c, "the graph and the schedule of a step, before its first run", COMM_min,
                         3, mine, all);
    if (code < 0 || all[0] == -all[1]) return code;
    return compare_texts(cx, c, p, hash == all[2]);
}

/* ---- inputs */

/* Two numbers for each input that is whole: of the first the least over ranks is the least, of the
 * second it is minus the largest. */
static int hash_inputs(int n, Storage *const *in, int64_t *out)
{
    for (int i = 0; i < n; i++) {
        const void *at = in[i]->part ? "" : dev_storage_host(in[i]);
        if (!at) return -1;
        out[2 * i] = (int64_t)(base_hash(0, at, in[i]->part ? 0 : in[i]->bytes) >> 2);
        out[2 * i + 1] = -out[2 * i];
    }
    return SGL_OK;
}

static int differs(Ctx *cx, const GraphInput *in)
{
    const char *name = in->name && *in->name ? in->name : "rng";
    base_fail(cx, SGL_EPEER, "%s '%s' of the step is not the same on all ranks",
              in->kind == INPUT_ARG ? "argument" : "state", name);
    base_err_hint(&cx->err,
                  "all ranks run the whole script: what it draws, reads and computes must "
                  "not depend on the rank, the clock or the process");
    return SGL_EPEER;
}

/* One exchange: of each input the least and the largest hash. */
static int agree_on_inputs(Ctx *cx, Comm *c, const Graph *g, Storage *const *in)
{
    int n = g->inputs.n, code;
    int64_t *mine = base_mem_zero(4 * (size_t)n + 1, sizeof *mine);
    if (!mine) return base_no_memory(cx, "comparing the ranks");
    int64_t *all = mine + 2 * n;
    code = hash_inputs(n, in, mine) < 0 ? cx->err.code : SGL_OK;
    if (code >= 0)
        code = comm_meet(c, "the inputs of a step, before its first run", COMM_min, 2 * (int64_t)n,
                         mine, all);
    for (int i = 0; i < n && code >= 0; i++)
        if (all[2 * i] != -all[2 * i + 1]) code = differs(cx, &g->inputs.at[i]);
    base_mem_free(mine);
    return code;
}

int capture_agree(Ctx *cx, const Part *p, Storage *const *in)
{
    Comm *c = comm_of(cx);
    if (!c || c->size == 1) return SGL_OK;
    int code = agree_on_step(cx, c, p);
    return code < 0 ? code : agree_on_inputs(cx, c, p->whole, in);
}
