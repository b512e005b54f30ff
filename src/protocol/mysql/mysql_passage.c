/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_passage.h"

#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_kill.h"
#include "protocol/mysql/mysql_passage_internal.h"

#define BACK_SIZE LIMIT_KIB(64) /* of answers at once */
#define OUT_SIZE  LIMIT_PASSAGE_OUT_SIZE

static struct mysql_passage *mysql_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct mysql_passage, passage);
}

static const struct mysql_passage *mysql_passage_view(const struct passage *passage)
{
    return CONTAINER_OF_CONST(passage, struct mysql_passage, passage);
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
    return passage_let_held(self, reterr);
}

/* Bytes of the client -------------------------------------------------------------------------- */

static enum err passage_skip(struct mysql_passage *self, const struct mysqlwire_event *event,
                             struct error *reterr)
{
    self->way = event->is_packet_last ? PASSAGE_WAITS_LONG : PASSAGE_SKIPS;
    return event->is_packet_last ? passage_try(self, reterr) : ERR_NONE;
}

static enum err passage_take_part(struct mysql_passage *self, const struct mysqlwire_event *event,
                                  struct error *reterr)
{
    if (self->way == PASSAGE_PASSES) {
        return passage_let(self, event, reterr);
    }
    if (self->way == PASSAGE_DROPS) {
        return ERR_NONE;
    }
    if (self->way == PASSAGE_SKIPS) {
        return passage_skip(self, event, reterr);
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

static enum err passage_take_header(struct mysql_passage *self, const struct mysqlwire_event *event,
                                    struct error *reterr)
{
    self->piece = *event;
    if (event->is_more && self->way == PASSAGE_SKIPS) {
        return passage_skip(self, event, reterr);
    }
    if (event->is_more || mysql_tap_state(self->tap)->client_sends_file) {
        self->way = event->is_more ? self->way : PASSAGE_PASSES;
        return self->way == PASSAGE_PASSES ? passage_let(self, event, reterr) : ERR_NONE;
    }
    if (event->is_packet_last) {
        return fail(reterr, ERR_INPUT, "the client's command is empty");
    }
    if (mysql_tap_state(self->tap)->has_quit) {
        return fail(reterr, ERR_INPUT, "the client goes on behind its end");
    }
    self->way = PASSAGE_HOLDS;
    struct writer writer = writer_to(&self->held);
    mysqlwire_write_u24(&writer, event->size);
    writer_u8(&writer, event->sequence);
    return writer_done(&writer);
}

/* All of them, or until the target has to say something first; the rest is kept. */
static enum err passage_run_client(struct mysql_passage *self, struct slice rest,
                                   struct error *reterr)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && rest.len > 0 && !passage_is_paused(self)) {
        struct mysqlwire_event event;
        err = mysql_tap_next(self->tap, PUMP_CLIENT, &rest, &event);
        if (err == ERR_NONE) {
            err = event.kind == MYSQLWIRE_EVENT_HEADER ? passage_take_header(self, &event, reterr)
                                                       : passage_take_part(self, &event, reterr);
        }
    }
    if (err == ERR_NONE && rest.len > 0 && buf_append(&self->pending, rest) != ERR_NONE) {
        err = fail(reterr, ERR_LIMIT, "the client sends too much at once");
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

/* Whether a packet that is whole passes for its first byte alone. */
static bool passage_is_plain(const struct mysql_passage *self,
                             const struct mysqlwire_packet *packet)
{
    const struct mysqlwire_state *state = mysql_tap_state(self->tap);
    uint8_t kind = (uint8_t)packet->body.at[0];
    bool is_looked_at = mysqlwire_answers_of(kind) == MYSQLWIRE_NOT_SERVED ||
                        passage_is_judged(self, kind) ||
                        mysql_kill_is(slice_sub(packet->body, 0, LIMIT_MYSQL_HELD_SIZE));
    return state->client_sends_file || (!state->has_quit && !is_looked_at);
}

/* Takes the packets off *rest that pass as they are: nothing of them is kept. */
static enum err passage_take_plain(struct mysql_passage *self, struct slice *rest,
                                   struct error *reterr)
{
    struct mysqlwire_packet packet;
    enum err err = ERR_NONE;
    while (err == ERR_NONE && !passage_is_paused(self) &&
           mysql_tap_view_packet(self->tap, PUMP_CLIENT, *rest, &packet) &&
           passage_is_plain(self, &packet)) {
        *rest = slice_from(*rest, MYSQLWIRE_HEADER_SIZE + packet.body.len);
        err = mysql_tap_take_packet(self->tap, PUMP_CLIENT, &packet, reterr);
    }
    return err;
}

static enum err passage_pass_client(struct mysql_passage *self, struct slice *bytes,
                                    struct error *reterr)
{
    struct slice rest = *bytes;
    buf_clear(&self->out);
    passage_turn_policy(self);
    enum err err = passage_take_plain(self, &rest, reterr);
    if (err != ERR_NONE || rest.len == 0) {
        return err;
    }
    if (buf_append(&self->out, slice_sub(*bytes, 0, bytes->len - rest.len)) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "the client sends too much at once");
    }
    err = passage_run_client(self, rest, reterr);
    *bytes = buf_view(&self->out);
    return err;
}

/* What waited for an answer of the target's goes on; 'out' is for the target then. */
static enum err passage_go_on(struct mysql_passage *self, struct error *reterr)
{
    enum err err = self->wants_ping ? passage_ping(self, reterr) : ERR_NONE;
    if (err == ERR_NONE && passage_is_waiting(self)) {
        err = passage_try(self, reterr);
    }
    if (err == ERR_NONE && !passage_is_paused(self) && self->pending.len > 0) {
        struct buf pending CLEANUP(buf_wipe) = self->pending;
        buf_init(&self->pending, pending.size_max);
        err = passage_run_client(self, buf_view(&pending), reterr);
    }
    return err;
}

static enum err passage_pass_target(struct mysql_passage *self, struct slice *bytes,
                                    struct slice *ret_back, struct error *reterr)
{
    buf_clear(&self->said);
    buf_clear(&self->out);
    enum err err = self->filter != NULL ? passage_take_own(self, bytes, reterr) : ERR_NONE;
    if (err == ERR_NONE && self->answer != NULL) {
        mysql_tap_begin_turn(self->tap);
        err = mysql_answer_pass(self->answer, *bytes, &self->said, reterr);
        *bytes = buf_view(&self->said);
    } else if (err == ERR_NONE) {
        err = mysql_tap_pass(self->tap, *bytes, reterr);
    }
    if (err == ERR_NONE && self->filter != NULL) {
        err = passage_go_on(self, reterr);
    }
    *ret_back = buf_view(&self->out);
    if (err != ERR_NONE || self->back.len == 0) {
        return err;
    }
    if (self->answer != NULL) {
        err = buf_append(&self->said, buf_view(&self->back));
    } else {
        const struct slice parts[] = {*bytes, buf_view(&self->back)};
        err = buf_append_parts(&self->said, parts, COUNT_OF(parts));
    }
    *bytes = buf_view(&self->said);
    return err == ERR_NONE ? ERR_NONE : fail(reterr, err, "too much for the client at once");
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
                   self->pending.len == 0 && mysql_tap_is_between(self->tap, PUMP_CLIENT);
    unsigned bits = is_idle ? PASSAGE_IDLE : 0U;
    bits |= (state->status & MYSQLWIRE_STATUS_IN_TRANSACTION) != 0 ? PASSAGE_IN_TRANSACTION : 0U;
    /* Where people decide, what is behind is read on, so that a client that goes is noticed. */
    bool is_on_hold = self->filter != NULL && mysql_filter_is_on_hold(self->filter) &&
                      self->pending.len <= LIMIT_HELD_BEHIND_SIZE;
    bool is_paused = passage_is_paused(self) && !is_on_hold;
    bits |= state->count > LIMIT_MYSQLWIRE_OWED / 2 || is_paused ? PASSAGE_PAUSES_CLIENT : 0U;
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

/* The protocol has no words for a client that waits. */
static void mysql_passage_hold_notice(struct passage *passage, struct slice message,
                                      struct slice hint)
{
    (void)passage;
    (void)message;
    (void)hint;
}

static void mysql_passage_decided(struct passage *passage, const struct hold_answer *answer)
{
    struct mysql_filter *filter = mysql_passage_of(passage)->filter;
    if (filter != NULL) {
        mysql_filter_decided(filter, answer);
    }
}

static void mysql_passage_held_on(struct passage *passage)
{
    struct mysql_passage *self = mysql_passage_of(passage);
    self->wants_ping = self->filter != NULL && mysql_filter_is_on_hold(self->filter);
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
    bool may_have_run = mysql_tap_state(self->tap)->last_number > 0;
    const struct mysql_filter_settings settings = {.capabilities = self->capabilities,
                                                   .policy = policy,
                                                   .events = self->events,
                                                   .owner = self->owner,
                                                   .is_late = may_have_run};
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
    buf_init(&self->held, MYSQL_PASSAGE_HELD_SIZE);
    buf_init(&self->out, OUT_SIZE);
    buf_init(&self->back, BACK_SIZE);
    buf_init(&self->pending, OUT_SIZE);
    buf_init(&self->said, OUT_SIZE);
    if (settings->policy != NULL) {
        mysql_passage_set_policy(&self->passage, settings->policy);
    }
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
    passage_rules_free(self);
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
    .hold_notice = mysql_passage_hold_notice,
    .decided = mysql_passage_decided,
    .held_on = mysql_passage_held_on,
    .last_words = mysql_passage_last_words,
    .end = mysql_passage_end,
    .free = mysql_passage_free,
};
