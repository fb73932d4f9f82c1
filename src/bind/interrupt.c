/* interrupt.c: Ctrl-C in the interpreter.
 *
 *   first    what the library does ends, a step whole, a file at the next piece; then the user's
 *            next instruction raises
 *   second   before that: the running program stops at its next step, Lua at its next instruction,
 *            wherever it is; the error says that state may be torn
 *   next     what was raised may have been caught: it ends the process, as it ends `lua`
 *
 * Holds: the handler only stores and sets a hook, which Lua allows in a signal handler. While a
 *        step is captured the hook is that of watch/, and the first Ctrl-C waits. One Lua state,
 *        the interpreter's, can be armed.
 */
#include <signal.h>
#include <string.h>
#include "bind/host.h"
#include "comm/comm.h"

enum { ALL = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT };

static const char TORN[] = "interrupted at once: the step did not end, so its state may be torn";
static const char RELOAD[] = "what a step updates may be partly of this one and partly of the one "
                             "before: load what was saved";

typedef enum Phase { IDLE, ASKED, URGED, TAKEN } Phase;

static lua_State *volatile armed;
static Ctx *volatile watched; /* of the armed state's host, if any */
static volatile sig_atomic_t phase, held;
static Phase taken_from; /* what was answered last */

static void on_signal(int signal_number);
static void stop(lua_State *L, lua_Debug *ar);

static void install(void (*handler)(int))
{
    if (comm_job()) return; /* a rank hears it as a wish of all (rank.c) */
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

static void on_signal(int signal_number)
{
    (void)signal_number;
    phase = phase == IDLE ? ASKED : URGED;
    if (watched) watched->asked = 1;
    if (phase == URGED) {
        install(SIG_DFL);
        if (watched) watched->interrupted = 1;
    }
    if (armed && (!held || phase == URGED)) lua_sethook(armed, stop, ALL, 1);
}

/* Is the code that runs the user's, or the library's for nobody, and in no step? A callback of an
 * event is in none. */
static bool is_outside(lua_State *L)
{
    lua_Debug ar;
    bool own = true, user = false;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "S", &ar);
        bool library = *ar.what == 'C' || !strncmp(ar.source, "=sgl/", 5);
        if (!level) own = !library;
        user |= !library;
        if (!strncmp(ar.source, "=sgl/events", 11)) break;
        if (!strncmp(ar.source, "=sgl/compile", 12)) return false;
    }
    return own || !user;
}

static int raise_now(lua_State *L, Host *h, bool torn)
{
    bind_interrupt_taken(L, h);
    return bind_raise(L, SGL_EINTR, torn ? RELOAD : NULL, "%s", torn ? TORN : "interrupted");
}

static void stop(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    if (phase != ASKED && phase != URGED) {
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    bool outside = is_outside(L);
    if (outside || phase == URGED) raise_now(L, NULL, !outside);
    else
        lua_sethook(L, stop, LUA_MASKRET | LUA_MASKLINE,
                    0); /* less often, so that it ends sooner */
}

lua_State *bind_interrupt_state(void) { return armed; }

void bind_interrupt_watch(Ctx *cx) { watched = armed ? cx : NULL; }

static void forget(Ctx *cx) { cx->asked = cx->interrupted = 0; }

void bind_interrupt_arm(lua_State *L, bool on)
{
    armed = on ? L : NULL;
    phase = IDLE;
    install(on ? on_signal : SIG_DFL);
}

void bind_interrupt_ready(void)
{
    if (!armed) return;
    lua_sethook(armed, NULL, 0, 0);
    if (watched) forget(watched);
    bind_interrupt_arm(armed, true);
}

void bind_interrupt_taken(lua_State *L, Host *h)
{
    if (h) forget(h->cx);
    if (watched) forget(watched);
    if (!armed || phase == IDLE) return;
    taken_from = (Phase)phase;
    phase = TAKEN;
    install(SIG_DFL);
    lua_sethook(armed, NULL, 0, 0);
    if (L != armed) lua_sethook(L, NULL, 0, 0);
}

void bind_interrupt_again(void)
{
    if (!armed || phase != TAKEN) return;
    phase = taken_from;
    if (phase == ASKED) install(on_signal);
    else if (watched) watched->interrupted = 1;
    if (!held || phase == URGED) lua_sethook(armed, stop, ALL, 1);
}

void bind_interrupt_hold(bool on)
{
    held += on ? 1 : -1;
    if (!held && armed && phase == ASKED) lua_sethook(armed, stop, ALL, 1);
}

void bind_interrupt_check(lua_State *L, Host *h)
{
    if (h->cx->interrupted) raise_now(L, h, phase == URGED);
    if (phase == ASKED && !held && L != armed && lua_gethook(L) != stop)
        lua_sethook(L, stop, ALL, 1);
}
