/* rule.h: the tables of rewriting rules, a rule a row.
 *
 * A row matches a node of its op whose first and second inputs pass the tests (NULL: anything).
 * `make` gives an equal node, or NULL when it sees on a closer look that the rule does not apply.
 * Holds for every row: the result has the same bits for all inputs, infinities, NaN and -0 too;
 *        which bits a NaN has is left open. Where `why` says "integers", floats are excluded.
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
