/* SPDX-License-Identifier: MIT */
/* Which relations of a target are views, or tables that show others; and of views that statements
 * name their queries and columns, as the target keeps them. Names are in lower case.
 *
 * A view's query says its columns one by one, with the tables that they are of, so the lineage of a
 * query (see sql_mysql_lineage.h) tells which of them have nothing masked in them. What it does not
 * tell is masked: of a query that is not shown to the user, is long, has backslashes or double
 * quotes, calls functions that are not the server's own, or reads what the server keeps. */
#ifndef GH_MYSQL_MYSQL_VIEWS_H
#define GH_MYSQL_MYSQL_VIEWS_H

#include "base/buf.h"
#include "policy/mask.h"
#include "sql/sql.h"

struct mysql_view {
    struct sql_name name;
    struct slice query; /* "": not known */
    struct slice *columns;
    size_t column_count;
    size_t column_capacity;
};

struct mysql_views {
    struct buf names; /* each as "\nschema\0name\n" */
    bool is_known;
    bool is_cut; /* there are more than are kept: any relation may be one */
    int64_t asked_at_us;
    struct arena arena; /* of what follows */
    struct mysql_view *items;
    size_t count;
    struct slice question; /* about the last of them */
};

typedef struct sql_script (*mysql_views_analyze_fn)(struct arena *arena,
                                                    const struct sql_settings *settings,
                                                    struct slice text);

/* What is to be found out of the views that a statement names. */
struct mysql_views_scan {
    const struct mysql_views *views;
    const struct mask_rules *rules;
    mysql_views_analyze_fn analyze;
    struct arena *arena;  /* of all that follows */
    struct slice *closed; /* names of columns that may have something masked in them */
    size_t closed_count;
    size_t depth;
    struct sql_name wanted; /* a view that the target is to be asked about first; or no name */
};

enum mysql_views_answer {
    MYSQL_VIEWS_OPEN,   /* nothing masked is in what it reads */
    MYSQL_VIEWS_CLOSED, /* the names are those that may have some */
    MYSQL_VIEWS_DARK,   /* any column may */
    MYSQL_VIEWS_ASK,    /* about 'wanted' */
};

void mysql_views_init(struct mysql_views *views);
void mysql_views_release(struct mysql_views *views);
/* All of them are being asked for. */
void mysql_views_clear(struct mysql_views *views);

/* The names of all of them; of it comes a row a view. */
struct slice mysql_views_question(void);
void mysql_views_take_name(struct mysql_views *views, struct slice row);
/* One is asked about: it is kept, and its question made; of it come rows. False: there are too
 * many. */
bool mysql_views_ask(struct mysql_views *views, const struct sql_name *name);
void mysql_views_take_part(struct mysql_views *views, struct slice row);

bool mysql_views_has(const struct mysql_views *views, const struct sql_name *name);
/* Of a view that a statement names, and of those behind it. */
enum mysql_views_answer mysql_views_look(struct mysql_views_scan *scan,
                                         const struct sql_name *name);
/* Whether a column of that name may have something masked in it; a mysql_views_scan. */
bool mysql_views_is_asked(const void *context, struct slice name);

/* Tables of the server itself; and of them those that hold definitions and settings, and no values
 * of columns nor texts of statements. */
bool mysql_views_is_system(struct slice schema);
bool mysql_views_is_harmless_system(const struct sql_name *name);

#endif
