/* SPDX-License-Identifier: MIT */
/* The fault switch of the tests: it makes the sockets of a loop misbehave as a bad network does, so
 * that the paths which a good one never takes are run. One fault may be shared by all loops; what
 * happens depends on the seed and on the number of the call alone, so that a run of one thread can
 * be repeated. NULL is the ordinary case and costs one comparison. */
#ifndef GH_IO_FAULT_H
#define GH_IO_FAULT_H

#include "base/err.h"
#include "base/error.h"
#include "base/slice.h"

#include <stdatomic.h>
#include <stdint.h>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct fault {
    bool is_short;    /* a call moves 1 to 7 bytes */
    bool is_again;    /* a third of the calls fail with EAGAIN, untried */
    uint64_t fail_at; /* this call, counted from 1, breaks the connection; 0: none does */
    uint64_t seed;
    _Atomic uint64_t call_count;
};

/* "short", "again", "fail:N" and "seed:N", in any number and order, with commas between them. */
enum err fault_parse(struct slice text, struct fault *ret_fault, struct error *error) MUST_USE;

ssize_t fault_read_disturbed(struct fault *fault, int fd, char *at, size_t size);
ssize_t fault_writev_disturbed(struct fault *fault, int fd, const struct iovec *parts, int count);

/* As read and writev, of a socket: for one part alone the kernel has shorter ways. */
static inline ssize_t fault_read(struct fault *fault, int fd, char *at, size_t size)
{
    return fault == NULL ? recv(fd, at, size, 0) : fault_read_disturbed(fault, fd, at, size);
}

static inline ssize_t fault_writev(struct fault *fault, int fd, const struct iovec *parts,
                                   int count)
{
    if (fault != NULL) {
        return fault_writev_disturbed(fault, fd, parts, count);
    }
    return count == 1 ? send(fd, parts->iov_base, parts->iov_len, MSG_NOSIGNAL)
                      : writev(fd, parts, count);
}

#endif
