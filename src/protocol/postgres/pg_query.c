/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_query.h"

#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"
#include "protocol/postgres/pg_refusal.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"
#include "wire/pgwire_query.h"

enum pg_query_state {
    PG_QUERY_AT_PARSE,
    PG_QUERY_AT_BIND,
    PG_QUERY_AT_ROWS,
    PG_QUERY_AT_READY, /* all rows are there; what is left is the end of the transaction */
    PG_QUERY_DONE,
};

struct pg_query {
    struct query query;
    struct loop *loop;
    struct stream *stream; /* NULL at the end */
    enum pg_query_state state;
    query_done_fn on_done;
    void *owner;

    struct buf out;
    bool is_cut_off; /* cannot write any more; there may be a last word to read */
    struct buf rest; /* what was read before this began */
    struct slice in; /* what of 'rest' or 'bytes' has not been taken */
    struct pgwire_framer framer;
    struct buf body;

    struct arena *arena;
    struct query_rows rows;
    struct query_row *last;
    size_t column_count;
    size_t row_count_max;
    size_t size_max;
    size_t size_left; /* of what the server may say */

    struct query_failure failure;
    struct timer deadline;
    struct loop_task fail_task;
    struct loop_task free_task;
    char bytes[LIMIT_PG_READ_SIZE];
};

/* The end ------------------------------------------------------------------------------------- */

static void pg_query_free(void *owner)
{
    struct pg_query *self = owner;
    buf_release(&self->out);
    buf_release(&self->rest);
    buf_release(&self->body);
    memory_free(self);
}

/* Nothing is called back from now on; the memory goes at the end of the turn. */
static void pg_query_leave(struct pg_query *self)
{
    self->state = PG_QUERY_DONE;
    timer_stop(&self->deadline);
    loop_task_cancel(&self->fail_task);
    if (self->stream != NULL) {
        stream_close(self->stream);
        self->stream = NULL;
    }
    loop_defer(self->loop, &self->free_task);
}

/* self->failure says why. */
static void pg_query_fail(struct pg_query *self)
{
    pg_query_leave(self);
    self->on_done(self->owner, NULL, &self->failure);
}

static void pg_query_fail_with(struct pg_query *self, enum err code, const char *text)
{
    must(fail(&self->failure.error, code, "%s", text) == code);
    pg_query_fail(self);
}

/* The farewell is a courtesy: where it does not go out at once, the end of the connection says as
 * much. */
static void pg_query_succeed(struct pg_query *self)
{
    size_t len = 0;
    must(self->out.len == 0 && pgwire_terminate_write(&self->out) == ERR_NONE);
    struct slice bytes = buf_view(&self->out);
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    (void)err;
    pg_query_leave(self);
    self->on_done(self->owner, &self->rows, NULL);
}

static void pg_query_on_deadline(void *owner)
{
    struct pg_query *self = owner;
    pg_query_fail_with(self, ERR_TIMEOUT,
                       self->state == PG_QUERY_AT_ROWS && self->rows.count > 0
                           ? "the target did not answer in time: its rows did not end until then"
                           : "the target did not answer in time");
}

static void pg_query_on_bad_start(void *owner)
{
    pg_query_fail(owner);
}

/* Messages ------------------------------------------------------------------------------------ */

static enum err pg_query_too_many_rows(struct pg_query *self)
{
    return fail(&self->failure.error, ERR_LIMIT, "the target answers with more than %zu rows",
                self->row_count_max);
}

static enum err pg_query_not_understood(struct pg_query *self, enum err err)
{
    error_prefix(&self->failure.error, "the target breaks the protocol: ");
    return err;
}

/* Moves on when this message may come now; *ret_wants_body tells whether it is looked into. */
static bool pg_query_is_due(struct pg_query *self, enum pgwire_server_kind kind,
                            bool *ret_wants_body)
{
    enum pg_query_state state = self->state;
    *ret_wants_body = kind == PGWIRE_SERVER_ERROR;
    if (kind == PGWIRE_SERVER_ERROR || kind == PGWIRE_SERVER_NOTICE ||
        kind == PGWIRE_SERVER_NOTIFICATION || kind == PGWIRE_SERVER_PARAMETER_STATUS) {
        return true;
    }
    if (state == PG_QUERY_AT_PARSE && kind == PGWIRE_SERVER_PARSE_COMPLETE) {
        self->state = PG_QUERY_AT_BIND;
    } else if (state == PG_QUERY_AT_BIND && kind == PGWIRE_SERVER_BIND_COMPLETE) {
        self->state = PG_QUERY_AT_ROWS;
    } else if (state == PG_QUERY_AT_ROWS && kind == PGWIRE_SERVER_DATA_ROW) {
        *ret_wants_body = true;
    } else if (state == PG_QUERY_AT_ROWS && kind == PGWIRE_SERVER_COMMAND_COMPLETE) {
        self->state = PG_QUERY_AT_READY;
    } else if (state == PG_QUERY_AT_READY && kind == PGWIRE_SERVER_READY) {
        self->state = PG_QUERY_DONE;
    } else {
        return false;
    }
    return true;
}

static enum err pg_query_take_header(struct pg_query *self)
{
    const struct pgwire_frame *frame = &self->framer.frame;
    struct error *reterr = &self->failure.error;
    enum pgwire_server_kind kind = pgwire_server_kind_of(frame);
    bool wants_body = false;
    if (frame->size > self->size_left || self->size_left - frame->size < PGWIRE_HEADER_SIZE) {
        return fail(reterr, ERR_LIMIT, "the target answers with more than %zu bytes",
                    self->size_max);
    }
    self->size_left -= frame->size + PGWIRE_HEADER_SIZE;
    if (self->state == PG_QUERY_AT_ROWS && kind == PGWIRE_SERVER_PORTAL_SUSPENDED) {
        return pg_query_too_many_rows(self); /* it was asked for one more than may be */
    }
    if (!pg_query_is_due(self, kind, &wants_body)) {
        return fail(reterr, ERR_INPUT, "the target answers with message 0x%02x out of turn",
                    (unsigned)(unsigned char)frame->type);
    }
    return wants_body ? pgwire_framer_collect(&self->framer, &self->body, reterr) : ERR_NONE;
}

static enum err pg_query_take_row(struct pg_query *self, struct slice body)
{
    struct pgwire_values columns;
    enum err err = pgwire_row_read(body, &columns, &self->failure.error);
    if (err != ERR_NONE) {
        return pg_query_not_understood(self, err);
    }
    if (columns.count != self->column_count) {
        return fail(&self->failure.error, ERR_INPUT, "the target answers with %zu columns, not %zu",
                    columns.count, self->column_count);
    }
    if (self->rows.count == self->row_count_max) {
        return pg_query_too_many_rows(self);
    }
    struct query_row *row = arena_alloc(self->arena, sizeof(*row));
    row->values = arena_alloc_array(self->arena, columns.count, sizeof(*row->values));
    struct slice value;
    for (size_t i = 0; pgwire_value_next(&columns, &value); i++) {
        row->values[i] = value.at == NULL ? SLICE_NONE : arena_copy(self->arena, value);
    }
    *(self->last == NULL ? &self->rows.first : &self->last->next) = row;
    self->last = row;
    self->rows.count++;
    return ERR_NONE;
}

static enum err pg_query_refused(struct pg_query *self, struct slice body)
{
    struct slice fields;
    enum err err = pgwire_notice_read(body, &fields, &self->failure.error);
    if (err != ERR_NONE) {
        return pg_query_not_understood(self, err);
    }
    struct slice state = pg_refusal_sqlstate(fields);
    for (size_t i = 0; i < PG_SQLSTATE_SIZE; i++) {
        self->failure.code[i] = state.at[i];
    }
    return pg_refusal_tell("the target refuses", fields, &self->failure.error);
}

/* Up to the next message, or ERR_MORE. */
static enum err pg_query_step(struct pg_query *self)
{
    struct pgwire_event event;
    size_t taken = 0;
    enum err err =
        pgwire_framer_next(&self->framer, self->in, &taken, &event, &self->failure.error);
    self->in = slice_from(self->in, taken);
    if (err == ERR_NONE && event.kind == PGWIRE_EVENT_HEADER) {
        return pg_query_take_header(self);
    }
    if (err != ERR_NONE) {
        return err == ERR_MORE ? err : pg_query_not_understood(self, err);
    }
    if (event.kind == PGWIRE_EVENT_PART) {
        return ERR_NONE;
    }
    bool is_row = pgwire_server_kind_of(&self->framer.frame) == PGWIRE_SERVER_DATA_ROW;
    err = is_row ? pg_query_take_row(self, event.bytes) : pg_query_refused(self, event.bytes);
    buf_truncate(&self->body, 0); /* its room is for the next row */
    return err;
}

/* Takes what has been read. */
static void pg_query_go_on(struct pg_query *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && self->state != PG_QUERY_DONE) {
        err = pg_query_step(self);
    }
    if (err == ERR_NONE) {
        pg_query_succeed(self);
    } else if (err != ERR_MORE) {
        pg_query_fail(self);
    } else {
        /* When cut off, what is to be read is there now, or never. */
        stream_watch(self->stream,
                     self->is_cut_off ? STREAM_READABLE | STREAM_WRITABLE : STREAM_READABLE);
    }
}

/* The stream ---------------------------------------------------------------------------------- */

static void pg_query_receive(struct pg_query *self)
{
    size_t len = 0;
    enum err err = stream_read(self->stream, self->bytes, sizeof(self->bytes), &len);
    if (err == ERR_AGAIN && !self->is_cut_off) {
        return;
    }
    if (err == ERR_NONE) {
        self->in = slice_of(self->bytes, len);
        pg_query_go_on(self);
    } else if (err == ERR_CLOSED && !self->is_cut_off) {
        pg_query_fail_with(self, ERR_CLOSED,
                           "the target closes the connection before it has answered");
    } else {
        pg_query_fail_with(self, ERR_IO, "the connection to the target broke");
    }
}

static void pg_query_send(struct pg_query *self)
{
    struct slice bytes = buf_view(&self->out);
    size_t len = 0;
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    self->is_cut_off = err != ERR_NONE;
    buf_consume(&self->out, self->is_cut_off ? self->out.len : len);
    if (self->out.len == 0) {
        pg_query_go_on(self);
    }
}

static void pg_query_on_event(void *owner, unsigned events)
{
    struct pg_query *self = owner;
    (void)events;
    if (self->state == PG_QUERY_DONE) {
        return;
    }
    if (self->out.len > 0) {
        pg_query_send(self);
    } else {
        pg_query_receive(self);
    }
}

/* Starting ------------------------------------------------------------------------------------ */

static enum err pg_query_write(struct pg_query *self, const struct query_settings *settings)
{
    const struct pgwire_execute execute = {.portal = SLICE(""),
                                           .row_count_max = (int32_t)settings->row_count_max + 1};
    size_t type_count = settings->types == NULL ? 0 : settings->value_count;
    enum err err = pgwire_parse_typed_write(&self->out, SLICE(""), settings->text, settings->types,
                                            type_count);
    if (err == ERR_NONE) {
        err = pgwire_bind_write(&self->out, SLICE(""), settings->values, settings->are_binary,
                                settings->value_count);
    }
    if (err == ERR_NONE) {
        err = pgwire_execute_write(&self->out, &execute);
    }
    if (err == ERR_NONE) {
        err = pgwire_sync_write(&self->out);
    }
    return err == ERR_NONE ? err
                           : fail(&self->failure.error, err,
                                  "what the target is to be asked is too long or not valid");
}

static void pg_query_cancel(struct query *query)
{
    pg_query_leave(CONTAINER_OF(query, struct pg_query, query));
}

struct query *pg_query_start(struct stream *take_stream, const struct query_settings *settings,
                             query_done_fn on_done, void *owner)
{
    must(settings->row_count_max < INT32_MAX && settings->column_count > 0);
    struct pg_query *self = memory_new(sizeof(*self));
    self->query.cancel = pg_query_cancel;
    self->loop = take_stream->loop;
    self->on_done = on_done;
    self->owner = owner;
    self->arena = settings->arena;
    self->column_count = settings->column_count;
    self->row_count_max = settings->row_count_max;
    self->size_max = settings->size_max;
    self->size_left = settings->size_max;
    buf_init(&self->out, LIMIT_PG_STATEMENT_SIZE);
    buf_init(&self->rest, LIMIT_PG_READ_SIZE);
    buf_init(&self->body, settings->size_max);
    must(buf_append(&self->rest, settings->rest) == ERR_NONE);
    self->in = buf_view(&self->rest);
    pgwire_framer_init(&self->framer, PGWIRE_FROM_SERVER);
    timer_init(&self->deadline, pg_query_on_deadline, self);
    loop_task_init(&self->fail_task, pg_query_on_bad_start, self);
    loop_task_init(&self->free_task, pg_query_free, self);
    if (pg_query_write(self, settings) != ERR_NONE) {
        stream_close(take_stream);
        loop_defer(self->loop, &self->fail_task);
        return &self->query;
    }
    self->stream = take_stream;
    timer_start(self->loop, &self->deadline, settings->timeout_ms);
    stream_own(take_stream, pg_query_on_event, self);
    stream_watch(take_stream, STREAM_WRITABLE);
    return &self->query;
}
