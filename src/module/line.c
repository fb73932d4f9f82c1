/* line.c: the module sgl.line: reading lines from a person, with libedit if it is there.
 *
 * libedit is loaded when first needed, so that the program starts without it; then, or without a
 * terminal, lines are read plainly.
 * Holds: Ctrl-C at the prompt drops the line, never the program. LC_CTYPE alone is taken from the
 *        environment: a decimal comma of LC_NUMERIC would break Lua's numbers. The history file is
 *        replaced as a whole, after each line; one that cannot be read is left alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "module/module.h"

/* The part of libedit's readline interface that is used. */
static struct Editor {
    char *(*readline)(const char *prompt);
    int (*add_history)(const char *line);
    int (*read_history)(const char *path);
    int (*write_history)(const char *path);
    void (*stifle_history)(int lines);
    char **(*completion_matches)(const char *text, char *(*next)(const char *, int));
    char **line_buffer;
    char ***completion; /* rl_attempted_completion_function, as a place for a pointer */
    int *append_character;
    const char **break_characters;
} editor;

static char *history;         /* the real name of its file; NULL: nothing is kept */
static lua_State *completing; /* whose function at COMPLETE gives the candidates */
static const char COMPLETE;
static sigjmp_buf dropped;

static bool find(void *library, const char *name, void *place, size_t size)
{
    void *symbol = dlsym(library, name);
    if (symbol) memcpy(place, &symbol, size);
    return symbol != NULL;
}

/* All functions or none: an editor that lacks one is not used. */
static bool load_editor(void)
{
    void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *place;
    } SYMBOLS[] = {
        {"readline", &editor.readline},
        {"add_history", &editor.add_history},
        {"read_history", &editor.read_history},
        {"write_history", &editor.write_history},
        {"stifle_history", &editor.stifle_history},
        {"rl_completion_matches", &editor.completion_matches},
        {"rl_line_buffer", &editor.line_buffer},
        {"rl_attempted_completion_function", &editor.completion},
        {"rl_completion_append_character", &editor.append_character},
        {"rl_completer_word_break_characters", &editor.break_characters},
    };
    bool all = library != NULL;
    for (size_t i = 0; all && i < sizeof SYMBOLS / sizeof *SYMBOLS; i++)
        all = find(library, SYMBOLS[i].name, SYMBOLS[i].place, sizeof(void *));
    if (!all) editor.readline = NULL;
    return all;
}

/* Candidates: the function is called with the word; its list is walked one by one. */
static int call_completer(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &COMPLETE);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

/* readline's protocol: state 0 starts a word; each call gives a copy for the editor to free. */
static char *next_candidate(const char *word, int state)
{
    static int index;
    lua_State *L = completing;
    if (state == 0) {
        lua_pushcfunction(L, call_completer);
        lua_pushstring(L, word);
        if (lua_pcall(L, 1, 1, 0) != LUA_OK || !lua_istable(L, -1)) {
            lua_pop(L, 1);
            return NULL;
        }
        index = 0;
    }
    char *copy = NULL;
    if (lua_rawgeti(L, -1, ++index) == LUA_TSTRING) copy = strdup(lua_tostring(L, -1));
    lua_pop(L, copy ? 1 : 2);
    return copy;
}

static char **complete(const char *word, int start, int end)
{
    (void)start, (void)end;
    *editor.append_character = 0;
    return editor.completion_matches(word, next_candidate);
}

static void drop_line(int signal_number)
{
    (void)signal_number;
    siglongjmp(dropped, 1);
}

/* The line as malloc'd text, NULL at the end of input; *cleared after Ctrl-C. */
static char *edit_line(const char *prompt, bool *cleared)
{
    struct sigaction action = {.sa_handler = drop_line}, before;
    sigemptyset(&action.sa_mask);
    char *line = NULL;
    sigaction(SIGINT, &action, &before);
    if (sigsetjmp(dropped, 1) == 0) {
        line = editor.readline(prompt);
    } else {
        *cleared = true;
        putchar('\n');
    }
    sigaction(SIGINT, &before, NULL);
    return line;
}

/* Pushes a line from stdin, without its end, or false after Ctrl-C; at the end of the input it
 * pushes nothing and returns 0. */
static int plain_line(lua_State *L, const char *prompt)
{
    char part[512];
    luaL_Buffer b;
    if (isatty(STDIN_FILENO)) fputs(prompt, stdout);
    fflush(stdout);
    luaL_buffinit(L, &b);
    bool any = false;
    errno = 0;
    while (fgets(part, sizeof part, stdin)) {
        any = true;
        size_t n = strlen(part);
        bool end = n && part[n - 1] == '\n';
        luaL_addlstring(&b, part, end ? n - 1 : n);
        if (end) break;
    }
    bool dropped_line = !any && errno == EINTR && !feof(stdin);
    if (any) luaL_pushresult(&b);
    else if (dropped_line) lua_pushboolean(L, 0);
    clearerr(stdin);
    return any || dropped_line;
}

/* line.read(prompt) -> line, nil at the end of input, or false after Ctrl-C */
static int line_read(lua_State *L)
{
    const char *prompt = luaL_checkstring(L, 1);
    bind_interrupt_ready();
    if (!editor.readline) return plain_line(L, prompt);
    bool cleared = false;
    int top = lua_gettop(L);
    completing = L;
    char *line = edit_line(prompt, &cleared);
    lua_settop(L, top);
    if (!line) {
        if (!cleared) return 0;
        lua_pushboolean(L, 0);
        return 1;
    }
    char *copy = strcpy(lua_newuserdatauv(L, strlen(line) + 1, 0), line);
    free(line);
    lua_pushstring(L, copy);
    return 1;
}

/* Reads the file of that name, behind links, and keeps the name if what is written there later
 * holds what was there before. */
static void open_history(const char *path)
{
    struct stat st;
    char *real = realpath(path, NULL);
    bool there = real && stat(real, &st) == 0 && st.st_size > 0;
    bool read = !there || editor.read_history(real) == 0;
    if (!real) real = strdup(path);
    free(history);
    history = read ? real : NULL;
    if (!read) free(real);
}

/* Into a file beside it, which then takes its name: whoever is killed meanwhile loses nothing. */
static void save_history(void)
{
    char part[PATH_MAX];
    int n = history ? snprintf(part, sizeof part, "%s.%ld", history, (long)getpid()) : 0;
    if (n <= 0 || n >= (int)sizeof part) return;
    if (editor.write_history(part) != 0 || rename(part, history) != 0) unlink(part);
}

/* line.open(history, complete) -> is there an editor? */
static int line_open(lua_State *L)
{
    enum { HISTORY_LINES = 2000 };
    luaL_checktype(L, 2, LUA_TFUNCTION);
    setlocale(LC_CTYPE, "");
    bool there = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && load_editor();
    if (there) {
        lua_settop(L, 2);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &COMPLETE);
        char **(*function)(const char *, int, int) = complete;
        memcpy(editor.completion, &function, sizeof function);
        *editor.break_characters = " \t\n\"'`@$><=;|&{(+-*/%^#~,)}]";
        editor.stifle_history(HISTORY_LINES);
        if (lua_isstring(L, 1)) open_history(lua_tostring(L, 1));
    }
    lua_pushboolean(L, there);
    return 1;
}

/* line.remember(line) */
static int line_remember(lua_State *L)
{
    const char *text = luaL_checkstring(L, 1);
    if (!editor.readline) return 0;
    editor.add_history(text);
    save_history();
    return 0;
}

static const luaL_Reg LINE[] = {
    {"open", line_open},
    {"read", line_read},
    {"remember", line_remember},
    {NULL, NULL},
};

int module_open_line(lua_State *L)
{
    luaL_newlib(L, LINE);
    return 1;
}
