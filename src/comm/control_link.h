/* control_link.h: messages of one size over a socket, without waiting.
 */
#ifndef SGL_COMM_CONTROL_LINK_H
#define SGL_COMM_CONTROL_LINK_H
#include <stdbool.h>
#include <stddef.h>

/* One end. A message that could not be sent whole goes on first. */
typedef struct Link {
    int fd;                    /* -1: closed */
    char *in, *out;            /* rooms of the messages' sizes */
    size_t in_size, out_size, got, left; /* of the message that arrives; that leaves */
} Link;

/* Of an open socket, with messages of these sizes; false: no memory, and it is as it was. */
bool comm_link_open(Link *l, int fd, size_t in_size, size_t out_size);
/* The socket too. */
void comm_link_close(Link *l);
/* Sends a message, unless one is still on its way: then false. */
bool comm_link_send(Link *l, const void *message);
/* Goes on with what is on its way. */
void comm_link_flush(Link *l);
/* 1: a message is in l->in; 0: not yet; -1: the other end is gone. */
int comm_link_receive(Link *l);
#endif
