/* SPDX-License-Identifier: MIT */
/* The first step of a connection to a PostgreSQL server: whether it is encrypted. Asks the server
 * for TLS and has it put on by whoever can (struct pg_tls). What the server sends in plain text
 * behind its consent is refused: a third party could have put it there, and it would pass for the
 * server's words under encryption (CVE-2021-23222). */
#ifndef GH_POSTGRES_PG_ENCRYPTION_H
#define GH_POSTGRES_PG_ENCRYPTION_H

#include "base/error.h"
#include "identity/scram.h"
#include "io/stream.h"
#include "protocol/place.h"

/* A stream above the one that was given, its handshake over and the certificate checked as the mode
 * asks; or NULL and what went wrong. 'end_point' is the certificate's for channel binding, NULL
 * when it has none. */
typedef void (*pg_tls_done_fn)(void *owner, struct stream *take_stream,
                               const struct scram_end_point *end_point, const struct error *error);

/* How TLS is put on. */
struct pg_tls {
    /* Takes the stream, also when it fails; 'on_done' is called once, at once or later. What is
     * returned is for 'cancel'. */
    void *(*wrap)(void *context, struct stream *take_stream, pg_tls_done_fn on_done, void *owner);
    /* Before 'on_done', which is not called any more; closes the stream. */
    void (*cancel)(void *wrapping);
    void *context;
};

struct pg_encryption_settings {
    enum place_tls mode;
    struct pg_tls tls; /* not used for PLACE_TLS_DISABLE */
};

struct pg_encryption;

/* The stream, which is encrypted or need not be; or NULL and what went wrong: ERR_INPUT (no
 * PostgreSQL server), ERR_UNSUPPORTED (has no TLS), ERR_CLOSED, ERR_IO, or what TLS says. */
typedef pg_tls_done_fn pg_encryption_done_fn;

/* Takes the stream, also when it fails. 'on_done' is called once, never inside this; then the
 * pg_encryption is gone. */
struct pg_encryption *pg_encryption_start(struct stream *take_stream,
                                          const struct pg_encryption_settings *settings,
                                          pg_encryption_done_fn on_done, void *owner);
/* At any time before 'on_done', which is not called any more; closes the stream. */
void pg_encryption_cancel(struct pg_encryption *encryption);
/* The end of a connection, whichever of the two has it; NULL afterwards. */
void pg_encryption_end(struct pg_encryption **encryption, struct stream **stream);

#endif
