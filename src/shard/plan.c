/* plan.c: the plan of a job: its mesh, and what the axes are for.
 *
 * In:    the settings `plan`, `exact` and `exact_over`; the job.
 * Out:   the mesh and the axes that samples and state lie over. An axis `data` is one of samples,
 *        an axis `fsdp` one of samples that state lies over too; others, such as `model`, are for
 *        values that a script places (place.c).
 */
#include <stdlib.h>
#include <string.h>
#include "shard/shard.h"

typedef struct AxisKind {
    const char *name;
    bool samples, storage;
} AxisKind;

static const AxisKind KINDS[] = {
    {"data", true, false},
    {"fsdp", true, true},
    {"model", false, false},
};
enum { KINDS_N = sizeof KINDS / sizeof *KINDS };

static const AxisKind *find_kind(const char *name, size_t n)
{
    for (int k = 0; k < KINDS_N; k++)
        if (strlen(KINDS[k].name) == n && memcmp(KINDS[k].name, name, n) == 0) return &KINDS[k];
    return NULL;
}

static int refuse(Ctx *cx, const char *plan, const char *why)
{
    base_fail(cx, SGL_EARG, "plan '%s': %s", plan, why);
    base_err_hint(&cx->err, "ddp, fsdp, or axes with sizes such as data=2,model=2");
    return SGL_EARG;
}

/* One more axis of the mesh, with what it is for. */
static int add_axis(Ctx *cx, ShardPlan *p, const char *plan, const char *name, long size, long most)
{
    Mesh *m = &p->mesh;
    const AxisKind *kind = find_kind(name, strlen(name));
    if (m->n == MESH_AXES) return refuse(cx, plan, "a mesh has at most 3 axes");
    if (size < 1 || size > most) return refuse(cx, plan, "an axis has 1 to 64 ranks");
    for (int a = 0; a < m->n; a++)
        if (strcmp(m->name[a], name) == 0) return refuse(cx, plan, "an axis comes twice");
    strcpy(m->name[m->n], name);
    m->size[m->n] = (int)size;
    if (kind && kind->samples) p->samples = comm_axes_add(p->samples, m->n);
    if (kind && kind->storage) p->storage = comm_axes_add(p->storage, m->n);
    m->n++;
    return SGL_OK;
}

/* "data=2,fsdp=2". A script may give axes any names, which its placements use then; from elsewhere
 * another name than the usual ones is a slip. */
static int read_axes(Ctx *cx, ShardPlan *p, const char *plan, bool any, long most)
{
    int code = SGL_OK;
    for (const char *at = plan; code >= 0; at++) {
        char name[MESH_NAME] = "", *end;
        size_t n = strcspn(at, "=,");
        if (at[n] != '=' || n == 0 || n >= MESH_NAME || !(any || find_kind(at, n)))
            return refuse(cx, plan, "unknown axis (data, fsdp, model)");
        memcpy(name, at, n);
        long size = strtol(at + n + 1, &end, 10);
        if (end == at + n + 1 || (*end && *end != ','))
            return refuse(cx, plan, "a size is missing");
        code = add_axis(cx, p, plan, name, size, most);
        at = end;
        if (!*at) break;
    }
    return code;
}

/* The axes are the job's ranks; in exact mode each rank over samples has a block at least. */
static int check(Ctx *cx, const ShardPlan *p, int size)
{
    int ranks = comm_mesh_ranks(&p->mesh);
    if (size && ranks != size)
        return base_fail(cx, SGL_EARG, "plan: the mesh has %d ranks, the job %d", ranks, size);
    int share = comm_mesh_parts(&p->mesh, p->samples);
    if (!p->blocks || share <= p->blocks) return SGL_OK;
    base_fail(cx, SGL_EARG, "exact: %d blocks cannot be shared by %d ranks", p->blocks, share);
    base_err_hint(&cx->err, "as many blocks as ranks that share samples: shards = %d", share);
    return SGL_EARG;
}

int shard_plan_read(Ctx *cx, const char *plan, int ranks, bool any, ShardPlan *out)
{
    int code, one = ranks ? ranks : 1;
    long most = out->planned ? SHARD_MOST_RANKS : MESH_RANKS;
    if (!plan || !*plan || !strcmp(plan, "ddp")) code = add_axis(cx, out, "ddp", "data", one, most);
    else if (!strcmp(plan, "fsdp")) code = add_axis(cx, out, plan, "fsdp", one, most);
    else code = read_axes(cx, out, plan, any, most);
    return code < 0 ? code : check(cx, out, ranks);
}

int shard_plan_of(Ctx *cx, ShardPlan *out)
{
    const Comm *job = comm_of(cx);
    const char *plan = cx->knobs.text[KNOB_plan];
    int size = job ? job->size : 1, code;
    *out = (ShardPlan){.rank = job ? job->rank : 0,
                       .blocks = (int)cx->knobs.value[KNOB_exact],
                       .all = cx->knobs.value[KNOB_exact_over] == 1,
                       .reshard = cx->knobs.value[KNOB_reshard] == 1};
    if (!out->blocks && size == 1) return 0;
    code = shard_plan_read(cx, size == 1 ? NULL : plan, size,
                           cx->knobs.from[KNOB_plan] == KNOB_FROM_PROGRAM, out);
    return code < 0 ? code : 1;
}
