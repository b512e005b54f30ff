/* SPDX-License-Identifier: MIT */
/* What of a text of MySQL's dialect says where values go, beside what it does: whether it keeps
 * some in variables, whether the names of its results can be made up, whether it says other words
 * than the names of columns that are asked for. Of words alone, so it says "yes" too often. */
#ifndef GH_SQL_SQL_MYSQL_SIGNS_H
#define GH_SQL_SQL_MYSQL_SIGNS_H

#include "sql/sql.h"

struct sql_mysql_asked {
    /* Whether it is one of the columns in question; of lower case, where that is ASCII. */
    bool (*is_asked)(const void *context, struct slice name);
    const void *context;
};

struct sql_mysql_signs {
    bool is_read;         /* to its end, and as servers of all versions do */
    bool keeps_values;    /* INTO, or a variable of the user's */
    bool makes_relations; /* a query stands where a relation does, or may, or WITH */
    bool names_asked;     /* a column in question, but for those that UPDATE sets; or a star */
    bool names_asked_at_all;
    bool compares; /* ORDER, GROUP, DISTINCT, set operations, NATURAL, or another query inside */
    struct slice first; /* its first words, in lower case: of SHOW, which list */
    struct slice second;
    struct slice third;
};

/* Texts lie in the arena. */
struct sql_mysql_signs sql_mysql_signs(struct arena *arena, const struct sql_settings *settings,
                                       struct slice text, const struct sql_mysql_asked *asked);

#endif
