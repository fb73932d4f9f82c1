/* print.h: pieces shared by the two printers and the parser of graphs.
 */
#ifndef SGL_IR_PRINT_H
#define SGL_IR_PRINT_H
#include "ir/attr.h"

/* Which nodes and composites a printer shows: what outputs and assigns need, and all inputs. */
typedef struct Live {
    uint8_t *node;           /* by id */
    uint8_t *composite;         /* by composite; those of live nodes, and their parents */
} Live;
bool ir_live_find(const Graph *g, Live *out);          /* false: out of memory */
void ir_live_free(Live *l);

/* The shortest decimal that reads back as the same value of the dtype; integers and bools as
 * Lua writes them. Independent of the locale. */
void ir_print_value(Dtype dtype, double value, Str *out);
void ir_print_quoted(const char *text, Str *out);      /* "…" with \" \\ \xNN */
bool ir_print_is_plain(const char *text);              /* needs no quotes as a file's name */
typedef bool (*AttrFilter)(const AttrField *);         /* true: print it */
/* " {dims=[2]}" or nothing; `block` gives the numbers of blocks in the text, NULL: their own. */
void ir_print_attrs(const Node *n, AttrFilter keep, const uint32_t *block, Str *out);
/* Numbers the blocks of live nodes from 0 in the order of their first use; order[i] is the i-th.
 * Returns how many they are. */
int ir_print_blocks(const Graph *g, const Live *live, uint32_t *number, int *order);
#endif
