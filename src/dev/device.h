/* device.h: a backend at work in a context, and its memory by function.
 *
 * NULL as a device is the host. All copies here are on stream 0, where every program begins and
 * ends, so what a program wrote is what a later copy reads.
 */
#ifndef SGL_DEV_DEVICE_H
#define SGL_DEV_DEVICE_H
#include "base/context.h"
#include "ir/graph.h"

typedef struct Backend Backend;
typedef struct Device {
    const Backend *backend;
    Ctx *cx;                  /* borrowed */
    int number;               /* of the backend in the table */
    void *self;               /* the backend's own; NULL before it started */
    void *stage;              /* host memory for dev_get; NULL: not used yet */
} Device;

/* The device whose memory d's programs use: d, or NULL where that is the host's. */
Device *dev_memory(Device *d);
void dev_end(Device *d);      /* at the end of the context; all memory is back by then */

void *dev_alloc(Device *d, size_t bytes);         /* as base_mem_big, which it is on the host */
void dev_free(Device *d, void *at);               /* NULL is allowed */
void *dev_stage(Device *d, size_t bytes);         /* host memory that d copies to */
void dev_unstage(Device *d, void *at);
int dev_put(Device *d, void *to, const void *from, size_t bytes);   /* from the host */
int dev_get(Device *d, void *to, const void *from, size_t bytes);   /* to the host; waits */
int dev_copy(Device *d, void *to, const void *from, size_t bytes);
int dev_zero(Device *d, void *at, size_t bytes);
int dev_sync(Device *d);      /* until everything is done that was given; negative as `sync` */
void dev_drain(Device *d);    /* the same, where an error is of no use */

/* Ends the error's text with the place in the user's source that n came from, and the function that
 * was called there, unless it names one already. Backends that run later than they were told call
 * it for the step that failed. */
void dev_blame(Ctx *cx, const Node *n);
#endif
