/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_passage.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_answer.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_filter.h"
#include "protocol/mysql/mysql_kill.h"
#include "protocol/mysql/mysql_tap.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_start.h"

#define BACK_SIZE LIMIT_KIB(64) /* of answers at once */
#define OUT_SIZE  LIMIT_PASSAGE_OUT_SIZE
#define HELD_SIZE (LIMIT_MYSQL_JUDGED_SIZE + LIMIT_READ_SIZE)
#define HINT      "Change the statement, or ask who looks after the guard rail."

/* What becomes of the client's packet. */
enum passage_way {
    PASSAGE_PASSES,
    PASSAGE_HOLDS, /* until it is known */
    PASSAGE_DROPS, /* it is answered here */
    PASSAGE_SKIPS, /* it will be: it is too long to be judged */
};

struct mysql_passage {
    struct passage passage;
    const struct passage_events *events;
    void *owner;
    uint32_t capabilities;
    struct mysql_tap *tap;
    struct mysqlwire_framer framer; /* of the client's packets */
    enum passage_way way;
    struct buf held; /* the packet that is not decided, from its header on */
    struct buf out;  /* to the target */
    struct buf back; /* to the client */
    /* Where there are, or were, rules: */
    struct mysql_filter *filter; /* NULL: there never were */
    bool is_waiting;             /* what is held is whole, and judged when its turn comes */
    bool is_judged;              /* so was what the target answers */
    bool is_too_long;            /* of what is held the first byte is left */
    struct buf pending;          /* of the client, behind what waits */
    struct buf said;             /* to the client: of the target, and of the gateway */
    struct mysql_answer *answer; /* NULL: no rule ever looked at answers */
    bool is_begun;               /* statements may have run */
    bool has_new_policy;         /* that it is told when nothing is under way */
};

static struct mysql_passage *mysql_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct mysql_passage, passage);
}

static const struct mysql_passage *mysql_passage_view(const struct passage *passage)
{
    return CONTAINER_OF_CONST(passage, struct mysql_passage, passage);
}

/* Answers of the gateway's own ----------------------------------------------------------------- */

static bool passage_is_judged(const struct mysql_passage *self, uint8_t command)
{
    return self->filter != NULL && mysql_filter_looks_at(self->filter, command);
}

/* Of the command that is held, as much as it is decided by, wherever its bytes were cut. */
static struct slice passage_command(const struct mysql_passage *self)
{
    struct slice command = slice_from(buf_view(&self->held), MYSQLWIRE_HEADER_SIZE);
    bool is_judged = command.len > 0 && passage_is_judged(self, (uint8_t)command.at[0]);
    return is_judged ? command : slice_sub(command, 0, LIMIT_MYSQL_HELD_SIZE);
}

/* Only between two commands can something be said, since each waits for its answer in turn. */
static enum err passage_answer(struct mysql_passage *self, struct slice packet,
                               enum mysql_record type, struct error *reterr)
{
    struct slice command = passage_command(self);
    bool is_served = mysqlwire_answers_of((uint8_t)command.at[0]) != MYSQLWIRE_NOT_SERVED;
    if (mysql_tap_state(self->tap)->count > 0) {
        return fail(reterr, ERR_INPUT,
                    "the client sends a command that is answered by the gateway before it has the "
                    "answer to another one");
    }
    /* What others hold may be the proof of a password. */
    mysql_tap_answered(self->tap, is_served ? command : slice_sub(command, 0, 1), type, packet);
    return buf_append(&self->back, packet) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_LIMIT, "the client does not wait for answers");
}

static enum err passage_refuse_with(struct mysql_passage *self, uint16_t number,
                                    const struct ending_words *words, struct error *reterr)
{
    struct buf packet;
    buf_init(&packet, LIMIT_KIB(4));
    uint8_t sequence = (uint8_t)(self->framer.sequence + 1);
    must(mysql_ending_write(number, sequence, words, &packet) == ERR_NONE);
    enum err err = passage_answer(self, buf_view(&packet), MYSQL_RECORD_ERROR, reterr);
    buf_release(&packet);
    return err;
}

static enum err passage_refuse(struct mysql_passage *self, uint16_t number, const char *message,
                               struct error *reterr)
{
    const struct ending_words words = {.message = slice_of_text(message), .hint = SLICE("")};
    return passage_refuse_with(self, number, &words, reterr);
}

static enum err passage_agree(struct mysql_passage *self, struct error *reterr)
{
    uint32_t passing = MYSQLWIRE_STATUS_MORE_RESULTS | MYSQLWIRE_STATUS_STATE_CHANGED;
    const struct mysqlwire_ok ok = {
        .status = (uint16_t)(mysql_tap_state(self->tap)->status & (UINT16_MAX & ~passing)),
        .info = SLICE(""),
        .state_changes = SLICE("")};
    struct buf packet;
    buf_init(&packet, LIMIT_KIB(1));
    must(mysqlwire_ok_write(&packet, 1, self->capabilities, &ok) == ERR_NONE);
    enum err err = passage_answer(self, buf_view(&packet), MYSQL_RECORD_OK, reterr);
    buf_release(&packet);
    return err;
}

static enum err passage_kill(struct mysql_passage *self, const struct mysqlwire_kill *kill,
                             struct error *reterr)
{
    char message[96];
    if (self->events->on_kill(self->owner, (uint32_t)kill->id, kill->ends_connection)) {
        return passage_agree(self, reterr);
    }
    (void)snprintf(message, sizeof(message), "Unknown thread id: %u (of your own sessions)",
                   (unsigned)kill->id);
    return passage_refuse(self, MYSQL_ERROR_NO_THREAD, message, reterr);
}

/* Commands ------------------------------------------------------------------------------------- */

/* The target knows its one user alone, so it would let any session of the connection be killed. */
static enum err passage_answer_kill(struct mysql_passage *self, struct slice command,
                                    struct error *reterr)
{
    struct mysqlwire_kill kill;
    bool is_whole = self->framer.size <= LIMIT_MYSQL_HELD_SIZE;
    self->way = PASSAGE_DROPS;
    return is_whole && mysql_kill_read(command, &kill)
               ? passage_kill(self, &kill, reterr)
               : passage_refuse(self, MYSQL_ERROR_REFUSED,
                                "the gateway takes KILL alone, not prepared, and with the number "
                                "of a connection",
                                reterr);
}

static enum err passage_let(struct mysql_passage *self, struct slice bytes, struct error *reterr)
{
    enum err err = mysql_tap_pass(self->tap, PUMP_CLIENT, bytes, reterr);
    if (err == ERR_NONE && buf_append(&self->out, bytes) != ERR_NONE) {
        err = fail(reterr, ERR_LIMIT, "the client sends too much at once");
    }
    return err;
}

/* Rules ---------------------------------------------------------------------------------------- */

static bool passage_owes_answer(const struct mysql_passage *self)
{
    return mysql_tap_state(self->tap)->count > 0 || mysql_filter_is_asking(self->filter) ||
           (self->answer != NULL && mysql_answer_is_busy(self->answer));
}

/* Rules for answers act from the next command on. */
static void passage_turn_policy(struct mysql_passage *self)
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

/* The question is the gateway's: nothing of it is on record, or told. */
static enum err passage_ask(struct mysql_passage *self, struct error *reterr)
{
    static const char query[] = {MYSQLWIRE_QUERY};
    struct slice question = mysql_filter_question(self->filter);
    mysql_filter_ask(self->filter);
    return mysqlwire_data_write(&self->out, 0, slice_of(query, 1), question) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_LIMIT, "too much for the target at once");
}

static enum err passage_block(struct mysql_passage *self, struct slice message,
                              struct error *reterr)
{
    uint8_t command = (uint8_t)buf_view(&self->held).at[MYSQLWIRE_HEADER_SIZE];
    if (mysqlwire_answers_of(command) == MYSQLWIRE_SILENT) {
        return fail(reterr, ERR_LIMIT, "a value is longer than what guard rails look at");
    }
    const struct ending_words words = {.message = message, .hint = SLICE(HINT)};
    self->way = PASSAGE_DROPS;
    return passage_refuse_with(self, MYSQL_ERROR_BLOCKED, &words, reterr);
}

static enum err passage_judge(struct mysql_passage *self, struct error *reterr)
{
    struct slice command = passage_command(self);
    struct buf words CLEANUP(buf_release);
    buf_init(&words, LIMIT_KIB(4));
    self->is_waiting = false;
    if (self->is_too_long) {
        mysql_filter_judge_long(self->filter, (uint8_t)command.at[0], &words);
        return passage_block(self, buf_view(&words), reterr);
    }
    if (mysql_kill_is(command)) {
        return passage_answer_kill(self, command, reterr);
    }
    switch (mysql_filter_judge(self->filter, command, &words)) {
    case MYSQL_FILTER_ASKS:
        self->is_waiting = true;
        return passage_ask(self, reterr);
    case MYSQL_FILTER_REFUSES:
        return passage_block(self, buf_view(&words), reterr);
    case MYSQL_FILTER_PASSES:
        break;
    }
    if (self->answer != NULL) {
        struct mysql_filter *filter = self->filter;
        if (!mysql_answer_may_begin(self->answer, command, mysql_filter_reads(filter), &words)) {
            return passage_block(self, buf_view(&words), reterr);
        }
        mysql_answer_begin(self->answer, command, mysql_filter_reach(filter),
                           mysql_filter_number(filter), mysql_filter_executed(filter));
    }
    self->way = PASSAGE_PASSES;
    self->is_judged = true;
    return passage_let(self, buf_view(&self->held), reterr);
}

/* It may be its turn now. */
static enum err passage_try(struct mysql_passage *self, struct error *reterr)
{
    enum err err = passage_has_turn(self) ? passage_judge(self, reterr) : ERR_NONE;
    if (!self->is_waiting) {
        buf_clear(&self->held);
    }
    return err;
}

/* Of what rules look at: held until it is whole. */
static enum err passage_hold(struct mysql_passage *self, bool is_whole, struct error *reterr)
{
    self->is_too_long = self->framer.size > LIMIT_MYSQL_JUDGED_SIZE;
    if (self->is_too_long) {
        buf_truncate(&self->held, MYSQLWIRE_HEADER_SIZE + 1);
        self->way = PASSAGE_SKIPS;
    }
    self->is_waiting = is_whole;
    return is_whole ? passage_try(self, reterr) : ERR_NONE;
}

static enum err passage_decide(struct mysql_passage *self, bool is_whole, struct error *reterr)
{
    struct slice command = passage_command(self);
    if (command.len == 0) {
        return ERR_NONE;
    }
    uint8_t kind = (uint8_t)command.at[0];
    if (mysqlwire_answers_of(kind) == MYSQLWIRE_NOT_SERVED) {
        self->way = PASSAGE_DROPS;
        return passage_refuse(self, MYSQL_ERROR_REFUSED, mysql_words_for(kind), reterr);
    }
    if (passage_is_judged(self, kind)) {
        return passage_hold(self, is_whole, reterr);
    }
    if (mysql_kill_may_be(kind) && !is_whole && command.len < LIMIT_MYSQL_HELD_SIZE) {
        return ERR_NONE;
    }
    if (mysql_kill_is(command)) {
        return passage_answer_kill(self, command, reterr);
    }
    self->way = PASSAGE_PASSES;
    return passage_let(self, buf_view(&self->held), reterr);
}

/* Bytes of the client -------------------------------------------------------------------------- */

static enum err passage_take_part(struct mysql_passage *self, const struct mysqlwire_event *event,
                                  struct error *reterr)
{
    if (self->way == PASSAGE_PASSES) {
        return passage_let(self, event->bytes, reterr);
    }
    if (self->way == PASSAGE_DROPS) {
        return ERR_NONE;
    }
    if (self->way == PASSAGE_SKIPS) {
        self->is_waiting = event->is_packet_last;
        return event->is_packet_last ? passage_try(self, reterr) : ERR_NONE;
    }
    /* What is held is decided when so much of it is there as is looked at. */
    if (buf_append(&self->held, event->bytes) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "a command does not fit where it must");
    }
    enum err err = passage_decide(self, event->is_packet_last, reterr);
    if (self->way == PASSAGE_PASSES || self->way == PASSAGE_DROPS) {
        buf_clear(&self->held);
    }
    return err;
}

static enum err passage_take_header(struct mysql_passage *self, bool is_packet_last,
                                    struct error *reterr)
{
    struct slice header = slice_of(self->framer.header, MYSQLWIRE_HEADER_SIZE);
    if (self->framer.is_more && self->way == PASSAGE_SKIPS) {
        self->is_waiting = is_packet_last;
        return is_packet_last ? passage_try(self, reterr) : ERR_NONE;
    }
    if (self->framer.is_more || mysql_tap_state(self->tap)->client_sends_file) {
        self->way = self->framer.is_more ? self->way : PASSAGE_PASSES;
        return self->way == PASSAGE_PASSES ? passage_let(self, header, reterr) : ERR_NONE;
    }
    if (is_packet_last) {
        return fail(reterr, ERR_INPUT, "the client's command is empty");
    }
    if (mysql_tap_state(self->tap)->has_quit) {
        return fail(reterr, ERR_INPUT, "the client goes on behind its end");
    }
    self->way = PASSAGE_HOLDS;
    return buf_append(&self->held, header);
}

/* All of them, or until the target has to say something first; the rest is kept. */
static enum err passage_run_client(struct mysql_passage *self, struct slice rest,
                                   struct error *reterr)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && rest.len > 0 && !self->is_waiting) {
        struct mysqlwire_event event;
        size_t taken = 0;
        err = mysqlwire_framer_next(&self->framer, rest, &taken, &event);
        rest = slice_from(rest, taken);
        if (err == ERR_NONE) {
            err = event.kind == MYSQLWIRE_EVENT_HEADER
                      ? passage_take_header(self, event.is_packet_last, reterr)
                      : passage_take_part(self, &event, reterr);
        }
    }
    if (err == ERR_NONE && rest.len > 0 && buf_append(&self->pending, rest) != ERR_NONE) {
        err = fail(reterr, ERR_LIMIT, "the client sends too much at once");
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

static enum err passage_pass_client(struct mysql_passage *self, struct slice *bytes,
                                    struct error *reterr)
{
    /* Of a header too, whose end may be as long as what is held at the end of these bytes. */
    bool held_some = self->held.len > 0 || self->framer.header_len > 0;
    buf_clear(&self->out);
    passage_turn_policy(self);
    enum err err = passage_run_client(self, *bytes, reterr);
    if (!held_some && !self->is_waiting && self->out.len == bytes->len) {
        buf_clear(&self->out); /* all of it passes as it is: who is idle holds no buffer */
    } else {
        *bytes = buf_view(&self->out);
    }
    return err;
}

/* What waited for an answer of the target's goes on; 'out' is for the target then. */
static enum err passage_go_on(struct mysql_passage *self, struct error *reterr)
{
    buf_clear(&self->out);
    enum err err = self->is_waiting ? passage_try(self, reterr) : ERR_NONE;
    if (err == ERR_NONE && !self->is_waiting && self->pending.len > 0) {
        struct buf pending CLEANUP(buf_wipe) = self->pending;
        buf_init(&self->pending, pending.size_max);
        err = passage_run_client(self, buf_view(&pending), reterr);
    }
    return err;
}

static enum err passage_pass_target(struct mysql_passage *self, struct slice *bytes,
                                    struct slice *ret_back, struct error *reterr)
{
    enum err err = ERR_NONE;
    buf_clear(&self->said);
    if (self->filter != NULL && mysql_filter_is_asking(self->filter)) {
        err = mysql_filter_take(self->filter, bytes, reterr);
    }
    if (err == ERR_NONE && self->answer != NULL) {
        mysql_tap_begin_turn(self->tap);
        err = mysql_answer_pass(self->answer, *bytes, &self->said, reterr);
        *bytes = buf_view(&self->said);
    } else if (err == ERR_NONE) {
        err = mysql_tap_pass(self->tap, PUMP_TARGET, *bytes, reterr);
    }
    if (err != ERR_NONE || !self->is_waiting) {
        return err;
    }
    err = passage_go_on(self, reterr);
    *ret_back = buf_view(&self->out);
    if (self->back.len > 0 && self->answer != NULL) {
        err = err == ERR_NONE ? buf_append(&self->said, buf_view(&self->back)) : err;
        *bytes = buf_view(&self->said);
    } else if (self->back.len > 0) {
        const struct slice parts[] = {*bytes, buf_view(&self->back)};
        if (buf_append_parts(&self->said, parts, COUNT_OF(parts)) != ERR_NONE) {
            return fail(reterr, ERR_LIMIT, "too much for the client at once");
        }
        *bytes = buf_view(&self->said);
    }
    return err;
}

static enum err mysql_passage_pass(struct passage *passage, enum pump_side side,
                                   struct slice *bytes, struct slice *ret_back,
                                   struct error *reterr)
{
    struct mysql_passage *self = mysql_passage_of(passage);
    enum err err = ERR_NONE;
    buf_clear(&self->back);
    *ret_back = SLICE("");
    if (side == PUMP_CLIENT) {
        err = passage_pass_client(self, bytes, reterr);
        *ret_back = buf_view(&self->back);
    } else {
        err = passage_pass_target(self, bytes, ret_back, reterr);
    }
    mysql_tap_flush(self->tap);
    return err;
}

/* Its state ------------------------------------------------------------------------------------ */

static unsigned mysql_passage_state(const struct passage *passage)
{
    const struct mysql_passage *self = mysql_passage_view(passage);
    const struct mysqlwire_state *state = mysql_tap_state(self->tap);
    bool is_idle = state->count == 0 && !state->client_sends_file && self->held.len == 0 &&
                   self->pending.len == 0 && mysqlwire_framer_is_between(&self->framer);
    unsigned bits = is_idle ? PASSAGE_IDLE : 0U;
    bits |= (state->status & MYSQLWIRE_STATUS_IN_TRANSACTION) != 0 ? PASSAGE_IN_TRANSACTION : 0U;
    bits |=
        state->count > LIMIT_MYSQLWIRE_OWED / 2 || self->is_waiting ? PASSAGE_PAUSES_CLIENT : 0U;
    bits |= state->has_quit ? PASSAGE_CLIENT_LEFT : 0U;
    bits |= mysql_tap_has_left(self->tap) ? PASSAGE_TARGET_LEFT : 0U;
    return bits;
}

static const struct passage_counts *mysql_passage_counts(const struct passage *passage)
{
    return mysql_tap_counts(mysql_passage_view(passage)->tap);
}

static const struct mask_counts *mysql_passage_masked(const struct passage *passage)
{
    const struct mysql_passage *self = mysql_passage_view(passage);
    return self->answer == NULL ? NULL : mysql_answer_counts(self->answer);
}

static void mysql_passage_stopped(struct passage *passage)
{
    struct mysql_answer *answer = mysql_passage_of(passage)->answer;
    if (answer != NULL) { /* else it was KILL that cancelled something */
        mysql_answer_stopped(answer);
    }
}

static enum err mysql_passage_last_words(const struct passage *passage,
                                         const struct ending_words *words, bool is_discarded,
                                         struct buf *buf)
{
    const struct mysql_passage *self = mysql_passage_view(passage);
    uint8_t sequence = 0;
    return mysql_tap_may_speak(self->tap, is_discarded, &sequence)
               ? mysql_ending_write(mysql_ending_number(words), sequence, words, buf)
               : ERR_AGAIN;
}

/* Its life ------------------------------------------------------------------------------------- */

static void mysql_passage_set_policy(struct passage *passage, const struct passage_policy *policy)
{
    struct mysql_passage *self = mysql_passage_of(passage);
    const struct mysql_filter_settings settings = {.capabilities = self->capabilities,
                                                   .policy = policy,
                                                   .events = self->events,
                                                   .owner = self->owner,
                                                   .is_late = self->is_begun};
    if (self->filter == NULL) {
        self->filter = mysql_filter_new(&settings);
    } else {
        mysql_filter_set_policy(self->filter, policy);
    }
    self->has_new_policy = true;
    if (self->answer != NULL) {
        mysql_answer_set_output(self->answer, policy->output);
    }
    passage_turn_policy(self);
}

static struct passage *mysql_passage_start(const struct passage_settings *settings,
                                           const struct passage_events *events, void *owner)
{
    struct mysql_passage *self = memory_new(sizeof(*self));
    struct mysqlwire_ok ok = {.status = MYSQLWIRE_STATUS_AUTOCOMMIT};
    uint32_t capabilities = settings->arrival->version;
    enum err err = mysqlwire_ok_read(settings->arrival->greeting, capabilities, &ok, NULL);
    must(err == ERR_NONE); /* it was read before */
    const struct mysql_tap_settings tap = {
        .recorder = settings->recorder,
        .row_limit = settings->row_limit,
        .capabilities = capabilities,
        .status = ok.status,
    };
    self->passage.ops = &mysql_passage_ops;
    self->events = events;
    self->owner = owner;
    self->capabilities = capabilities;
    self->tap = mysql_tap_new(&tap);
    mysqlwire_framer_init(&self->framer);
    buf_init(&self->held, HELD_SIZE);
    buf_init(&self->out, OUT_SIZE);
    buf_init(&self->back, BACK_SIZE);
    buf_init(&self->pending, OUT_SIZE);
    buf_init(&self->said, OUT_SIZE);
    if (settings->policy != NULL) {
        mysql_passage_set_policy(&self->passage, settings->policy);
    }
    self->is_begun = true;
    return &self->passage;
}

static void mysql_passage_end(struct passage *passage)
{
    mysql_tap_end(mysql_passage_of(passage)->tap);
}

static void mysql_passage_free(struct passage *passage)
{
    struct mysql_passage *self = mysql_passage_of(passage);
    mysql_tap_free(self->tap);
    buf_wipe(&self->held);
    buf_wipe(&self->out);
    buf_release(&self->back);
    buf_wipe(&self->pending);
    buf_wipe(&self->said);
    mysql_filter_free(self->filter);
    mysql_answer_free(self->answer);
    memory_free(self);
}

const struct passage_ops mysql_passage_ops = {
    .start = mysql_passage_start,
    .pass = mysql_passage_pass,
    .state = mysql_passage_state,
    .counts = mysql_passage_counts,
    .masked = mysql_passage_masked,
    .set_policy = mysql_passage_set_policy,
    .stopped = mysql_passage_stopped,
    .last_words = mysql_passage_last_words,
    .end = mysql_passage_end,
    .free = mysql_passage_free,
};
