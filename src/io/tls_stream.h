/* SPDX-License-Identifier: MIT */
/* The server's side of TLS over any stream. The handshake takes place inside the first reads and
 * writes; until it is over they answer ERR_AGAIN. A peer that breaks the rules of TLS, or speaks
 * something else, is ERR_IO.
 *
 * The end of the stream below without TLS's own end (close_notify) is ERR_CLOSED, not an error: too
 * many clients end so. Protocols above must know the length of what they read, as HTTP does.
 *
 * What stream_write took may still have to be sent; stream_shutdown answers ERR_AGAIN until it is,
 * and stream_close drops it. */
#ifndef GH_IO_TLS_STREAM_H
#define GH_IO_TLS_STREAM_H

#include "io/stream.h"
#include "io/tls_server.h"

/* Takes over the stream below, also when it fails (ERR_UNAVAILABLE). Keeps 'server' alive. */
enum err tls_stream_new(struct tls_server *server, struct stream *take_below,
                        struct stream **ret_stream) MUST_USE;

#endif
