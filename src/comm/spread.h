/* spread.h: how an array lies over the ranks of a mesh: each has a part of it.
 */
#ifndef SGL_COMM_SPREAD_H
#define SGL_COMM_SPREAD_H
#include "comm/comm.h"

enum { SPREAD_RANK = 12 };     /* dims of an array at most */

typedef struct CommSpread {
    Mesh mesh;
    int rank;                  /* how many dims */
    Axes axes[SPREAD_RANK];    /* by dim: 0: every rank has all of it */
    CommCut cut[SPREAD_RANK];
} CommSpread;

/* Do both lie so? */
bool comm_spread_same(const CommSpread *a, const CommSpread *b);
/* What rank r has of dim d: elements [*from, *to). */
void comm_spread_range(const CommSpread *s, int r, int d, int64_t *from, int64_t *to);
/* Copies rank r's part out of the whole array, whose elements have so many bytes. */
void comm_spread_cut(const CommSpread *s, int r, size_t bytes, const void *whole, void *part);
/* Puts the parts of all ranks together; they call it together. `whole` has room for all. */
int comm_spread_gather(Comm *c, const CommSpread *s, Dtype dtype, const void *part, void *whole);
#endif
