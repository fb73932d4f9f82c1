/* tile_coder.h: what the files that make code of the tile interpreter share: a code list while it
 * is written.
 *
 * tile_code.c goes through the kernel; tile_loop.c makes loops of operations; tile_slot.c gives
 * values their places when the list is complete.
 */
#ifndef SGL_CPU_TILE_CODER_H
#define SGL_CPU_TILE_CODER_H
#include "cpu/tile_plan.h"

typedef struct Coder {
    TilePlan *p;
    const Kernel *k;
    TileCodeList *list;
    bool post;                 /* compiling `post` of LONG or COL */
    Span widest;               /* span of a store that is not scalar */
    TileInst *once;            /* collected apart, then put in front */
    int nonce;
    int *value;                /* by kernel instruction: value */
    int *uses;                 /* by kernel instruction: how often it is an operand */
    int *wide;                 /* by value: the same expanded to `widest`, or -1 */
    int *outer;                /* by value: the same expanded to SPAN_OUTER, or -1 */
} Coder;

int cpu_code_operands(const KernInst *in);              /* how many of a, b, c are values */
int cpu_code_value(Coder *c, Span span, Reg reg);       /* a new one */
TileInst cpu_code_blank(Coder *c, TileCode code, Span span, Reg reg);  /* with a new value */
void cpu_code_emit(Coder *c, TileInst t);
int cpu_code_expand(Coder *c, int v, Span span);        /* value v as an array over span */

void cpu_code_loop(Coder *c, const KernInst *in, int i);  /* KI_OP, KI_CAST */
int cpu_code_slots(TilePlan *p, TileCodeList *l);         /* p->scratch grows */
#endif
