/* text.h: the text form of a graph, and the short form for people.
 *
 * print → parse → equal, for every graph. Axes count from 1 as in Lua.
 */
#ifndef SGL_IR_TEXT_H
#define SGL_IR_TEXT_H
#include "ir/attr.h"

/* The whole text, sources too; `out` is failed when there is no memory. */
void ir_print(const Graph *g, Str *out);
/* The same without positions in the source, as long as there are no blocks: those of nodes inside
 * blocks would be lost. Equal texts are equal programs. */
void ir_print_plain(const Graph *g, Str *out);
/* number[id] becomes the node's number in the text, or -1 when it is left out. Returns how many
 * are in it, or SGL_ENOMEM. */
int ir_text_numbers(const Graph *g, int32_t *number);
Graph *ir_parse(Ctx *cx, const char *text);            /* NULL: error with line and column */
/* The attributes of one node, "{dims=[1]}" or, where all have their default, "". Those of a
 * registered op follow its name, which is in b. */
int ir_parse_attrs(Graph *g, Op op, const char *text, AttrBuf *b);
uint64_t ir_graph_hash(const Graph *g);                /* of all that changes meaning: no sources */
/* For people: composites folded to one line, as `g` prints in the REPL. `kernels` < 0: unknown. */
void ir_show(const Graph *g, int kernels, Str *out);
#endif
