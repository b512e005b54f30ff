/* SPDX-License-Identifier: MIT */
/* Listening sockets. Each worker has a socket of its own on the same address (SO_REUSEPORT), so
 * that accepting needs no lock; the kernel spreads the connections. */
#ifndef GH_IO_LISTENER_H
#define GH_IO_LISTENER_H

#include "base/error.h"
#include "base/slice.h"
#include "io/loop.h"
#include "wire/address.h"

#include <sys/socket.h>

struct listener;

/* Of "host:port": where a socket for it would be bound. */
enum err listener_resolve(struct slice address, struct sockaddr_storage *ret_address,
                          socklen_t *ret_size, unsigned *ret_port, struct error *reterr) MUST_USE;
/* Opens 'count' sockets on "host:port" ("[::1]:0" takes a free port) and puts them into ret_fds.
 * Fails when another process listens there, even one that shares its port. */
enum err listener_open_sockets(struct slice address, size_t count, int *ret_fds,
                               struct error *reterr) MUST_USE;
/* A Unix socket that only this user may use. What stands at the path is replaced: the caller knows,
 * by a lock of his own, that no other process listens there. */
enum err listener_open_unix(const char *path, int *ret_fd, struct error *reterr) MUST_USE;
/* The port a socket is bound to; 0 for a Unix socket. */
unsigned listener_port(int fd);

/* Without its zone, which only addresses of one link have. False: of a Unix socket, which has none.
 */
bool listener_peer_address(const struct sockaddr_storage *peer, struct address *ret_address);

/* Takes the accepted, non-blocking socket. */
typedef void (*listener_accept_fn)(void *owner, int take_fd, const struct sockaddr_storage *peer);

/* Takes over the listening socket. */
struct listener *listener_new(struct loop *loop, int take_fd, listener_accept_fn on_accept,
                              void *owner);
/* No connection is accepted any more; the memory goes at the end of the turn. */
void listener_close(struct listener *listener);

#endif
