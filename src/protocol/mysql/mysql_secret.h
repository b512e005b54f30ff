/* SPDX-License-Identifier: MIT */
/* The password of a MySQL or MariaDB server, for one sign-in: it answers what the server asks and
 * never shows itself. A question goes in, the packet's body comes out, and nothing else is shared,
 * so that what is behind this can become a process of its own. */
#ifndef GH_MYSQL_MYSQL_SECRET_H
#define GH_MYSQL_MYSQL_SECRET_H

#include "base/buf.h"
#include "base/error.h"
#include "base/secret.h"

struct mysql_secret;

struct mysql_challenge {
    struct slice plugin;
    struct slice nonce; /* the server's random bytes, as they came */
    bool is_encrypted;  /* the connection is */
    bool is_local;      /* it does not leave this machine */
};

/* 'take_password' is empty afterwards; an empty one is none. */
struct mysql_secret *mysql_secret_new(struct secret *take_password);
void mysql_secret_free(struct mysql_secret *secret);

/* Whether a proof of this plugin can be given; and at once, to the random bytes of a greeting. */
bool mysql_secret_knows(struct slice plugin);
bool mysql_secret_knows_first(struct slice plugin);

/* Appends what answers the challenge, which begins anew; to be wiped. ERR_UNSUPPORTED: no such
 * proof can be given, or not over such a connection. */
enum err mysql_secret_answer(struct mysql_secret *secret, const struct mysql_challenge *challenge,
                             struct buf *buf, struct error *reterr) MUST_USE;
/* It waits for data of the server's that have no such first byte. */
bool mysql_secret_awaits_data(const struct mysql_secret *secret);
/* What the server says to that in AuthMoreData, without its first byte; appends the answer, or
 * nothing where none is wanted (*ret_is_wanted). */
enum err mysql_secret_go_on(struct mysql_secret *secret, struct slice data, struct buf *buf,
                            bool *ret_is_wanted, struct error *reterr) MUST_USE;

#endif
