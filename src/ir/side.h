/* side.h: what passes note about nodes beside the graph: a sparse table by node and kind.
 *
 * A graph's meaning, text and hash do not depend on it; it is printed on request. A note is a list
 * of words, in the graph's arena. When a graph is rebuilt, kinds that are carried go to the node
 * that takes a node's place, unless that has a note already; others are dropped, as what they say
 * follows from the graph.
 */
#ifndef SGL_IR_SIDE_H
#define SGL_IR_SIDE_H
#include "ir/graph.h"

typedef enum SideKind {
    SIDE_placement,          /* how it lies on a mesh; carried */
    SIDE_class,              /* the class of each dim; dropped */
    SIDE_asked,              /* a text: how a script asks it to lie (shard.h); carried */
    SIDE_COUNT
} SideKind;

/* Notes the words beside n, in place of those that it had; SGL_ENOMEM. */
int ir_side_set(Graph *g, SideKind kind, const Node *n, int count, const int64_t *words);
/* NULL: no note. */
const int64_t *ir_side_get(const Node *n, SideKind kind, int *count);
/* What of `from` is carried to the nodes in made, by id. */
int ir_side_carry(Graph *to, const Graph *from, Node *const *made);
void ir_side_free(Side *s);
int ir_side_find(const char *kind);                    /* SideKind, or -1 */
bool ir_side_is_text(SideKind kind);                   /* are its words interned texts? */
/* All notes, in the order in which they came: kind, node and words of the i-th. */
int ir_side_count(const Graph *g);
const char *ir_side_at(const Graph *g, int i, uint32_t *node, int *count, const int64_t **words);
/* side_text.c: "side %3 placement [1, 2]" a line, by numbers of the text; those that it
 * leaves out are not there. */
void ir_side_print(const Graph *g, Str *out);
#endif
