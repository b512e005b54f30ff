/* SPDX-License-Identifier: MIT */
/* A connection that speaks HTTP/2, by nghttp2 (RFC 9113). Each of its streams carries an exchange.
 */
#ifndef GH_HTTP_HTTP2_CONN_H
#define GH_HTTP_HTTP2_CONN_H

#include "http/server_internal.h"

/* Takes over the stream and watches it. 'input' is what was read from it already. */
void http2_conn_start(struct http_worker *http, struct stream *take_stream,
                      const struct http_peer *peer, bool is_newcomer, struct slice input);

#endif
