/* SPDX-License-Identifier: MIT */
/* Rows of results, of text and binary, as rules leave them: each value by the plan of its column,
 * which is made of the column's definition and of what is known of the statement. What a type
 * cannot say becomes NULL. */
#ifndef GH_MYSQL_MYSQL_ROW_H
#define GH_MYSQL_MYSQL_ROW_H

#include "protocol/mysql/mysql_reach.h"
#include "wire/mysqlwire_answer.h"
#include "wire/mysqlwire_value.h"

struct mysql_row_rules {
    const struct mask_rules *masking; /* NULL: nothing is masked */
    struct mask_scratch *scratch;
    struct mask_counts *counts;
    /* Whether a text that goes on may pass; NULL: all may. */
    bool (*may_pass)(void *owner, struct slice text);
    void *owner;
};

struct mysql_row_column {
    struct mask_plan plan;
    struct mysqlwire_value_type type;
    bool is_masked;   /* or looked into */
    bool is_bytes;    /* of no character set */
    bool is_readable; /* its text is one that can be looked into */
    bool is_sieved;   /* what a look at many texts at once finds nothing in passes as it is */
};

/* Of one result. */
struct mysql_row_columns {
    struct mysql_row_column *items;
    size_t count;
    size_t size;
    bool is_masked; /* one of them is */
    bool is_sieved; /* all that are masked are */
};

enum mysql_row_outcome {
    MYSQL_ROW_SAME,
    MYSQL_ROW_CHANGED, /* 'out' has what takes its place */
    MYSQL_ROW_REFUSED, /* it must not pass */
    MYSQL_ROW_BROKEN,  /* it is none */
};

void mysql_row_columns_begin(struct mysql_row_columns *columns, uint64_t count);
void mysql_row_columns_release(struct mysql_row_columns *columns);
/* The next one; false: there are too many. */
bool mysql_row_columns_add(struct mysql_row_columns *columns, const struct mysql_row_rules *rules,
                           const struct mysql_reach *reach, const struct mysqlwire_column *column);
enum mysql_row_outcome mysql_row_mask(const struct mysql_row_columns *columns,
                                      const struct mysql_row_rules *rules, bool is_binary,
                                      struct slice row, struct buf *out);

#endif
