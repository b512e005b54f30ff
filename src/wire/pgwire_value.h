/* SPDX-License-Identifier: MIT */
/* The lists that stand inside PostgreSQL messages: values with NULL among them, format codes,
 * object ids. Each is a count and the bytes of its items, checked when the message was read; views
 * point into the message's body. */
#ifndef GH_WIRE_PGWIRE_VALUE_H
#define GH_WIRE_PGWIRE_VALUE_H

#include "base/reader.h"
#include "base/slice.h"

#include <stdbool.h>

/* protocol-overview, "Formats and Format Codes" */
#define PGWIRE_FORMAT_TEXT   0
#define PGWIRE_FORMAT_BINARY 1

struct pgwire_oids {
    size_t count;
    struct slice bytes;
};

struct pgwire_formats {
    size_t count;
    struct slice bytes;
};

/* Walked with pgwire_value_next(); a copy of the struct is a walk of its own. */
struct pgwire_values {
    size_t count;
    struct slice bytes;
};

/* index < count, else 0. */
uint32_t pgwire_oid_at(const struct pgwire_oids *oids, size_t index);
/* The format of the item 'index' of those that the list is about: none given means text, one is
 * for all. */
uint16_t pgwire_format_of(const struct pgwire_formats *formats, size_t index);

/* Takes the first value; at == NULL is NULL, an empty value has an address. False at the end. */
bool pgwire_value_next(struct pgwire_values *values, struct slice *ret_value);

/* For the files of the codec: a count of 16 bits and its items. */
struct pgwire_oids pgwire_oids_read(struct reader *reader);
struct pgwire_formats pgwire_formats_read(struct reader *reader);
struct pgwire_values pgwire_values_read(struct reader *reader);
/* A length and its bytes; at == NULL when the length is -1. */
struct slice pgwire_value_read(struct reader *reader);

#endif
