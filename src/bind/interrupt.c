/* interrupt.c: Ctrl-C in the interpreter: stops a program at its next step, and Lua code at its
 * next instruction; a second Ctrl-C before that ends the process.
 *
 * Holds: the handler only stores and sets a hook, which Lua allows in a signal handler. One Lua
 *        state, the interpreter's, can be armed.
 */
#include <signal.h>
#include "bind/host.h"

static lua_State *volatile armed;
static atomic_int *volatile flag; /* Ctx.interrupted of the armed state's host, if any */

static void on_signal(int signal_number);

static void install(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

static void stop(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    bind_interrupt_taken(L, NULL);
    bind_raise(L, SGL_EINTR, NULL, "interrupted");
}

static void on_signal(int signal_number)
{
    (void)signal_number;
    install(SIG_DFL);
    if (flag) *flag = 1;
    if (armed)
        lua_sethook(armed, stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void bind_interrupt_watch(Ctx *cx) { flag = armed && cx ? &cx->interrupted : NULL; }

void bind_interrupt_arm(lua_State *L, bool on)
{
    armed = on ? L : NULL;
    install(on ? on_signal : SIG_DFL);
}

void bind_interrupt_taken(lua_State *L, Host *h)
{
    if (h) h->cx->interrupted = 0;
    if (flag) *flag = 0;
    if (!armed) return;
    lua_sethook(armed, NULL, 0, 0);
    if (L != armed) lua_sethook(L, NULL, 0, 0);
    install(on_signal);
}

void bind_interrupt_again(void)
{
    if (armed) raise(SIGINT);
}

void bind_interrupt_check(lua_State *L, Host *h)
{
    if (!h->cx->interrupted) return;
    bind_interrupt_taken(L, h);
    bind_raise(L, SGL_EINTR, NULL, "interrupted");
}
