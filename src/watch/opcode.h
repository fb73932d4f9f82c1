/* opcode.h: instructions of the virtual machine of Lua 5.4, and the fields in them.
 *
 * Holds: numbers and fields are those of 5.4.0 to 5.4.8; a register r of a frame stands at stack
 *        index r + 1.
 */
#ifndef SGL_WATCH_OPCODE_H
#define SGL_WATCH_OPCODE_H
#include <stdbool.h>
#include "bind/frame.h"

enum {
#define X(name, number, action) VM_##name = number,
#include "watch/opcode.def"
#undef X
    VM_JMP = 56,
    VM_EXTRAARG = 82,
    VM_COUNT = 128,
    VM_EQI_ZERO = 127,    /* what stands for 0 in an immediate operand */
    VM_TFOR_FUNCTION = 4, /* the register of what TFORCALL calls, from A on */
    VM_FIRST_SHIFT = 16,  /* the first shift among the events that MMBIN names */
};

static inline int vm_op(Instruction i) { return (int)(i & 0x7f); }
static inline int vm_a(Instruction i) { return (int)(i >> 7 & 0xff); }
static inline bool vm_k(Instruction i) { return i >> 15 & 1; }
static inline int vm_b(Instruction i) { return (int)(i >> 16 & 0xff); }
static inline int vm_c(Instruction i) { return (int)(i >> 24 & 0xff); }
#endif
