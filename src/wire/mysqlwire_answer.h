/* SPDX-License-Identifier: MIT */
/* What a server answers in MySQL's protocol: OK, ERR, EOF, the heads of results and of prepared
 * statements, and columns. Bodies of packets; what are read are views of them. */
#ifndef GH_WIRE_MYSQLWIRE_ANSWER_H
#define GH_WIRE_MYSQLWIRE_ANSWER_H

#include "wire/mysqlwire.h"

/* OK, with the first byte 0 or, where EOF is deprecated, 0xfe; and EOF of older times, which has
 * the last two numbers alone. */
struct mysqlwire_ok {
    uint64_t affected_rows;
    uint64_t insert_id;
    uint16_t status;
    uint16_t warnings;
    struct slice info;          /* for people */
    struct slice state_changes; /* empty: none are told */
};

/* 'capabilities' are those of the connection. */
enum err mysqlwire_ok_read(struct slice body, uint32_t capabilities, struct mysqlwire_ok *ret_ok,
                           struct error *reterr) MUST_USE;
enum err mysqlwire_ok_write(struct buf *buf, uint8_t sequence, uint32_t capabilities,
                            const struct mysqlwire_ok *ok) MUST_USE;

struct mysqlwire_error {
    uint16_t number;
    struct slice state; /* of MYSQLWIRE_STATE_SIZE bytes, or empty */
    struct slice message;
};

enum err mysqlwire_error_read(struct slice body, struct mysqlwire_error *ret_error,
                              struct error *reterr) MUST_USE;
enum err mysqlwire_error_write(struct buf *buf, uint8_t sequence,
                               const struct mysqlwire_error *error) MUST_USE;

/* What a prepared statement is known by. */
struct mysqlwire_prepared {
    uint32_t id;
    uint16_t column_count;
    uint16_t parameter_count;
};

enum err mysqlwire_prepared_read(struct slice body, struct mysqlwire_prepared *ret_prepared,
                                 struct error *reterr) MUST_USE;

enum err mysqlwire_column_count_read(struct slice body, uint64_t *ret_count,
                                     struct error *reterr) MUST_USE;

struct mysqlwire_column {
    struct slice schema;
    struct slice table;
    struct slice original_table;
    struct slice name;
    struct slice original_name;
    uint16_t charset;
    uint32_t size;
    uint8_t type;
    uint16_t flags;
    uint8_t decimals;
};

#define MYSQLWIRE_COLUMN_UNSIGNED 0x20U

enum err mysqlwire_column_read(struct slice body, struct mysqlwire_column *ret_column,
                               struct error *reterr) MUST_USE;

/* The name of the file that a server asks the client for. */
enum err mysqlwire_infile_read(struct slice body, struct slice *ret_name,
                               struct error *reterr) MUST_USE;

#endif
