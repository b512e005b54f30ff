/* SPDX-License-Identifier: MIT */
/* What a client of MySQL says of itself: connection attributes become the application's name, the
 * session's metadata, and what the target is told. */
#ifndef GH_MYSQL_MYSQL_HELLO_H
#define GH_MYSQL_MYSQL_HELLO_H

#include "protocol/front.h"
#include "wire/mysqlwire_start.h"

#define MYSQL_HELLO_METADATA_PREFIX "gatehouse.metadata."

/* Capabilities that both sides have alike, since what passes depends on them. */
#define MYSQL_SERVED_CAPABILITIES                                                                  \
    (MYSQLWIRE_LONG_PASSWORD | MYSQLWIRE_FOUND_ROWS | MYSQLWIRE_LONG_FLAG |                        \
     MYSQLWIRE_CONNECT_WITH_DB | MYSQLWIRE_NO_SCHEMA | MYSQLWIRE_ODBC | MYSQLWIRE_LOCAL_FILES |    \
     MYSQLWIRE_IGNORE_SPACE | MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_INTERACTIVE |                      \
     MYSQLWIRE_IGNORE_SIGPIPE | MYSQLWIRE_TRANSACTIONS | MYSQLWIRE_RESERVED |                      \
     MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_MULTI_STATEMENTS | MYSQLWIRE_MULTI_RESULTS |          \
     MYSQLWIRE_PS_MULTI_RESULTS | MYSQLWIRE_PLUGIN_AUTH | MYSQLWIRE_CONNECT_ATTRS |                \
     MYSQLWIRE_PLUGIN_AUTH_LENENC | MYSQLWIRE_SESSION_TRACK | MYSQLWIRE_DEPRECATE_EOF)

/* Of an open request's parameters: the charset's number. Others are attributes. */
#define MYSQL_PARAMETER_CHARSET "@charset"

/* An attribute that each target is told, so that a gateway knows when it has come to itself. */
#define MYSQL_HELLO_MARK "_gatehouse"

/* The client is a gateway, whose target is this one's own port. */
bool mysql_hello_is_marked(const struct mysqlwire_response *response);
/* The connection that the user's name says. */
struct slice mysql_hello_name(const struct mysqlwire_response *response);
/* 'number' is that of the connection, as the client was told. */
struct hello mysql_hello_in(struct arena *arena, const struct mysqlwire_response *response,
                            uint32_t number);

/* Back to what a server is told: the mark, then pairs of lenenc texts up to a limit. */
enum err mysql_attributes_write(const struct shape_pairs *parameters, struct buf *buf) MUST_USE;
uint8_t mysql_charset_of(const struct shape_pairs *parameters);

#endif
