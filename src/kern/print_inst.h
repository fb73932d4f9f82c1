/* print_inst.h: between the files that print kernels: a kernel on its way to text.
 *
 * print_inst.c prints what an instruction computes; who prints the loops around it (print_c.c, the
 * printers of devices) says how numbers that a run decides are written, and what a reduction is.
 */
#ifndef SGL_KERN_PRINT_INST_H
#define SGL_KERN_PRINT_INST_H
#include "kern/print_c.h"

typedef struct Printer Printer;
struct Printer {
    const CFile *f;
    const Kernel *k;
    Str *out;
    int kept, kept_end, inner, inner_end; /* ranges of variables */
    bool *moves;                          /* by instruction: changes along the inner variables */
    bool *wanted;                         /* of the loop that is printed */
    int depth;
    void (*number)(const Printer *p, Num n);              /* an extent, a stride, a bound */
    void (*reduce)(const Printer *p, const KernInst *t);  /* the value of a KI_REDUCE */
    void *arg;                            /* of these two */
};

extern const char KERN_VARIABLES[LOOP_MAX_VARS + 1];      /* a letter for each */

void kern_print_line(const Printer *p);                   /* the margin of a line */
/* const float v<i> = …; */
void kern_print_inst(const Printer *p, int i);
void kern_print_store(const Printer *p, const KernInst *t);
/* Finds which instructions change along the inner variables. */
void kern_print_find_moving(Printer *p);
/* The moving instructions that the wanted ones need, in order. */
void kern_print_wanted(const Printer *p);
/* A pointer for each buffer and type it is seen as, taken from the array of that name. */
void kern_print_pointers(const Printer *p, const char *from);
#endif
