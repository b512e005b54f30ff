/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_passage.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_ending.h"
#include "protocol/postgres/pg_filter.h"
#include "protocol/postgres/pg_tap.h"
#include "sql/sql.h"
#include "wire/pgwire_answer.h"

#define ERROR_HEAD_SIZE 128 /* holds the severity, which comes first */

struct pg_passage {
    struct passage passage;
    const struct passage_events *events;
    void *owner;
    struct recorder *recorder;
    struct pg_tap *tap;
    struct pg_filter *filter;
    struct passage_policy policy; /* the first rules, until they can begin */
    bool has_policy;
    struct buf held;                  /* of the client, until then: not looked at yet */
    bool has_terminated;              /* the client said that it goes */
    bool has_fatal;                   /* the server said that it does */
    char error_head[ERROR_HEAD_SIZE]; /* of the server's last error */
    size_t error_head_len;
};

static struct pg_passage *pg_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct pg_passage, passage);
}

static const struct pg_passage *pg_passage_view(const struct passage *passage)
{
    return CONTAINER_OF_CONST(passage, struct pg_passage, passage);
}

/* The recording -------------------------------------------------------------------------------- */

static enum record_side passage_side(enum pump_side side)
{
    return side == PUMP_CLIENT ? RECORD_FROM_CLIENT : RECORD_FROM_TARGET;
}

/* A server that says FATAL goes: nothing has to be said for it. The message may come in pieces, of
 * which the first ones hold the severity, before 9.6 only as people read it. */
static void passage_look_at_error(struct pg_passage *self, const struct pg_record *record)
{
    if (record->kind == PG_RECORD_MESSAGE) {
        self->error_head_len = 0;
        self->has_fatal = false;
    }
    size_t room = sizeof(self->error_head) - self->error_head_len;
    struct slice bytes = slice_sub(record->bytes, 0, room);
    if (bytes.len > 0) {
        memcpy(self->error_head + self->error_head_len, bytes.at, bytes.len);
        self->error_head_len += bytes.len;
    }
    struct reader reader = reader_of(slice_of(self->error_head, self->error_head_len));
    for (char type = (char)reader_u8(&reader); !reader.failed && type != '\0';
         type = (char)reader_u8(&reader)) {
        struct slice text = reader_view_text(&reader);
        bool is_severity = type == PGWIRE_FIELD_SEVERITY || type == PGWIRE_FIELD_SEVERITY_PLAIN;
        self->has_fatal =
            self->has_fatal ||
            (!reader.failed && is_severity &&
             (slice_equals(text, SLICE("FATAL")) || slice_equals(text, SLICE("PANIC"))));
    }
}

static void passage_look_at(struct pg_passage *self, const struct pg_record *record)
{
    if (record->side == PUMP_TARGET && record->type == PGWIRE_SERVER_ERROR) {
        passage_look_at_error(self, record);
    }
}

static void passage_add_message(struct pg_passage *self, const struct pg_record *record)
{
    char head[RECORD_MESSAGE_HEAD];
    const struct slice parts[] = {record_message_head(record->type, record->size, head),
                                  record->bytes};
    if (record->is_last) {
        recorder_add_messages(self->recorder, passage_side(record->side), parts, COUNT_OF(parts));
    } else {
        recorder_add(self->recorder, RECORD_MESSAGE, passage_side(record->side), parts,
                     COUNT_OF(parts));
    }
}

/* They are whole, which the tap has checked. */
static void passage_add_rows(struct pg_passage *self, const struct pg_record *record)
{
    struct reader reader = reader_of(record->bytes);
    if (record->bytes.len <= RECORD_PAYLOAD_MAX) {
        recorder_add_messages(self->recorder, passage_side(record->side), &record->bytes, 1);
        return;
    }
    while (reader_left(&reader) > 0) {
        struct pg_record row = {.side = record->side, .is_last = true};
        row.type = (char)reader_u8(&reader);
        row.size = reader_u32(&reader) - (uint32_t)sizeof(uint32_t);
        row.bytes = reader_view(&reader, row.size);
        must(!reader.failed);
        passage_add_message(self, &row);
    }
}

/* Rows that are all there can be counted by whoever wants to know. */
static void passage_add_count(struct pg_passage *self, const struct pg_record *record)
{
    if (!record->is_cut) {
        return;
    }
    char payload[RECORD_COUNT_SIZE];
    const struct record_count count = {
        .rows = record->rows, .bytes = record->row_bytes, .is_cut = record->is_cut};
    struct slice part = record_count_write(&count, payload);
    recorder_add(self->recorder, RECORD_COUNT, passage_side(record->side), &part, 1);
}

static void passage_on_unrecorded(void *owner, char type, uint64_t request)
{
    struct pg_passage *self = owner;
    if (pg_filter_is_watching(self->filter)) {
        pg_filter_watch_unrecorded(self->filter, type, request);
    }
}

static void passage_on_record(void *owner, const struct pg_record *record)
{
    struct pg_passage *self = owner;
    if (pg_filter_is_watching(self->filter)) {
        pg_filter_watch(self->filter, record, pg_tap_state(self->tap));
    }
    switch (record->kind) {
    case PG_RECORD_MESSAGE:
        self->has_terminated =
            self->has_terminated || (record->side == PUMP_CLIENT && record->type == 'X');
        passage_look_at(self, record);
        passage_add_message(self, record);
        break;
    case PG_RECORD_MORE:
        passage_look_at(self, record);
        recorder_add(self->recorder, RECORD_MORE, passage_side(record->side), &record->bytes, 1);
        break;
    case PG_RECORD_ROWS:
        passage_add_rows(self, record);
        break;
    case PG_RECORD_COUNT:
        passage_add_count(self, record);
        break;
    }
}

/* The filter ----------------------------------------------------------------------------------- */

static void passage_on_event(void *owner, const struct guard_event *event)
{
    struct pg_passage *self = owner;
    self->events->on_finding(self->owner, event);
}

static void passage_on_block(void *owner)
{
    struct pg_passage *self = owner;
    self->events->on_block(self->owner);
}

static void passage_on_hold(void *owner, const struct held_statement *held)
{
    struct pg_passage *self = owner;
    self->events->on_hold(self->owner, held);
}

static void passage_on_unhold(void *owner)
{
    struct pg_passage *self = owner;
    self->events->on_unhold(self->owner);
}

static bool passage_on_read(void *owner, const struct read_amount *more,
                            const struct read_amount *most, struct read_hour *ret_hour)
{
    struct pg_passage *self = owner;
    return self->events->on_read(self->owner, more, most, ret_hour);
}

/* Without rules all passes, and is followed for those that may come. */
static struct pg_filter *passage_filter_new(struct pg_passage *self,
                                            const struct passage_settings *settings)
{
    struct pg_filter_settings filter = {
        .tap = self->tap,
        .policy = {.is_empty = true, .analyze = sql_analyze},
        .greeting = settings->arrival->greeting,
        .transaction = PGWIRE_IDLE,
        .on_event = passage_on_event,
        .catalog = self->events,
        .catalog_owner = self->owner,
        .on_block = passage_on_block,
        .on_hold = self->events->on_hold == NULL ? NULL : passage_on_hold,
        .on_unhold = passage_on_unhold,
        .on_read = passage_on_read,
        .owner = self,
    };
    if (settings->policy != NULL && !settings->policy->is_empty) {
        filter.policy = *settings->policy;
    }
    memcpy(filter.seed, settings->seed, sizeof(filter.seed));
    return pg_filter_new(&filter);
}

/* The first rules begin where what passed stands between two messages, in the middle of a reading
 * if need be. */
static void passage_begin_rules(struct pg_passage *self)
{
    if (self->has_policy && pg_filter_may_begin(self->tap)) {
        self->has_policy = false;
        pg_filter_begin(self->filter, &self->policy);
    }
}

static void passage_set_policy(struct passage *passage, const struct passage_policy *policy)
{
    struct pg_passage *self = pg_passage_of(passage);
    if (!pg_filter_is_watching(self->filter)) {
        pg_filter_set_policy(self->filter, policy);
        return;
    }
    self->policy = *policy;
    self->has_policy = !policy->is_empty || pg_filter_is_resting(self->filter);
    passage_begin_rules(self);
}

static void passage_informed(struct passage *passage)
{
    struct pg_passage *self = pg_passage_of(passage);
    pg_filter_informed(self->filter);
}

static void passage_hold_notice(struct passage *passage, struct slice message, struct slice hint)
{
    pg_filter_hold_notice(pg_passage_of(passage)->filter, message, hint);
}

static void passage_decided(struct passage *passage, const struct hold_answer *answer)
{
    pg_filter_decided(pg_passage_of(passage)->filter, answer);
}

static void passage_stopped(struct passage *passage)
{
    struct pg_passage *self = pg_passage_of(passage);
    pg_filter_cancelled(self->filter);
}

/* What passes ---------------------------------------------------------------------------------- */

/* Without rules bytes pass as they are. Where the first rules wait to begin, they pass up to the
 * end of the message under way. *ret_rest: what comes behind it. */
static enum err passage_watch(struct pg_passage *self, enum pump_side side, struct slice bytes,
                              struct slice *ret_seen, struct slice *ret_rest, struct error *reterr)
{
    struct slice rest = bytes;
    size_t seen = 0;
    while (rest.len > 0 && pg_filter_is_watching(self->filter)) {
        size_t missing = pg_tap_missing(self->tap, side);
        if (self->has_policy && side == PUMP_CLIENT && missing == 0) {
            break; /* the target is amid a message, the rest of which is on its way */
        }
        struct slice part =
            slice_sub(rest, 0, self->has_policy && missing > 0 ? missing : SIZE_MAX);
        enum err err = pg_tap_pass(self->tap, side, part, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        seen += part.len - pg_tap_surplus(self->tap);
        rest = slice_from(rest, part.len);
        passage_begin_rules(self);
    }
    *ret_seen = slice_sub(bytes, 0, seen);
    *ret_rest = rest;
    return ERR_NONE;
}

/* What the client said while the first rules waited comes first. */
static enum err passage_filter(struct pg_passage *self, enum pump_side side, struct slice seen,
                               struct slice *bytes, struct slice *ret_back, struct error *reterr)
{
    enum err err = ERR_NONE;
    if (side == PUMP_TARGET && self->held.len > 0) {
        err = pg_filter_hold(self->filter, buf_view(&self->held), reterr);
        buf_wipe(&self->held);
    }
    if (err == ERR_NONE) {
        err = pg_filter_pass_behind(self->filter, side, seen, bytes, reterr);
    }
    if (err == ERR_NONE && side == PUMP_TARGET) {
        *ret_back = pg_filter_words(self->filter);
        if (ret_back->len == 0 && self->held.len == 0) {
            pg_filter_rest(self->filter);
        }
    }
    return err;
}

/* A session that rests does so no longer where what comes has to be looked at. */
static void passage_wake(struct pg_passage *self, enum pump_side side, struct slice bytes)
{
    if (!self->has_policy && pg_filter_is_resting(self->filter) &&
        !pg_filter_rests(self->filter, side, bytes)) {
        self->policy = *pg_filter_policy(self->filter);
        self->has_policy = true;
        passage_begin_rules(self);
    }
}

static enum err passage_pass(struct passage *passage, enum pump_side side, struct slice *bytes,
                             struct slice *ret_back, struct error *reterr)
{
    struct pg_passage *self = pg_passage_of(passage);
    struct slice seen = SLICE_NONE;
    *ret_back = SLICE("");
    passage_wake(self, side, *bytes);
    if (pg_filter_is_watching(self->filter)) {
        struct slice rest = SLICE_NONE;
        enum err err = passage_watch(self, side, *bytes, &seen, &rest, reterr);
        *bytes = rest;
        if (err == ERR_NONE && pg_filter_is_watching(self->filter)) {
            *bytes = seen;
            return rest.len == 0 || buf_append(&self->held, rest) == ERR_NONE
                       ? ERR_NONE
                       : fail(reterr, ERR_LIMIT, "the client sends too much at once");
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
    return passage_filter(self, side, seen, bytes, ret_back, reterr);
}

static unsigned passage_state(const struct passage *passage)
{
    const struct pg_passage *self = pg_passage_view(passage);
    bool pauses_client =
        pg_tap_is_full(self->tap) || pg_filter_holds(self->filter) || self->held.len > 0;
    unsigned state = 0;
    state |= pg_tap_is_idle(self->tap) && self->held.len == 0 ? PASSAGE_IDLE : 0U;
    state |= pg_tap_transaction(self->tap) != PGWIRE_IDLE ? PASSAGE_IN_TRANSACTION : 0U;
    state |= pauses_client ? PASSAGE_PAUSES_CLIENT : 0U;
    state |= pg_filter_waits(self->filter) ? PASSAGE_PAUSES_TARGET : 0U;
    state |= self->has_terminated ? PASSAGE_CLIENT_LEFT : 0U;
    state |= self->has_fatal ? PASSAGE_TARGET_LEFT : 0U;
    return state;
}

static const struct passage_counts *passage_counts_of(const struct passage *passage)
{
    return pg_tap_counts(pg_passage_view(passage)->tap);
}

static const struct mask_counts *passage_masked(const struct passage *passage)
{
    return pg_filter_mask_counts(pg_passage_view(passage)->filter);
}

static enum err passage_last_words(const struct passage *passage, const struct ending_words *words,
                                   bool is_discarded, struct buf *buf)
{
    const struct pg_tap *tap = pg_passage_view(passage)->tap;
    bool may_speak =
        is_discarded ? pg_tap_was_between(tap, PUMP_TARGET) : pg_tap_is_between(tap, PUMP_TARGET);
    return may_speak ? pg_ending_write(words, true, buf) : ERR_AGAIN;
}

/* Its life ------------------------------------------------------------------------------------- */

static struct passage *passage_start(const struct passage_settings *settings,
                                     const struct passage_events *events, void *owner)
{
    struct pg_passage *self = memory_new(sizeof(*self));
    const struct pg_tap_settings tap = {.row_limit = settings->row_limit,
                                        .on_record = passage_on_record,
                                        .on_unrecorded = passage_on_unrecorded,
                                        .owner = self};
    self->passage.ops = &pg_passage_ops;
    self->events = events;
    self->owner = owner;
    self->recorder = settings->recorder;
    buf_init(&self->held, LIMIT_PASSAGE_OUT_SIZE);
    self->tap = pg_tap_new(&tap);
    self->filter = passage_filter_new(self, settings);
    return &self->passage;
}

static void passage_end(struct passage *passage)
{
    struct pg_passage *self = pg_passage_of(passage);
    pg_tap_end(self->tap);
    self->recorder = NULL;
}

static void passage_free(struct passage *passage)
{
    struct pg_passage *self = pg_passage_of(passage);
    pg_filter_free(self->filter);
    pg_tap_free(self->tap);
    buf_wipe(&self->held);
    memory_free(self);
}

const struct passage_ops pg_passage_ops = {
    .start = passage_start,
    .pass = passage_pass,
    .state = passage_state,
    .counts = passage_counts_of,
    .masked = passage_masked,
    .set_policy = passage_set_policy,
    .informed = passage_informed,
    .stopped = passage_stopped,
    .hold_notice = passage_hold_notice,
    .decided = passage_decided,
    .last_words = passage_last_words,
    .end = passage_end,
    .free = passage_free,
};
