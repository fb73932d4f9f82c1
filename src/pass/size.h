/* size.h: what the passes may ask of sizes that a run decides.
 *
 * Arithmetic is that of ir/num.h; here are the decisions. Most are proofs over all sizes, and what
 * cannot be proved is taken for untrue, which costs a kernel and never a bit. A few must be right
 * for the sizes at hand: which order a sum has, whether there are elements at all. Where the range
 * of the size leaves such a question open, the sizes of the compilation answer it, and the answer
 * becomes a condition of the program: it serves sizes that give the same answers, and others get
 * a program of their own. There are few answers, so there are few programs.
 */
#ifndef SGL_PASS_SIZE_H
#define SGL_PASS_SIZE_H
#include "base/vec.h"
#include "ir/graph.h"
#include "ir/num.h"

/* `at` is from lo to hi, or it is not. */
typedef struct SizeTest { Num at; int64_t lo, hi; bool inside; } SizeTest;
/* Sizes at hand: values of the declared symbols, by number. */
typedef struct SizeValues { const int64_t *at; int n; } SizeValues;
typedef struct Sizes {
    Ctx *cx;                       /* borrowed */
    int64_t *own;                  /* what values.at is */
    SizeValues values;             /* at hand; none: all is static */
    VEC(SizeTest) tests;
    bool failed;                   /* no memory for a test; the context says so */
} Sizes;

/* values: copied; NULL: a static graph. NULL: no memory. */
Sizes *pass_sizes_new(Ctx *cx, const SizeValues *values);
void pass_sizes_free(Sizes *s);                            /* NULL is allowed */

/* Is a from lo to hi? Right for all sizes that the program will serve. */
bool pass_size_inside(Sizes *s, Num a, int64_t lo, int64_t hi);
/* Do these values answer every question as those of the compilation did? */
bool pass_sizes_fit(const Sizes *s, const SizeValues *values);
/* What a is for the sizes at hand: for costs and orders, which change no bit. */
int64_t pass_size_guess(const Sizes *s, Num a);

/* Other sizes than those before; they fit. False: they are the same. */
bool pass_sizes_set(Sizes *s, const SizeValues *values);

Num pass_count(const Node *n);                             /* elements */
int64_t pass_count_now(const Sizes *s, const Node *n);     /* for the sizes at hand */
bool pass_is_empty(Sizes *s, const Node *n);               /* has it none? */
#endif
