/* SPDX-License-Identifier: MIT */
/* A connection that speaks HTTP/1.1: one exchange after the other, further requests wait unread.
 * Connections that agreed on h2 are handed to http2_conn with their first bytes. */
#ifndef GH_HTTP_HTTP1_CONN_H
#define GH_HTTP_HTTP1_CONN_H

#include "http/server_internal.h"

/* Takes over the stream and watches it. */
void http1_conn_start(struct http_worker *http, struct stream *take_stream,
                      const struct http_peer *peer, bool is_newcomer);

#endif
