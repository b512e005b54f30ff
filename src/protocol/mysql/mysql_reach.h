/* SPDX-License-Identifier: MIT */
/* What a text may do under rules for columns, and what is known of its answer. Fails closed: what
 * is not understood, or could keep a masked value where no rule is, is refused in words; of a text
 * that reaches a masked column each result is masked but for those whose origin is proven.
 *
 * MariaDB's columns say where they come from, but a query in FROM or a view can have them say the
 * name of any table: so that is a proof only where all that stands in FROM are tables. Which are
 * not, the target is asked. What is computed, and what comes of a query in FROM, is proven by the
 * names in the text (see sql_mysql_lineage.h). */
#ifndef GH_MYSQL_MYSQL_REACH_H
#define GH_MYSQL_MYSQL_REACH_H

#include "policy/mask.h"
#include "sql/sql.h"
#include "sql/sql_mysql_lineage.h"

/* Which relations of a target are views, or tables that show others: in lower case, each as
 * "\nschema\0name\n". */
struct mysql_views {
    struct buf names;
    bool is_known;
    bool is_cut; /* there are more than are kept: any relation may be one */
    int64_t asked_at_us;
};

enum mysql_reach_outcome {
    MYSQL_REACH_PASSES,
    MYSQL_REACH_REFUSES,
};

struct mysql_reach_request {
    const struct mask_rules *rules;
    const struct sql_settings *settings;
    bool is_read;                    /* it is known that the target reads texts so */
    const struct mysql_views *views; /* as they are known now */
    struct sql_script (*analyze)(struct arena *arena, const struct sql_settings *settings,
                                 struct slice text);
    struct slice text;
};

struct mysql_reach {
    struct arena arena;
    bool reaches;                  /* a masked column, or may */
    bool is_about_errors;          /* SHOW WARNINGS, SHOW ERRORS */
    const struct sql_name *proven; /* the tables that origins are believed of */
    size_t proven_count;
    struct sql_mysql_lineage lineage; /* of the one query that the text is */
    const char *why;                  /* it is refused */
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
