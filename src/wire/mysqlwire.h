/* SPDX-License-Identifier: MIT */
/* The client/server protocol of MySQL and MariaDB, version 10 with the rules of 4.1: its numbers,
 * and how fields are read and written. Integers are little-endian; "lenenc" ones say their own
 * size. */
#ifndef GH_WIRE_MYSQLWIRE_H
#define GH_WIRE_MYSQLWIRE_H

#include "base/error.h"
#include "base/reader.h"
#include "base/writer.h"

#define MYSQLWIRE_HEADER_SIZE    4        /* of a piece: three bytes of length, one of sequence */
#define MYSQLWIRE_PIECE_MAX      0xffffff /* a piece of so much is followed by another one */
#define MYSQLWIRE_PROTOCOL       10
#define MYSQLWIRE_SCRAMBLE_SIZE  20
#define MYSQLWIRE_STATE_SIZE     5 /* of an SQLSTATE */
#define MYSQLWIRE_NAME_SIZE_MAX  64
#define MYSQLWIRE_UTF8MB4        45 /* utf8mb4_general_ci, which all of them know */
#define MYSQLWIRE_BINARY_CHARSET 63

/* Capabilities, of both sides' first packets. */
#define MYSQLWIRE_LONG_PASSWORD      0x00000001U
#define MYSQLWIRE_FOUND_ROWS         0x00000002U
#define MYSQLWIRE_LONG_FLAG          0x00000004U
#define MYSQLWIRE_CONNECT_WITH_DB    0x00000008U
#define MYSQLWIRE_NO_SCHEMA          0x00000010U
#define MYSQLWIRE_COMPRESS           0x00000020U
#define MYSQLWIRE_ODBC               0x00000040U
#define MYSQLWIRE_LOCAL_FILES        0x00000080U
#define MYSQLWIRE_IGNORE_SPACE       0x00000100U
#define MYSQLWIRE_PROTOCOL_41        0x00000200U
#define MYSQLWIRE_INTERACTIVE        0x00000400U
#define MYSQLWIRE_SSL                0x00000800U
#define MYSQLWIRE_IGNORE_SIGPIPE     0x00001000U
#define MYSQLWIRE_TRANSACTIONS       0x00002000U
#define MYSQLWIRE_RESERVED           0x00004000U
#define MYSQLWIRE_SECURE_CONNECTION  0x00008000U
#define MYSQLWIRE_MULTI_STATEMENTS   0x00010000U
#define MYSQLWIRE_MULTI_RESULTS      0x00020000U
#define MYSQLWIRE_PS_MULTI_RESULTS   0x00040000U
#define MYSQLWIRE_PLUGIN_AUTH        0x00080000U
#define MYSQLWIRE_CONNECT_ATTRS      0x00100000U
#define MYSQLWIRE_PLUGIN_AUTH_LENENC 0x00200000U
#define MYSQLWIRE_EXPIRED_PASSWORDS  0x00400000U
#define MYSQLWIRE_SESSION_TRACK      0x00800000U
#define MYSQLWIRE_DEPRECATE_EOF      0x01000000U
#define MYSQLWIRE_ZSTD               0x04000000U

/* Bits of a server's status. */
#define MYSQLWIRE_STATUS_IN_TRANSACTION 0x0001U
#define MYSQLWIRE_STATUS_AUTOCOMMIT     0x0002U
#define MYSQLWIRE_STATUS_MORE_RESULTS   0x0008U
#define MYSQLWIRE_STATUS_CURSOR_EXISTS  0x0040U
#define MYSQLWIRE_STATUS_STATE_CHANGED  0x4000U

enum mysqlwire_command {
    MYSQLWIRE_QUIT = 0x01,
    MYSQLWIRE_INIT_DB = 0x02,
    MYSQLWIRE_QUERY = 0x03,
    MYSQLWIRE_FIELD_LIST = 0x04,
    MYSQLWIRE_CREATE_DB = 0x05,
    MYSQLWIRE_DROP_DB = 0x06,
    MYSQLWIRE_REFRESH = 0x07,
    MYSQLWIRE_SHUTDOWN = 0x08,
    MYSQLWIRE_STATISTICS = 0x09,
    MYSQLWIRE_PROCESS_INFO = 0x0a,
    MYSQLWIRE_PROCESS_KILL = 0x0c,
    MYSQLWIRE_DEBUG = 0x0d,
    MYSQLWIRE_PING = 0x0e,
    MYSQLWIRE_CHANGE_USER = 0x11,
    MYSQLWIRE_BINLOG_DUMP = 0x12,
    MYSQLWIRE_TABLE_DUMP = 0x13,
    MYSQLWIRE_REGISTER_SLAVE = 0x15,
    MYSQLWIRE_STMT_PREPARE = 0x16,
    MYSQLWIRE_STMT_EXECUTE = 0x17,
    MYSQLWIRE_STMT_SEND_LONG_DATA = 0x18,
    MYSQLWIRE_STMT_CLOSE = 0x19,
    MYSQLWIRE_STMT_RESET = 0x1a,
    MYSQLWIRE_SET_OPTION = 0x1b,
    MYSQLWIRE_STMT_FETCH = 0x1c,
    MYSQLWIRE_BINLOG_DUMP_GTID = 0x1e,
    MYSQLWIRE_RESET_CONNECTION = 0x1f,
    MYSQLWIRE_CLONE = 0x20,
    MYSQLWIRE_GROUP_STREAM = 0x21,
};

/* The first byte of a server's packet, where it decides. */
#define MYSQLWIRE_FIRST_OK     0x00
#define MYSQLWIRE_FIRST_MORE   0x01
#define MYSQLWIRE_FIRST_INFILE 0xfb
#define MYSQLWIRE_FIRST_EOF    0xfe
#define MYSQLWIRE_FIRST_ERROR  0xff

uint16_t mysqlwire_read_u16(struct reader *reader);
uint32_t mysqlwire_read_u24(struct reader *reader);
uint32_t mysqlwire_read_u32(struct reader *reader);
uint64_t mysqlwire_read_u64(struct reader *reader);
/* The reader fails where NULL (0xfb) or an error (0xff) stands. */
uint64_t mysqlwire_read_lenenc(struct reader *reader);
struct slice mysqlwire_read_lenenc_text(struct reader *reader);

void mysqlwire_write_u16(struct writer *writer, uint16_t value);
void mysqlwire_write_u24(struct writer *writer, uint32_t value);
void mysqlwire_write_u32(struct writer *writer, uint32_t value);
void mysqlwire_write_lenenc(struct writer *writer, uint64_t value);
void mysqlwire_write_lenenc_text(struct writer *writer, struct slice text);

#endif
