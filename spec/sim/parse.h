/* parse.h: between parse.c and parse_inst.c: a text of PTX while it is read.
 */
#ifndef SGL_SPEC_SIM_PARSE_H
#define SGL_SPEC_SIM_PARSE_H
#include "sim.h"

enum { MOST_NAMES = 2048, MOST_LABELS = 4096, MOST_PARTS = 16 };

typedef struct Name {
    char text[120];
    int first, count;
} Name; /* registers %r0 … */
typedef struct Place {
    char text[96];
    uint64_t at;
    int kernel;
} Place; /* a variable's address */
typedef struct Label {
    char text[96];
    int inst;
} Label;

/* A function of the device: its text is read again at each call. */
typedef struct Function {
    char name[96], result[96], param[8][96];
    size_t result_bytes;
    int n, line;
    const char *at;
} Function;

typedef struct Parse {
    const char *at;
    int line;
    bool failed;
    Module *m;
    Kernel *k; /* NULL: outside kernels */
    Name name[MOST_NAMES];
    int nname;
    Place place[512];
    int nplace;
    Label label[MOST_LABELS], wanted[MOST_LABELS];
    int nlabel, nwanted;
    char params[64][96];
    Function function[64];
    int nfunction;
    int inlined, calls; /* the call whose function is read, of so many; 0: none */
    char *text;         /* a statement */
} Parse;

enum { STATEMENT = 1 << 18 };

void sim_parse_fail(Parse *p, const char *what, const char *text);
char *sim_parse_trimmed(char *s);
/* Cuts at a separator outside brackets; how many parts. */
int sim_parse_cut(char *s, char sep, char **part, int most);
int sim_parse_type(const char *text);                 /* -1: it is none */
int sim_parse_find(const Parse *p, const char *text); /* a register, or -1 */
int sim_parse_registers(Parse *p, const char *text, int count);
int sim_parse_operand(Parse *p, const char *text); /* the register, whatever it is */
bool sim_parse_number(const char *s, uint64_t *out);
const Place *sim_parse_place(const Parse *p, const char *text);

/* ---- parse_inst.c */
Inst *sim_parse_add(Parse *p, Inst i);
void sim_parse_inst(Parse *p, char *text); /* one instruction */
#endif
