/* SPDX-License-Identifier: MIT */
/* The lineage of what a query of MySQL's dialect returns: which of its columns can have nothing of
 * the columns that are asked for in them.
 *
 * By names alone, wherever in the text they stand: what is computed from a name in question is in
 * question itself, and so is the name that it is given, in all of the text. So no rule of which
 * relation a name belongs to has to be followed, and none can be followed wrongly. Which rows come,
 * how many and in which order says nothing of a column, but inside of a subquery that is a value.
 * It is for the caller to know that all relations are tables whose columns in question are asked
 * for by name: a view names its columns as it likes. */
#ifndef GH_SQL_SQL_MYSQL_LINEAGE_H
#define GH_SQL_SQL_MYSQL_LINEAGE_H

#include "sql/sql_mysql_signs.h"

struct sql_mysql_lineage {
    bool is_known;
    bool has_star;     /* between the two, columns of relations by their names */
    const bool *front; /* the columns before the first star; all, where there is none */
    size_t front_count;
    const bool *back; /* behind the last one */
    size_t back_count;
    const struct slice *closed; /* names that the text gives to what is in question */
    size_t closed_count;
};

/* A column that the server sends: of how many, and the name that it says. */
struct sql_mysql_place {
    size_t index;
    size_t count;
    struct slice name;
};

/* Of a text that is one statement, and a query. Texts lie in the arena. */
struct sql_mysql_lineage sql_mysql_lineage_of(struct arena *arena,
                                              const struct sql_settings *settings,
                                              struct slice text,
                                              const struct sql_mysql_asked *asked);
bool sql_mysql_lineage_is_open(const struct sql_mysql_lineage *lineage,
                               const struct sql_mysql_asked *asked,
                               const struct sql_mysql_place *place);

#endif
