/* isa.h: the instruction sets and what each brings: files named *_isa.c are compiled once for
 * each (ISA = portable, avx2, avx512) and register their functions here.
 *
 * Holds: all sets give the same bits.
 */
#ifndef SGL_CPU_ISA_H
#define SGL_CPU_ISA_H
#include "cpu/gemm.h"
#include "cpu/tile.h"

typedef struct Isa {
    const char *name;
    GemmFn gemm;
    const TileOps *tile;
} Isa;

/* The best set this CPU has, or the one the knob `isa` names; NULL with SGL_EUNSUP when the CPU
 * lacks it. */
const Isa *cpu_isa(Ctx *cx);
#endif
