/* SPDX-License-Identifier: MIT */
/* Waits for the end of a handshake on a stream of tls_stream.h, for a limited time, and hands the
 * stream on when it is ready to be read and written. */
#ifndef GH_IO_TLS_HANDSHAKE_H
#define GH_IO_TLS_HANDSHAKE_H

#include "base/error.h"
#include "io/stream.h"

#include <stdint.h>

struct tls_handshake;

/* The stream that was given, which now belongs to the owner, or NULL, it being closed, and why:
 * ERR_TIMEOUT or ERR_UNAVAILABLE, in words that name the host. */
typedef void (*tls_handshake_done_fn)(void *owner, struct stream *take_stream,
                                      const struct error *error);

/* 'on_done' is called once, never inside tls_handshake_start; then the handshake is gone. */
struct tls_handshake *tls_handshake_start(struct stream *take_tls, uint64_t timeout_ms,
                                          tls_handshake_done_fn on_done, void *owner);
/* Before 'on_done', which is not called any more; closes the stream. */
void tls_handshake_cancel(struct tls_handshake *handshake);

#endif
