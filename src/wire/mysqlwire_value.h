/* SPDX-License-Identifier: MIT */
/* Values of MySQL's protocol as text: of rows of text, of the binary rows of prepared statements,
 * and of their parameters. */
#ifndef GH_WIRE_MYSQLWIRE_VALUE_H
#define GH_WIRE_MYSQLWIRE_VALUE_H

#include "wire/mysqlwire.h"

enum mysqlwire_type {
    MYSQLWIRE_TYPE_DECIMAL = 0,
    MYSQLWIRE_TYPE_TINY = 1,
    MYSQLWIRE_TYPE_SHORT = 2,
    MYSQLWIRE_TYPE_LONG = 3,
    MYSQLWIRE_TYPE_FLOAT = 4,
    MYSQLWIRE_TYPE_DOUBLE = 5,
    MYSQLWIRE_TYPE_NULL = 6,
    MYSQLWIRE_TYPE_TIMESTAMP = 7,
    MYSQLWIRE_TYPE_LONGLONG = 8,
    MYSQLWIRE_TYPE_INT24 = 9,
    MYSQLWIRE_TYPE_DATE = 10,
    MYSQLWIRE_TYPE_TIME = 11,
    MYSQLWIRE_TYPE_DATETIME = 12,
    MYSQLWIRE_TYPE_YEAR = 13,
    MYSQLWIRE_TYPE_VARCHAR = 15,
    MYSQLWIRE_TYPE_BIT = 16,
    MYSQLWIRE_TYPE_JSON = 245,
    MYSQLWIRE_TYPE_NEWDECIMAL = 246,
    MYSQLWIRE_TYPE_ENUM = 247,
    MYSQLWIRE_TYPE_SET = 248,
    MYSQLWIRE_TYPE_TINY_BLOB = 249,
    MYSQLWIRE_TYPE_BLOB = 252,
    MYSQLWIRE_TYPE_VAR_STRING = 253,
    MYSQLWIRE_TYPE_STRING = 254,
    MYSQLWIRE_TYPE_GEOMETRY = 255,
};

struct mysqlwire_value_type {
    uint8_t type;
    bool is_unsigned;
    bool is_elsewhere; /* of a parameter: it was sent in pieces before, and is not here */
};

/* Of a row of text: at == NULL is NULL. Where the bytes end too early what is left is returned, and
 * the reader has failed. */
struct slice mysqlwire_text_value_read(struct reader *reader);
/* Of a binary row or a parameter that is not NULL; the text lies in the bytes, or in 'scratch',
 * which is overwritten. Likewise. */
struct slice mysqlwire_binary_value_read(struct reader *reader, struct mysqlwire_value_type type,
                                         struct buf *scratch);

/* What a COM_STMT_EXECUTE says, without its first byte. */
struct mysqlwire_execute {
    uint32_t statement_id; /* UINT32_MAX: the one that was prepared last */
    uint8_t flags;         /* of its cursor */
    struct slice nulls;    /* a bit for each parameter, lowest first */
    struct slice types;    /* two bytes each; empty: those of the time before */
    struct slice values;
};

/* The number of parameters is not in it. ERR_INPUT: it is cut, or malformed. */
enum err mysqlwire_execute_read(struct slice body, size_t parameter_count,
                                struct mysqlwire_execute *ret_execute,
                                struct error *reterr) MUST_USE;
struct mysqlwire_value_type mysqlwire_parameter_type(const struct mysqlwire_execute *execute,
                                                     size_t index);

/* Whether a bit of a field of them is set; false beyond its end. */
bool mysqlwire_bit(struct slice bits, size_t index);

#endif
