/* SPDX-License-Identifier: MIT */
/* The PostgreSQL messages of a connection's start, but for authentication: what a client opens
 * with, and what a server tells of the session before its first ReadyForQuery. Bodies come from a
 * framer; views point into them. Writers append one message, or fail and leave the buffer as it
 * was: ERR_INPUT for a text with NUL inside and for what the protocol cannot say, ERR_LIMIT. */
#ifndef GH_WIRE_PGWIRE_START_H
#define GH_WIRE_PGWIRE_START_H

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "wire/pgwire.h"

#include <stdbool.h>

/* Bytes in whatever encoding the client has; never NUL. */
struct pgwire_parameter {
    struct slice name;
    struct slice value;
};

struct pgwire_startup {
    uint32_t version;
    struct slice user;     /* never empty */
    struct slice database; /* the user's name when none was given (protocol-message-formats) */
    size_t parameter_count;
    struct pgwire_parameter parameters[LIMIT_START_PARAMETERS]; /* all, user and _pq_. too */
};

/* Names are unique: of two values, two readers may take different ones. */
enum err pgwire_startup_read(uint32_t version, struct slice body,
                             struct pgwire_startup *ret_startup,
                             struct error *reterr_error) MUST_USE;
/* at == NULL when it was not given. */
struct slice pgwire_startup_find(const struct pgwire_startup *startup, struct slice name);
/* Options of the protocol itself have names that start with "_pq_."; a server tells which ones it
 * does not know by NegotiateProtocolVersion. */
bool pgwire_is_protocol_option(struct slice name);
enum err pgwire_startup_write(struct buf *buf, uint32_t version,
                              const struct pgwire_parameter *parameters, size_t count) MUST_USE;

/* 'packet': PGWIRE_SSL_REQUEST or PGWIRE_GSSENC_REQUEST. */
enum err pgwire_encryption_request_write(struct buf *buf, enum pgwire_packet packet) MUST_USE;
/* The one byte that answers. ERR_UNSUPPORTED for 'E', the start of an error from a server that is
 * too old, or of somebody in between: nothing more is to be read (protocol-flow, "SSL Session
 * Encryption"). */
enum err pgwire_encryption_answer_read(enum pgwire_packet packet, char byte, bool *ret_is_accepted,
                                       struct error *reterr_error) MUST_USE;

/* BackendKeyData and CancelRequest. The secret has 4 bytes in 3.0, up to 256 from 3.2 on (18:
 * protocol-message-formats). */
struct pgwire_key {
    uint32_t process;
    struct slice secret;
};

enum err pgwire_key_read(struct slice body, struct pgwire_key *ret_key,
                         struct error *reterr_error) MUST_USE;
enum err pgwire_key_write(struct buf *buf, const struct pgwire_key *key) MUST_USE;
enum err pgwire_cancel_write(struct buf *buf, const struct pgwire_key *key) MUST_USE;

enum err pgwire_parameter_status_read(struct slice body, struct pgwire_parameter *ret_parameter,
                                      struct error *reterr_error) MUST_USE;
enum err pgwire_parameter_status_write(struct buf *buf,
                                       const struct pgwire_parameter *parameter) MUST_USE;

struct pgwire_negotiation {
    uint32_t version;     /* the newest that the server has; the major one is 3 */
    uint32_t name_count;  /* of options that it does not know */
    struct slice unknown; /* their names, for pgwire_name_next() */
};

enum err pgwire_negotiation_read(struct slice body, struct pgwire_negotiation *ret_negotiation,
                                 struct error *reterr_error) MUST_USE;
enum err pgwire_negotiation_write(struct buf *buf, uint32_t version, const struct slice *unknown,
                                  size_t count) MUST_USE;
/* Takes the first of texts that were read; false when none is left. */
bool pgwire_name_next(struct slice *rest, struct slice *ret_name);

#endif
