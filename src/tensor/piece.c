/* piece.c: slices of known values, copied out without a program.
 *
 * In:   a node of the pending trace.
 * Out:  its value beside it, as if a program had computed it.
 * A program is made for the positions of its slices, so a loop over t[i], or over the batches of a
 * data set, would make one for each; the copy costs less than looking such a program up.
 * Holds: what is copied has the bits of its source. A piece is at most PIECE_BYTES: larger ones pay
 *        for threads and for being fused with what reads them.
 */
#include "tensor/piece.h"
#include <string.h>

enum { PIECE_BYTES = 1 << 20, DEEP = 4 /* slices of slices that are followed */ };

typedef struct Cut {
    const Node *from; /* the slice's operand */
    const Dim *dims;  /* of the piece */
    const int64_t *start, *step;
    int rank, whole;               /* from this axis on all elements are taken */
    size_t block[OP_MAX_RANK + 1]; /* bytes of an element of the axes before this one */
} Cut;

/* Copies what lies at `from` along `axis` and those behind it; returns the end of what it wrote. */
static char *copy_axis(const Cut *c, int axis, const char *from, char *to)
{
    if (axis >= c->whole) {
        memcpy(to, from, c->block[axis]);
        return to + c->block[axis];
    }
    size_t block = c->block[axis + 1];
    from += (size_t)c->start[axis] * block;
    for (Dim i = 0; i < c->dims[axis]; i++, from += (size_t)c->step[axis] * block)
        to = copy_axis(c, axis + 1, from, to);
    return to;
}

/* The copy's blocks, and where it may take all that is behind an axis. */
static Cut cut_of(const Node *slice)
{
    int n;
    Cut c = {.from = slice->in[0], .dims = slice->dims, .rank = slice->rank};
    c.start = ir_attr_list(slice, 0, &n);
    c.step = ir_attr_list(slice, 2, &n);
    c.whole = c.rank;
    c.block[c.rank] = DTYPES[slice->dtype].bytes;
    for (int i = c.rank - 1; i >= 0; i--) {
        c.block[i] = c.block[i + 1] * (size_t)c.from->dims[i];
        if (c.whole == i + 1 && c.dims[i] == c.from->dims[i] && c.step[i] == 1) c.whole = i;
    }
    return c;
}

/* Is it small? */
static bool fits(const Node *n)
{
    int64_t bytes = (int64_t)DTYPES[n->dtype].bytes;
    for (int i = 0; i < n->rank && bytes <= PIECE_BYTES; i++) {
        if (!ir_dim_is_const(n->dims[i])) return false;
        bytes *= n->dims[i];
    }
    return bytes <= PIECE_BYTES;
}

/* The piece n cut out of `from` by the slice that n is, seen through reshapes. */
static int copy_piece(Trace *tr, const Node *n, const Node *slice, const Storage *from)
{
    Storage *s = dev_storage_new(tr->graph->cx, n->dtype, n->rank, n->dims);
    if (!s) return tr->graph->cx->err.code;
    Cut c = cut_of(slice);
    if (s->bytes > 0) copy_axis(&c, 0, dev_storage_host(from), dev_storage_edit(s));
    int status = tensor_trace_store(tr, n, s);
    dev_storage_unref(s);
    return status;
}

static int piece(Trace *tr, const Node *n, int depth)
{
    const Node *slice = n;
    while (slice->op == OP_reshape && !tensor_trace_value(tr, slice)) slice = slice->in[0];
    if (slice->op != OP_slice || !fits(n)) return SGL_OK;
    const Node *of = slice->in[0];
    const Storage *from = tensor_trace_value(tr, of);
    if (!from && depth < DEEP) {
        if (piece(tr, of, depth + 1) < 0) return tr->graph->cx->err.code;
        from = tensor_trace_value(tr, of);
    }
    return from && !from->device ? copy_piece(tr, n, slice, from) : SGL_OK;
}

int tensor_piece(Trace *tr, const Node *n)
{
    return n->op == OP_slice || n->op == OP_reshape ? piece(tr, n, 0) : SGL_OK;
}
