/* SPDX-License-Identifier: MIT */
/* The messages of the extended protocol: which reach the server. */
#include "protocol/postgres/pg_filter_client.h"

#include "base/limits.h"
#include "base/must.h"
#include "protocol/postgres/pg_filter_budget.h"
#include "protocol/postgres/pg_filter_hold.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_known.h"
#include "protocol/postgres/pg_filter_limit.h"
#include "protocol/postgres/pg_filter_mask.h"
#include "protocol/postgres/pg_filter_names.h"
#include "protocol/postgres/pg_filter_read_only.h"
#include "protocol/postgres/pg_filter_refuse.h"
#include "protocol/postgres/pg_filter_rehearse.h"

/* A Parse runs nothing: what needs a review is held when it is bound. What SQL prepares would not
 * be bound under this name. */
static enum err pg_filter_review_parse(struct pg_filter *filter, char type,
                                       struct pg_filter_judgement *judgement, bool *ret_is_due,
                                       struct error *reterr_error)
{
    *ret_is_due = pg_filter_needs_review(filter, &judgement->verdict);
    if (!*ret_is_due) {
        return ERR_NONE;
    }
    if ((judgement->facts.operations & (SQL_BIT(SQL_PREPARE) | SQL_BIT(SQL_EXECUTE))) != 0) {
        return pg_filter_refuse_unheld(filter, type, &judgement->verdict,
                                       "what SQL prepares, or executes by a name, cannot be shown "
                                       "as what it will be: send the statement itself",
                                       reterr_error);
    }
    pg_filter_drop_reviews(&judgement->verdict);
    return ERR_NONE;
}

static void pg_filter_keep_types(struct pg_filter_statement *statement,
                                 const struct pgwire_oids *types)
{
    buf_init(&statement->types, types->bytes.len);
    must(buf_append(&statement->types, types->bytes) == ERR_NONE);
    statement->type_count = types->count;
    statement->has_types = true;
}

static enum err pg_filter_take_parse(struct pg_filter *filter,
                                     const struct pg_filter_message *message,
                                     struct error *reterr_error)
{
    struct pgwire_parse parse;
    struct error why;
    struct pg_filter_judgement judgement;
    bool is_due = false;
    uint64_t id = 0;
    enum err err = pgwire_parse_read(message->body, &parse, &why);
    if (err != ERR_NONE) {
        return pg_filter_refuse_malformed(filter, message->type, &why, reterr_error);
    }
    if (pg_filter_is_full(filter, parse.text.len)) {
        return pg_filter_refuse_for(filter, message->type, "53400",
                                    "more prepared statements than can be followed", reterr_error);
    }
    filter->checkable = parse.text;
    pg_filter_judge(filter, parse.text, &judgement);
    if (judgement.is_early) {
        return ERR_AGAIN;
    }
    err = pg_filter_check_script_names(filter, message->type, &judgement, reterr_error);
    if (err == ERR_NONE) {
        err = pg_filter_review_parse(filter, message->type, &judgement, &is_due, reterr_error);
    }
    if (err == ERR_NONE && judgement.verdict.action != GUARD_BLOCK) {
        err = pg_filter_read_only_check(filter, message->type, &judgement.facts, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_admit(filter, message, parse.text, &judgement, reterr_error);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = pg_filter_send_judged(filter, message, &judgement.verdict, &id, reterr_error);
    if (err == ERR_NONE) {
        const struct pg_filter_text read = {parse.text, filter->is_backslash_quoted,
                                            judgement.is_ambiguous};
        struct pg_filter_statement *statement = pg_filter_statement_new(filter, &read);
        statement->facts = judgement.facts;
        statement->generation = filter->policy.generation;
        statement->known_id = pg_filter_known_id(filter);
        statement->is_under_review = is_due;
        if (filter->policy.asks_review) {
            pg_filter_keep_types(statement, &parse.types);
        }
        pg_filter_change_add(filter, pg_filter_request_add(filter, id), PG_FILTER_DEFINES_STATEMENT,
                             parse.statement, statement);
    }
    return err;
}

static enum err pg_filter_judge_values(struct pg_filter *filter, struct pgwire_values values,
                                       struct error *reterr_error)
{
    struct slice value;
    enum err err = ERR_NONE;
    while (filter->policy.looks_at_values && err == ERR_NONE &&
           pgwire_value_next(&values, &value)) {
        struct pg_filter_judgement judgement;
        if (value.at != NULL) {
            pg_filter_judge_value(filter, value, &judgement);
            err = pg_filter_enforce(filter, PGWIRE_CLIENT_BIND, &judgement.verdict, reterr_error);
        }
    }
    return err;
}

/* What a name stands for was judged when it was defined: by other rules, maybe, or it says EXECUTE
 * and so depends on a name itself. Then it is judged again. */
static void pg_filter_judge_named(struct pg_filter *filter, struct pg_filter_statement *statement,
                                  struct pg_filter_judgement *judgement)
{
    if (statement == NULL) {
        pg_filter_judge_unknown(filter, judgement);
        return;
    }
    if (statement->generation != filter->policy.generation || statement->facts.executes ||
        statement->is_under_review || statement->known_id != pg_filter_known_id(filter)) {
        pg_filter_judge_statement(filter, statement, judgement);
        if (!judgement->is_early) {
            statement->facts = judgement->facts;
            statement->known_id = pg_filter_known_id(filter);
            statement->is_under_review = pg_filter_needs_review(filter, &judgement->verdict);
        }
        if (statement->is_approved && pg_filter_needs_review(filter, &judgement->verdict)) {
            pg_filter_drop_reviews(&judgement->verdict);
        }
        return;
    }
    *judgement = (struct pg_filter_judgement){
        .verdict = {.action = GUARD_PASS, .max_rows = PG_FILTER_NO_LIMIT},
        .facts = statement->facts,
    };
}

/* What a name stands for: the rules may be others than those that it was judged by. What they block
 * is judged again each time. */
static enum err pg_filter_enforce_named(struct pg_filter *filter, char type,
                                        struct pg_filter_statement *statement,
                                        const struct pg_filter_judgement *judgement,
                                        struct error *reterr_error)
{
    bool is_new = statement == NULL || statement->generation != filter->policy.generation;
    struct slice text = statement == NULL ? SLICE_NONE : buf_view(&statement->text);
    enum err err = pg_filter_enforce(filter, type, &judgement->verdict, reterr_error);
    if (err == ERR_NONE && is_new) {
        err = pg_filter_mask_check(filter, type, text, judgement, reterr_error);
    }
    if (err == ERR_NONE && statement != NULL) {
        statement->generation = filter->policy.generation;
    }
    return err;
}

/* All that has to be reviewed of it: the statement, and its values. */
static void pg_filter_reviews_of_bind(struct pg_filter *filter, struct pgwire_values values,
                                      struct guard_verdict *verdict)
{
    struct slice value;
    while (filter->policy.looks_at_values && pgwire_value_next(&values, &value)) {
        struct pg_filter_judgement judgement;
        if (value.at != NULL) {
            pg_filter_judge_value(filter, value, &judgement);
            if (judgement.verdict.action >= GUARD_REHEARSE) {
                pg_filter_join(verdict, &judgement.verdict);
            }
        }
    }
}

/* What was approved is told by filter->hold. */
static enum err pg_filter_hold_bind(struct pg_filter *filter, const struct pgwire_bind *bind,
                                    const struct pg_filter_statement *statement,
                                    const struct pg_filter_judgement *judgement,
                                    struct error *reterr_error)
{
    if (!filter->policy.asks_review || judgement->verdict.action == GUARD_BLOCK) {
        return ERR_NONE;
    }
    struct guard_verdict verdict = judgement->verdict;
    pg_filter_reviews_of_bind(filter, bind->values, &verdict);
    if (statement == NULL || !pg_filter_needs_review(filter, &verdict)) {
        return ERR_NONE; /* or it is refused by whoever enforces the verdict */
    }
    if (pg_filter_is_full(filter, statement->text.len)) {
        return pg_filter_refuse_for(filter, PGWIRE_CLIENT_BIND, "53400",
                                    "more portals than can be followed", reterr_error);
    }
    const struct pg_filter_held held = {
        .text = buf_view(&statement->text),
        .facts = &judgement->facts,
        .bind = bind,
        .types = {.count = statement->type_count, .bytes = buf_view(&statement->types)},
        .has_types = statement->has_types,
        .is_backslash_quoted = statement->is_backslash_quoted,
        .is_ambiguous = statement->is_ambiguous,
    };
    return pg_filter_hold_check(filter, PGWIRE_CLIENT_BIND, &held, &verdict, reterr_error);
}

/* What a portal stands for that was let through: nobody is asked again when it is executed. */
static struct pg_filter_statement *pg_filter_statement_approved(
    struct pg_filter *filter, const struct pg_filter_statement *statement)
{
    const struct pg_filter_text text = {buf_view(&statement->text), statement->is_backslash_quoted,
                                        statement->is_ambiguous};
    struct pg_filter_statement *approved = pg_filter_statement_new(filter, &text);
    approved->facts = statement->facts;
    approved->generation = filter->policy.generation;
    approved->known_id = statement->known_id;
    approved->is_bound = true;
    approved->bound_at = filter->ended_count;
    approved->is_approved = true;
    approved->is_rehearsed = pg_filter_is_rehearsal(filter);
    return approved;
}

/* All that may refuse it, or have it wait. */
static enum err pg_filter_admit_bind(struct pg_filter *filter,
                                     const struct pg_filter_message *message,
                                     const struct pgwire_bind *bind,
                                     struct pg_filter_statement *statement,
                                     const struct pg_filter_judgement *judgement,
                                     struct error *reterr_error)
{
    enum err err = ERR_NONE;
    if (statement == NULL || judgement->facts.executes) {
        err = pg_filter_check_lost(filter, message->type, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_hold_bind(filter, bind, statement, judgement, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_enforce_named(filter, message->type, statement, judgement, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_read_only_check(filter, message->type, &judgement->facts, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_judge_values(filter, bind->values, reterr_error);
    }
    return err == ERR_NONE ? pg_filter_mask_request(filter, message, reterr_error) : err;
}

static enum err pg_filter_take_bind(struct pg_filter *filter,
                                    const struct pg_filter_message *message,
                                    struct error *reterr_error)
{
    struct pgwire_bind bind;
    struct error why;
    struct pg_filter_statement *statement = NULL;
    struct pg_filter_judgement judgement;
    uint64_t id = 0;
    enum err err = pgwire_bind_read(message->body, &bind, &why);
    if (err != ERR_NONE) {
        return pg_filter_refuse_malformed(filter, message->type, &why, reterr_error);
    }
    if (!pg_filter_find(filter, PG_FILTER_DEFINES_STATEMENT, bind.statement, &statement)) {
        return ERR_AGAIN;
    }
    if (map_count(&filter->portals) >= LIMIT_PG_FILTER_NAMES) {
        return pg_filter_refuse_for(filter, message->type, "53400",
                                    "more portals than can be followed", reterr_error);
    }
    pg_filter_judge_named(filter, statement, &judgement);
    if (judgement.is_early) {
        return ERR_AGAIN;
    }
    err = pg_filter_admit_bind(filter, message, &bind, statement, &judgement, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    err = pg_filter_send_judged(filter, message, &judgement.verdict, &id, reterr_error);
    if (err == ERR_NONE && statement != NULL) {
        bool is_approved = filter->hold.phase == PG_FILTER_APPROVED;
        statement->bound_at = statement->is_bound ? statement->bound_at : filter->ended_count;
        statement->is_bound = true;
        pg_filter_change_add(filter, pg_filter_request_add(filter, id), PG_FILTER_DEFINES_PORTAL,
                             bind.portal,
                             is_approved ? pg_filter_statement_approved(filter, statement)
                                         : pg_filter_statement_ref(statement));
    }
    return err;
}

static void pg_filter_note_run(struct pg_filter *filter, uint64_t id,
                               const struct pg_filter_statement *statement)
{
    filter->has_run = true;
    if (statement == NULL) {
        return;
    }
    filter->has_begun = filter->has_begun || statement->facts.begins;
    filter->has_controlled = filter->has_controlled || statement->facts.controls;
    pg_filter_read_only_run(filter, &statement->facts);
    pg_filter_known_sent(filter, &statement->facts);
    if (statement->facts.prepares) {
        const struct sql_settings settings = {
            .dialect = SQL_POSTGRES, .is_backslash_quoted = statement->is_backslash_quoted};
        const struct pg_filter_text text = {
            buf_view(&statement->text), statement->is_backslash_quoted, statement->is_ambiguous};
        struct sql_script script = filter->policy.analyze(&filter->arena, &settings, text.bytes);
        pg_filter_define_prepared(filter, id, &text, &script);
    }
}

/* Servers choose when they bind how they run an EXECUTE: of one that was to give rows they count
 * the rows that it gave, whatever the name stands for later. */
static void pg_filter_check_count(const struct pg_filter *filter,
                                  const struct pg_filter_statement *statement,
                                  struct pg_filter_facts *facts)
{
    if (facts->executes && statement->bound_at != filter->ended_count) {
        facts->why_unlimited = "the limit on rows cannot be held for an EXECUTE that was bound "
                               "before a prepared statement was ended";
    }
}

/* A portal that is not known is one of SQL's cursors, which was judged when it was declared, unless
 * there were no rules yet. */
static enum err pg_filter_take_execute(struct pg_filter *filter,
                                       const struct pg_filter_message *message,
                                       struct error *reterr_error)
{
    struct pgwire_execute execute;
    struct error why;
    struct pg_filter_statement *statement = NULL;
    struct pg_filter_judgement judgement = {
        .facts = {.max_rows = PG_FILTER_NO_LIMIT, .reads = true}};
    uint64_t id = 0;
    enum err err = pgwire_execute_read(message->body, &execute, &why);
    if (err != ERR_NONE) {
        return pg_filter_refuse_malformed(filter, message->type, &why, reterr_error);
    }
    if (!pg_filter_find(filter, PG_FILTER_DEFINES_PORTAL, execute.portal, &statement)) {
        return ERR_AGAIN;
    }
    bool is_judged = statement != NULL || filter->is_late;
    if (is_judged) {
        pg_filter_judge_named(filter, statement, &judgement);
    }
    if (statement != NULL) {
        pg_filter_check_count(filter, statement, &judgement.facts);
    }
    if (statement != NULL && statement->is_rehearsed) {
        pg_filter_rehearse_facts(&judgement.facts);
    }
    if (judgement.is_early) {
        return ERR_AGAIN;
    }
    if (!pg_filter_stops(filter, &judgement.verdict)) {
        err = pg_filter_read_only_check(filter, message->type, &judgement.facts, reterr_error);
        if (err == ERR_NONE) {
            err = pg_filter_budget_check(filter, message->type, &judgement.facts, reterr_error);
        }
        if (err == ERR_NONE) {
            err = pg_filter_limit_execute(filter, &judgement.facts, &execute, reterr_error);
        }
    }
    if (err == ERR_NONE && is_judged) {
        err = pg_filter_enforce_named(filter, message->type, statement, &judgement, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_mask_request(filter, message, reterr_error);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = pg_filter_send_judged(filter, message, &judgement.verdict, &id, reterr_error);
    if (err == ERR_NONE) {
        pg_filter_limit_request(filter, id, &judgement.facts);
        pg_filter_note_run(filter, id, statement);
    }
    return err;
}

/* Close and Describe. */
static enum err pg_filter_take_object(struct pg_filter *filter,
                                      const struct pg_filter_message *message,
                                      struct error *reterr_error)
{
    struct pgwire_object object;
    struct error why;
    uint64_t id = 0;
    enum err err = pgwire_object_read(message->body, &object, &why);
    if (err != ERR_NONE) {
        return pg_filter_refuse_malformed(filter, message->type, &why, reterr_error);
    }
    err = pg_filter_mask_request(filter, message, reterr_error);
    if (err == ERR_NONE) {
        err = pg_filter_send_message(filter, message, &id, reterr_error);
    }
    if (err == ERR_NONE && message->type == PGWIRE_CLIENT_CLOSE) {
        pg_filter_change_add(filter, pg_filter_request_add(filter, id),
                             object.kind == PGWIRE_STATEMENT ? PG_FILTER_ENDS_STATEMENT
                                                             : PG_FILTER_ENDS_PORTAL,
                             object.name, NULL);
    }
    return err;
}

/* Bind names a portal, and what it is made of. */
static enum err pg_filter_check_names(struct pg_filter *filter,
                                      const struct pg_filter_message *message,
                                      struct error *reterr_error)
{
    struct reader reader = reader_of(message->body);
    if (message->type == PGWIRE_CLIENT_CLOSE || message->type == PGWIRE_CLIENT_DESCRIBE) {
        reader_skip(&reader, 1);
    }
    enum err err =
        pg_filter_check_name(filter, message->type, pgwire_name_read(&reader), reterr_error);
    return err == ERR_NONE && message->type == PGWIRE_CLIENT_BIND
               ? pg_filter_check_name(filter, message->type, pgwire_name_read(&reader),
                                      reterr_error)
               : err;
}

enum err pg_filter_take_extended(struct pg_filter *filter, const struct pg_filter_message *message,
                                 struct error *reterr_error)
{
    enum err err = pg_filter_check_names(filter, message, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    switch ((int)message->type) {
    case PGWIRE_CLIENT_PARSE:
        return pg_filter_take_parse(filter, message, reterr_error);
    case PGWIRE_CLIENT_BIND:
        return pg_filter_take_bind(filter, message, reterr_error);
    case PGWIRE_CLIENT_EXECUTE:
        return pg_filter_take_execute(filter, message, reterr_error);
    default:
        return pg_filter_take_object(filter, message, reterr_error);
    }
}
