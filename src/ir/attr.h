/* attr.h: attributes by the schema of an op's row, "name:kind name:kind …".
 *
 * Encoded they are a run of words in the schema's order: I, A, T one word; G the number of a
 * block; F the bits of a double; S the address of a text interned by the context; P, L, D a count
 * and then the items. NaN has one encoding, so equal means equal.
 * The last fields of a schema may have a default, "blocks:I=1" or "global:D=[]" (the empty list):
 * texts and tables leave them out where they have it, encoded words are always complete.
 */
#ifndef SGL_IR_ATTR_H
#define SGL_IR_ATTR_H
#include "ir/graph.h"

typedef struct AttrField {
    const char *name;      /* not terminated: in the schema */
    int length;
    char kind;
    bool optional;         /* has a default, one word: */
    int64_t fallback;
} AttrField;

/* Takes the next field off the schema; false at its end. */
bool ir_attr_next(const char **schema, AttrField *out);
/* Does the attribute at `at` have its default? */
bool ir_attr_default(const AttrField *f, const int64_t *at);
/* Words of one attribute that starts at `at`, of which `left` are there; -1: not that many. */
int ir_attr_words(char kind, const int64_t *at, int left);
/* Where the words of the attribute of this name begin in n->attr; -1: the op has none. */
int ir_attr_place(const Node *n, const char *name);
/* SGL_EARG unless the words follow the op's schema: complete, axes and dtypes in their ranges,
 * dims known to the context, at most OP_MAX_RANK items in a list. What depends on the inputs
 * is the shape rule's. */
int ir_attr_check(Ctx *cx, Op op, const int64_t *attr, int nattr);

/* Encoder. A list that is too long makes the buffer `bad`, and ir_attr_node report it. */
enum { ATTR_MAX_WORDS = 64 };
typedef struct AttrBuf {
    int n;
    bool bad;
    int64_t word[ATTR_MAX_WORDS];
} AttrBuf;
void ir_attr_put(AttrBuf *b, int64_t word);
void ir_attr_put_float(AttrBuf *b, double value);
void ir_attr_put_list(AttrBuf *b, int n, const int64_t *items);
void ir_attr_put_text(Ctx *cx, AttrBuf *b, const char *text);
/* Makes the node; optional attributes that the buffer ends before get their defaults. */
Node *ir_attr_node(Graph *g, Op op, int nin, Node *const *in, const AttrBuf *b);
double ir_attr_double(int64_t word);
const char *ir_attr_text(int64_t word);
#endif
