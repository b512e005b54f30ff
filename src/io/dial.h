/* SPDX-License-Identifier: MIT */
/* A connection to host:port from a worker's loop, without blocking it. All addresses of the host
 * are tried, the families in turn, the next one when one fails or has not answered after a quarter
 * of a second (RFC 8305); the first that answers is taken and the others are closed. */
#ifndef GH_IO_DIAL_H
#define GH_IO_DIAL_H

#include "base/error.h"
#include "io/resolver.h"
#include "io/stream.h"
#include "io/worker.h"

struct dial;

struct dial_request {
    struct slice host; /* a name or an address, IPv6 without brackets; copied */
    uint16_t port;
    uint64_t timeout_ms; /* for all of it */
};

/* A socket_stream that now belongs to the owner, or NULL and what went wrong: ERR_INPUT,
 * ERR_TIMEOUT, ERR_BUSY or ERR_UNAVAILABLE, in words that name the host and the cause. */
typedef void (*dial_done_fn)(void *owner, struct stream *take_stream, const struct error *error);

/* On the worker's thread. 'on_done' is called once, never inside dial_start; then the dial is gone.
 * The resolver must outlive it. */
struct dial *dial_start(struct worker *worker, struct resolver *resolver,
                        const struct dial_request *request, dial_done_fn on_done, void *owner);
/* At any time before 'on_done', which is not called any more. */
void dial_cancel(struct dial *dial);

#endif
