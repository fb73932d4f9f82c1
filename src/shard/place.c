/* place.c: how a script asks a value to lie over the ranks, as text (shard.h).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "shard/shard.h"

static int find_axis(const Mesh *m, const char *name, size_t n)
{
    for (int a = 0; a < m->n; a++)
        if (strlen(m->name[a]) == n && memcmp(m->name[a], name, n) == 0) return a;
    return -1;
}

/* The axes of one dim, up to the end of its entry; an axis is on one dim alone. */
static Axes read_names(const Mesh *m, const char *at, unsigned *used)
{
    Axes axes = 0;
    for (;;) {
        size_t n = strcspn(at, ",;");
        int axis = find_axis(m, at, n);
        if (axis >= 0 && !(*used >> axis & 1)) {
            axes = comm_axes_add(axes, axis);
            *used |= 1u << axis;
        }
        if (at[n] != ',') return axes;
        at += n + 1;
    }
}

void shard_place(const Mesh *m, const char *text, int rank, Axes *spec)
{
    unsigned used = 0;
    memset(spec, 0, (size_t)rank * sizeof *spec);
    while (isdigit((unsigned char)*text)) {
        char *names;
        long dim = strtol(text, &names, 10);
        if (dim >= 1 && dim <= rank) spec[dim - 1] = read_names(m, names + 1, &used);
        text += strcspn(text, ";");
        if (*text) text++;
    }
}

static bool is_name(const char *at, size_t n)
{
    if (n == 0 || n >= MESH_NAME || !isalpha((unsigned char)*at)) return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)at[i]) && at[i] != '_') return false;
    return true;
}

/* Behind one entry "2=model,data"; NULL: it is none. */
static const char *skip_entry(const char *at)
{
    char *names;
    if (!isdigit((unsigned char)*at) || strtol(at, &names, 10) < 1 || *names != '=') return NULL;
    for (at = names + 1;; at++) {
        size_t n = strcspn(at, ",;");
        if (!is_name(at, n)) return NULL;
        at += n;
        if (*at != ',') return at;
    }
}

const char *shard_place_wrong(const char *text)
{
    if (strlen(text) >= SHARD_PLACE) return "it names too many dims";
    if (strcmp(text, SHARD_WHOLE) == 0) return NULL;
    do {
        text = skip_entry(text);
        if (!text) return "a dim from 1, and axes of at most 15 letters, digits and _";
    } while (*text++ == ';');
    return NULL;
}
