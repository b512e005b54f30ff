/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_limit.h"

#include "base/limits.h"
#include "base/must.h"
#include "protocol/mysql/mysql_ending.h"
#include "wire/mysqlwire_start.h"

#define SEQUENCE  1 /* of the one packet that answers */
#define SAVEPOINT "`gatehouse limit of rows`"
#define NO_ENGINE                                                                                  \
    "the limit on rows cannot be held: the statement writes to a view, or to a table of an "       \
    "engine that cannot roll back"
#define NO_BEGIN "the limit on rows cannot be held: the target begins no transaction for it"

static void on_row(void *owner, struct slice row)
{
    struct mysql_limit *limit = owner;
    (void)row;
    limit->has_other_table = true;
}

static void ask(struct mysql_limit *limit, enum mysql_limit_phase phase, struct slice text)
{
    limit->phase = phase;
    limit->text = text;
    mysql_aside_ask(&limit->aside, MYSQLWIRE_QUERY, on_row, limit);
}

static void copy_rule(struct mysql_limit *limit, const struct mysql_filter_limit *rule)
{
    limit->rule = *rule;
    limit->rule.rule = guard_finding_copy_in(&limit->arena, &rule->rule);
    limit->rule.question = arena_copy(&limit->arena, rule->question);
}

void mysql_limit_begin(struct mysql_limit *limit, const struct mysql_filter_limit *rule,
                       uint64_t number)
{
    arena_reset(&limit->arena);
    copy_rule(limit, rule);
    limit->number = number;
    limit->has_other_table = false;
    limit->has_rows = false;
    limit->is_error = false;
    limit->is_over = false;
    limit->rows = 0;
    buf_clear(&limit->words);
    ask(limit, MYSQL_LIMIT_LOOKING, limit->rule.question);
}

void mysql_limit_ran(struct mysql_limit *limit, uint8_t command)
{
    uint64_t number = 0;
    struct error error;
    limit->phase = MYSQL_LIMIT_RUNNING;
    limit->has_kind = false;
    buf_clear(&limit->body);
    mysqlwire_framer_init(&limit->framer);
    mysqlwire_state_init(&limit->state, limit->aside.capabilities, 0);
    enum err err = mysqlwire_state_command(&limit->state, command, &number, &error);
    must(err == ERR_NONE);
}

/* What came of it ------------------------------------------------------------------------------ */

static enum mysql_limit_step refuse(struct mysql_limit *limit, const char *why)
{
    const struct guard_event event = {.kind = GUARD_EVENT_REFUSED,
                                      .request = limit->number,
                                      .finding = &limit->rule.rule,
                                      .words = slice_of_text(why)};
    limit->events->on_finding(limit->owner, &event);
    limit->phase = MYSQL_LIMIT_NONE;
    buf_clear(&limit->words);
    (void)!buf_append(&limit->words, slice_of_text(why));
    return MYSQL_LIMIT_REFUSES;
}

/* Told before it is so; should the target be gone before the ROLLBACK, it rolls back by itself. */
static void tell_too_many(struct mysql_limit *limit)
{
    const struct guard_finding *rule = &limit->rule.rule;
    struct slice name = rule->rule_name;
    struct slice text =
        limit->has_rows
            ? arena_format(&limit->arena, "the rows that the statement changes are not told, since "
                                          "it returns some: leave RETURNING out")
            : arena_format(&limit->arena,
                           "%llu rows would be changed, guard rail '%.*s'%s%.*s%s allows "
                           "%lld%s%.*s",
                           (unsigned long long)limit->rows, SLICE_ARG(rule->guardrail_name),
                           name.len > 0 ? ", rule '" : "", SLICE_ARG(name), name.len > 0 ? "'" : "",
                           (long long)limit->rule.max_rows, rule->message.len > 0 ? ": " : "",
                           SLICE_ARG(slice_sub(rule->message, 0, 300)));
    const struct guard_event event = {
        .kind = GUARD_EVENT_TOO_MANY,
        .request = limit->number,
        .finding = rule,
        .words = text,
        .rows = limit->rows,
    };
    limit->events->on_finding(limit->owner, &event);
    (void)!buf_append(&limit->words, slice_sub(text, 0, slice_find_byte(text, '\0')));
}

static enum mysql_limit_step answer_error(struct mysql_limit *limit, struct slice hint)
{
    const struct ending_words words = {.message = buf_view(&limit->words), .hint = hint};
    must(mysql_ending_write(MYSQL_ERROR_BLOCKED, SEQUENCE, &words, &limit->answer) == ERR_NONE);
    return MYSQL_LIMIT_ANSWERS;
}

/* The transaction of ours is over, and was never the client's. */
static enum err answer_as_told(struct mysql_limit *limit, struct error *reterr)
{
    struct mysqlwire_ok ok;
    struct slice body = buf_view(&limit->body);
    if (limit->is_error || limit->rule.is_in_transaction) {
        return mysqlwire_data_write(&limit->answer, SEQUENCE, body, SLICE(""));
    }
    enum err err = mysqlwire_ok_read(body, limit->aside.capabilities, &ok, reterr);
    ok.status &= (uint16_t)~MYSQLWIRE_STATUS_IN_TRANSACTION;
    return err != ERR_NONE
               ? err
               : mysqlwire_ok_write(&limit->answer, SEQUENCE, limit->aside.capabilities, &ok);
}

static enum err answer(struct mysql_limit *limit, enum mysql_limit_step *ret_step,
                       struct error *reterr)
{
    bool is_kept = limit->aside.warnings > 0;
    limit->phase = MYSQL_LIMIT_NONE;
    *ret_step = MYSQL_LIMIT_ANSWERS;
    buf_clear(&limit->answer);
    if (limit->is_over) {
        *ret_step = answer_error(
            limit, is_kept ? SLICE("The target warns that not all of it could be rolled back")
                           : SLICE("Nothing was changed. Change fewer rows at a time"));
        return ERR_NONE;
    }
    return answer_as_told(limit, reterr);
}

/* The statement has run, as far as it did. */
static enum err end_run(struct mysql_limit *limit, enum mysql_limit_step *ret_step,
                        struct error *reterr)
{
    limit->is_over =
        !limit->is_error && (limit->has_rows || limit->rows > (uint64_t)limit->rule.max_rows);
    if (limit->is_over) {
        tell_too_many(limit);
    }
    if (limit->rule.is_in_transaction && !limit->is_over) {
        return answer(limit, ret_step, reterr);
    }
    ask(limit, MYSQL_LIMIT_ENDING,
        limit->rule.is_in_transaction       ? SLICE("ROLLBACK TO SAVEPOINT " SAVEPOINT)
        : limit->is_over || limit->is_error ? SLICE("ROLLBACK AND NO CHAIN NO RELEASE")
                                            : SLICE("COMMIT AND NO CHAIN NO RELEASE"));
    *ret_step = MYSQL_LIMIT_ASKS;
    return ERR_NONE;
}

/* A COMMIT that fails is the statement's own failure, and may leave the transaction open. */
static enum err end_transaction(struct mysql_limit *limit, enum mysql_limit_step *ret_step,
                                struct error *reterr)
{
    bool has_failed = limit->aside.has_failed;
    if (has_failed && (limit->is_over || limit->phase == MYSQL_LIMIT_UNDOING)) {
        return fail(reterr, ERR_INPUT, "the target does not roll back what a limit forbids");
    }
    if (has_failed && !limit->is_error) {
        limit->is_error = true;
        buf_clear(&limit->body);
        must(buf_append(&limit->body, buf_view(&limit->aside.error)) == ERR_NONE);
        ask(limit, MYSQL_LIMIT_UNDOING, SLICE("ROLLBACK AND NO CHAIN NO RELEASE"));
        *ret_step = MYSQL_LIMIT_ASKS;
        return ERR_NONE;
    }
    return answer(limit, ret_step, reterr);
}

static enum err end_aside(struct mysql_limit *limit, enum mysql_limit_step *ret_step,
                          struct error *reterr)
{
    bool has_failed = limit->aside.has_failed;
    switch (limit->phase) {
    case MYSQL_LIMIT_LOOKING:
        if (has_failed || limit->has_other_table) {
            *ret_step = refuse(limit, NO_ENGINE);
            return ERR_NONE;
        }
        ask(limit, MYSQL_LIMIT_BEGINNING,
            limit->rule.is_in_transaction ? SLICE("SAVEPOINT " SAVEPOINT)
                                          : SLICE("START TRANSACTION"));
        *ret_step = MYSQL_LIMIT_ASKS;
        return ERR_NONE;
    case MYSQL_LIMIT_BEGINNING:
        *ret_step = has_failed ? refuse(limit, NO_BEGIN) : MYSQL_LIMIT_RUNS;
        return ERR_NONE;
    case MYSQL_LIMIT_ENDING:
    case MYSQL_LIMIT_UNDOING:
        return end_transaction(limit, ret_step, reterr);
    case MYSQL_LIMIT_NONE:
    case MYSQL_LIMIT_RUNNING:
        break;
    }
    must(false);
    return ERR_NONE;
}

/* The answer ----------------------------------------------------------------------------------- */

static enum err end_packet(struct mysql_limit *limit, bool *ret_is_last, struct error *reterr)
{
    struct mysqlwire_ok ok = {.affected_rows = 0};
    struct slice body = buf_view(&limit->body);
    enum err err = ERR_NONE;
    limit->has_kind = false;
    if (limit->kind == MYSQLWIRE_KIND_OK && !limit->has_rows) {
        err = mysqlwire_ok_read(body, limit->aside.capabilities, &ok, reterr);
        limit->rows += ok.affected_rows;
    } else if (limit->kind == MYSQLWIRE_KIND_ERROR) {
        limit->is_error = true;
    } else {
        limit->has_rows = true;
    }
    return err == ERR_NONE
               ? mysqlwire_state_end(&limit->state, limit->kind, body, ret_is_last, reterr)
               : err;
}

static enum err take_event(struct mysql_limit *limit, const struct mysqlwire_event *event,
                           bool *ret_is_last, struct error *reterr)
{
    uint64_t number = 0;
    if (event->kind == MYSQLWIRE_EVENT_HEADER && !event->is_packet_last) {
        return ERR_NONE;
    }
    if (!limit->has_kind) {
        uint8_t first = event->kind == MYSQLWIRE_EVENT_PART ? (uint8_t)event->bytes.at[0] : 0;
        enum err err = mysqlwire_state_begin(&limit->state, limit->framer.size, first, &limit->kind,
                                             &number, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        limit->has_kind = true;
        buf_truncate(&limit->body, 0);
    }
    bool is_kept = limit->kind == MYSQLWIRE_KIND_ERROR || mysqlwire_kind_decides(limit->kind);
    if (event->kind == MYSQLWIRE_EVENT_PART && is_kept &&
        buf_append(&limit->body, event->bytes) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "an answer of the target is too long");
    }
    return event->is_packet_last ? end_packet(limit, ret_is_last, reterr) : ERR_NONE;
}

static enum err take_answer(struct mysql_limit *limit, struct slice *bytes, bool *ret_is_last,
                            struct error *reterr)
{
    enum err err = ERR_NONE;
    *ret_is_last = false;
    while (err == ERR_NONE && bytes->len > 0 && !*ret_is_last) {
        struct mysqlwire_event event;
        size_t taken = 0;
        err = mysqlwire_framer_next(&limit->framer, *bytes, &taken, &event);
        *bytes = slice_from(*bytes, taken);
        if (err == ERR_NONE) {
            err = take_event(limit, &event, ret_is_last, reterr);
        }
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

enum err mysql_limit_take(struct mysql_limit *limit, struct slice *bytes,
                          enum mysql_limit_step *ret_step, struct error *reterr)
{
    bool is_last = false;
    *ret_step = MYSQL_LIMIT_WAITS;
    if (limit->phase == MYSQL_LIMIT_RUNNING) {
        enum err err = take_answer(limit, bytes, &is_last, reterr);
        return err == ERR_NONE && is_last ? end_run(limit, ret_step, reterr) : err;
    }
    enum err err = mysql_aside_take(&limit->aside, bytes, reterr);
    return err == ERR_NONE && !limit->aside.is_asked ? end_aside(limit, ret_step, reterr) : err;
}

/* Its life ------------------------------------------------------------------------------------- */

bool mysql_limit_is_busy(const struct mysql_limit *limit)
{
    return limit->phase != MYSQL_LIMIT_NONE;
}

void mysql_limit_init(struct mysql_limit *limit, uint32_t capabilities,
                      const struct passage_events *events, void *owner)
{
    *limit = (struct mysql_limit){.events = events, .owner = owner};
    arena_init_small(&limit->arena);
    mysql_aside_init(&limit->aside, capabilities);
    buf_init(&limit->body, LIMIT_MYSQL_ANSWER_SIZE);
    buf_init(&limit->words, LIMIT_KIB(4));
    buf_init(&limit->answer, LIMIT_MYSQL_ANSWER_SIZE + LIMIT_KIB(1));
}

void mysql_limit_release(struct mysql_limit *limit)
{
    arena_release(&limit->arena);
    mysql_aside_release(&limit->aside);
    buf_release(&limit->body);
    buf_release(&limit->words);
    buf_release(&limit->answer);
}
