/* SPDX-License-Identifier: MIT */
/* TLS over any stream, as the server or as the client. The handshake takes place inside the first
 * reads and writes; until it is over they answer ERR_AGAIN (tls_handshake.h waits for it). A peer
 * that breaks the rules of TLS, speaks something else or is not to be trusted is ERR_IO.
 *
 * The end of the stream below without TLS's own end (close_notify) is ERR_CLOSED, not an error: too
 * many peers end so. Protocols above must know the length of what they read, as HTTP does.
 *
 * What stream_write took may still have to be sent; stream_shutdown answers ERR_AGAIN until it is,
 * and stream_close drops it. */
#ifndef GH_IO_TLS_STREAM_H
#define GH_IO_TLS_STREAM_H

#include "base/buf.h"
#include "io/stream.h"
#include "io/tls_client.h"
#include "io/tls_server.h"

/* Takes over the stream below, also when it fails (ERR_UNAVAILABLE). Keeps 'server' alive. */
enum err tls_stream_new(struct tls_server *server, struct stream *take_below,
                        struct stream **ret_stream) MUST_USE;
/* The same when bytes were read from the stream below to find out that a client begins with TLS:
 * 'first' is what comes before all others; copied, at most LIMIT_TLS_FIRST_SIZE. */
enum err tls_stream_new_behind(struct tls_server *server, struct stream *take_below,
                               struct slice first, struct stream **ret_stream) MUST_USE;
/* The same as a client. 'host' is a name or an address: the server is told which name is meant
 * (SNI), errors tell it, and under TLS_VERIFY_FULL the certificate must be for it, else it may be
 * empty. ERR_INPUT when it is neither. */
enum err tls_stream_new_client(struct tls_client *client, struct slice host,
                               struct stream *take_below, struct stream **ret_stream,
                               struct error *reterr) MUST_USE;

/* Only for streams that were made here ----------------------------------------------------------
 */

/* After ERR_IO or ERR_CLOSED: why, in words that name the host. Answers ERR_UNAVAILABLE. A server
 * that refuses our certificate says so only after the handshake, to the first read. */
enum err tls_stream_explain(const struct stream *stream, struct error *reterr) MUST_USE;

/* Of a server: the name that the client wants (SNI), once it has said so; else empty. Lasts as long
 * as the stream. */
struct slice tls_stream_server_name(const struct stream *stream);
/* Appends the DER of a certificate, once the handshake is over. ERR_NOT_FOUND when none was shown.
 */
enum err tls_stream_peer_certificate(const struct stream *stream, struct buf *der) MUST_USE;
enum err tls_stream_own_certificate(const struct stream *stream, struct buf *der) MUST_USE;
/* Appends the bytes of the channel binding tls-server-end-point (RFC 5929, 4.1), the same on both
 * sides. ERR_UNSUPPORTED for a signature that it is not defined for (Ed25519). */
enum err tls_stream_end_point(const struct stream *stream, struct buf *hash) MUST_USE;

#endif
