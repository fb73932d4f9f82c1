/* control_link.c: see control_link.h.
 */
#include "comm/control_link.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/mem.h"

bool comm_link_open(Link *l, int fd, size_t in_size, size_t out_size)
{
    *l = (Link){.fd = fd, .in_size = in_size, .out_size = out_size};
    l->in = base_mem_zero(1, in_size);
    l->out = base_mem_zero(1, out_size);
    if (l->in && l->out) return true;
    l->fd = -1;
    comm_link_close(l);
    return false;
}

void comm_link_close(Link *l)
{
    if (l->fd >= 0) close(l->fd);
    base_mem_free(l->in);
    base_mem_free(l->out);
    *l = (Link){.fd = -1};
}

void comm_link_flush(Link *l)
{
    if (l->fd < 0 || !l->left) return;
    ssize_t n = send(l->fd, l->out + (l->out_size - l->left), l->left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) l->left -= (size_t)n;
}

bool comm_link_send(Link *l, const void *message)
{
    comm_link_flush(l);
    if (l->fd < 0 || l->left) return false;
    memcpy(l->out, message, l->out_size);
    l->left = l->out_size;
    comm_link_flush(l);
    return true;
}

int comm_link_receive(Link *l)
{
    if (l->fd < 0) return 0;
    if (l->got == l->in_size) l->got = 0;
    ssize_t n = recv(l->fd, l->in + l->got, l->in_size - l->got, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return -1;
    if (n > 0) l->got += (size_t)n;
    return l->got == l->in_size;
}
