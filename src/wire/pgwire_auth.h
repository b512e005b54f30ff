/* SPDX-License-Identifier: MIT */
/* PostgreSQL authentication on the wire: what a server asks and what a client answers. Reads and
 * writes only; proofs, hashes and SCRAM are somebody else's. Answers hold secrets: a buffer that
 * one is written to or collected in is made large enough at once and wiped. */
#ifndef GH_WIRE_PGWIRE_AUTH_H
#define GH_WIRE_PGWIRE_AUTH_H

#include "base/buf.h"
#include "base/error.h"
#include "wire/pgwire.h"

#include <stdbool.h>

#define PGWIRE_SALT_SIZE 4

/* The values are those on the wire. What only stands here is told as a kind and not taken apart. */
enum pgwire_auth_kind {
    PGWIRE_AUTH_OK = 0,
    PGWIRE_AUTH_KERBEROS = 2,
    PGWIRE_AUTH_CLEARTEXT = 3,
    PGWIRE_AUTH_MD5 = 5,
    PGWIRE_AUTH_GSS = 7,
    PGWIRE_AUTH_GSS_CONTINUE = 8,
    PGWIRE_AUTH_SSPI = 9,
    PGWIRE_AUTH_SASL = 10,
    PGWIRE_AUTH_SASL_CONTINUE = 11,
    PGWIRE_AUTH_SASL_FINAL = 12,
};

struct pgwire_auth {
    enum pgwire_auth_kind kind;
    /* MD5: the salt; SASL: the mechanisms, for pgwire_mechanism_next(); continue and final: what
     * the mechanism says; empty for others. */
    struct slice data;
};

/* ERR_INPUT, or ERR_UNSUPPORTED for a kind that is none of these. */
enum err pgwire_auth_read(struct slice body, struct pgwire_auth *ret_auth,
                          struct error *reterr_error) MUST_USE;
/* Whether a client has to answer before the server goes on. */
bool pgwire_auth_asks(enum pgwire_auth_kind kind);
bool pgwire_mechanism_next(struct slice *rest, struct slice *ret_name);

/* Any kind but SASL, with the data that belongs to it. */
enum err pgwire_auth_write(struct buf *buf, const struct pgwire_auth *auth) MUST_USE;
enum err pgwire_auth_sasl_write(struct buf *buf, const struct slice *mechanisms,
                                size_t count) MUST_USE;

/* All answers have the same type: what was asked says which one it is. A SASLResponse and a
 * GSSResponse are their body. */
enum err pgwire_password_read(struct slice body, struct slice *ret_password,
                              struct error *reterr_error) MUST_USE;
enum err pgwire_password_write(struct buf *buf, struct slice password) MUST_USE;

struct pgwire_sasl_initial {
    struct slice mechanism;
    struct slice response; /* at == NULL: none is given, which differs from an empty one */
};

enum err pgwire_sasl_initial_read(struct slice body, struct pgwire_sasl_initial *ret_initial,
                                  struct error *reterr_error) MUST_USE;
enum err pgwire_sasl_initial_write(struct buf *buf,
                                   const struct pgwire_sasl_initial *initial) MUST_USE;
enum err pgwire_sasl_response_write(struct buf *buf, struct slice response) MUST_USE;

#endif
