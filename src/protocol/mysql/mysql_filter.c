/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_answer.h"
#include "protocol/mysql/mysql_filter_internal.h"

#define WORDS_SIZE_MAX 300

static const struct guard_verdict verdict_none = {.action = GUARD_PASS, .max_rows = -1};

/* Verdicts ------------------------------------------------------------------------------------- */

static void verdict_join(struct guard_verdict *verdict, const struct guard_verdict *more)
{
    for (size_t i = 0; i < more->count; i++) {
        const struct guard_finding *finding = &more->findings[i];
        bool is_there = false;
        for (size_t k = 0; k < verdict->count && !is_there; k++) {
            is_there = verdict->findings[k].rule == finding->rule && finding->rule != SIZE_MAX;
        }
        if (!is_there && verdict->count < GUARD_FINDINGS_MAX) {
            verdict->findings[verdict->count++] = *finding;
        } else if (!is_there && finding->action > verdict->action) {
            verdict->findings[0] = *finding;
        }
    }
    verdict->action = more->action > verdict->action ? more->action : verdict->action;
    if (more->max_rows >= 0) {
        verdict->max_rows = more->max_rows;
        verdict->max_rows_rule = more->max_rows_rule;
    }
}

static struct slice clean(struct slice text)
{
    return slice_sub(text, 0, slice_find_byte(text, '\0'));
}

void filter_write_words(struct buf *words, const struct guard_finding *reason)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice message = clean(slice_sub(reason->message, 0, WORDS_SIZE_MAX));
    struct slice rule = clean(reason->rule_name);
    struct slice why = clean(reason->why);
    struct slice text =
        arena_format(&arena, "blocked by guard rail '%.*s'%s%.*s%s%s%.*s%s%.*s",
                     SLICE_ARG(clean(reason->guardrail_name)), rule.len > 0 ? ", rule '" : "",
                     SLICE_ARG(rule), rule.len > 0 ? "'" : "", why.len > 0 ? ": " : "",
                     SLICE_ARG(why), message.len > 0 ? ": " : "", SLICE_ARG(message));
    buf_clear(words);
    (void)!buf_append(words, text);
}

enum mysql_filter_outcome filter_refuse(struct mysql_filter *filter, const char *why,
                                        struct buf *words)
{
    const struct guard_event event = {
        .kind = GUARD_EVENT_REFUSED, .request = filter->number, .words = slice_of_text(why)};
    filter->events->on_finding(filter->owner, &event);
    buf_clear(words);
    (void)!buf_append(words, slice_of_text(why));
    return MYSQL_FILTER_REFUSES;
}

void filter_tell_findings(struct mysql_filter *filter, const struct guard_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_event event = {.kind = GUARD_EVENT_FINDING,
                                          .request = filter->number,
                                          .finding = &verdict->findings[i]};
        filter->events->on_finding(filter->owner, &event);
    }
}

/* On record, and told if it is blocked. */
static enum mysql_filter_outcome enforce(struct mysql_filter *filter, struct guard_verdict *verdict,
                                         struct buf *words)
{
    bool was_told = filter->hold.phase == FILTER_APPROVED && verdict->action <= GUARD_REVIEW;
    if (filter->policy.is_reviewed && verdict->action == GUARD_REVIEW) {
        guard_verdict_drop_reviews(verdict);
    }
    if (!was_told) {
        filter_tell_findings(filter, verdict);
    }
    if (verdict->action == GUARD_BLOCK) {
        filter_write_words(words, guard_verdict_reason(verdict));
        return MYSQL_FILTER_REFUSES;
    }
    return MYSQL_FILTER_PASSES;
}

/* Texts ---------------------------------------------------------------------------------------- */

/* What nobody can read. */
static void judge_unknown(struct mysql_filter *filter, struct slice text,
                          struct guard_verdict *verdict)
{
    const struct sql_settings settings = {
        .dialect = SQL_MYSQL, .is_backslash_quoted = true, .database = SLICE("")};
    struct guard_verdict found = verdict_none;
    filter->policy.judge_script(filter->policy.context, &settings, text, NULL, &found);
    verdict_join(verdict, &found);
}

/* 'is_read': it is known that the settings are how the target reads it. */
static void judge_read(struct mysql_filter *filter, const struct sql_settings *settings,
                       bool is_read, struct slice text, struct guard_verdict *verdict,
                       struct guard_facts *ret_facts)
{
    struct guard_verdict found = verdict_none;
    *ret_facts = (struct guard_facts){.is_unknown = true, .prepared = SLICE("")};
    filter->policy.judge(filter->policy.context, settings, text, &found, ret_facts);
    verdict_join(verdict, &found);
    if (!is_read) {
        judge_unknown(filter, text, verdict);
    }
}

void filter_subject_of(const struct mysql_filter *filter, const struct filter_statement *statement,
                       struct filter_subject *ret_subject)
{
    struct sql_settings now;
    struct sql_settings settings = statement->settings;
    settings.database = statement->database.len > 0 ? buf_view(&statement->database) : SLICE("");
    ret_subject->is_read = filter_settings(filter, &now) && statement->is_read &&
                           now.is_backslash_quoted == settings.is_backslash_quoted &&
                           now.is_ansi_quoted == settings.is_ansi_quoted &&
                           now.charset == settings.charset;
    ret_subject->settings = settings;
}

static void judge_value(struct mysql_filter *filter, struct slice value,
                        struct guard_verdict *verdict)
{
    const struct sql_settings settings = {.dialect = SQL_MYSQL, .database = SLICE("")};
    const struct sql_script nothing = {.dialect = SQL_MYSQL};
    struct guard_verdict found = verdict_none;
    filter->policy.judge_script(filter->policy.context, &settings, value, &nothing, &found);
    verdict_join(verdict, &found);
}

/* What guard rails let pass, by the rules for columns; and what is to be known of its answer. */
static enum mysql_filter_outcome follow(struct mysql_filter *filter,
                                        const struct filter_subject *subject, struct buf *words)
{
    const char *why = "";
    enum mysql_filter_outcome outcome = filter_reach(filter, subject, &why);
    return outcome == MYSQL_FILTER_REFUSES ? filter_refuse(filter, why, words) : outcome;
}

/* What was judged and is to run, by all that is no verdict: people, what the session may, how many
 * rows it may change, what it reaches. */
static enum mysql_filter_outcome admit(struct mysql_filter *filter,
                                       const struct filter_subject *subject,
                                       struct guard_verdict *verdict, struct buf *words)
{
    if (filter_hold_asks(filter, verdict)) {
        return filter_hold(filter, subject, verdict, words);
    }
    enum mysql_filter_outcome outcome = enforce(filter, verdict, words);
    if (outcome != MYSQL_FILTER_PASSES) {
        return outcome;
    }
    const char *why = filter_read_only_check(filter, subject);
    why = why == NULL ? filter_limit(filter, subject, verdict) : why;
    return why != NULL ? filter_refuse(filter, why, words) : follow(filter, subject, words);
}

static bool may_read(const struct guard_facts *facts)
{
    const uint64_t reads =
        SQL_BIT(SQL_SELECT) | SQL_BIT(SQL_FETCH) | SQL_BIT(SQL_CALL) | SQL_BIT(SQL_EXECUTE);
    return facts->is_unknown || (facts->operations & reads) != 0;
}

/* Commands ------------------------------------------------------------------------------------- */

static enum mysql_filter_outcome take_query(struct mysql_filter *filter, struct slice text,
                                            struct buf *words)
{
    struct guard_verdict verdict = verdict_none;
    struct guard_facts facts;
    struct filter_subject subject = {.text = text, .facts = &facts};
    subject.is_read = filter_settings(filter, &subject.settings);
    judge_read(filter, &subject.settings, subject.is_read, text, &verdict, &facts);
    enum mysql_filter_outcome outcome = admit(filter, &subject, &verdict, words);
    filter->reads = may_read(&facts);
    filter->may_change_session =
        outcome == MYSQL_FILTER_PASSES && filter_changes_session(text, &facts);
    if (outcome == MYSQL_FILTER_PASSES) {
        filter_reach_note(filter, &facts, text);
        filter_limit_note(filter, &facts, text);
    }
    return outcome;
}

/* It runs nothing: what people decide on is its EXECUTE. */
static enum mysql_filter_outcome take_prepare(struct mysql_filter *filter, struct slice text,
                                              struct buf *words)
{
    struct guard_verdict verdict = verdict_none;
    struct guard_facts facts;
    struct filter_subject subject = {.text = text, .facts = &facts};
    filter->last_id = 0;
    if (!filter_has_room(filter, text.len)) {
        return filter_refuse(filter, "more prepared statements than rules can follow", words);
    }
    subject.is_read = filter_settings(filter, &subject.settings);
    judge_read(filter, &subject.settings, subject.is_read, text, &verdict, &facts);
    bool waits = verdict.action == GUARD_REVIEW;
    enum mysql_filter_outcome outcome =
        waits ? MYSQL_FILTER_PASSES : enforce(filter, &verdict, words);
    if (outcome == MYSQL_FILTER_PASSES) {
        const char *why = filter_read_only_check(filter, &subject);
        why = why == NULL && verdict.max_rows >= 0 ? filter_limit_check(&facts) : why;
        outcome = why != NULL ? filter_refuse(filter, why, words) : follow(filter, &subject, words);
    }
    buf_clear(&filter->preparing);
    filter->is_preparing = outcome == MYSQL_FILTER_PASSES;
    if (filter->is_preparing) {
        filter->prepared_settings = subject.settings;
        filter->is_prepared_read = subject.is_read;
        buf_clear(&filter->prepared_database);
        must(buf_append(&filter->prepared_database, subject.settings.database) == ERR_NONE);
        must(buf_append(&filter->preparing, text) == ERR_NONE);
    }
    return outcome;
}

/* What was prepared before there were rules: nobody knows its text. */
static enum mysql_filter_outcome take_unseen(struct mysql_filter *filter, struct buf *words)
{
    struct guard_verdict verdict = verdict_none;
    const struct guard_facts facts = {.is_unknown = true, .statement_count = 1};
    const struct filter_subject subject = {
        .text = SLICE(""),
        .facts = &facts,
        .settings = {.dialect = SQL_MYSQL, .database = SLICE("")},
    };
    judge_unknown(filter, SLICE(""), &verdict);
    filter->may_change_session = true;
    filter->reads = true;
    return admit(filter, &subject, &verdict, words);
}

/* Its values stay where the target has been sent some that it keeps: for what runs next. */
static void end_execute(struct mysql_filter *filter, struct filter_statement *statement,
                        enum mysql_filter_outcome outcome)
{
    if (outcome == MYSQL_FILTER_REFUSES) {
        buf_clear(&statement->types); /* the target was not told them */
    } else {
        filter_clear_values(filter, statement);
    }
}

struct filter_statement *filter_executed_by(struct mysql_filter *filter, struct slice body)
{
    struct reader reader = reader_of(body);
    uint32_t id = mysqlwire_read_u32(&reader);
    return reader.failed ? NULL : filter_find(filter, id == UINT32_MAX ? filter->last_id : id);
}

/* As the text would be judged now; and the values, where rules look for text. */
static enum mysql_filter_outcome take_execute(struct mysql_filter *filter, struct slice body,
                                              struct buf *words)
{
    struct guard_verdict verdict = verdict_none;
    struct guard_facts facts = {.is_unknown = true};
    struct reader reader = reader_of(body);
    uint32_t id = mysqlwire_read_u32(&reader);
    if (reader.failed || (id == UINT32_MAX && filter->last_id == 0)) {
        return filter_refuse(filter, "there is no statement that was prepared", words);
    }
    struct filter_statement *statement = filter_executed_by(filter, body);
    if (statement == NULL) {
        return take_unseen(filter, words);
    }
    struct slice text = buf_view(&statement->text);
    struct filter_subject subject = {
        .text = text, .facts = &facts, .statement = statement, .values = body};
    filter_subject_of(filter, statement, &subject);
    judge_read(filter, &subject.settings, subject.is_read, text, &verdict, &facts);
    if (statement->is_broken) {
        return filter_refuse(filter, "values that are longer than what rules can look through",
                             words);
    }
    if (filter->policy.looks_at_values &&
        !filter_each_value(filter, statement, body, judge_value, &verdict)) {
        return filter_refuse(filter, "the values of a statement cannot be read", words);
    }
    enum mysql_filter_outcome outcome = admit(filter, &subject, &verdict, words);
    if (outcome == MYSQL_FILTER_ASKS || outcome == MYSQL_FILTER_HOLDS) {
        return outcome; /* it is judged again */
    }
    end_execute(filter, statement, outcome);
    filter->may_change_session = filter_changes_session(text, &facts);
    filter->reads = may_read(&facts);
    filter->executed = statement->id;
    if (outcome == MYSQL_FILTER_PASSES) {
        filter_reach_note(filter, &facts, text);
        filter_limit_note(filter, &facts, text);
    }
    return outcome;
}

/* What a command is in SQL: with the name quoted. */
static struct slice command_text_in(struct arena *arena, struct slice command)
{
    struct reader reader = reader_of(slice_from(command, 1));
    struct slice name = clean(slice_from(command, 1));
    struct buf quoted;
    switch ((uint8_t)command.at[0]) {
    case MYSQLWIRE_REFRESH:
        return SLICE("FLUSH STATUS");
    case MYSQLWIRE_DEBUG:
        return SLICE("FLUSH LOGS");
    case MYSQLWIRE_SHUTDOWN:
        return SLICE("SHUTDOWN");
    case MYSQLWIRE_PROCESS_INFO:
        return SLICE("SHOW PROCESSLIST");
    case MYSQLWIRE_PROCESS_KILL:
        return arena_format(arena, "KILL %u", (unsigned)mysqlwire_read_u32(&reader));
    default:
        break;
    }
    buf_init(&quoted, LIMIT_MYSQL_JUDGED_SIZE * 2);
    for (size_t i = 0; i < name.len; i++) {
        struct slice byte = slice_sub(name, i, 1);
        const struct slice parts[] = {byte, byte.at[0] == '`' ? byte : SLICE("")};
        must(buf_append_parts(&quoted, parts, 2) == ERR_NONE);
    }
    const char *verb = (uint8_t)command.at[0] == MYSQLWIRE_CREATE_DB ? "CREATE DATABASE"
                       : (uint8_t)command.at[0] == MYSQLWIRE_DROP_DB ? "DROP DATABASE"
                       : (uint8_t)command.at[0] == MYSQLWIRE_INIT_DB ? "USE"
                                                                     : "SHOW COLUMNS FROM";
    struct slice text = arena_format(arena, "%s `%.*s`", verb, SLICE_ARG(buf_view(&quoted)));
    buf_release(&quoted);
    return text;
}

/* The text is ours, so it is known how it is read. */
static enum mysql_filter_outcome take_other(struct mysql_filter *filter, struct slice command,
                                            struct buf *words)
{
    struct arena arena CLEANUP(arena_release);
    struct guard_verdict verdict = verdict_none;
    struct guard_facts facts;
    arena_init(&arena);
    struct slice text = command_text_in(&arena, command);
    const struct filter_subject subject = {
        .text = text,
        .settings = {.dialect = SQL_MYSQL, .is_backslash_quoted = true, .database = SLICE("")},
        .is_read = true,
        .facts = &facts,
    };
    judge_read(filter, &subject.settings, true, text, &verdict, &facts);
    enum mysql_filter_outcome outcome =
        verdict.max_rows >= 0
            ? filter_refuse(filter, "a limit on rows cannot be held for this command", words)
            : admit(filter, &subject, &verdict, words);
    filter_reach_note(filter, &facts, text);
    filter->may_change_session =
        outcome == MYSQL_FILTER_PASSES && filter_changes_session(text, &facts);
    return outcome;
}

/* Whether it is said by a text of its own, which the session's settings say how to read. */
static bool has_text(uint8_t command)
{
    return command == MYSQLWIRE_QUERY || command == MYSQLWIRE_STMT_PREPARE ||
           command == MYSQLWIRE_STMT_EXECUTE;
}

/* What tools ask of themselves behind a statement: it must find its warnings, which a question of
 * ours would take away. */
static bool is_about_last(struct slice command)
{
    struct slice text = slice_trim(slice_from(command, 1), " \t\r\n;");
    return (uint8_t)command.at[0] == MYSQLWIRE_QUERY &&
           (slice_equals_nocase(text, SLICE("SHOW WARNINGS")) ||
            slice_equals_nocase(text, SLICE("SHOW ERRORS")) ||
            slice_equals_nocase(text, SLICE("SHOW COUNT(*) WARNINGS")));
}

enum mysql_filter_outcome mysql_filter_judge(struct mysql_filter *filter, struct slice command,
                                             uint16_t status, struct buf *words)
{
    uint8_t kind = (uint8_t)command.at[0];
    struct slice body = slice_from(command, 1);
    filter->executed = 0;
    filter->reads = false;
    filter->status = status;
    filter->limit.max_rows = -1;
    filter->read_only.sets_first = false;
    filter->wants = FILTER_ASK_SESSION;
    filter->has_reach = false; /* that of another command, which a rule blocked */
    if (is_about_last(command)) {
        const char *why = filter_reach_errors(filter);
        return why == NULL ? MYSQL_FILTER_PASSES : filter_refuse(filter, why, words);
    }
    if (has_text(kind) && !filter->session.is_known) {
        return MYSQL_FILTER_ASKS;
    }
    if (has_text(kind) && filter_wants_views(filter)) { /* before anything is found */
        filter->wants = FILTER_ASK_VIEWS;
        return MYSQL_FILTER_ASKS;
    }
    if (has_text(kind) && filter_wants_view(filter, kind, body)) {
        return MYSQL_FILTER_ASKS;
    }
    if (has_text(kind) && filter_read_only_asks(filter)) {
        return MYSQL_FILTER_ASKS;
    }
    filter->number += filter->hold.phase == FILTER_UNHELD ? 1 : 0;
    filter->is_preparing = false;
    switch (kind) {
    case MYSQLWIRE_QUERY:
        return take_query(filter, body, words);
    case MYSQLWIRE_STMT_PREPARE:
        return take_prepare(filter, body, words);
    case MYSQLWIRE_STMT_EXECUTE:
        return take_execute(filter, body, words);
    case MYSQLWIRE_STMT_SEND_LONG_DATA:
        filter_keep_value(filter, body);
        return MYSQL_FILTER_PASSES;
    case MYSQLWIRE_PING:
    case MYSQLWIRE_STATISTICS:
    case MYSQLWIRE_SET_OPTION:
        return MYSQL_FILTER_PASSES;
    case MYSQLWIRE_STMT_FETCH:
        filter->reads = true;
        return MYSQL_FILTER_PASSES;
    case MYSQLWIRE_STMT_CLOSE:
    case MYSQLWIRE_STMT_RESET: {
        struct reader reader = reader_of(body);
        uint32_t id = mysqlwire_read_u32(&reader);
        struct filter_statement *statement = filter_find(filter, id);
        if (kind == MYSQLWIRE_STMT_CLOSE) {
            filter_remove(filter, id);
        } else if (statement != NULL) {
            filter_clear_values(filter, statement);
        }
        return MYSQL_FILTER_PASSES;
    }
    case MYSQLWIRE_RESET_CONNECTION:
        filter_remove_all(filter);
        filter->is_late = false;
        filter->may_change_session = true;
        filter->views.asked_at_us = 0; /* its role may be another one */
        return MYSQL_FILTER_PASSES;
    default:
        return take_other(filter, command, words);
    }
}

void mysql_filter_judge_long(struct mysql_filter *filter, uint8_t command, struct buf *words)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    filter->number++;
    struct slice why = arena_format(&arena, "%s is longer than the %u MiB that guard rails look at",
                                    command == MYSQLWIRE_QUERY ? "a statement" : "a command",
                                    (unsigned)(LIMIT_MYSQL_JUDGED_SIZE / LIMIT_MIB(1)));
    (void)filter_refuse(filter, arena_text(&arena, why), words);
}

void mysql_filter_answered(struct mysql_filter *filter, const struct mysqlwire_prepared *prepared)
{
    filter->hold.phase = FILTER_UNHELD;
    if (filter->may_change_session || !filter->question.has_row) { /* or nobody told it */
        filter->session.is_known = false;
        filter->may_change_session = false;
    }
    if (filter->is_preparing && prepared != NULL) {
        filter_add(filter, prepared);
        filter->last_id = prepared->id;
    }
    filter->is_preparing = false;
    buf_clear(&filter->preparing);
}

/* Its life ------------------------------------------------------------------------------------- */

bool mysql_filter_is_idle(const struct mysql_filter *filter)
{
    return filter->policy.is_empty;
}

bool mysql_filter_looks_at(const struct mysql_filter *filter, uint8_t command)
{
    switch (command) {
    case MYSQLWIRE_QUIT:
        return false;
    case MYSQLWIRE_PING:
    case MYSQLWIRE_STATISTICS:
    case MYSQLWIRE_SET_OPTION:
    case MYSQLWIRE_STMT_FETCH: /* in turn, where answers are looked at */
        return mysql_answer_is_needed(&filter->policy);
    default: /* also to undo what a rule was there for */
        return (!filter->policy.is_empty || filter->read_only.is_ours) &&
               mysqlwire_answers_of(command) != MYSQLWIRE_NOT_SERVED;
    }
}

struct mysql_filter *mysql_filter_new(const struct mysql_filter_settings *settings)
{
    struct mysql_filter *filter = memory_new(sizeof(*filter));
    filter->capabilities = settings->capabilities;
    filter->events = settings->events;
    filter->owner = settings->owner;
    filter->policy = *settings->policy;
    buf_init(&filter->preparing, LIMIT_MYSQL_JUDGED_SIZE);
    buf_init(&filter->session.database, LIMIT_KIB(1));
    buf_init(&filter->prepared_database, LIMIT_KIB(1));
    mysql_aside_init(&filter->question.aside, settings->capabilities);
    buf_init(&filter->hold.words, LIMIT_KIB(4));
    buf_init(&filter->limit_question, LIMIT_MIB(1));
    filter->read_only.covers = !settings->is_late;
    filter_read_only_set(filter, settings->policy);
    mysql_views_init(&filter->views);
    mysql_reach_init(&filter->reach);
    filter->is_late = settings->is_late && settings->policy->masking != NULL &&
                      mask_rules_columns_id(settings->policy->masking) != 0;
    return filter;
}

void mysql_filter_free(struct mysql_filter *filter)
{
    if (filter == NULL) {
        return;
    }
    filter_remove_all(filter);
    memory_free(filter->statements);
    buf_wipe(&filter->preparing);
    buf_release(&filter->session.database);
    buf_release(&filter->prepared_database);
    mysql_aside_release(&filter->question.aside);
    buf_release(&filter->hold.words);
    buf_release(&filter->limit_question);
    mysql_views_release(&filter->views);
    mysql_reach_release(&filter->reach);
    memory_free(filter);
}

/* What ran meanwhile, without rules, was not followed. */
void mysql_filter_set_policy(struct mysql_filter *filter, const struct passage_policy *policy)
{
    if (filter->policy.is_empty && !policy->is_empty) {
        filter_remove_all(filter);
        filter->session.is_known = false;
    }
    filter_reach_set(filter, policy, true);
    filter_read_only_set(filter, policy);
    filter->policy = *policy;
}
