/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_passage.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_ending.h"
#include "protocol/postgres/pg_filter.h"
#include "protocol/postgres/pg_tap.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"

#define SETTING_COUNT    3
#define SETTING_SIZE_MAX 200
#define ERROR_HEAD_SIZE  128 /* holds the severity, which comes first */

/* Those that change how statements are read. */
static const struct slice setting_names[SETTING_COUNT] = {
    SLICE_INIT("client_encoding"), SLICE_INIT("server_encoding"),
    SLICE_INIT("standard_conforming_strings")};

struct pg_passage {
    struct passage passage;
    const struct passage_events *events;
    void *owner;
    struct recorder *recorder;
    struct pg_tap *tap;
    struct pg_filter *filter; /* NULL: nothing is looked for */
    struct passage_policy policy;
    bool has_policy;
    bool has_terminated;              /* the client said that it goes */
    bool has_fatal;                   /* the server said that it does */
    char error_head[ERROR_HEAD_SIZE]; /* of the server's last error */
    size_t error_head_len;
    struct buf settings[SETTING_COUNT]; /* ParameterStatus of those that a filter has to know */
    struct buf setting;                 /* the body of one that comes in pieces */
    uint8_t seed[HASH_SEED_SIZE];
};

static struct pg_passage *pg_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct pg_passage, passage);
}

static const struct pg_passage *pg_passage_view(const struct passage *passage)
{
    return CONTAINER_OF_CONST(passage, struct pg_passage, passage);
}

/* Settings ------------------------------------------------------------------------------------- */

/* The body of a ParameterStatus. */
static void passage_learn_setting(struct pg_passage *self, struct slice body)
{
    struct slice rest;
    struct slice name = slice_cut(body, '\0', &rest);
    const struct pgwire_frame frame = {.packet = PGWIRE_MESSAGE,
                                       .type = PGWIRE_SERVER_PARAMETER_STATUS,
                                       .size = (uint32_t)body.len};
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (slice_equals(name, setting_names[i]) && body.len <= SETTING_SIZE_MAX) {
            struct buf *setting = &self->settings[i];
            buf_release(setting);
            buf_init(setting, PGWIRE_HEADER_SIZE + SETTING_SIZE_MAX);
            must(pgwire_header_write(setting, &frame) == ERR_NONE &&
                 buf_append(setting, body) == ERR_NONE);
        }
    }
}

/* One that passes, maybe in pieces. None that is wanted is larger than what is kept of it. */
static void passage_look_at_setting(struct pg_passage *self, const struct pg_record *record)
{
    if (record->kind == PG_RECORD_MESSAGE && record->is_last) {
        passage_learn_setting(self, record->bytes);
        return;
    }
    if (record->kind == PG_RECORD_MESSAGE) {
        buf_clear(&self->setting);
    }
    size_t room = SETTING_SIZE_MAX + 1 - self->setting.len;
    must(buf_append(&self->setting, slice_sub(record->bytes, 0, room)) == ERR_NONE);
    if (record->is_last) {
        passage_learn_setting(self, buf_view(&self->setting));
        buf_release(&self->setting);
        buf_init(&self->setting, SETTING_SIZE_MAX + 1);
    }
}

static void passage_learn_greeting(struct pg_passage *self, struct slice greeting)
{
    struct reader reader = reader_of(greeting);
    while (reader_left(&reader) > 0 && !reader.failed) {
        char type = (char)reader_u8(&reader);
        struct slice body = reader_view(&reader, reader_u32(&reader) - sizeof(uint32_t));
        if (!reader.failed && type == PGWIRE_SERVER_PARAMETER_STATUS) {
            passage_learn_setting(self, body);
        }
    }
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
    } else if (record->side == PUMP_TARGET && record->type == PGWIRE_SERVER_PARAMETER_STATUS) {
        passage_look_at_setting(self, record);
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

static void passage_on_record(void *owner, const struct pg_record *record)
{
    struct pg_passage *self = owner;
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

static void passage_on_lookup(void *owner, struct slice tables)
{
    struct pg_passage *self = owner;
    const struct catalog_question question = {
        .text = slice_of_text(pg_mask_lookup_text),
        .values = &tables,
        .value_count = 1,
        .column_count = PG_MASK_LOOKUP_COLUMNS,
    };
    self->events->on_lookup(self->owner, &question);
}

static void passage_on_block(void *owner)
{
    struct pg_passage *self = owner;
    self->events->on_block(self->owner);
}

static bool passage_on_read(void *owner, const struct read_amount *more,
                            const struct read_amount *most, struct read_hour *ret_hour)
{
    struct pg_passage *self = owner;
    return self->events->on_read(self->owner, more, most, ret_hour);
}

static void passage_start_filter(struct pg_passage *self)
{
    bool is_due = self->has_policy && !self->policy.is_empty && self->filter == NULL;
    if (!is_due || !pg_tap_is_idle(self->tap) || !pg_tap_is_between(self->tap, PUMP_CLIENT) ||
        !pg_tap_is_between(self->tap, PUMP_TARGET)) {
        return;
    }
    struct buf greeting;
    buf_init(&greeting, LIMIT_KIB(4));
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        must(buf_append(&greeting, buf_view(&self->settings[i])) == ERR_NONE);
    }
    struct pg_filter_settings settings = {
        .policy = self->policy,
        .request = pg_tap_request(self->tap),
        .greeting = buf_view(&greeting),
        .transaction = pg_tap_transaction(self->tap),
        .is_late = pg_tap_request(self->tap) > 0,
        .on_event = passage_on_event,
        .on_lookup = passage_on_lookup,
        .on_block = passage_on_block,
        .on_read = passage_on_read,
        .owner = self,
    };
    memcpy(settings.seed, self->seed, sizeof(settings.seed));
    self->filter = pg_filter_new(&settings);
    buf_release(&greeting);
}

static void passage_set_policy(struct passage *passage, const struct passage_policy *policy)
{
    struct pg_passage *self = pg_passage_of(passage);
    self->policy = *policy;
    self->has_policy = true;
    if (self->filter != NULL) {
        pg_filter_set_policy(self->filter, policy);
    }
}

static void passage_learned(struct passage *passage, const struct query_rows *rows)
{
    struct pg_passage *self = pg_passage_of(passage);
    for (const struct query_row *row = rows == NULL ? NULL : rows->first; row != NULL;
         row = row->next) {
        pg_filter_learn_row(self->filter, row->values);
    }
    pg_filter_learn_done(self->filter, rows != NULL);
}

static void passage_stopped(struct passage *passage)
{
    struct pg_passage *self = pg_passage_of(passage);
    if (self->filter != NULL) {
        pg_filter_cancelled(self->filter);
    }
}

/* What passes ---------------------------------------------------------------------------------- */

static enum err passage_pass(struct passage *passage, enum pump_side side, struct slice *bytes,
                             struct slice *ret_back, struct error *reterr)
{
    struct pg_passage *self = pg_passage_of(passage);
    *ret_back = SLICE("");
    passage_start_filter(self);
    if (side == PUMP_CLIENT) {
        enum err err = pg_tap_pass(self->tap, side, *bytes, reterr);
        *bytes = slice_sub(*bytes, 0, bytes->len - pg_tap_surplus(self->tap));
        return err == ERR_NONE && self->filter != NULL
                   ? pg_filter_pass(self->filter, side, bytes, reterr)
                   : err;
    }
    if (self->filter == NULL) {
        return pg_tap_pass(self->tap, side, *bytes, reterr);
    }
    enum err err = pg_filter_pass(self->filter, side, bytes, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    *ret_back = pg_filter_words(self->filter);
    return pg_tap_pass(self->tap, side, *bytes, reterr);
}

static unsigned passage_state(const struct passage *passage)
{
    const struct pg_passage *self = pg_passage_view(passage);
    bool pauses_client =
        pg_tap_is_full(self->tap) || (self->filter != NULL && pg_filter_holds(self->filter));
    unsigned state = 0;
    state |= pg_tap_is_idle(self->tap) ? PASSAGE_IDLE : 0U;
    state |= pg_tap_transaction(self->tap) != PGWIRE_IDLE ? PASSAGE_IN_TRANSACTION : 0U;
    state |= pauses_client ? PASSAGE_PAUSES_CLIENT : 0U;
    state |= self->filter != NULL && pg_filter_waits(self->filter) ? PASSAGE_PAUSES_TARGET : 0U;
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
    const struct pg_passage *self = pg_passage_view(passage);
    return self->filter == NULL ? NULL : pg_filter_mask_counts(self->filter);
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
    const struct pg_tap_settings tap = {
        .row_limit = settings->row_limit, .on_record = passage_on_record, .owner = self};
    self->passage.ops = &pg_passage_ops;
    self->events = events;
    self->owner = owner;
    self->recorder = settings->recorder;
    buf_init(&self->setting, SETTING_SIZE_MAX + 1);
    memcpy(self->seed, settings->seed, sizeof(self->seed));
    self->tap = pg_tap_new(&tap);
    passage_learn_greeting(self, settings->arrival->greeting);
    if (settings->policy != NULL) {
        passage_set_policy(&self->passage, settings->policy);
    }
    passage_start_filter(self);
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
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        buf_release(&self->settings[i]);
    }
    buf_release(&self->setting);
    memory_free(self);
}

const struct passage_ops pg_passage_ops = {
    .start = passage_start,
    .pass = passage_pass,
    .state = passage_state,
    .counts = passage_counts_of,
    .masked = passage_masked,
    .set_policy = passage_set_policy,
    .learned = passage_learned,
    .stopped = passage_stopped,
    .last_words = passage_last_words,
    .end = passage_end,
    .free = passage_free,
};
