/* SPDX-License-Identifier: MIT */
/* The gateway as a client of a MySQL or MariaDB server: takes a connected stream over, reads the
 * greeting, puts TLS on, signs in, and hands it on when the server takes commands. Runs on a loop
 * and never blocks. The server is not trusted: what it may say before it is ready is bounded, in
 * order, and on time. */
#ifndef GH_MYSQL_MYSQL_TARGET_H
#define GH_MYSQL_MYSQL_TARGET_H

#include "protocol/mysql/mysql_secret.h"
#include "protocol/target_server.h"

struct mysql_target;

/* All is borrowed until it is done, but for 'take_secret'. */
struct mysql_target_settings {
    const struct target_server *server; /* how it is encrypted */
    struct slice user;
    struct slice database;   /* empty: none */
    struct slice attributes; /* of the connection, as they are sent */
    uint8_t charset;
    uint32_t capabilities; /* that the client has: the session's way of speaking */
    struct mysql_secret *take_secret;
    bool is_local; /* the connection does not leave this machine */
};

/* Takes the stream and the secret, also when it fails. 'on_done' is called once, never inside this;
 * then the mysql_target is gone. The arrival's greeting is the body of the server's OK. */
struct mysql_target *mysql_target_start(struct stream *take_stream,
                                        const struct mysql_target_settings *settings,
                                        opened_fn on_done, void *owner);
/* At any time before 'on_done', which is not called any more; closes the stream. */
void mysql_target_cancel(struct mysql_target *target);

#endif
