/* SPDX-License-Identifier: MIT */
/* One statement of the gateway's own at a MySQL or MariaDB server that takes commands, and its rows
 * of text. Servers take no parameters in all places of prepared statements (LIMIT), so values stand
 * in the text: as hexadecimal or as digits, of which nothing else can come. Says COM_QUIT at the
 * end. Runs on a loop and never blocks.
 *
 * The server is not trusted: all that it says is bounded, in order, and on time. */
#ifndef GH_MYSQL_MYSQL_QUERY_H
#define GH_MYSQL_MYSQL_QUERY_H

#include "protocol/query.h"
#include "wire/mysqlwire.h"

/* That the connection must have been opened with; servers that are served have all of them. */
#define MYSQL_QUERY_CAPABILITIES                                                                   \
    (MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_TRANSACTIONS |                \
     MYSQLWIRE_DEPRECATE_EOF)

/* In the text "$1" stands for the first value as a text, or NULL, and "#1" for it as a number. See
 * query_start_fn. */
struct query *mysql_query_start(struct stream *take_stream, const struct query_settings *settings,
                                query_done_fn on_done, void *owner);

#endif
