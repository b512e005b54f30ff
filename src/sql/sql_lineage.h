/* SPDX-License-Identifier: MIT */
/* The lineage of what a statement returns: of each column of its result, whether a value that is
 * not open can have flowed into it. Open is what comes of open columns, constants and parameters by
 * the database's own functions, operators and types alone, through subqueries, joins, common table
 * expressions and set operations. Which rows come, how many and in which order is not part of it,
 * but where it becomes a value: in a subquery inside of an expression all of its text counts.
 * What is not followed, ambiguous or too deep is not open. Pure, without recursion on the input. */
#ifndef GH_SQL_SQL_LINEAGE_H
#define GH_SQL_SQL_LINEAGE_H

#include "base/arena.h"
#include "sql/sql.h"

/* A table, a view, whatever has rows and a name. One and the same must come by one address: that is
 * how "schema.table.column" finds "FROM table". */
struct sql_lineage_relation {
    const struct slice *columns; /* those that * gives, in their order */
    const bool *is_open;
    size_t count;
    /* It has ctid, xmin and the like (views have none): they are open, but for tableoid, which is
     * so where all columns are. */
    bool has_system_columns;
    /* Which rows it has tells nothing that is not open: so for tables; of a view as it was said of
     * its text. */
    bool are_rows_open;
};

struct sql_lineage_catalog {
    /* As it is written, a name without a schema by the search path. NULL: not known. */
    const struct sql_lineage_relation *(*relation)(void *context, const struct sql_name *name);
    /* Whether all that a call by this name can reach is the database's own, gives what depends on
     * its arguments alone, or on the clock and the session, and reads no relation that is named by
     * a text. 'arguments' as in sql_function; UINT32_MAX: not known. Where nothing has
     * that name it may be said: the fields of values are asked for, too. So are json_scalar and its
     * like, which are grammar in newer servers. */
    bool (*is_own_function)(void *context, const struct sql_name *name, uint32_t arguments);
    /* Whether none of those gives a set of rows; NULL: any may. */
    bool (*is_scalar_function)(void *context, const struct sql_name *name, uint32_t arguments);
    /* As is_own_function; also asked for those that words stand for (IN, LIKE …). */
    bool (*is_own_operator)(void *context, const struct sql_name *name);
    bool (*is_own_type)(void *context, const struct sql_name *name);
    void *context;
};

struct sql_lineage_column {
    struct slice label; /* as the server names it; NULL: not known */
    bool is_open;
};

struct sql_lineage {
    bool is_known; /* the columns are those that the server will send */
    struct sql_lineage_column *columns;
    size_t count;
    /* All columns are open, those, too, whose names and number are not known. */
    bool is_all_open;
    bool are_rows_open; /* what decides which rows come is open */
};

/* Of one statement: what it returns, and of DECLARE, PREPARE, COPY (query), CREATE … AS and SELECT
 * INTO what their query gives. All lies in the arena, or in the text. Never fails: what it does not
 * follow is not known, or not open. */
struct sql_lineage sql_lineage_of(struct arena *arena, const struct sql_settings *settings,
                                  struct slice text, const struct sql_lineage_catalog *catalog);

#endif
