/* SPDX-License-Identifier: MIT */
/* What waits for a verdict, for what the target is asked first, for people, and for the number of
 * rows that were changed. */
#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_kill.h"
#include "protocol/mysql/mysql_passage_internal.h"
#include "wire/mysqlwire_start.h"

#define HINT "Change the statement, or ask who looks after the guard rail."

enum err passage_let(struct mysql_passage *self, const struct mysqlwire_event *event,
                     struct error *reterr)
{
    bool is_part = event->kind == MYSQLWIRE_EVENT_PART;
    enum err err = mysql_tap_take(self->tap, PUMP_CLIENT, event, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct writer writer = writer_to(&self->out);
    if (is_part) {
        writer_bytes(&writer, event->bytes);
    } else {
        mysqlwire_write_u24(&writer, event->size);
        writer_u8(&writer, event->sequence);
    }
    err = writer_done(&writer);
    return err == ERR_NONE ? ERR_NONE : fail(reterr, err, "the client sends too much at once");
}

enum err passage_let_held(struct mysql_passage *self, struct error *reterr)
{
    struct slice body = slice_from(buf_view(&self->held), MYSQLWIRE_HEADER_SIZE);
    const struct mysqlwire_packet packet = {.sequence = self->piece.sequence, .body = body};
    struct mysqlwire_event events[2];
    enum err err = ERR_NONE;
    if (body.len == self->piece.size && body.len < MYSQLWIRE_PIECE_MAX) {
        err = mysql_tap_take_packet(self->tap, PUMP_CLIENT, &packet, reterr);
    } else {
        mysqlwire_piece_events(&self->piece, body, events);
        err = mysql_tap_take(self->tap, PUMP_CLIENT, &events[0], reterr);
        err = err == ERR_NONE ? mysql_tap_take(self->tap, PUMP_CLIENT, &events[1], reterr) : err;
    }
    if (err == ERR_NONE && buf_append(&self->out, buf_view(&self->held)) != ERR_NONE) {
        err = fail(reterr, ERR_LIMIT, "the client sends too much at once");
    }
    return err;
}

static bool passage_is_limiting(const struct mysql_passage *self)
{
    return self->limit != NULL && mysql_limit_is_busy(self->limit);
}

static bool passage_owes_answer(const struct mysql_passage *self)
{
    return mysql_tap_state(self->tap)->count > 0 || !mysql_tap_is_between(self->tap, PUMP_TARGET) ||
           mysql_filter_is_asking(self->filter) || passage_is_limiting(self) ||
           (self->ping != NULL && self->ping->is_asked) ||
           (self->answer != NULL && mysql_answer_is_busy(self->answer));
}

bool passage_is_paused(const struct mysql_passage *self)
{
    return passage_is_waiting(self) || passage_is_limiting(self);
}

/* Rules for answers act from the next command on. */
void passage_turn_policy(struct mysql_passage *self)
{
    const struct mysql_answer_settings settings = {.tap = self->tap,
                                                   .capabilities = self->capabilities,
                                                   .events = self->events,
                                                   .owner = self->owner};
    if (!self->has_new_policy || passage_owes_answer(self)) {
        return;
    }
    const struct passage_policy *policy = mysql_filter_policy(self->filter);
    self->has_new_policy = false;
    if (self->answer == NULL && mysql_answer_is_needed(policy)) {
        self->answer = mysql_answer_new(&settings);
    }
    if (self->answer != NULL) {
        mysql_answer_set_policy(self->answer, policy);
    }
}

/* What is judged waits until all before it is answered, and the target has told what it was asked.
 */
static bool passage_has_turn(struct mysql_passage *self)
{
    if (passage_owes_answer(self)) {
        return false;
    }
    passage_turn_policy(self);
    if (self->is_judged) {
        mysql_filter_answered(self->filter, mysql_tap_prepared(self->tap));
        self->is_judged = false;
    }
    return true;
}

/* Of the gateway's own: nothing of it is on record, or told. */
static enum err passage_send_own(struct mysql_passage *self, uint8_t command, struct slice text,
                                 struct error *reterr)
{
    char head = (char)command;
    return mysqlwire_data_write(&self->out, 0, slice_of(&head, 1), text) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_LIMIT, "too much for the target at once");
}

static enum err passage_ask(struct mysql_passage *self, struct error *reterr)
{
    struct slice question = mysql_filter_question(self->filter);
    mysql_filter_ask(self->filter);
    return passage_send_own(self, MYSQLWIRE_QUERY, question, reterr);
}

static enum err passage_block(struct mysql_passage *self, struct slice message,
                              struct error *reterr)
{
    uint8_t command = (uint8_t)buf_view(&self->held).at[MYSQLWIRE_HEADER_SIZE];
    if (mysqlwire_answers_of(command) == MYSQLWIRE_SILENT) {
        return fail(reterr, ERR_LIMIT, "a value is longer than what guard rails look at");
    }
    bool was_decided = mysql_filter_was_denied(self->filter);
    const struct ending_words words = {.message = message,
                                       .hint = was_decided ? SLICE("") : SLICE(HINT)};
    uint16_t number =
        mysql_filter_was_cancelled(self->filter) ? MYSQL_ERROR_INTERRUPTED : MYSQL_ERROR_BLOCKED;
    mysql_filter_refused(self->filter);
    self->way = PASSAGE_DROPS;
    return passage_refuse_with(self, number, &words, reterr);
}

/* What is held goes on. */
static enum err passage_run(struct mysql_passage *self, struct error *reterr)
{
    struct slice command = passage_command(self);
    const struct mysql_filter *filter = self->filter;
    if (self->answer != NULL) {
        mysql_answer_begin(self->answer, command, mysql_filter_reach(filter),
                           mysql_filter_number(filter), mysql_filter_executed(filter));
    }
    self->way = PASSAGE_PASSES;
    self->is_judged = true;
    return passage_let_held(self, reterr);
}

static enum err passage_limit(struct mysql_passage *self, const struct mysql_filter_limit *rule,
                              struct error *reterr)
{
    if (self->limit == NULL) {
        self->limit = memory_new(sizeof(*self->limit));
        mysql_limit_init(self->limit, self->capabilities, self->events, self->owner);
    }
    mysql_limit_begin(self->limit, rule, mysql_filter_number(self->filter));
    return passage_send_own(self, MYSQLWIRE_QUERY, self->limit->text, reterr);
}

static enum err passage_judge(struct mysql_passage *self, struct error *reterr)
{
    struct slice command = passage_command(self);
    struct buf words CLEANUP(buf_release);
    buf_init(&words, LIMIT_KIB(4));
    if (self->way == PASSAGE_WAITS_LONG) {
        mysql_filter_judge_long(self->filter, (uint8_t)command.at[0], &words);
        return passage_block(self, buf_view(&words), reterr);
    }
    if (mysql_kill_is(command)) {
        return passage_answer_kill(self, command, reterr);
    }
    uint16_t status = mysql_tap_state(self->tap)->status;
    switch (mysql_filter_judge(self->filter, command, status, &words)) {
    case MYSQL_FILTER_ASKS:
        return passage_ask(self, reterr);
    case MYSQL_FILTER_HOLDS:
        return ERR_NONE;
    case MYSQL_FILTER_REFUSES:
        return passage_block(self, buf_view(&words), reterr);
    case MYSQL_FILTER_PASSES:
        break;
    }
    bool reads = mysql_filter_reads(self->filter);
    if (self->answer != NULL && !mysql_answer_may_begin(self->answer, command, reads, &words)) {
        return passage_block(self, buf_view(&words), reterr);
    }
    const struct mysql_filter_limit *limit = mysql_filter_limit(self->filter);
    if (limit->max_rows >= 0) {
        return passage_limit(self, limit, reterr);
    }
    enum err err = mysql_filter_sets_first(self->filter) ? passage_ask(self, reterr) : ERR_NONE;
    return err == ERR_NONE ? passage_run(self, reterr) : err;
}

/* It may be its turn now. */
enum err passage_try(struct mysql_passage *self, struct error *reterr)
{
    bool is_on_hold = mysql_filter_is_on_hold(self->filter);
    enum err err = !is_on_hold && passage_has_turn(self) ? passage_judge(self, reterr) : ERR_NONE;
    if (!passage_is_waiting(self)) {
        buf_clear(&self->held);
    }
    return err;
}

/* Of what rules look at: held until it is whole. */
enum err passage_hold(struct mysql_passage *self, bool is_whole, struct error *reterr)
{
    bool is_too_long = self->piece.size > LIMIT_MYSQL_JUDGED_SIZE;
    if (is_too_long) {
        buf_truncate(&self->held, MYSQLWIRE_HEADER_SIZE + 1);
        self->way = is_whole ? PASSAGE_WAITS_LONG : PASSAGE_SKIPS;
    } else if (is_whole) {
        self->way = PASSAGE_WAITS;
    }
    return is_whole ? passage_try(self, reterr) : ERR_NONE;
}

/* What the gateway asked ----------------------------------------------------------------------- */

static enum err passage_step_limit(struct mysql_passage *self, struct slice *bytes,
                                   struct error *reterr)
{
    struct mysql_limit *limit = self->limit;
    enum mysql_limit_step step = MYSQL_LIMIT_WAITS;
    uint8_t command = 0;
    enum err err = mysql_limit_take(limit, bytes, &step, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (bytes->len > 0) {
        return fail(reterr, ERR_INPUT, "the target says more than it was asked");
    }
    switch (step) {
    case MYSQL_LIMIT_WAITS:
        break;
    case MYSQL_LIMIT_ASKS:
        err = passage_send_own(self, MYSQLWIRE_QUERY, limit->text, reterr);
        break;
    case MYSQL_LIMIT_RUNS:
        command = (uint8_t)passage_command(self).at[0];
        err = passage_run(self, reterr);
        mysql_limit_ran(limit, command);
        buf_clear(&self->held);
        break;
    case MYSQL_LIMIT_REFUSES:
        err = passage_block(self, buf_view(&limit->words), reterr);
        buf_clear(&self->held);
        break;
    case MYSQL_LIMIT_ANSWERS:
        *bytes = buf_view(&limit->answer);
        break;
    }
    return err;
}

enum err passage_take_own(struct mysql_passage *self, struct slice *bytes, struct error *reterr)
{
    enum err err = ERR_NONE;
    if (mysql_filter_is_asking(self->filter)) {
        err = mysql_filter_take(self->filter, bytes, reterr);
    }
    if (err == ERR_NONE && self->ping != NULL && self->ping->is_asked) {
        err = mysql_aside_take(self->ping, bytes, reterr);
    }
    return err == ERR_NONE && passage_is_limiting(self) ? passage_step_limit(self, bytes, reterr)
                                                        : err;
}

/* So that the target does not take a session for idle whose client waits for people. */
enum err passage_ping(struct mysql_passage *self, struct error *reterr)
{
    bool may_ping =
        self->wants_ping && mysql_filter_is_on_hold(self->filter) && !passage_owes_answer(self);
    self->wants_ping = false;
    if (!may_ping) {
        return ERR_NONE;
    }
    if (self->ping == NULL) {
        self->ping = memory_new(sizeof(*self->ping));
        mysql_aside_init(self->ping, self->capabilities);
    }
    mysql_aside_ask(self->ping, MYSQLWIRE_PING, NULL, NULL);
    return passage_send_own(self, MYSQLWIRE_PING, SLICE(""), reterr);
}

void passage_rules_free(struct mysql_passage *self)
{
    if (self->limit != NULL) {
        mysql_limit_release(self->limit);
    }
    if (self->ping != NULL) {
        mysql_aside_release(self->ping);
    }
    memory_free(self->limit);
    memory_free(self->ping);
    mysql_filter_free(self->filter);
    mysql_answer_free(self->answer);
}
