/* units.c: the files of src/comm by themselves: arithmetic of meshes and parts, the tree of sums,
 * and ranks that are threads of this process over one page of a job. mesh_spec.lua and
 * transport_spec.lua run it and say what is right.
 *
 * In:    commands, a line each; texts have no blanks, nor have lists.
 *          mesh SIZES AXES              a rank a line: its part, and the ranks of its group
 *          cut SIZE UNITS BLOCKS N      where the parts begin, and the end
 *          tree KIND DTYPE N VALUE…     N values, combined
 *          place OUTER INNER LENGTHS STEP    the parts of bytes 0, 1, …, taken STEP bytes at a
 *                                       time; then "same", if what they are put together to is
 *          steps RANKS                  the step before which each rank stopped when all were asked
 *          job SIZES TIMEOUT ORDER      ranks do what the next lines say, up to "end", each work
 *                                       as it comes (run), or all at once (start)
 *            OP KIND DTYPE SIZES AXES   a collective on numbers that value() gives; SIZES are its
 *                                       parts, or its length; KIND of a broadcast is its root
 *            leave R, late R, stop R WHY, differ R, alone R    what becomes of a rank then
 * Out:   the results of a command in a line each; of works: rank, number, how many, their hash; or
 *        rank, "error", its text.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "comm/job.h"

enum { WORKS = 64, LINE = 4096 };

static char line[LINE], *rest; /* the command, and what of it was not read yet */

static const char *word(void)
{
    const char *w = strtok_r(NULL, " \n", &rest);
    return w ? w : "";
}

static int64_t number(void) { return strtoll(word(), NULL, 10); }

/* "2,3" -> 2; "-" is none. */
static int read_list(int64_t *list)
{
    int n = 0;
    for (const char *at = word(); *at && *at != '-' && n < MESH_RANKS; n++) {
        char *end;
        list[n] = strtoll(at, &end, 10);
        at = end + (*end == ',');
    }
    return n;
}

static Mesh read_mesh(void)
{
    int64_t sizes[MESH_RANKS];
    Mesh m = {.n = read_list(sizes)};
    for (int a = 0; a < m.n; a++) m.size[a] = (int)sizes[a];
    return m;
}

static Axes read_axes(void)
{
    int64_t list[MESH_RANKS];
    Axes axes = 0;
    int n = read_list(list);
    for (int i = 0; i < n; i++) axes = comm_axes_add(axes, (int)list[i]);
    return axes;
}

/* ---- arithmetic */

static void mesh(void)
{
    Mesh m = read_mesh();
    Axes axes = read_axes();
    for (int r = 0; r < comm_mesh_ranks(&m); r++) {
        CommGroup g = comm_mesh_group(&m, axes, r);
        printf("%d:", comm_mesh_part(&m, axes, r));
        for (int i = 0; i < g.n; i++) printf(" %d", g.rank[i]);
        printf("%s\n", g.rank[g.me] == r ? "" : " not itself");
    }
}

static void cut(void)
{
    CommCut c = {.size = number(), .units = number(), .blocks = (int)number()};
    int n = (int)number();
    for (int i = 0; i <= n; i++)
        printf("%lld%c", (long long)comm_cut_start(c, n, i), i < n ? ' ' : '\n');
}

static void tree(void)
{
    double value[MESH_RANKS][8];
    const void *at[MESH_RANKS];
    int kind = comm_kind_find(word()), dtype = ir_dtype_find(word()), n = (int)number();
    double out[8];
    for (int m = 0; m < n; m++) {
        ir_dtype_store((Dtype)dtype, value[m], 0, strtod(word(), NULL));
        at[m] = value[m];
    }
    comm_combine((CommKind)kind, (Dtype)dtype, n, at, 1, out);
    printf("%.17g\n", ir_dtype_load((Dtype)dtype, out, 0));
}

static void place(void)
{
    CommParts p = {.outer = number(), .inner = number()};
    int members = read_list(p.length);
    int64_t step = number(), all = p.outer * p.inner * comm_parts_total(&p, members);
    char whole[LINE], again[LINE], part[LINE];
    for (int i = 0; i < all; i++) whole[i] = (char)i;
    for (int m = 0; m < members; m++) {
        int64_t bytes = comm_parts_bytes(&p, m);
        for (int64_t at = 0; at < bytes; at += step) {
            int64_t n = bytes - at < step ? bytes - at : step;
            comm_place(&p, members, m, at, n, whole, part + at, false);
            comm_place(&p, members, m, at, n, again, part + at, true);
        }
        for (int i = 0; i < bytes; i++) printf(i ? " %d" : "%d", part[i]);
        printf("\n");
    }
    printf("%s\n", memcmp(whole, again, (size_t)all) ? "differs" : "same");
}

/* ---- ranks */

typedef enum Fate { DOES_WORK, LEAVES, IS_LATE, STOPS, DIFFERS, IS_ALONE, FATES } Fate;
static const char *const FATE[FATES] = {"", "leave", "late", "stop", "differ", "alone"};

/* A line of a job: a work of all ranks, or what becomes of one. */
typedef struct Item {
    Fate fate;
    int who;
    char why[64];
    CommOp op;
    CommKind kind;
    Dtype dtype;
    Axes axes;
    int root;
    int64_t size[MESH_RANKS];
} Item;

typedef struct Rank {
    Comm *c;
    int n, waited; /* works that there are, and that were waited for */
    CommWork work[WORKS];
    char what[WORKS][32];
    char said[LINE];
    pthread_t thread;
} Rank;

static Job *job;
static Mesh over;
static Item item[WORKS];
static int items;
static bool at_once;
static Rank rank_of[MESH_RANKS];

/* Element i of what a rank gives to work k: small whole numbers. */
static double value(int rank, int k, int64_t i)
{
    return (double)((rank * 7 + k * 5 + i * 3) % 11);
}

/* How many elements go in and come out at this member. */
static void lengths(const Item *it, const CommGroup *g, int64_t *in, int64_t *out)
{
    int64_t all = 0;
    for (int m = 0; m < g->n; m++) all += it->size[m];
    *in = *out = it->size[0];
    if (it->op == COMM_all_gather) *in = it->size[g->me], *out = all;
    if (it->op == COMM_reduce_scatter) *in = all, *out = it->size[g->me];
    if (it->op == COMM_all_to_all) *in = all, *out = it->size[g->me] * g->n;
}

/* The parts of a work: of all_to_all, each member has size[m] for member m. */
static void put_parts(const Item *it, CommWork *w)
{
    const CommGroup *g = &w->call.group;
    int64_t bytes = (int64_t)DTYPES[it->dtype].bytes;
    w->parts = (CommParts){.outer = 1, .inner = bytes};
    memcpy(w->parts.length, it->size, sizeof it->size);
    w->from = w->parts;
    for (int m = 0; m < g->n; m++) w->from.length[m] = it->size[g->me];
    w->count = it->size[0];
    for (int m = 0; m < g->n && it->op == COMM_all_to_all; m++)
        if (it->size[m] * bytes > w->count || m == 0) w->count = it->size[m] * bytes;
}

static void make_work(Rank *r, const Item *it, bool differs)
{
    CommWork *w = &r->work[r->n];
    int64_t in, out;
    *w = (CommWork){.op = it->op, .kind = it->kind, .dtype = it->dtype};
    w->root = it->root;
    snprintf(r->what[r->n], sizeof *r->what, "work %d%s", r->n, differs ? ", another" : "");
    w->call = (CommCall){comm_mesh_group(&over, it->axes, r->c->rank), comm_axes_set(it->axes),
                         r->what[r->n], "units.c:1"};
    put_parts(it, w);
    lengths(it, &w->call.group, &in, &out);
    void *from = base_mem_alloc((size_t)in * sizeof(double) + 1);
    for (int64_t i = 0; i < in; i++) ir_dtype_store(it->dtype, from, i, value(r->c->rank, r->n, i));
    w->in = from;
    w->out = base_mem_zero((size_t)out + 1, sizeof(double));
    r->n++;
}

static void say(Rank *r, const char *text)
{
    if (!r->said[0]) snprintf(r->said, sizeof r->said, "%s", text);
}

/* Waits for the works that were started, not in the order of their starts. */
static void settle(Rank *r)
{
    for (int k = r->n - 1; k >= r->waited && at_once; k--)
        if (comm_wait(r->c, &r->work[k]) < 0) say(r, r->c->cx->err.text);
    r->waited = r->n;
}

/* What becomes of a rank; true: it goes on. */
static bool meet_fate(Rank *r, const Item *it)
{
    JobRank *me = &job->rank[r->c->rank];
    settle(r);
    if (it->fate == LEAVES) atomic_store(&me->ended, 1);
    if (it->fate == STOPS) r->c->transport->stop(r->c, it->why);
    if (it->fate == IS_ALONE) atomic_store(&me->doing, JOB_ALONE);
    while (it->fate == IS_LATE && !comm_job_stopped(job)) usleep(1000);
    return it->fate == DIFFERS || it->fate == IS_ALONE;
}

/* A rank: a thread that does the items in order. */
static void *be_rank(void *of)
{
    Rank *r = of;
    bool differs = false, on = true;
    for (int k = 0; k < items && on; k++) {
        const Item *it = &item[k];
        bool mine = it->fate != DOES_WORK && it->who == r->c->rank;
        if (mine) differs = it->fate == DIFFERS, on = meet_fate(r, it);
        if (it->fate != DOES_WORK) continue;
        make_work(r, it, differs);
        CommWork *w = &r->work[r->n - 1];
        if ((at_once ? comm_start(r->c, w) : comm_run(r->c, w)) >= 0) continue;
        say(r, r->c->cx->err.text);
        on = false;
    }
    settle(r);
    return NULL;
}

static void print_results(Rank *r)
{
    int number_of = 0;
    if (r->said[0]) printf("%d error %s\n", r->c->rank, r->said);
    for (int k = 0; k < items && number_of < r->n; k++) {
        const CommWork *w = &r->work[number_of];
        int64_t in, out;
        uint64_t hash = 0;
        if (item[k].fate != DOES_WORK) continue;
        lengths(&item[k], &w->call.group, &in, &out);
        for (int64_t i = 0; i < out; i++)
            hash = hash * 31 + (uint64_t)(int64_t)ir_dtype_load(w->dtype, w->out, i);
        if (!r->said[0])
            printf("%d %d %lld %llx\n", r->c->rank, number_of, (long long)out,
                   (unsigned long long)hash);
        base_mem_free((void *)(uintptr_t)w->in);
        base_mem_free(w->out);
        number_of++;
    }
}

/* A line of a job; false: it is the last. */
static bool read_item(Item *it)
{
    static const char *const OP[COMM_OPS] = {"all_reduce", "all_gather", "reduce_scatter",
                                             "all_to_all", "broadcast"};
    if (!fgets(line, sizeof line, stdin)) return false;
    const char *name = strtok_r(line, " \n", &rest);
    if (strcmp(name, "end") == 0) return false;
    *it = (Item){.fate = DOES_WORK};
    for (int f = LEAVES; f < FATES; f++)
        if (strcmp(name, FATE[f]) == 0) it->fate = (Fate)f;
    if (it->fate != DOES_WORK) {
        it->who = (int)number();
        snprintf(it->why, sizeof it->why, "%s", word());
        return true;
    }
    for (int op = 0; op < COMM_OPS; op++)
        if (strcmp(name, OP[op]) == 0) it->op = (CommOp)op;
    const char *kind = word();
    it->kind = (CommKind)comm_kind_find(kind);
    it->root = atoi(kind);
    it->dtype = (Dtype)ir_dtype_find(word());
    read_list(it->size);
    it->axes = read_axes();
    return true;
}

/* Ranks that are threads: each with a context of its own. */
static void begin_ranks(int ranks, double timeout, void *(*be)(void *))
{
    Err e = {0};
    job = comm_job_new(ranks, timeout, &e);
    for (int r = 0; r < ranks; r++) {
        memset(&rank_of[r], 0, sizeof rank_of[r]);
        rank_of[r].c = comm_local_new(job, r);
        rank_of[r].c->cx = base_ctx_new(&e);
    }
    for (int r = 0; r < ranks; r++) pthread_create(&rank_of[r].thread, NULL, be, &rank_of[r]);
}

static void run_job(void)
{
    over = read_mesh();
    double timeout = strtod(word(), NULL);
    at_once = strcmp(word(), "start") == 0;
    for (items = 0; items < WORKS && read_item(&item[items]);) items++;
    int ranks = comm_mesh_ranks(&over);
    begin_ranks(ranks, timeout, be_rank);
    for (int r = 0; r < ranks; r++) pthread_join(rank_of[r].thread, NULL);
    for (int r = 0; r < ranks; r++) print_results(&rank_of[r]);
}

/* ---- the end that all agree on */

static void *take_steps(void *of)
{
    Rank *r = of;
    r->n = 1;
    for (; !comm_job_step(job, r->c->rank); r->n++) usleep((unsigned)(50 + 37 * r->c->rank));
    return NULL;
}

static void steps(void)
{
    int ranks = (int)number();
    begin_ranks(ranks, 1, take_steps);
    usleep(20000);
    atomic_store(&job->signal, 15);
    for (int r = 0; r < ranks; r++) pthread_join(rank_of[r].thread, NULL);
    for (int r = 0; r < ranks; r++) printf("%d\n", rank_of[r].n);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } COMMANDS[] = {{"mesh", mesh},   {"cut", cut},     {"tree", tree},
                    {"place", place}, {"steps", steps}, {"job", run_job}};
    while (fgets(line, sizeof line, stdin)) {
        const char *name = strtok_r(line, " \n", &rest);
        for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
            if (strcmp(name, COMMANDS[i].name) == 0) COMMANDS[i].run();
    }
    return 0;
}
