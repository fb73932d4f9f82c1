/* rank.c: a Lua state as a rank of a job (comm/job.h).
 *
 *   SIGURG          another process asks where the script is; or the job is over, and Lua code that
 *                   does not wait for anybody must end
 *   SIGTERM, SIGINT the job shall stop: at the first step that no rank has begun, all ranks run the
 *                   handlers of the script and end with 128 + the signal
 *
 * Holds: a signal handler stores, writes to the page of the job, and sets a hook, which Lua allows
 *        there. Who is asked a second time runs no Lua: its calls are read where they stand, as a
 *        call that is blocked in the system does not move. Handlers run once, at a step's boundary
 *        or behind an error, never in a signal handler.
 */
#include "bind/rank.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"

enum { ALL = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, SIGNAL_STATUS = 128 };

static const char HANDLERS[] =
    "sgl.dist.handlers"; /* in the registry: the function that runs them */

static Comm *comm;
static Job *job; /* NULL: the process is alone */
static int me;
static bool ending;     /* it knows that the job is over */
static lua_Hook before; /* the hook that stands aside */
static int before_mask, before_count;

static JobRank *own(void) { return &job->rank[me]; }

/* ---- where the script is */

/* The innermost line that is the user's. */
static void find_line(lua_State *L, char *out, size_t size)
{
    lua_Debug ar;
    snprintf(out, size, "?");
    for (int level = 0; L && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline <= 0 || !strncmp(ar.source, "=sgl/", 5)) continue;
        snprintf(out, size, "%s:%d", ar.short_src, ar.currentline);
        return;
    }
}

static void tell(lua_State *L, const char *how)
{
    char line[JOB_TEXT / 2];
    uint32_t question = atomic_load(&own()->asked);
    find_line(L, line, sizeof line);
    snprintf(own()->line, sizeof own()->line, "%s %s", how, line);
    atomic_store(&own()->told, question);
}

static void where_now(char *out, size_t size) { find_line(bind_interrupt_state(), out, size); }

static void raise_verdict(lua_State *L)
{
    Host *h = bind_peek(L);
    if (!h) luaL_error(L, "%s", job->reason);
    base_err_clear(&h->cx->err);
    comm_job_error(job, &h->cx->err);
    bind_throw(L, h);
}

static void on_instruction(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lua_sethook(L, before, before_mask, before_count);
    if (comm_job_stopped(job) && !ending) raise_verdict(L);
    tell(L, "busy at");
}

static void set_hook(lua_State *L)
{
    if (lua_gethook(L) == on_instruction) return;
    before = lua_gethook(L);
    before_mask = lua_gethookmask(L);
    before_count = lua_gethookcount(L);
    lua_sethook(L, on_instruction, ALL, 1);
}

static void on_question(int number)
{
    static uint32_t heard;
    lua_State *L = bind_interrupt_state();
    uint32_t question = atomic_load(&own()->asked);
    (void)number;
    if (!L) return;
    if (question != heard || comm_job_stopped(job)) set_hook(L);
    else if (atomic_load(&own()->told) != question) tell(L, "blocked at");
    heard = question;
}

/* ---- the end */

static void on_stop(int number)
{
    uint32_t none = 0;
    atomic_compare_exchange_strong(&job->signal, &none, (uint32_t)number);
}

static void on_passed_stop(int number) { on_stop(number == SIGUSR2 ? SIGINT : SIGTERM); }

static void hear(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* What was printed is written; the state is not closed, as that may wait for processes that the
 * script started. */
static _Noreturn void leave(int status)
{
    fflush(NULL);
    if (comm->transport->leave) comm->transport->leave(comm, status);
    _exit(status);
}

/* os.exit and the end of the script. */
static void at_exit(int status, void *of)
{
    (void)of;
    leave(status);
}

void bind_rank_begin(Comm *c)
{
    comm = c;
    job = c->job;
    me = c->rank;
    c->where = where_now;
    comm_job_set(c);
    if (!job->apart) atomic_store(&own()->pid, (int32_t)getpid());
    else on_exit(at_exit, NULL);
    hear(SIGURG, on_question);
    hear(SIGTERM, on_stop);
    hear(SIGINT, on_stop);
    if (!job->apart) return;
    hear(SIGUSR1, on_passed_stop); /* as run_mpi.c sends them */
    hear(SIGUSR2, on_passed_stop);
}

/* Calls the function that runs the handlers, with the kind of end and its words. */
static int run_handlers(lua_State *L, const char *kind, int number)
{
    if (!atomic_load(&own()->handlers) || !lua_checkstack(L, LUA_MINSTACK)) return LUA_OK;
    atomic_store(&own()->handlers, 0);
    atomic_store(&own()->doing, JOB_SAVES);
    lua_getfield(L, LUA_REGISTRYINDEX, HANDLERS);
    lua_pushstring(L, kind);
    lua_pushinteger(L, number);
    lua_pushfstring(L, "%s\n%s", job->reason, job->picture);
    return lua_pcall(L, 3, 0, 0);
}

void bind_rank_step(lua_State *L)
{
    if (!job) return;
    if (comm_job_stopped(job)) raise_verdict(L);
    if (atomic_load(&own()->doing) == JOB_ALONE)
        bind_raise(L, SGL_ESTATE, "call the step outside, on all ranks",
                   "a compiled step in sgl.dist.alone: all ranks compute it together");
    if (atomic_load(&own()->doing) == JOB_SAVES || !comm_job_step(job, me)) return;
    int number = (int)atomic_load(&job->signal);
    if (run_handlers(L, "stop", number) != LUA_OK) lua_error(L);
    leave(SIGNAL_STATUS + number);
}

void bind_rank_failed(lua_State *L, const char *message)
{
    char text[JOB_REASON];
    if (!job) return;
    ending = true;
    unsigned exchanges = atomic_load(&own()->exchanges);
    const char *at = own()->at;
    snprintf(text, sizeof text, "rank %d failed with status 1 after %u exchanges%s%s: %.*s", me,
             exchanges, at[0] ? ", the last at " : "", at, (int)strcspn(message, "\n"), message);
    comm_job_stop(job, me, text);
    if (run_handlers(L, "failure", job->culprit) != LUA_OK)
        fprintf(stderr, "a handler of dist.on_failure: %s\n", luaL_tolstring(L, -1, NULL));
    leave(EXIT_FAILURE);
}

bool bind_rank_is_quiet(void)
{
    return job && job->apart && me > 0 && comm_job_stopped(job) && job->culprit != me;
}

/* ---- for Lua */

/* core.handlers(function, n): it runs the n handlers of the script when the job ends early */
static int handlers(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushvalue(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, HANDLERS);
    if (job) atomic_store(&own()->handlers, (uint32_t)luaL_checkinteger(L, 2));
    return 0;
}

/* core.announce(seconds, what): this rank is alone at long work for so long; 0: no longer */
static int announce(lua_State *L)
{
    double seconds = luaL_checknumber(L, 1);
    const char *what = luaL_optstring(L, 2, "");
    if (!job) return 0;
    if (seconds > 0) snprintf(own()->what, sizeof own()->what, "%s", what);
    atomic_store(&own()->allowed, seconds > 0 ? base_clock() + seconds : 0);
    atomic_store(&own()->doing, seconds > 0 ? JOB_ALONE : JOB_SCRIPT);
    return 0;
}

/* core.page() -> how many steps this rank began, how many exchanges it made */
static int page(lua_State *L)
{
    lua_pushinteger(L, job ? atomic_load(&own()->step) : 0);
    lua_pushinteger(L, job ? atomic_load(&own()->exchanges) : 0);
    return 2;
}

const luaL_Reg BIND_RANK[] = {
    {"handlers", handlers}, {"announce", announce}, {"page", page}, {NULL, NULL}};
