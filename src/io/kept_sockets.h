/* SPDX-License-Identifier: MIT */
/* Listening sockets that a service manager opened, keeps, and hands to each process that it starts
 * (sd_listen_fds(3)): who connects while one process ends and the next begins waits in them, and is
 * refused by nobody. All workers accept from the one socket of an address: what waits in a socket
 * of its own would be lost with the process. */
#ifndef GH_IO_KEPT_SOCKETS_H
#define GH_IO_KEPT_SOCKETS_H

#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"

#include <sys/types.h>

struct kept_sockets {
    int fds[LIMIT_KEPT_SOCKETS];
    bool is_taken[LIMIT_KEPT_SOCKETS];
    size_t count;
};

/* 'process' and 'count' are LISTEN_PID and LISTEN_FDS of the environment, NULL without; they count
 * for the process of that number alone. The sockets are those from 'first_fd' on: 3, but in tests.
 * ERR_INPUT: one is no listening socket of TCP. */
enum err kept_sockets_read(const char *process, const char *count, int first_fd,
                           struct kept_sockets *ret_kept, struct error *reterr) MUST_USE;
/* The kept socket that is bound to "host:port", 'count' times; without one, new ones as by
 * listener_open_sockets(). */
enum err kept_sockets_open(struct kept_sockets *kept, struct slice address, size_t count,
                           int *ret_fds, struct error *reterr) MUST_USE;
/* ERR_INPUT: somebody would wait for ever in one that no setting names. */
enum err kept_sockets_check(const struct kept_sockets *kept, struct error *reterr) MUST_USE;

#endif
