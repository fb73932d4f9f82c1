/* knob.c: the settings table (knob.def) and the only code that parses a setting.
 *
 * In:    defaults, then SGL_<NAME> from the environment, then base_knob_set by flags and Lua.
 * Holds: a text that does not fit changes nothing and is reported with what would have fitted,
 *        under the name by which the user gave it.
 */
#include "base/knob.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64 };

/* Parses `text`; `shown` is the name in messages. */
typedef int (*Setter)(Knobs *k, KnobId id, const char *shown, const char *text, Err *e);

const KnobInfo KNOBS[KNOB_COUNT] = {
#define KNOB(name, type, def, lo, hi, values, key, help)                                           \
    {#name, KNOB_##type, def, lo, hi, values, key, help},
#include "base/knob.def"
#undef KNOB
};

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

static int set_choice(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    size_t n;
    const char *choice;
    for (int i = 0; (choice = choice_at(KNOBS[id].values, i, &n)); i++) {
        if (n == strlen(text) && memcmp(choice, text, n) == 0) {
            k->value[id] = i;
            return SGL_OK;
        }
    }
    base_err_set(e, SGL_EKNOB, "%s: '%s' is none of the choices %s", shown, text, KNOBS[id].values);
    return SGL_EKNOB;
}

static int set_int(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    char *end;
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

static int set_value(Knobs *k, KnobId id, const char *shown, const char *text, Err *e)
{
    static const Setter BY_TYPE[] = {[KNOB_INT] = set_int, [KNOB_CHOICE] = set_choice};
    int status = BY_TYPE[KNOBS[id].type](k, id, shown, text, e);
    if (status < 0) base_err_hint(e, "%s: %s", KNOBS[id].name, KNOBS[id].help);
    return status;
}

static void environment_name(char *to, const char *name)
{
    size_t n = 0;
    for (const char *prefix = "SGL_"; *prefix; prefix++) to[n++] = *prefix;
    for (; *name && n + 1 < NAME_MAX_BYTES; name++) to[n++] = (char)toupper((unsigned char)*name);
    to[n] = 0;
}

int base_knob_init(Knobs *k, Err *e)
{
    for (int id = 0; id < KNOB_COUNT; id++) {
        int status = set_value(k, (KnobId)id, KNOBS[id].name, KNOBS[id].def, e);
        if (status < 0) return status;
    }
    for (int id = 0; id < KNOB_COUNT; id++) {
        char name[NAME_MAX_BYTES];
        environment_name(name, KNOBS[id].name);
        const char *text = getenv(name);
        if (!text || !*text) continue;
        int status = set_value(k, (KnobId)id, name, text, e);
        if (status < 0) return status;
    }
    return SGL_OK;
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

int base_knob_set(Knobs *k, const char *name, const char *text, Err *e)
{
    int id = base_knob_find(name, e);
    return id < 0 ? id : set_value(k, (KnobId)id, name, text, e);
}

void base_knob_text(const Knobs *k, KnobId id, Str *out)
{
    if (KNOBS[id].type == KNOB_INT) {
        base_str_fmt(out, "%lld", (long long)k->value[id]);
        return;
    }
    size_t n;
    const char *choice = choice_at(KNOBS[id].values, (int)k->value[id], &n);
    base_str_add(out, choice, n);
}
