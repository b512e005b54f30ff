/* SPDX-License-Identifier: MIT */
/* Version 3 of PostgreSQL's protocol: its numbers and its kinds of messages, for both directions.
 * Rules are cited by the page of the PostgreSQL 17 manual and the heading on it: protocol-flow,
 * protocol-message-formats, protocol-error-fields, sasl-authentication. What 17 does not have yet
 * (minor version 2 and its longer keys) is cited from 18. */
#ifndef GH_WIRE_PGWIRE_H
#define GH_WIRE_PGWIRE_H

#include <stdint.h>

#define PGWIRE_VERSION(major, minor)  ((uint32_t)(major) << 16 | (uint32_t)(minor))
#define PGWIRE_VERSION_MAJOR(version) ((version) >> 16)
#define PGWIRE_VERSION_MINOR(version) ((version)&0xffff)

/* Numbers that stand where a StartupMessage has its version (protocol-message-formats). */
#define PGWIRE_CODE_MAJOR          1234
#define PGWIRE_CODE_CANCEL         PGWIRE_VERSION(PGWIRE_CODE_MAJOR, 5678)
#define PGWIRE_CODE_SSL_REQUEST    PGWIRE_VERSION(PGWIRE_CODE_MAJOR, 5679)
#define PGWIRE_CODE_GSSENC_REQUEST PGWIRE_VERSION(PGWIRE_CODE_MAJOR, 5680)

#define PGWIRE_KEY_SIZE_MIN 4 /* of a cancel key; the size that 3.0 knows */

enum pgwire_sender {
    PGWIRE_FROM_CLIENT,
    PGWIRE_FROM_SERVER,
};

/* What a message is before its type is looked at. */
enum pgwire_packet {
    PGWIRE_MESSAGE, /* with a type; all others are a client's first packets, which have none */
    PGWIRE_STARTUP,
    PGWIRE_SSL_REQUEST,
    PGWIRE_GSSENC_REQUEST,
    PGWIRE_CANCEL_REQUEST,
};

/* The values are the types on the wire. */
enum pgwire_client_kind {
    PGWIRE_CLIENT_UNKNOWN = 0,
    PGWIRE_CLIENT_BIND = 'B',
    PGWIRE_CLIENT_CLOSE = 'C',
    PGWIRE_CLIENT_COPY_DATA = 'd',
    PGWIRE_CLIENT_COPY_DONE = 'c',
    PGWIRE_CLIENT_COPY_FAIL = 'f',
    PGWIRE_CLIENT_DESCRIBE = 'D',
    PGWIRE_CLIENT_EXECUTE = 'E',
    PGWIRE_CLIENT_FLUSH = 'H',
    PGWIRE_CLIENT_FUNCTION_CALL = 'F',
    PGWIRE_CLIENT_PARSE = 'P',
    PGWIRE_CLIENT_PASSWORD = 'p', /* or SASLInitialResponse, SASLResponse, GSSResponse */
    PGWIRE_CLIENT_QUERY = 'Q',
    PGWIRE_CLIENT_SYNC = 'S',
    PGWIRE_CLIENT_TERMINATE = 'X',
};

enum pgwire_server_kind {
    PGWIRE_SERVER_UNKNOWN = 0,
    PGWIRE_SERVER_AUTHENTICATION = 'R',
    PGWIRE_SERVER_BACKEND_KEY = 'K',
    PGWIRE_SERVER_BIND_COMPLETE = '2',
    PGWIRE_SERVER_CLOSE_COMPLETE = '3',
    PGWIRE_SERVER_COMMAND_COMPLETE = 'C',
    PGWIRE_SERVER_COPY_BOTH = 'W',
    PGWIRE_SERVER_COPY_DATA = 'd',
    PGWIRE_SERVER_COPY_DONE = 'c',
    PGWIRE_SERVER_COPY_IN = 'G',
    PGWIRE_SERVER_COPY_OUT = 'H',
    PGWIRE_SERVER_DATA_ROW = 'D',
    PGWIRE_SERVER_EMPTY_QUERY = 'I',
    PGWIRE_SERVER_ERROR = 'E',
    PGWIRE_SERVER_FUNCTION_RESULT = 'V',
    PGWIRE_SERVER_NEGOTIATE_VERSION = 'v',
    PGWIRE_SERVER_NO_DATA = 'n',
    PGWIRE_SERVER_NOTICE = 'N',
    PGWIRE_SERVER_NOTIFICATION = 'A',
    PGWIRE_SERVER_PARAMETER_DESCRIPTION = 't',
    PGWIRE_SERVER_PARAMETER_STATUS = 'S',
    PGWIRE_SERVER_PARSE_COMPLETE = '1',
    PGWIRE_SERVER_PORTAL_SUSPENDED = 's',
    PGWIRE_SERVER_READY = 'Z',
    PGWIRE_SERVER_ROW_DESCRIPTION = 'T',
};

/* What ReadyForQuery says; the values are those on the wire. */
enum pgwire_transaction {
    PGWIRE_IDLE = 'I',
    PGWIRE_IN_TRANSACTION = 'T',
    PGWIRE_FAILED_TRANSACTION = 'E',
};

#endif
