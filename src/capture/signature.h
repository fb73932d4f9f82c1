/* signature.h: what tells the calls of a compiled function apart, as words.
 *
 * Holds: equal words are calls of one capture: tensors of the same dtypes, sizes and identities,
 *        numbers at the same places, and everything else equal. Reading them allocates nothing once
 *        the buffers have grown. What a signature says in a message is text of Lua's
 *        (lua/sgl/compile/signature.lua), which walks in the same order.
 */
#ifndef SGL_CAPTURE_SIGNATURE_H
#define SGL_CAPTURE_SIGNATURE_H
#include "tensor/tensor.h"

typedef struct Signature {
    VEC(uint64_t) words;
    VEC(const Tensor *) leaf; /* the run-time inputs, in order; NULL: a number */
    VEC(const void *) table;  /* the tables that were met */
    VEC(int) order;           /* places on the stack of keys, sorted */
} Signature;

/* Where the pieces of a call stand on the stack. */
typedef struct CallPlace {
    int first, count; /* arguments */
    int specs;        /* the list of specs, as dynamic.lua packs them, or nil; or the mask */
    int leaves;       /* the list that gets the run-time inputs */
    int tables;       /* the list that gets the tables */
    bool masked;      /* a mask says what is looked at */
} CallPlace;

/* false: it cannot say, and Lua's walk says why: no memory, a tensor that is closed, a key that is
 * no name, an argument that is not what its spec says. */
bool capture_signature_read(lua_State *L, Host *h, Signature *s, const CallPlace *at);
void capture_signature_free(Signature *s);
#endif
