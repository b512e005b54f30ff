/* SPDX-License-Identifier: MIT */
/* Rows for people (columns that stand below each other), for programs (CSV) and for documents
 * (Markdown), written as they come: the widths are those of the first rows, which are held back for
 * a moment. What others wrote is shown so that a terminal obeys none of it; CSV has it as it is. */
#ifndef GH_CLIENT_TABLE_H
#define GH_CLIENT_TABLE_H

#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>

enum table_form {
    TABLE_ALIGNED,
    TABLE_CSV,
    TABLE_MARKDOWN,
};

struct table {
    FILE *out;
    enum table_form form;
    struct arena arena; /* of what is held back */
    struct slice *names;
    size_t *widths;
    size_t column_count;
    struct slice **rows; /* that are held back */
    size_t row_count;    /* likewise */
    size_t size;         /* of them */
    int64_t held_since;  /* monotonic */
    bool is_written;     /* the head is out */
};

void table_begin(struct table *table, FILE *out, enum table_form form, const struct slice *names,
                 size_t count);
/* As many values as there are columns; at == NULL is NULL. */
void table_row(struct table *table, const struct slice *values);
/* Time passes: what was held back for long enough goes out. */
void table_look(struct table *table);
/* Everything is out. */
void table_end(struct table *table);

#endif
