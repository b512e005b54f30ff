/* SPDX-License-Identifier: MIT */
/* What the built-in types of PostgreSQL hold, as far as it matters for text in their values, by the
 * numbers that pg_type.dat gives them, which never change. */
#ifndef GH_WIRE_PGWIRE_TYPE_H
#define GH_WIRE_PGWIRE_TYPE_H

#include "base/slice.h"
#include "wire/pgwire_value.h"

#include <stdbool.h>
#include <stdint.h>

enum pgwire_type_kind {
    PGWIRE_TYPE_UNKNOWN, /* of an extension or of users: anything */
    PGWIRE_TYPE_TEXT,    /* the same bytes in both formats */
    PGWIRE_TYPE_JSON,    /* as well */
    PGWIRE_TYPE_JSONB,   /* in binary a version byte, then the text */
    PGWIRE_TYPE_NUMBER,
    PGWIRE_TYPE_TIME,  /* dates and times */
    PGWIRE_TYPE_HEX,   /* what is written in hexadecimal digits or groups: addresses, uuid */
    PGWIRE_TYPE_BYTES, /* bytea */
    PGWIRE_TYPE_OTHER, /* has a text that clients do not take apart, and holds no other */
    PGWIRE_TYPE_RANGE,
    PGWIRE_TYPE_MULTIRANGE,
    PGWIRE_TYPE_ARRAY,
    PGWIRE_TYPE_RECORD,
    PGWIRE_TYPE_NONE, /* says yes or no, or nothing */
};

#define PGWIRE_JSONB_VERSION 1

enum pgwire_type_kind pgwire_type_kind_of(uint32_t type);
/* Of an array, a range or a multirange: the type of what is in it; 0: it has none, or nobody knows.
 */
uint32_t pgwire_type_item_of(uint32_t type);

/* Walks of binary arrays and composites are in the way of struct reader: what is read is inside.
 * False when the bytes are no such value, to their last one. */
struct pgwire_array {
    uint32_t type;       /* of the items */
    struct slice header; /* as it stands */
    size_t count;        /* of the items, each a length and its bytes */
    struct slice items;  /* for pgwire_value_next() */
};
bool pgwire_array_read(struct slice value, struct pgwire_array *ret_array);

#define PGWIRE_ARRAY_FLAGS_AT 4 /* in the header: 1 when an item is NULL */

struct pgwire_record {
    size_t count;
    struct slice items; /* each a type, a length and its bytes */
};
bool pgwire_record_read(struct slice value, struct pgwire_record *ret_record);
/* Takes the first; false at the end. at == NULL is NULL. */
bool pgwire_record_next(struct pgwire_record *record, uint32_t *ret_type, struct slice *ret_value);

/* Names and values in turn, as hstore has them. */
bool pgwire_pairs_read(struct slice value, struct pgwire_values *ret_values);

struct pgwire_range {
    bool is_empty;
    bool is_lower_in; /* "[", else "(" */
    bool is_upper_in;
    struct slice lower; /* at == NULL: it has none */
    struct slice upper;
};
bool pgwire_range_read(struct slice value, struct pgwire_range *ret_range);
/* A multirange, not an empty one: values that are ranges. */
bool pgwire_ranges_read(struct slice value, struct pgwire_values *ret_ranges);

#endif
