/* attr.h: attributes by the schema of an op's row, "name:kind name:kind …".
 *
 * Encoded they are a run of words in the schema's order; attr.def has the kinds, and what a word of
 * each means. Equal bits mean equal attributes.
 * The last fields of a schema may have a default, "blocks:I=1", "by:F=0.5" or "global:D=[]" (the
 * empty list): texts and tables leave them out where they have it, encoded words are always
 * complete. The schema of `custom` goes on with that of the registered op which its first word
 * names, so schemas are asked for with the words.
 */
#ifndef SGL_IR_ATTR_H
#define SGL_IR_ATTR_H
#include "ir/graph.h"

typedef enum AttrItem {
#define ITEM(name) ITEM_##name,
#define KIND(letter, item, list, absent)
#include "ir/attr.def"
#undef ITEM
#undef KIND
    ITEM_COUNT
} AttrItem;
typedef enum AttrAbsent { ABSENT_ZERO, ABSENT_ONES, ABSENT_ALL, ABSENT_ERROR } AttrAbsent;

typedef struct AttrKind {
    char letter;
    bool list;             /* a count and then words; else one word */
    AttrItem item;         /* what a word means */
    AttrAbsent absent;     /* from a Lua table */
} AttrKind;

typedef struct AttrField {
    const char *name;      /* not terminated: in the schema */
    int length;
    const AttrKind *kind;
    bool optional;         /* has a default, one word: */
    int64_t fallback;
} AttrField;

/* The schema of op for these words; of `custom` without any, or with a name that is not registered,
 * its beginning. */
const char *ir_attr_schema(Op op, const int64_t *attr, int nattr);
static inline const char *ir_schema(const Node *n)
{
    return ir_attr_schema(n->op, n->attr, n->nattr);
}
/* Takes the next field off the schema; false at its end. */
bool ir_attr_next(const char **schema, AttrField *out);
/* Does the attribute at `at` have its default? */
bool ir_attr_default(const AttrField *f, const int64_t *at);
/* Words of the attribute that starts at `at`, of which `left` are there; -1: not that many. */
int ir_attr_words(const AttrField *f, const int64_t *at, int left);
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
void ir_attr_put_real(AttrBuf *b, double value);
void ir_attr_put_list(AttrBuf *b, int n, const int64_t *items);
int64_t ir_attr_real_word(double value);
/* Of a text that the context keeps; 0 with the error set: no memory. */
int64_t ir_attr_text_word(Ctx *cx, const char *text);
/* Makes the node; optional attributes that the buffer ends before get their defaults. */
Node *ir_attr_node(Graph *g, Op op, int nin, Node *const *in, const AttrBuf *b);
double ir_attr_double(int64_t word);
const char *ir_attr_text(int64_t word);
#endif
