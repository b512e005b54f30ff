/* SPDX-License-Identifier: MIT */
/* The rows of COPY TO, in its three formats (sql-copy, "File Formats"): where a row ends, its
 * fields, and fields written anew. Knows nothing of types, and of encodings only that no byte of
 * these formats' own stands inside another character. */
#ifndef GH_WIRE_PGWIRE_COPY_H
#define GH_WIRE_PGWIRE_COPY_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum pgwire_copy_kind {
    PGWIRE_COPY_TEXT,
    PGWIRE_COPY_CSV,
    PGWIRE_COPY_BINARY,
};

#define PGWIRE_COPY_NULL_SIZE 32

struct pgwire_copy_format {
    enum pgwire_copy_kind kind;
    bool has_header; /* the first row has names; not for binary */
    char delimiter;
    char quote; /* CSV only: this and the next */
    char escape;
    char null[PGWIRE_COPY_NULL_SIZE]; /* what stands for NULL */
    size_t null_len;
};

/* As servers have it when a statement says nothing else. */
void pgwire_copy_format_init(struct pgwire_copy_format *format, enum pgwire_copy_kind kind);

/* The length of the first row with its line end, or 0: there is none whole. Text and CSV. */
size_t pgwire_copy_row_len(const struct pgwire_copy_format *format, struct slice bytes);

struct pgwire_copy_field {
    struct slice raw;   /* as it stands, without the delimiter */
    struct slice value; /* what it means; in 'raw', or in the caller's buffer; NULL: at == NULL */
};

/* Takes the first field of a row of text or CSV that has no line end any more; false behind the
 * last one. 'is_first' is true for the first call. 'unescaped' is cleared and holds the value when
 * it differs from its bytes; ERR_LIMIT is told by *ret_is_over. */
struct pgwire_copy_row {
    struct slice rest;
    bool is_over;
};
bool pgwire_copy_next(const struct pgwire_copy_format *format, struct pgwire_copy_row *row,
                      struct buf *unescaped, struct pgwire_copy_field *ret_field);
/* at == NULL is NULL. A CSV field is quoted. */
enum err pgwire_copy_field_write(const struct pgwire_copy_format *format, struct slice value,
                                 struct buf *buf) MUST_USE;

/* Binary: what stands first in 'bytes', of which what is needed is there: the file's header when
 * 'has_begun' is false, then rows, then the end. ERR_MORE: not all of it is there. ERR_INPUT. */
struct pgwire_copy_item {
    size_t len;       /* of all of it */
    bool is_row;      /* the header and the end are none */
    bool is_end;      /* nothing may follow */
    size_t count;     /* of fields, each a length and its bytes */
    size_t values_at; /* where the first one stands */
};
enum err pgwire_copy_binary_next(struct slice bytes, bool has_begun,
                                 struct pgwire_copy_item *ret_item) MUST_USE;

#endif
