/* knob.h: settings (knob.def), read from the environment, flags, a file or the program.
 *
 * Holds: a value in a Knobs is always inside its range or one of its choices. A weaker place never
 *        overrides a stronger one (KnobFrom), in whatever order they are read.
 */
#ifndef SGL_BASE_KNOB_H
#define SGL_BASE_KNOB_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

typedef enum KnobType { KNOB_INT, KNOB_CHOICE, KNOB_SET, KNOB_PATH, KNOB_TEXT } KnobType;
typedef enum KnobId {
#define KNOB(name, type, def, lo, hi, values, key, effect, help) KNOB_##name,
#include "base/knob.def"
#undef KNOB
    KNOB_COUNT
} KnobId;

/* What a change of a setting causes; exec/settings.c does it. */
typedef enum KnobEffect {
    EFFECT_none,
    EFFECT_pool,           /* threads are started anew at their next use */
    EFFECT_programs,       /* programs are made again at their next use */
    EFFECT_cache,          /* programs in memory beyond the limit go */
    EFFECT_folder,         /* the cache on disk is looked for again */
    EFFECT_components,     /* backends start or stop, programs and events as above and below */
    EFFECT_events,         /* which events are told is found out again */
    EFFECT_history,        /* the ring of the last events has another size, and is empty */
    EFFECT_debug,          /* steps of runs are printed or not */
    EFFECT_alloc           /* the n-th allocation from now fails */
} KnobEffect;

typedef struct KnobInfo {
    const char *name;
    KnobType type;
    const char *def;       /* default, as text */
    int64_t lo, hi;        /* range of an INT, inclusive */
    const char *values;    /* choices of a CHOICE, members of a SET, separated by blanks */
    int key;               /* 1: changes what a compiled program does, so joins the cache key */
    KnobEffect effect;     /* what a change causes */
    const char *help;
} KnobInfo;

extern const KnobInfo KNOBS[KNOB_COUNT];

/* What a preset sets (preset.def). Ends with a NULL name. */
typedef struct KnobPreset { const char *name; KnobId id; const char *text; } KnobPreset;
extern const KnobPreset KNOB_PRESETS[];

/* The place a value came from, the stronger the larger. What a preset sets is weaker than what is
 * said expressly in the same place; in the program the last word counts. */
typedef enum KnobFrom {
    KNOB_FROM_DEFAULT,
    KNOB_FROM_FOUND_PRESET, KNOB_FROM_FOUND,       /* a file of the current folder, unasked */
    KNOB_FROM_FILE_PRESET, KNOB_FROM_FILE,
    KNOB_FROM_ENVIRONMENT_PRESET, KNOB_FROM_ENVIRONMENT,
    KNOB_FROM_FLAG_PRESET, KNOB_FROM_FLAG,
    KNOB_FROM_PROGRAM
} KnobFrom;
const char *base_knob_from_name(KnobFrom from);            /* "file", "environment" … */

typedef struct Knobs {
    int64_t value[KNOB_COUNT];     /* of a CHOICE its index, of a SET a bit a member, of a PATH
                                      or TEXT how often it was set */
    char *text[KNOB_COUNT];        /* of a PATH or TEXT; owned; NULL: empty */
    uint8_t from[KNOB_COUNT];      /* KnobFrom */
} Knobs;

int base_knob_init(Knobs *k, Err *e);                      /* defaults, environment, flags */
void base_knob_free(Knobs *k);
int base_knob_find(const char *name, Err *e);              /* id, or SGL_EKNOB naming the nearest */
/* Checks in any case, and sets unless a stronger place did; `shown` names it in messages. A file
 * that was found, which may have come with anybody's folder, sets no path. */
int base_knob_put(Knobs *k, KnobId id, KnobFrom from, const char *shown, const char *text, Err *e);
void base_knob_text(const Knobs *k, KnobId id, Str *out);  /* the value as a user writes it */
int base_knob_member(KnobId id, const char *name);         /* its bit in a SET's value, or -1 */
bool base_knob_has(const Knobs *k, KnobId id, const char *member);         /* of a SET */

/* A flag of the command line: every context that is opened later takes it. The text is borrowed
 * for good. */
int base_knob_flag(const char *name, const char *text, Err *e);
#endif
