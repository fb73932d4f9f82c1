/* main.c: the program sgl: the command line of the stock interpreter, with settings as flags.
 *
 * Out:   exit status 0 or 1. Messages go to stderr, after the program's name.
 * Holds: everything happens in a protected call, so a failure anywhere closes the state in order.
 */
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bind/host.h"
#include "bind/rank.h"
#include "bind/state.h"
#include "cli/run.h"
#include "comm/comm.h"
#include "module/module.h"
#include "sgl.h"

#define VERSION_TEXT "sgl " SGL_VERSION "  " LUA_RELEASE

enum { NAME_MAX_BYTES = 64 }; /* of a setting */

static const char *program = "sgl";

/* What the options before the script ask for; the actions among them run later, in order. */
typedef struct Options {
    int script; /* index in argv of the script; 0: none */
    bool interactive, version, ignore_environment, execute, help;
} Options;

static void say(const char *message)
{
    fprintf(stderr, "%s: %s\n", program, message);
    fflush(stderr);
}

/* Takes the message off the stack; true if all was well. */
static bool report(lua_State *L, int status)
{
    if (status == LUA_OK) return true;
    const char *message = lua_tostring(L, -1);
    if (!message) message = "(error message is not a string)";
    if (!bind_rank_is_quiet()) say(message);
    bind_rank_failed(L, message);
    lua_pop(L, 1);
    return false;
}

/* The settings come from their table. */
static void print_help(void)
{
    printf("usage: sgl [options] [script [args]]\n"
           "       sgl ? NAME               what is known of a function, a setting or a break\n"
           "       sgl breaks script [args] run it, and say what keeps its steps from capture;\n"
           "                                --picture folder before it draws the way to each\n"
           "       sgl doctor               what this machine gives: threads, memory\n"
           "       sgl plan -n 64 script    what its step costs each of 64 ranks, without them\n"
           "       sgl run -n 4 script      run it on 4 ranks of this machine, as one job\n"
           "  -e stat      run the Lua code `stat`\n"
           "  -i           go on as a REPL after the script\n"
           "  -l mod       require the module `mod` into the global `mod`; -l g=mod into `g`\n"
           "  -v           print the version\n"
           "  -E           ignore environment variables\n"
           "  -W           turn warnings on\n"
           "  --           stop handling options\n"
           "  -            stop handling options and run stdin\n"
           "Without a script: a REPL on a terminal, otherwise stdin is run.\n\n"
           "Settings, as --name value or --name=value, or as SGL_NAME in the environment:\n");
    for (int k = 0; k < KNOB_COUNT; k++)
        printf("  --%-17s %s%s%s%s (default %s)\n", KNOBS[k].name, KNOBS[k].help,
               KNOBS[k].values ? " [" : "", KNOBS[k].values ? KNOBS[k].values : "",
               KNOBS[k].values ? "]" : "", KNOBS[k].def);
}

/* --name or --name=value: the name alone is what is not known. */
static void bad_setting(const char *option)
{
    char name[NAME_MAX_BYTES];
    const char *names[KNOB_COUNT];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(option + 2, "="), option + 2);
    for (int k = 0; k < KNOB_COUNT; k++) names[k] = KNOBS[k].name;
    const char *near = base_str_nearest(name, names, KNOB_COUNT);
    fprintf(stderr, "%s: unrecognized option '--%s'%s%s%s\n  settings:", program, name,
            near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "");
    for (int k = 0; k < KNOB_COUNT; k++) fprintf(stderr, "%s %s", k ? "," : "", names[k]);
    fputc('\n', stderr);
}

static void bad_option(const char *option)
{
    bool bare = (option[1] == 'e' || option[1] == 'l') && !option[2];
    if (option[1] == '-') bad_setting(option);
    else if (bare) fprintf(stderr, "%s: '%s' needs argument\n", program, option);
    else fprintf(stderr, "%s: unrecognized option '%s'\n", program, option);
    fprintf(stderr, "usage: %s [options] [script [args]]        (%s --help lists the options)\n",
            program, program);
}

/* --name=value or --name value. Returns how many words it takes; 0: no such setting. */
static int take_setting(char **argv, int i)
{
    char name[NAME_MAX_BYTES];
    const char *flag = argv[i] + 2, *equals = strchr(flag, '=');
    size_t n = equals ? (size_t)(equals - flag) : strlen(flag);
    if (n >= sizeof name) return 0;
    memcpy(name, flag, n);
    name[n] = 0;
    Err e = {0};
    for (char *c = name; *c; c++)
        if (*c == '-') *c = '_';
    const char *value = equals ? equals + 1 : argv[i + 1];
    if (strcmp(name, "device") == 0) memcpy(name, "backend", sizeof "backend");
    if (base_knob_find(name, &e) < 0) return 0;
    if (!value) base_err_set(&e, SGL_EKNOB, "--%s needs a value", name);
    else base_knob_flag(name, value, &e);
    if (e.code) {
        fprintf(stderr, "%s: %s%s%s\n", program, e.text, *e.hint ? "\n  " : "", e.hint);
        exit(EXIT_FAILURE);
    }
    return equals ? 1 : 2;
}

/* A word that begins with "--" and goes on. Returns how many words it takes; 0: unknown. */
static int scan_long(char **argv, int i, Options *o)
{
    if (!strcmp(argv[i], "--help")) return o->help = true;
    if (!strcmp(argv[i], "--version")) return o->version = true;
    return take_setting(argv, i);
}

/* A word "-x" or "-xrest". Returns how many words it takes; 0: unknown. */
static int scan_short(char **argv, int i, Options *o)
{
    const char *word = argv[i];
    bool alone = word[2] == 0;
    switch (word[1]) {
    case 'i':
        o->interactive = o->version = true;
        return alone;
    case 'v':
        o->version = true;
        return alone;
    case 'E':
        o->ignore_environment = true;
        return alone;
    case 'W':
        return alone;
    case 'e':
        o->execute = true;
        /* fall through */
    case 'l':
        return alone ? (argv[i + 1] && argv[i + 1][0] != '-' ? 2 : 0) : 1;
    default:
        return 0;
    }
}

/* Reads the options; 0: one is not known, and was reported. */
static bool scan(char **argv, Options *o)
{
    int i = 1;
    while (argv[i] && argv[i][0] == '-' && argv[i][1]) {
        bool end = !strcmp(argv[i], "--");
        if (end) {
            i++;
            break;
        }
        int words = argv[i][1] == '-' ? scan_long(argv, i, o) : scan_short(argv, i, o);
        if (!words) {
            bad_option(argv[i]);
            return false;
        }
        i += words;
    }
    o->script = argv[i] ? i : 0;
    return true;
}

/* The table arg: at 0 the script, or without one the program; arguments follow it. */
static void make_arg(lua_State *L, char **argv, int argc, int script)
{
    lua_createtable(L, argc - script, script + 1);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
}

static int run_chunk(lua_State *L, int status)
{
    return status == LUA_OK ? bind_state_call(L, 0, 0) : status;
}

static bool run_string(lua_State *L, const char *code, const char *name)
{
    return report(L, run_chunk(L, luaL_loadbuffer(L, code, strlen(code), name)));
}

static bool run_file(lua_State *L, const char *path)
{
    return report(L, run_chunk(L, luaL_loadfile(L, path)));
}

/* -l mod, -l g=mod */
static bool run_require(lua_State *L, const char *what)
{
    const char *equals = strchr(what, '=');
    const char *module = equals ? equals + 1 : what;
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
    if (!report(L, bind_state_call(L, 1, 1))) return false;
    lua_pushlstring(L, what, equals ? (size_t)(equals - what) : strlen(what));
    lua_insert(L, -2);
    lua_pushglobaltable(L);
    lua_insert(L, -3);
    lua_settable(L, -3);
    lua_pop(L, 1);
    return true;
}

/* -e, -l and -W in their order. */
static bool run_options(lua_State *L, char **argv, int end)
{
    for (int i = 1; i < end; i++) {
        const char *word = argv[i];
        if (word[1] == 'W') lua_warning(L, "@on", 0);
        if (word[1] == '-' && !strchr(word, '=') && strcmp(word, "--help") != 0 &&
            strcmp(word, "--version") != 0)
            i++;
        if (word[1] != 'e' && word[1] != 'l') continue;
        const char *text = word[2] ? word + 2 : argv[++i];
        bool fine = word[1] == 'e' ? run_string(L, text, "=(command line)") : run_require(L, text);
        if (!fine) return false;
    }
    return true;
}

static bool run_init(lua_State *L)
{
    const char *name = "=LUA_INIT_5_4", *init = getenv(name + 1);
    if (!init) init = getenv((name = "=LUA_INIT") + 1);
    if (!init) return true;
    return init[0] == '@' ? run_file(L, init + 1) : run_string(L, init, name);
}

/* The script gets its arguments as varargs, as they stand in arg. */
static bool run_script(lua_State *L, char **argv, int script)
{
    const char *path = argv[script];
    if (!strcmp(path, "-") && strcmp(argv[script - 1], "--") != 0) path = NULL;
    int status = luaL_loadfile(L, path), n = 0;
    if (status == LUA_OK) {
        while (argv[script + 1 + n]) n++;
        luaL_checkstack(L, n + LUA_MINSTACK, "too many arguments to the script");
        for (int i = 1; i <= n; i++) lua_pushstring(L, argv[script + i]);
        status = bind_state_call(L, n, 0);
    }
    return report(L, status);
}

/* The words that lua/sgl/cli.lua knows; a script of such a name is run as ./name. */
static const char *const COMMANDS[] = {"?", "breaks", "check", "inspect", "doctor", "plan"};

static bool is_command(const char *word)
{
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (!strcmp(word, COMMANDS[i])) return true;
    return false;
}

/* Runs `sgl ? NAME`, `sgl breaks script` and their like, which are Lua functions of the library. */
static bool run_command(lua_State *L, char **argv, int command)
{
    int n = 0;
    lua_getglobal(L, "require");
    lua_pushliteral(L, "sgl.cli");
    if (!report(L, bind_state_call(L, 1, 1))) return false;
    lua_getfield(L, -1, argv[command]);
    while (argv[command + 1 + n]) n++;
    luaL_checkstack(L, n + LUA_MINSTACK, "too many arguments to the command");
    for (int i = 1; i <= n; i++) lua_pushstring(L, argv[command + i]);
    int status = lua_pcall(L, n, 0, 0);
    if (status != LUA_OK) luaL_tolstring(L, -1, NULL); /* errors of the library are objects */
    return report(L, status);
}

static bool run_repl(lua_State *L)
{
    lua_getglobal(L, "require");
    lua_pushliteral(L, "sgl.repl");
    if (!report(L, bind_state_call(L, 1, 1))) return false;
    lua_getfield(L, -1, "start");
    bool fine = report(L, bind_state_call(L, 0, 0));
    lua_settop(L, 0);
    return fine;
}

/* math.random draws the same numbers on all ranks of a job. */
static void seed_alike(lua_State *L)
{
    const Comm *job = comm_job();
    if (!job) return;
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, (lua_Integer)job->seed);
    lua_call(L, 1, 0);
    lua_pop(L, 1);
}

static void open_libraries(lua_State *L, const Options *o)
{
    if (o->ignore_environment) {
        lua_pushboolean(L, 1);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    }
    luaL_checkversion(L);
    luaL_openlibs(L);
    module_preload(L);
    seed_alike(L);
}

/* In the order of the stock interpreter: LUA_INIT, the actions of the options, the script, the
 * session. */
static bool run_all(lua_State *L, char **argv, int argc, const Options *o)
{
    int end = o->script ? o->script : argc;
    make_arg(L, argv, argc, o->script);
    if (!o->ignore_environment && !run_init(L)) return false;
    if (!run_options(L, argv, end)) return false;
    if (o->script && is_command(argv[o->script])) return run_command(L, argv, o->script);
    if (o->script && !run_script(L, argv, o->script)) return false;
    if (o->interactive) return run_repl(L);
    if (o->script || o->execute || o->version || o->help) return true;
    return isatty(STDIN_FILENO) ? run_repl(L) : run_file(L, NULL);
}

/* Called protected with argc, argv: returns whether all went well. */
static int protected_main(lua_State *L)
{
    int argc = (int)lua_tointeger(L, 1);
    char **argv = lua_touserdata(L, 2);
    Options o = {0};
    if (!scan(argv, &o)) return 0;
    if (o.version && !o.interactive) printf("%s\n", VERSION_TEXT);
    if (o.help) print_help();
    open_libraries(L, &o);
    lua_pushboolean(L, run_all(L, argv, argc, &o));
    return 1;
}

/* Everything else happens in a protected call, so that the state is closed whatever fails. */
int main(int argc, char **argv)
{
    int launched = cli_run_asked(argv) ? cli_run(&argc, &argv) : cli_run_join();
    if (launched != RUN_RANK) return launched;
    lua_State *L = bind_state_new();
    if (argc > 0 && *argv[0]) program = argv[0];
    if (!L) {
        say("not enough memory for a Lua state");
        return EXIT_FAILURE;
    }
    lua_pushcfunction(L, protected_main);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, argv);
    int status = lua_pcall(L, 2, 1, 0);
    bool fine = report(L, status) && lua_toboolean(L, -1);
    lua_close(L);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
