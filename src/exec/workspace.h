/* workspace.h: the memory that programs run in, one block for each depth of nesting and device.
 *
 * Programs of a context run one at a time; blocks of control flow, and what a print calls, run
 * inside another one. So the programs of a device share a stack of blocks, each as large as the
 * largest program that ran at its depth, and hold no such memory themselves.
 * Holds: the content is the program's from take to give, and nobody's before and after. A block in
 *        use never moves; one that is not moves only when a larger program runs there.
 */
#ifndef SGL_EXEC_WORKSPACE_H
#define SGL_EXEC_WORKSPACE_H
#include "dev/device.h"

/* 64-byte aligned memory of the device at the next depth, not cleared; NULL with the context's
 * error set, and then nothing is to be given back. */
void *exec_workspace_take(Device *d, size_t bytes);
void exec_workspace_give(Device *d);                    /* what was taken last */
/* No program needs so much any longer: the blocks of just this size go, unless one runs there. */
void exec_workspace_trim(Device *d, size_t bytes);
#endif
