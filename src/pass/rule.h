/* rule.h: the tables of rewriting rules, a rule a row.
 *
 * A row matches a node of its op whose first and second inputs pass the tests (NULL: anything).
 * `make` gives an equal node, or NULL when it sees on a closer look that the rule does not apply.
 * Holds for every row: the result has the same bits for all inputs, infinities, NaN and -0 too;
 *        which bits a NaN has is left open. Where `why` says "integers", floats are excluded.
 *
 * Why the rewriting ends: an op weighs 8 (pow, reductions, cumsum), 4 (div, sqrt), 3 (add, sub,
 * mul, where, permute, flip), 2 (comparisons, truths) or 1 (neg, abs, cast, other movements); a
 * node of constants alone, which is folded, weighs 0. A value weighs what its op and its different
 * inputs weigh together. Each row must give a value that weighs less, or as much with a constant
 * less in front of a variable ("constants stand second") or an axis less to flip; and what reads a
 * lighter value is lighter itself. So no row can undo others for ever, in whatever order they are
 * tried. Trimming (trim.c) takes outputs, inputs or nodes from blocks and adds none. The limits of
 * rounds and steps in simplify.c only bound the time; what they would leave undone is still
 * correct.
 */
#ifndef SGL_PASS_RULE_H
#define SGL_PASS_RULE_H
#include "ir/graph.h"

typedef struct Rule {
    Op op;
    bool (*x)(const Node *);
    bool (*y)(const Node *);
    Node *(*make)(Node *n);
    const char *why;
} Rule;

extern const Rule PASS_ELEMENT_RULES[], PASS_MOVEMENT_RULES[];   /* end with a NULL make */
#endif
