/* lower.h: what the files of the lowering share: a kernel while it is written.
 *
 * Instructions are kept in two lists, because in LONG and COL loops a value found necessary late
 * may have to run early: EACH runs once a point or tile, END after the reductions. A reference to
 * the END list is its index plus LOWER_END until lower_finish.c joins the lists.
 */
#ifndef SGL_KERN_LOWER_H
#define SGL_KERN_LOWER_H
#include "kern/step.h"

enum { LOWER_EACH, LOWER_END_STAGE, LOWER_END = 1 << 24 };

typedef struct LowerValue {
    struct LowerValue *next;
    const IndexMap *at;
    int stage, inst;
} LowerValue;

typedef struct Lower {
    const Schedule *s;
    int group;
    const Loop *loop;
    Arena *arena;             /* of the program */
    Arena scratch;
    IndexMaps maps;
    Map values;               /* node id: LowerValue list */
    Map known;                /* hash of an instruction: its reference */
    VEC(KernInst) inst[2];
    VEC(Access) access;
    VEC(int) args;            /* buffers */
} Lower;

/* Both return an index or a negative code. */
int kern_lower_value(Lower *l, Node *n, const IndexMap *at, int stage);
int kern_lower_store(Lower *l, Node *buffer_of, Affine at, int value, int stage);

/* Orders the loop variables, joins adjacent ones where every access allows, copies the kernel and
 * its step's arguments into the arena. */
int kern_lower_finish(Lower *l, Step *step);
/* "row_softmax", "map_mul_add": from the composite that the stored nodes belong to, else ops. */
const char *kern_lower_name(const Lower *l, const Kernel *k);
#endif
