/* SPDX-License-Identifier: MIT */
/* Rules for columns, as far as statements go: see mysql_reach.h. */
#include "base/limits.h"
#include "base/text.h"
#include "protocol/mysql/mysql_filter_internal.h"

#define LATE                                                                                       \
    "columns are masked now that were not when this session began, and it may have kept some: "    \
    "connect anew, or reset the connection"

#define MANY "where columns are masked a session names fewer views in a second"

static uint64_t columns_id(const struct mask_rules *rules)
{
    return rules == NULL ? 0 : mask_rules_columns_id(rules);
}

bool filter_wants_views(const struct mysql_filter *filter)
{
    return columns_id(filter->policy.masking) != 0 && !filter->is_late &&
           !filter_knows_views(filter);
}

/* What changes which relations there are, or which of them the user sees. */
void filter_reach_note(struct mysql_filter *filter, const struct guard_facts *facts,
                       struct slice text)
{
    const uint64_t changes =
        SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_RENAME) | SQL_BIT(SQL_DROP);
    bool sets_role =
        (facts->operations & SQL_BIT(SQL_SET)) != 0 && slice_has_nocase(text, SLICE("role"));
    if (facts->is_unknown || sets_role || (facts->operations & changes) != 0) {
        filter->views.asked_at_us = 0;
    }
}

static enum mysql_reach_outcome judge(struct mysql_filter *filter,
                                      const struct sql_settings *settings, bool is_read,
                                      struct slice text)
{
    const struct mysql_reach_request request = {
        .rules = filter->policy.masking,
        .settings = settings,
        .is_read = is_read,
        .views = &filter->views,
        .analyze = filter->policy.analyze,
        .text = text,
    };
    return mysql_reach_judge(&filter->reach, &request);
}

/* Of what it finds filter_reach() makes use, right behind. */
bool filter_wants_view(struct mysql_filter *filter, uint8_t command, struct slice body)
{
    struct sql_settings settings;
    struct filter_subject subject = {.text = body};
    if (columns_id(filter->policy.masking) == 0 || filter->is_late ||
        filter->views.names.len == 0) {
        return false;
    }
    if (command == MYSQLWIRE_STMT_EXECUTE) {
        struct filter_statement *statement = filter_executed_by(filter, body);
        if (statement == NULL) {
            return false;
        }
        filter_subject_of(filter, statement, &subject);
        subject.text = buf_view(&statement->text);
    } else {
        subject.is_read = filter_settings(filter, &settings);
        subject.settings = settings;
    }
    filter->reach_outcome = judge(filter, &subject.settings, subject.is_read, subject.text);
    filter->has_reach = true;
    filter->wants = FILTER_ASK_VIEW;
    return filter->reach_outcome == MYSQL_REACH_ASKS &&
           mysql_views_ask(&filter->views, &filter->reach.wanted);
}

enum mysql_filter_outcome filter_reach(struct mysql_filter *filter,
                                       const struct filter_subject *subject, const char **ret_why)
{
    *ret_why = "";
    if (columns_id(filter->policy.masking) == 0 || filter->is_late) {
        bool is_late = filter->is_late && columns_id(filter->policy.masking) != 0;
        mysql_reach_clear(&filter->reach);
        *ret_why = is_late ? LATE : "";
        return is_late ? MYSQL_FILTER_REFUSES : MYSQL_FILTER_PASSES;
    }
    if (!filter_knows_views(filter)) {
        filter->wants = FILTER_ASK_VIEWS;
        return MYSQL_FILTER_ASKS;
    }
    filter->has_new_views = false;
    if (!filter->has_reach) {
        filter->reach_outcome = judge(filter, &subject->settings, subject->is_read, subject->text);
    }
    filter->has_reach = false;
    if (filter->reach_outcome != MYSQL_REACH_PASSES) {
        *ret_why = filter->reach_outcome == MYSQL_REACH_REFUSES ? filter->reach.why : MANY;
        return MYSQL_FILTER_REFUSES;
    }
    filter->is_tainted = filter->is_tainted || filter->reach.reaches;
    filter->reach.reaches =
        filter->reach.reaches || (filter->reach.is_about_errors && filter->is_tainted);
    return MYSQL_FILTER_PASSES;
}

const char *filter_reach_errors(struct mysql_filter *filter)
{
    bool has_columns = columns_id(filter->policy.masking) != 0;
    mysql_reach_clear(&filter->reach);
    filter->reach.is_about_errors = has_columns;
    filter->reach.reaches = has_columns && filter->is_tainted;
    return filter->is_late ? LATE : NULL;
}

void filter_reach_set(struct mysql_filter *filter, const struct passage_policy *policy,
                      bool is_late)
{
    uint64_t before = columns_id(filter->policy.masking);
    uint64_t now = columns_id(policy->masking);
    filter->is_late = filter->is_late || (is_late && now != 0 && now != before);
    filter->is_late = filter->is_late && now != 0;
    filter->views.asked_at_us = 0;
    filter->has_new_views = false;
}

const struct passage_policy *mysql_filter_policy(const struct mysql_filter *filter)
{
    return &filter->policy;
}

const struct mysql_reach *mysql_filter_reach(const struct mysql_filter *filter)
{
    return &filter->reach;
}

uint32_t mysql_filter_executed(const struct mysql_filter *filter)
{
    return filter->executed;
}

uint64_t mysql_filter_number(const struct mysql_filter *filter)
{
    return filter->number;
}

bool mysql_filter_reads(const struct mysql_filter *filter)
{
    return filter->reads;
}
