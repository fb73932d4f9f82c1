/* hook.c: setting the hook, its frames and constants, and the test that it sees what it should.
 *
 * Holds: the hook takes itself off where no capture is on: coroutines made inside keep it. The
 *        hook and the allocator that were there before come back at the end.
 */
#include <string.h>
#include "watch/room.h"

enum { MASK = LUA_MASKCOUNT | LUA_MASKCALL | LUA_MASKRET };
enum { TAG_UPVALUE = LUA_NUMTYPES };

static _Thread_local Watch *watching;

Instruction watch_hook_instruction(const lua_Debug *ar) { return bind_resume(ar)[-1]; }

/* ---- objects born inside: Lua names the type of what it allocates */

static void *allocate(void *ud, void *at, size_t old, size_t new)
{
    Watch *w = ud;
    void *p = w->alloc(w->alloc_data, at, old, new);
    bool object = !at && p &&
                  (old == LUA_TTABLE || old == LUA_TFUNCTION || old == TAG_UPVALUE ||
                   old == LUA_TTHREAD || old == LUA_TUSERDATA);
    if (object && !base_map_set(&w->fresh, (uintptr_t)p, w->born++)) w->failed = true;
    return p;
}

/* ---- frames */

/* The frame of a CallInfo, which Lua uses again for calls at the same depth. */
static Frame *frame_new(Watch *w, const void *ci)
{
    uint64_t i;
    if (!base_map_get(&w->frame_of, (uintptr_t)ci, &i)) {
        Frame none = {0};
        i = (uint64_t)w->frames.n;
        if (!vec_push(&w->frames, none) || !base_map_set(&w->frame_of, (uintptr_t)ci, i)) {
            w->failed = true;
            return NULL;
        }
    }
    w->last = ci;
    w->last_frame = (int)i;
    return &w->frames.at[i];
}

static void frame_enter(lua_State *L, lua_Debug *ar, Watch *w, bool tail)
{
    Frame *f = frame_new(w, ar->i_ci);
    if (!f) bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
    lua_getinfo(L, "S", ar);
    SrcPos at = tail ? f->tail : (SrcPos){NULL, 0, NULL};
    *f = (Frame){.code = -1, .library = strncmp(ar->source, "=sgl/", 5) == 0, .tail = at};
    w->entered = true;
}

/* A C function stands where another frame stood. */
static void frame_forget_tail(Watch *w, const void *ci)
{
    uint64_t i;
    if (base_map_get(&w->frame_of, (uintptr_t)ci, &i)) w->frames.at[i].tail.file = NULL;
}

/* Most often it is that of the instruction before; one that was not seen to be entered is new. */
Frame *watch_hook_frame(lua_State *L, lua_Debug *ar, Watch *w)
{
    uint64_t i;
    if (w->last == ar->i_ci) return &w->frames.at[w->last_frame];
    if (!base_map_get(&w->frame_of, (uintptr_t)ar->i_ci, &i)) {
        frame_enter(L, ar, w, false);
        w->entered = false;
        return &w->frames.at[w->last_frame];
    }
    w->last = ar->i_ci;
    w->last_frame = (int)i;
    return &w->frames.at[i];
}

/* ---- what the host tells of errors */

static bool tail_position(const Host *h, const lua_Debug *ar, SrcPos *out)
{
    uint64_t i;
    const Watch *w = watching;
    if (!w || w->host != h || !base_map_get(&w->frame_of, (uintptr_t)ar->i_ci, &i)) return false;
    *out = w->frames.at[i].tail;
    return out->file != NULL;
}

/* What message handlers do from here on is no part of the step. */
static void raising(lua_State *L, Host *h, int code)
{
    if (watching && watching->host == h) watch_raising(L, watching, code);
}

static const Lookout LOOKOUT = {tail_position, raising};

/* Is an error caught inside the step, so that no handler from outside is called? From frame to
 * frame: to find a level takes as many steps as it is deep, and a recursion without end is. */
static bool is_protected(lua_State *L, const Watch *w)
{
    lua_Debug up;
    const char *name;
    if (!lua_getstack(L, 1, &up)) return true;
    for (const CallHead *c = (const void *)up.i_ci; c && c->previous; c = c->previous) {
        if ((const void *)c == w->base) return false;
        up.i_ci = (void *)c;
        lua_getinfo(L, "f", &up);
        lua_CFunction function = lua_tocfunction(L, -1);
        lua_pop(L, 1);
        if (function && watch_purity_of(w->host, function, &name) == C_PROTECT) return true;
    }
    return true; /* another coroutine */
}

/* Functions that call only metamethods: what they seem to call with a text, handles an error. */
static bool calls_nothing(const Watch *w, lua_CFunction c)
{
    static const bool CALLS[] = {[C_UNKNOWN] = true,
                                 [C_GSUB] = true,
                                 [C_PROTECT] = true,
                                 [C_RESUME] = true,
                                 [C_REQUIRE] = true};
    const char *name;
    Purity purity = watch_purity_of(w->host, c, &name);
    return purity >= sizeof CALLS || !CALLS[purity];
}

/* Does the instruction of the frame below call what now runs? Its function then stands in the
 * register that the instruction names, where the frame's own values end. */
static bool is_called(lua_State *L, lua_Debug *below)
{
    Instruction i = watch_hook_instruction(below);
    int op = vm_op(i), reg = vm_a(i);
    if (op != VM_CALL && op != VM_TAILCALL && op != VM_TFORCALL) return false;
    if (op == VM_TFORCALL) reg += VM_TFOR_FUNCTION;
    if (!lua_getlocal(L, below, reg + 1)) return true;
    lua_pop(L, 1);
    return false;
}

/* Is the function on the top, whose call event this is, a handler of the step's own that an error
 * of an instruction called? It changes nothing of whether that error is one of Lua. */
static bool is_own_handler(lua_State *L, const Watch *w)
{
    uint64_t one;
    lua_Debug below;
    if (!base_map_get(&w->handlers, (uintptr_t)lua_topointer(L, -1), &one)) return false;
    if (!lua_getstack(L, 1, &below)) return false;
    lua_getinfo(L, "S", &below);
    return *below.what != 'C' && !is_called(L, &below);
}

/* Is the function on the top, whose call event this is, a message handler from outside? Lua calls
 * it at the place of the error, with the error alone; metamethods get two arguments or more. */
static bool is_handler(lua_State *L, lua_Debug *ar, const Watch *w)
{
    lua_Debug below;
    bool known = w->handler && lua_topointer(L, -1) == w->handler;
    if (!known && !lua_iscfunction(L, -1)) return false;
    lua_getinfo(L, "r", ar);
    if ((!known && ar->ntransfer != 1) || !lua_getstack(L, 1, &below)) return false;
    lua_getinfo(L, "f", &below);
    lua_CFunction c = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    if (c ? !known && (!lua_isstring(L, 1) || !calls_nothing(w, c)) : is_called(L, &below))
        return false;
    return !is_protected(L, w);
}

/* The handler of the innermost xpcall around the capture. */
static const void *outer_handler(lua_State *L, const Host *h)
{
    lua_Debug up;
    const char *name;
    const void *handler = NULL;
    for (int level = 0; lua_getstack(L, level, &up); level++) {
        lua_getinfo(L, "f", &up);
        lua_CFunction c = lua_tocfunction(L, -1);
        lua_pop(L, 1);
        if (!c || watch_purity_of(h, c, &name) != C_PROTECT) continue;
        if (lua_getlocal(L, &up, 2)) {
            if (!strcmp(name, "xpcall")) handler = lua_topointer(L, -1);
            lua_pop(L, 1);
        }
        break;
    }
    return handler;
}

/* Does the frame stand above the one that raises? Once one does not, the error was caught. */
static bool is_unwinding(Watch *w, const lua_Debug *ar)
{
    if (!w->unwinding) return false;
    if (watch_is_above(w->unwinding, ar)) return true;
    w->unwinding = NULL;
    return false;
}

/* ---- constants, from a dump */

/* Index of the constants of the function on the top of the stack, which is anchored. */
static int code_of(lua_State *L, Watch *w, const void *first)
{
    uint64_t i;
    if (first && base_map_get(&w->code_of, (uintptr_t)first, &i)) return (int)i;
    Str s = {0};
    Code c = {0};
    if (!watch_dump(L, &s) || !watch_dump_constants(&c, &s) || !vec_push(&w->codes, c)) {
        base_mem_free(c.at);
        base_str_free(&s);
        return bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
    }
    i = (uint64_t)w->codes.n - 1;
    if (first && !base_map_set(&w->code_of, (uintptr_t)first, i)) w->failed = true;
    lua_rawgetp(L, LUA_REGISTRYINDEX, w->guards);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, first ? first : (const void *)w);
    lua_pop(L, 1);
    return (int)i;
}

/* Pushes constant i of the running function, from its dump: Lua has no function for that. false:
 * there is none. */
bool watch_hook_constant(lua_State *L, lua_Debug *ar, Watch *w, Frame *f, int i)
{
    if (f->code < 0) {
        lua_getinfo(L, "f", ar);
        f->code = code_of(L, w, f->first);
        lua_pop(L, 1);
    }
    const Code *c = &w->codes.at[f->code];
    if (i >= c->n) return false;
    watch_dump_push(L, c->bytes + c->at[i]);
    return true;
}

/* ---- registers that have another value for one instruction, which calls nothing */

void watch_swap(lua_State *L, const lua_Debug *ar, Watch *w, int at)
{
    w->swaps[w->nswaps] = at;
    lua_rawgetp(L, LUA_REGISTRYINDEX, w->guards);
    lua_pushvalue(L, at);
    lua_rawsetp(L, -2, &w->swaps[w->nswaps++]);
    lua_pop(L, 1);
    lua_replace(L, at);
    w->swapped = ar->i_ci;
}

static void swap_back(lua_State *L, Watch *w)
{
    w->swapped = NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, w->guards);
    while (w->nswaps > 0) {
        lua_rawgetp(L, -1, &w->swaps[--w->nswaps]);
        lua_replace(L, w->swaps[w->nswaps]);
    }
    lua_pop(L, 1);
}

/* ---- the hook */

/* The hook itself: instructions, calls and returns each go to the file that knows them. Where an
 * error is on its way, handlers are not watched. */
static void hook(lua_State *L, lua_Debug *ar)
{
    Watch *w = watching;
    if (!w || !w->on || lua_topointer(L, LUA_REGISTRYINDEX) != w->registry) {
        if (!w || !w->on) lua_sethook(L, NULL, 0, 0);
        return;
    }
    if (w->swapped == ar->i_ci) swap_back(L, w);
    if (is_unwinding(w, ar)) return;
    if (ar->event == LUA_HOOKCOUNT) {
        if (w->entered) {
            Frame *f = watch_hook_frame(L, ar, w);
            f->first = bind_resume(ar) - 1;
            w->entered = false;
        }
        watch_sure(w, ar, true, false);
        watch_hook_op(L, ar, w, watch_hook_instruction(ar));
        return;
    }
    if (ar->event == LUA_HOOKRET) {
        watch_hook_return(L, ar, w);
        watch_sure(w, ar, false, false);
        return;
    }
    int top = lua_gettop(L);
    lua_getinfo(L, "f", ar);
    bool native = lua_iscfunction(L, -1);
    if (is_own_handler(L, w)) w->erring = ar->i_ci;
    if (is_handler(L, ar, w)) {
        w->unwinding = ar->i_ci;
    } else if (native) {
        frame_forget_tail(w, ar->i_ci);
        watch_hook_call(L, ar, w);
    }
    lua_settop(L, top);
    if (!native && !w->unwinding) frame_enter(L, ar, w, ar->event == LUA_HOOKTAILCALL);
}

void watch_hook_thread(lua_State *L, Watch *w, lua_State *thread)
{
    if (lua_gethook(thread) == hook) return;
    lua_sethook(thread, hook, MASK, 1);
    if (!vec_push(&w->threads, thread)) bind_raise(L, SGL_ENOMEM, NULL, "out of memory");
}

Watch *watch_new(Host *h)
{
    Watch *w = base_mem_zero(1, sizeof *w);
    if (w) w->host = h;
    return w;
}

/* Takes the allocator to see objects born, and the hook; what was there before comes back at the
 * end. */
void watch_on(lua_State *L, Watch *w, Guards *g, bool once)
{
    Host *h = w->host;
    w->guards = g;
    w->once = once;
    w->outer = watching;
    w->on = true;
    w->registry = lua_topointer(L, LUA_REGISTRYINDEX);
    lua_Debug ar;
    if (lua_getstack(L, 0, &ar)) w->base = ar.i_ci;
    w->handler = outer_handler(L, h);
    w->alloc = lua_getallocf(L, &w->alloc_data);
    w->old_hook = lua_gethook(L);
    w->old_mask = lua_gethookmask(L);
    w->old_count = lua_gethookcount(L);
    watching = w;
    h->lookout = &LOOKOUT;
    bind_interrupt_hold(true);
    w->collects = lua_gc(L, LUA_GCISRUNNING);
    if (w->collects) lua_gc(L, LUA_GCSTOP);
    lua_setallocf(L, allocate, w);
    lua_sethook(L, hook, MASK, 1);
}

bool watch_lost(lua_State *L, const Watch *w)
{
    return w->on && (lua_gethook(L) != hook || lua_gethookcount(L) != 1);
}

/* The functions whose constants were read were anchored for as long as their addresses counted. */
static void forget_codes(lua_State *L, const Watch *w)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, w->guards) == LUA_TTABLE)
        for (uint32_t i = 0; i < w->code_of.cap; i++) {
            if (!w->code_of.used[i]) continue;
            lua_pushnil(L);
            lua_rawsetp(L, -2, (const void *)(uintptr_t)w->code_of.slot[i].key);
        }
    lua_pop(L, 1);
}

/* Puts back hook and allocator, here and in coroutines that were given the hook. */
void watch_off(lua_State *L, Watch *w)
{
    if (!w || !w->on) return;
    w->on = false;
    forget_codes(L, w);
    if (w->journal) watch_journal_end(L, w);
    watching = w->outer;
    w->host->lookout = NULL;
    if (w->collects) lua_gc(L, LUA_GCRESTART);
    lua_setallocf(L, w->alloc, w->alloc_data);
    if (lua_gethook(L) == hook || !lua_gethook(L))
        lua_sethook(L, w->old_hook, w->old_mask, w->old_count);
    for (int i = 0; i < w->threads.n; i++)
        if (lua_gethook(w->threads.at[i]) == hook) lua_sethook(w->threads.at[i], NULL, 0, 0);
    bind_interrupt_hold(false);
}

bool watch_failed(const Watch *w) { return w->failed; }

/* The maps are as large as the step was. */
void watch_free(Watch *w)
{
    if (!w) return;
    for (int i = 0; i < w->codes.n; i++) {
        base_mem_free(w->codes.at[i].bytes);
        base_mem_free(w->codes.at[i].at);
    }
    vec_free(&w->codes);
    vec_free(&w->frames);
    vec_free(&w->threads);
    base_map_free(&w->fresh);
    base_map_free(&w->internal);
    base_map_free(&w->given);
    base_map_free(&w->walked);
    base_map_free(&w->seen);
    base_map_free(&w->behind);
    base_map_free(&w->handlers);
    base_map_free(&w->frame_of);
    base_map_free(&w->code_of);
    base_mem_free(w);
}

/* ---- the test: the words seen must be an in-order part of the code that is dumped */

enum { TEST_MOST = 64 };
static _Thread_local struct {
    Instruction seen[TEST_MOST];
    int n;
} test;

static void test_hook(lua_State *L, lua_Debug *ar)
{
    (void)L;
    if (test.n < TEST_MOST) test.seen[test.n++] = watch_hook_instruction(ar);
}

/* Were the words that the hook saw, in their order, among those that were dumped? */
static bool test_passes(const Str *dump)
{
    size_t n, at = 0;
    const uint8_t *code = watch_dump_code(dump, &n);
    if (!code || n > TEST_MOST || test.n < 6) return false;
    for (int i = 0; i < test.n; i++, at++) {
        while (at < n &&
               memcmp(code + at * sizeof(Instruction), &test.seen[i], sizeof(Instruction)) != 0)
            at++;
        if (at == n) return false;
    }
    return true;
}

/* Does the hook see what is dumped? Pushes nothing. */
static bool test_lua(lua_State *L)
{
    static const char CHUNK[] = "local a, b = ... if a then b = not b end return b == 3";
    lua_Hook old = lua_gethook(L);
    int mask = lua_gethookmask(L), count = lua_gethookcount(L), top = lua_gettop(L);
    Str dump = {0};
    test.n = 0;
    bool fine = LUA_VERSION_NUM == 504 && lua_version(L) == 504 &&
                luaL_loadstring(L, CHUNK) == LUA_OK && watch_dump(L, &dump);
    if (fine) {
        lua_pushboolean(L, 1);
        lua_pushboolean(L, 0);
        lua_sethook(L, test_hook, LUA_MASKCOUNT, 1);
        fine = lua_pcall(L, 2, 1, 0) == LUA_OK;
        lua_sethook(L, old, mask, count);
        fine = fine && test_passes(&dump);
    }
    base_str_free(&dump);
    lua_settop(L, top);
    return fine;
}

bool watch_fits(lua_State *L, Host *h)
{
    WatchRoom *room = room_of(h);
    room->tested = room->tested || test_lua(L);
    return room->tested;
}

void watch_test(lua_State *L, Host *h)
{
    if (!watch_fits(L, h))
        bind_raise(L, SGL_EUNSUP, "use the interpreter sgl, which brings its own Lua",
                   "compile: this Lua (%s) is not laid out as capture needs it", LUA_RELEASE);
}
