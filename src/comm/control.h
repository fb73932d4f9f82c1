/* control.h: the page of a job whose ranks have no memory in common, kept up to date by messages.
 *
 * A thread of each rank tells rank 0 ten times a second what the rank is at, and hears from it what
 * all are at, whether the job is over and why, and at which step it stops. So job.h means the same
 * as on one machine. Rank 0 is reached by TCP; who has not the token of the job is sent away.
 */
#ifndef SGL_COMM_CONTROL_H
#define SGL_COMM_CONTROL_H
#include "comm/job.h"

enum { CONTROL_TOKEN = 16, CONTROL_ADDRESSES = 8 };

/* Where rank 0 listens: what all ranks are told by other means. */
typedef struct ControlCall {
    char token[CONTROL_TOKEN];
    int port;                  /* 0: it could not */
    int n;
    uint32_t address[CONTROL_ADDRESSES]; /* IPv4, as they are sent */
} ControlCall;

/* Rank 0 begins to listen. */
int comm_control_open(ControlCall *out, Err *e);
/* Connects this rank, and starts its thread. */
int comm_control_join(Comm *c, const ControlCall *call, Err *e);
/* This rank ends with a status. Where all is well it waits for the others, and true is returned
 * when all have ended; otherwise the verdict is on its way to them. */
bool comm_control_leave(Comm *c, int status);
#endif
