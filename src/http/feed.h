/* SPDX-License-Identifier: MIT */
/* An answer that lasts as long as something goes on, and holds no thread for it: again and again
 * the pool is asked, for a moment, what there is now; in between the exchange only waits on its
 * worker. The next question comes when the client has taken the last answer, so that a slow one
 * delays nobody and misses nothing. */
#ifndef GH_HTTP_FEED_H
#define GH_HTTP_FEED_H

#include "http/call.h"

/* On a pool thread: appends what there is. ERR_NONE: nothing more for now, ask after the pause;
 * ERR_MORE: there is more already; ERR_CLOSED: that was the last; anything else cuts the
 * connection, so that the client sees that it is not whole. */
typedef enum err (*http_feed_fn)(void *context, struct buf *out, struct error *reterr);

struct http_feed {
    http_feed_fn next;
    void *context; /* lives in the call's arena */
    uint64_t pause_ms;
};

/* Instead of a body, once, by a handler that then succeeds; 'feed' is copied. While the server
 * drains, the feed ends at its next pause. */
void http_call_feed(struct http_call *call, const struct http_feed *feed);

/* For call.c, on the worker: the handler has come back. */
void http_feed_start(struct exchange *exchange);

#endif
