/* SPDX-License-Identifier: MIT */
/* What is sent to people by e-mail: a message of plain text in plain words. Names in it are of
 * others: in the head they are encoded, so that they can neither end it nor add to it. */
#ifndef GH_NOTIFY_MAIL_H
#define GH_NOTIFY_MAIL_H

#include "base/arena.h"
#include "store/notification_outbox.h"

/* The operator's. */
struct mail_server {
    struct slice host; /* empty: there is none */
    const char *url;   /* "smtp://host:port"; empty likewise */
    struct slice from; /* an address */
    struct slice user; /* empty: it asks for none */
    struct slice password;
    const char *issuers; /* a PEM file: these alone are trusted; NULL: the system's */
    bool is_plain;       /* without TLS */
};

/* Head and body, with CRLF. The same event makes the same message, whenever it is sent, and has the
 * same Message-ID in all sinks: a mailbox that is told twice can tell. */
struct slice mail_message_in(struct arena *arena, const struct outbox_item *item,
                             const struct mail_server *server, struct slice public_url);

#endif
