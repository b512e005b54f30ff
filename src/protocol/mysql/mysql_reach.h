/* SPDX-License-Identifier: MIT */
/* What a text may do under rules for columns, and what is known of its answer. Fails closed: what
 * is not understood, or could keep a masked value where no rule is, is refused in words; of a text
 * that reaches a masked column each result is masked but for those whose origin is proven.
 *
 * MariaDB's columns say where they come from, but a query in FROM or a view can have them say the
 * name of any table: so that is a proof only where all that stands in FROM are tables. Which are
 * not, the target is asked, and of views what they select. What is computed, and what comes of a
 * query in FROM or of a view, is proven by the names in the text (see sql_mysql_lineage.h). */
#ifndef GH_MYSQL_MYSQL_REACH_H
#define GH_MYSQL_MYSQL_REACH_H

#include "protocol/mysql/mysql_views.h"
#include "sql/sql_mysql_lineage.h"

enum mysql_reach_outcome {
    MYSQL_REACH_PASSES,
    MYSQL_REACH_REFUSES,
    MYSQL_REACH_ASKS, /* the target is to be asked about the view that is 'wanted' */
};

struct mysql_reach_request {
    const struct mask_rules *rules;
    const struct sql_settings *settings;
    bool is_read;                    /* it is known that the target reads texts so */
    const struct mysql_views *views; /* as they are known now */
    mysql_views_analyze_fn analyze;
    struct slice text;
};

struct mysql_reach {
    struct arena arena;
    bool reaches;                  /* a masked column, or may */
    bool is_about_errors;          /* SHOW WARNINGS, SHOW ERRORS */
    const struct sql_name *proven; /* the tables that origins are believed of */
    size_t proven_count;
    struct sql_mysql_lineage lineage; /* of the one query that the text is */
    struct slice *closed;             /* names of columns of views, which may be masked ones' */
    size_t closed_count;
    struct sql_name wanted;
    const char *why; /* it is refused */
};

void mysql_reach_init(struct mysql_reach *reach);
void mysql_reach_release(struct mysql_reach *reach);
/* Nothing is reached, and nothing asked: what the gateway does not judge. */
void mysql_reach_clear(struct mysql_reach *reach);
enum mysql_reach_outcome mysql_reach_judge(struct mysql_reach *reach,
                                           const struct mysql_reach_request *request);
/* Whether a column has nothing masked in it but what its origin says, if it does. */
bool mysql_reach_proves(const struct mysql_reach *reach, const struct mask_rules *rules,
                        const struct mask_origin *origin, const struct sql_mysql_place *place);
/* What else than words of the statement itself an error's words may hold. */
bool mysql_reach_hides_error(uint16_t number);

#endif
