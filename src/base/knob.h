/* knob.h: settings (knob.def), read from the environment, flags or Lua.
 *
 * Holds: a value in a Knobs is always inside its range or one of its choices.
 */
#ifndef SGL_BASE_KNOB_H
#define SGL_BASE_KNOB_H
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

typedef enum KnobType { KNOB_INT, KNOB_CHOICE } KnobType;
typedef enum KnobId {
#define KNOB(name, type, def, lo, hi, values, key, help) KNOB_##name,
#include "base/knob.def"
#undef KNOB
    KNOB_COUNT
} KnobId;

typedef struct KnobInfo {
    const char *name;
    KnobType type;
    const char *def;       /* default, as text */
    int64_t lo, hi;        /* range of an INT, inclusive */
    const char *values;    /* choices, separated by blanks */
    int key;               /* 1: changes what a compiled program does, so joins the cache key */
    const char *help;
} KnobInfo;

extern const KnobInfo KNOBS[KNOB_COUNT];

typedef struct Knobs { int64_t value[KNOB_COUNT]; } Knobs;   /* a CHOICE is its index */

int base_knob_init(Knobs *k, Err *e);                      /* defaults, then the environment */
int base_knob_find(const char *name, Err *e);              /* id, or SGL_EKNOB naming the nearest */
int base_knob_set(Knobs *k, const char *name, const char *text, Err *e);
void base_knob_text(const Knobs *k, KnobId id, Str *out);  /* the value as a user writes it */
#endif
