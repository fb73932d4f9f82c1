/* knob.c: the settings table (knob.def), presets, and the only code that parses a setting.
 *
 * In:    defaults, SGL_<NAME> from the environment, flags; by base_knob_put files and the program.
 * Holds: a text that does not fit changes nothing and is reported with what would have fitted,
 *        under the name by which the user gave it.
 */
#include "base/knob.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { NAME_MAX_BYTES = 64 };
static const char SEPARATORS[] = " ,";
static const char PREFIX[] = "SGL_"; /* of environment variables */

/* What the specs and benchmarks read, without the prefix: no slips, however near a setting. */
static const char *const OTHERS[] = {"bench_seconds", "exe",  "fuzz",
                                     "graphs",        "seed", "spec_scale"};

extern char **environ;

/* Parses `text`; `shown` is the name in messages. */
typedef int (*Setter)(Knobs *k, KnobId id, const char *shown, const char *text, Err *e);

/* The names of the backends, each after a blank. */
#define BACKEND(name, vtable) " " #name
static const char BACKENDS[] =
#include "base/backend.def"
    ;
static const char COMPONENTS[] =
#include "base/backend.def"
    " capture compile run cache disk";
#undef BACKEND
#define KNOB_BACKENDS (BACKENDS + 1)
#define KNOB_COMPONENTS (COMPONENTS + 1)

const KnobInfo KNOBS[KNOB_COUNT] = {
#define KNOB(name, type, def, lo, hi, values, key, effect, help)                                   \
    {#name, KNOB_##type, def, lo, hi, values, key, EFFECT_##effect, help},
#include "base/knob.def"
#undef KNOB
};

const KnobPreset KNOB_PRESETS[] = {
#define PRESET(name, knob, text) {#name, KNOB_##knob, text},
#include "base/preset.def"
#undef PRESET
    {NULL, KNOB_COUNT, NULL},
};

static const char *flags[KNOB_COUNT];

const char *base_knob_from_name(KnobFrom from)
{
    static const char *const NAMES[] = {
        [KNOB_FROM_DEFAULT] = "default",
        [KNOB_FROM_FOUND_PRESET] = "preset in the file",
        [KNOB_FROM_FOUND] = "file",
        [KNOB_FROM_FILE_PRESET] = "preset in the file",
        [KNOB_FROM_FILE] = "file",
        [KNOB_FROM_ENVIRONMENT_PRESET] = "preset in the environment",
        [KNOB_FROM_ENVIRONMENT] = "environment",
        [KNOB_FROM_FLAG_PRESET] = "preset among the flags",
        [KNOB_FROM_FLAG] = "flag",
        [KNOB_FROM_PROGRAM] = "program",
    };
    return NAMES[from];
}

/* The blank-separated choice number `which`, or NULL when there are not so many. */
static const char *choice_at(const char *values, int which, size_t *n)
{
    *n = 0;
    while (which-- > 0) {
        values = strchr(values, ' ');
        if (!values) return NULL;
        values++;
    }
    *n = strcspn(values, " ");
    return values;
}

/* The number of the choice that the n bytes at text are, or -1. */
static int choice_find(const char *values, const char *text, size_t n)
{
    size_t length;
    const char *choice;
    for (int i = 0; (choice = choice_at(values, i, &length)); i++)
        if (n == length && memcmp(choice, text, n) == 0) return i;
    return -1;
}

/* The choice closest to the n bytes at text, or NULL; *length is that of the choice. */
static const char *choice_near(const char *values, const char *text, size_t n, size_t *length)
{
    char word[NAME_MAX_BYTES], choice[NAME_MAX_BYTES];
    const char *at, *one = choice;
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    for (int i = 0; (at = choice_at(values, i, length)); i++) {
        snprintf(choice, sizeof choice, "%.*s", (int)*length, at);
        if (base_str_nearest(word, &one, 1)) return at;
    }
    return NULL;
}

static int no_choice(KnobId id, const char *shown, const char *text, size_t n, Err *e)
{
    size_t length = 0;
    const char *near = choice_near(KNOBS[id].values, text, n, &length);
    return base_err_set(e, SGL_EKNOB, "%s: '%.*s' is none of the choices %s%s%.*s%s", shown, (int)n,
                        text, KNOBS[id].values, near ? " (did you mean '" : "", (int)length,
                        near ? near : "", near ? "'?)" : "");
}

static int set_choice(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    int choice = choice_find(KNOBS[id].values, text, strlen(text));
    if (choice < 0) return no_choice(id, shown, text, strlen(text), e);
    k->value[id] = choice;
    return SGL_OK;
}

/* A switch, 0 or 1, may also be said as in Lua and YAML. */
static int set_int(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    char *end;
    bool is_switch = KNOBS[id].lo == 0 && KNOBS[id].hi == 1;
    if (is_switch && strcmp(text, "true") == 0) text = "1";
    if (is_switch && strcmp(text, "false") == 0) text = "0";
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end)
        return base_err_set(e, SGL_EKNOB, "%s: '%s' is not an integer from %lld to %lld", shown,
                            text, (long long)KNOBS[id].lo, (long long)KNOBS[id].hi);
    if (errno == ERANGE || v < KNOBS[id].lo || v > KNOBS[id].hi)
        return base_err_set(e, SGL_EKNOB, "%s: %s is outside the range %lld to %lld", shown, text,
                            (long long)KNOBS[id].lo, (long long)KNOBS[id].hi);
    k->value[id] = v;
    return SGL_OK;
}

static int64_t all_members(KnobId id)
{
    int64_t bits = 0;
    size_t n;
    for (int i = 0; choice_at(KNOBS[id].values, i, &n); i++) bits |= INT64_C(1) << i;
    return bits;
}

/* "a,b": these. "all,-a", or "-a" alone: all but a. "none". */
static int set_set(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    int64_t bits = 0;
    const char *at = text + strspn(text, SEPARATORS);
    if (*at == '-') bits = all_members(id);
    for (; *at; at += strspn(at, SEPARATORS)) {
        size_t n = strcspn(at, SEPARATORS);
        bool without = *at == '-';
        int member = choice_find(KNOBS[id].values, at + without, n - without);
        if (member >= 0) {
            int64_t bit = INT64_C(1) << member;
            bits = without ? bits & ~bit : bits | bit;
        } else if (choice_find("all", at, n) == 0) {
            bits = all_members(id);
        } else if (choice_find("none", at, n) != 0) {
            return no_choice(id, shown, at + without, n - without, e);
        }
        at += n;
    }
    k->value[id] = bits;
    return SGL_OK;
}

/* A shell puts the home folder for ~ only where a word begins with it, and
 * files and programs have no shell. *home is "" where the path does not begin so. */
static int find_home(const char *shown, const char *text, const char **home, Err *e)
{
    *home = "";
    if (*text != '~') return SGL_OK;
    if (text[1] && text[1] != '/')
        return base_err_set(e, SGL_EKNOB, "%s: only '~/' stands for a home folder, got '%s'", shown,
                            text);
    *home = getenv("HOME");
    if (*home && **home) return SGL_OK;
    return base_err_set(e, SGL_EKNOB, "%s: '%s' needs the variable HOME, which is not set", shown,
                        text);
}

/* Keeps a copy of two texts, one behind the other. Every set counts as a change (Knobs.value),
 * since texts are not compared. */
static int keep_text(Knobs *k, KnobId id, const char *shown, const char *home, const char *rest,
                     Err *e)
{
    size_t before = strlen(home), after = strlen(rest), n = before + after;
    char *copy = n ? base_mem_alloc(n + 1) : NULL;
    if (n && !copy) return base_err_set(e, SGL_ENOMEM, "%s: out of memory for a text", shown);
    if (copy) {
        memcpy(copy, home, before);
        memcpy(copy + before, rest, after + 1);
    }
    base_mem_free(k->text[id]);
    k->text[id] = copy;
    k->value[id]++;
    return SGL_OK;
}

/* ~/ is put in full. */
static int set_path(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    const char *home;
    if (find_home(shown, text, &home, e) < 0) return e->code;
    return keep_text(k, id, shown, home, *home ? text + 1 : text, e);
}

static int set_text(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    return keep_text(k, id, shown, "", text, e);
}

static void put_int(const Knobs *k, KnobId id, Str *out)
{
    base_str_fmt(out, "%lld", (long long)k->value[id]);
}

static void put_choice(const Knobs *k, KnobId id, Str *out)
{
    size_t n;
    const char *choice = choice_at(KNOBS[id].values, (int)k->value[id], &n);
    base_str_add(out, choice, n);
}

static void put_set(const Knobs *k, KnobId id, Str *out)
{
    size_t n;
    const char *member, *between = "";
    if (k->value[id] == 0) base_str_put(out, "none");
    else if (k->value[id] == all_members(id)) base_str_put(out, "all");
    else
        for (int i = 0; (member = choice_at(KNOBS[id].values, i, &n)); i++) {
            if (!(k->value[id] >> i & 1)) continue;
            base_str_put(out, between);
            base_str_add(out, member, n);
            between = ",";
        }
}

static void put_text(const Knobs *k, KnobId id, Str *out)
{
    base_str_put(out, k->text[id] ? k->text[id] : "");
}

static const struct {
    Setter set;
    void (*put)(const Knobs *k, KnobId id, Str *out);
} TYPES[] = {
    [KNOB_INT] = {set_int, put_int},    [KNOB_CHOICE] = {set_choice, put_choice},
    [KNOB_SET] = {set_set, put_set},    [KNOB_PATH] = {set_path, put_text},
    [KNOB_TEXT] = {set_text, put_text},
};

void base_knob_text(const Knobs *k, KnobId id, Str *out) { TYPES[KNOBS[id].type].put(k, id, out); }

static int set_value(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    int status = TYPES[KNOBS[id].type].set(k, id, shown, text, e);
    if (status < 0) base_err_hint(e, "%s: %s", KNOBS[id].name, KNOBS[id].help);
    return status;
}

/* Sets, or only checks when a stronger place has spoken. */
static int put(Knobs *k, KnobId id, KnobFrom from, const char *shown, const char *text, Err *e)
{
    Knobs other = {0};
    bool weaker = from < (KnobFrom)k->from[id];
    int status = set_value(weaker ? &other : k, id, shown, text, e);
    if (status == SGL_OK && !weaker) k->from[id] = (uint8_t)from;
    base_knob_free(&other);
    return status;
}

static int no_path(const char *shown, Err *e)
{
    base_err_set(e, SGL_EKNOB, "%s: not in a file that is only found in the current folder", shown);
    base_err_hint(e,
                  "whoever made that folder would choose where you read and write: name the file "
                  "with --config or SGL_CONFIG, or set it in the environment or the script");
    return SGL_EKNOB;
}

int base_knob_put(Knobs *k, KnobId id, KnobFrom from, const char *shown, const char *text, Err *e)
{
    if (from == KNOB_FROM_FOUND && KNOBS[id].type == KNOB_PATH) return no_path(shown, e);
    int status = put(k, id, from, shown, text, e);
    KnobFrom below = from == KNOB_FROM_PROGRAM ? from : from - 1;
    if (id != KNOB_preset || status < 0 || from < (KnobFrom)k->from[id]) return status;
    for (const KnobPreset *p = KNOB_PRESETS; p->name && status == SGL_OK; p++)
        if (strcmp(p->name, text) == 0) status = put(k, p->id, below, shown, p->text, e);
    return status;
}

static void environment_name(char *to, const char *name)
{
    size_t n = 0;
    for (const char *prefix = PREFIX; *prefix; prefix++) to[n++] = *prefix;
    for (; *name && n + 1 < NAME_MAX_BYTES; name++) to[n++] = (char)toupper((unsigned char)*name);
    to[n] = 0;
}

/* A variable SGL_<NAME> that is nearly a setting's is a slip; others belong to somebody else. */
static int check_slip(const char *variable, Err *e)
{
    char name[NAME_MAX_BYTES] = "", meant[NAME_MAX_BYTES];
    const char *names[KNOB_COUNT], *at = variable + sizeof PREFIX - 1, *near;
    size_t n = strcspn(at, "=");
    if (n >= sizeof name || at[n] == 0 || at[n + 1] == 0) return SGL_OK;
    for (size_t i = 0; i < n; i++) name[i] = (char)tolower((unsigned char)at[i]);
    for (int id = 0; id < KNOB_COUNT; id++) {
        names[id] = KNOBS[id].name;
        if (strcmp(name, names[id]) == 0) return SGL_OK;
    }
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(name, OTHERS[i]) == 0) return SGL_OK;
    near = base_str_nearest(name, names, KNOB_COUNT);
    if (!near) return SGL_OK;
    environment_name(meant, near);
    base_err_set(e, SGL_EKNOB, "%s%.*s in the environment is no setting (did you mean %s?)", PREFIX,
                 (int)n, at, meant);
    base_err_hint(e, "unset it; --help lists the settings");
    return SGL_EKNOB;
}

/* Looks for slips among all variables first: a setting that is misspelt would be silently
 * without effect. */
static int read_environment(Knobs *k, Err *e)
{
    for (char **variable = environ; variable && *variable; variable++)
        if (strncmp(*variable, PREFIX, sizeof PREFIX - 1) == 0 && check_slip(*variable, e) < 0)
            return e->code;
    for (int id = 0; id < KNOB_COUNT; id++) {
        char name[NAME_MAX_BYTES];
        environment_name(name, KNOBS[id].name);
        const char *text = getenv(name);
        if (!text || !*text) continue;
        int status = base_knob_put(k, (KnobId)id, KNOB_FROM_ENVIRONMENT, name, text, e);
        if (status < 0) return status;
    }
    return SGL_OK;
}

static int read_flags(Knobs *k, Err *e)
{
    for (int id = 0; id < KNOB_COUNT; id++) {
        if (!flags[id]) continue;
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "--%s", KNOBS[id].name);
        int status = base_knob_put(k, (KnobId)id, KNOB_FROM_FLAG, name, flags[id], e);
        if (status < 0) return status;
    }
    return SGL_OK;
}

int base_knob_init(Knobs *k, Err *e)
{
    for (int id = 0; id < KNOB_COUNT; id++) {
        int status = set_value(k, (KnobId)id, KNOBS[id].name, KNOBS[id].def, e);
        if (status < 0) return status;
    }
    int status = read_environment(k, e);
    return status < 0 ? status : read_flags(k, e);
}

void base_knob_free(Knobs *k)
{
    for (int id = 0; id < KNOB_COUNT; id++) {
        base_mem_free(k->text[id]);
        k->text[id] = NULL;
    }
}

int base_knob_find(const char *name, Err *e)
{
    const char *names[KNOB_COUNT];
    for (int id = 0; id < KNOB_COUNT; id++) {
        names[id] = KNOBS[id].name;
        if (strcmp(names[id], name) == 0) return id;
    }
    const char *near = base_str_nearest(name, names, KNOB_COUNT);
    Str all = {0};
    for (int id = 0; id < KNOB_COUNT; id++) base_str_fmt(&all, "%s%s", id ? ", " : "", names[id]);
    base_err_set(e, SGL_EKNOB, "unknown setting '%s' (%s%s%ssettings: %s)", name,
                 near ? "did you mean '" : "", near ? near : "", near ? "'? " : "",
                 all.failed ? "" : all.at);
    base_str_free(&all);
    return SGL_EKNOB;
}

int base_knob_flag(const char *name, const char *text, Err *e)
{
    Knobs check = {0};
    int id = base_knob_find(name, e);
    int status = id < 0 ? id : set_value(&check, (KnobId)id, name, text, e);
    if (status == SGL_OK) flags[id] = text;
    base_knob_free(&check);
    return status;
}

int base_knob_member(KnobId id, const char *name)
{
    return choice_find(KNOBS[id].values, name, strlen(name));
}

bool base_knob_has(const Knobs *k, KnobId id, const char *member)
{
    int i = base_knob_member(id, member);
    return i >= 0 && (k->value[id] >> i & 1);
}
