/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_query.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "io/timer.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_start.h"
#include "wire/mysqlwire_state.h"
#include "wire/mysqlwire_value.h"

#define READ_SIZE      LIMIT_KIB(16)
#define STATEMENT_SIZE LIMIT_KIB(64)

struct mysql_query {
    struct query query;
    struct loop *loop;
    struct stream *stream; /* NULL at the end */
    query_done_fn on_done;
    void *owner;
    bool is_done;
    bool is_over; /* the last packet of the answer is there */

    struct buf out;
    struct buf rest; /* what was read before this began */
    struct slice in; /* what of 'rest' or 'bytes' has not been taken */
    struct mysqlwire_framer framer;
    struct mysqlwire_state state;
    enum mysqlwire_kind kind;
    bool has_kind;
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
    char bytes[READ_SIZE];
};

/* The end -------------------------------------------------------------------------------------- */

static void query_free(void *owner)
{
    struct mysql_query *self = owner;
    buf_release(&self->out);
    buf_release(&self->rest);
    buf_release(&self->body);
    memory_free(self);
}

/* Nothing is called back from now on; the memory goes at the end of the turn. */
static void query_leave(struct mysql_query *self)
{
    self->is_done = true;
    timer_stop(&self->deadline);
    loop_task_cancel(&self->fail_task);
    if (self->stream != NULL) {
        stream_close(self->stream);
        self->stream = NULL;
    }
    loop_defer(self->loop, &self->free_task);
}

/* self->failure says why. */
static void query_fail(void *owner)
{
    struct mysql_query *self = owner;
    query_leave(self);
    self->on_done(self->owner, NULL, &self->failure);
}

static void query_fail_with(struct mysql_query *self, enum err code, const char *text)
{
    must(fail(&self->failure.error, code, "%s", text) == code);
    query_fail(self);
}

static void query_on_deadline(void *owner)
{
    query_fail_with(owner, ERR_TIMEOUT, "the target did not answer in time");
}

/* The farewell is a courtesy: where it does not go out at once, the end of the connection says as
 * much. */
static void query_succeed(struct mysql_query *self)
{
    static const char quit[] = {MYSQLWIRE_QUIT};
    size_t len = 0;
    buf_clear(&self->out);
    must(mysqlwire_data_write(&self->out, 0, slice_of(quit, 1), SLICE("")) == ERR_NONE);
    struct slice bytes = buf_view(&self->out);
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    (void)err;
    query_leave(self);
    self->on_done(self->owner, &self->rows, NULL);
}

/* Packets -------------------------------------------------------------------------------------- */

static enum err query_refused(struct mysql_query *self, struct slice body)
{
    struct mysqlwire_error refusal;
    struct error *reterr = &self->failure.error;
    enum err err = mysqlwire_error_read(body, &refusal, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice state = refusal.state.len == MYSQLWIRE_STATE_SIZE ? refusal.state : SLICE("HY000");
    for (size_t i = 0; i < MYSQLWIRE_STATE_SIZE; i++) {
        bool is_plain = (state.at[i] >= '0' && state.at[i] <= '9') ||
                        (state.at[i] >= 'A' && state.at[i] <= 'Z');
        self->failure.code[i] = '0';
        if (is_plain) {
            self->failure.code[i] = state.at[i];
        }
    }
    struct buf text;
    buf_init(&text, 2048);
    struct writer writer = writer_to(&text);
    text_show(&writer, slice_sub(refusal.message, 0, 400));
    err = fail(reterr, ERR_DENIED, "the target refuses: %u: %.*s", refusal.number,
               SLICE_ARG(buf_view(&text)));
    buf_release(&text);
    return err;
}

static enum err query_take_count(struct mysql_query *self, struct slice body)
{
    uint64_t count = 0;
    enum err err = mysqlwire_column_count_read(body, &count, &self->failure.error);
    if (err == ERR_NONE && count != self->column_count) {
        err = fail(&self->failure.error, ERR_INPUT, "the target answers with %llu columns, not %zu",
                   (unsigned long long)count, self->column_count);
    }
    return err;
}

static enum err query_take_row(struct mysql_query *self, struct slice body)
{
    struct reader reader = reader_of(body);
    if (self->rows.count == self->row_count_max) {
        return fail(&self->failure.error, ERR_LIMIT, "the target answers with more than %zu rows",
                    self->row_count_max);
    }
    struct query_row *row = arena_alloc(self->arena, sizeof(*row));
    row->values = arena_alloc_array(self->arena, self->column_count, sizeof(*row->values));
    for (size_t i = 0; i < self->column_count; i++) {
        struct slice value = mysqlwire_text_value_read(&reader);
        row->values[i] = value.at == NULL ? SLICE_NONE : arena_copy(self->arena, value);
    }
    if (reader_done(&reader) != ERR_NONE) {
        return fail(&self->failure.error, ERR_INPUT, "a row of the target is malformed");
    }
    *(self->last == NULL ? &self->rows.first : &self->last->next) = row;
    self->last = row;
    self->rows.count++;
    return ERR_NONE;
}

static enum err query_take_body(struct mysql_query *self, struct slice body)
{
    switch (self->kind) {
    case MYSQLWIRE_KIND_ERROR:
        return query_refused(self, body);
    case MYSQLWIRE_KIND_COLUMN_COUNT:
        return query_take_count(self, body);
    case MYSQLWIRE_KIND_TEXT_ROW:
        return query_take_row(self, body);
    case MYSQLWIRE_KIND_OK:
    case MYSQLWIRE_KIND_COLUMN:
        return ERR_NONE;
    case MYSQLWIRE_KIND_EOF:
    case MYSQLWIRE_KIND_BETWEEN:
    case MYSQLWIRE_KIND_BINARY_ROW:
    case MYSQLWIRE_KIND_PREPARED:
    case MYSQLWIRE_KIND_DESCRIBED:
    case MYSQLWIRE_KIND_INFILE:
    case MYSQLWIRE_KIND_TEXT:
        break;
    }
    return fail(&self->failure.error, ERR_INPUT, "the target answers what it was not asked");
}

static enum err query_end_packet(struct mysql_query *self)
{
    struct slice body = buf_view(&self->body);
    enum err err = query_take_body(self, body);
    self->has_kind = false;
    if (err == ERR_NONE) {
        err = mysqlwire_state_end(&self->state, self->kind, body, &self->is_over,
                                  &self->failure.error);
    }
    buf_truncate(&self->body, 0);
    return err;
}

static enum err query_take_event(struct mysql_query *self, const struct mysqlwire_event *event)
{
    struct error *reterr = &self->failure.error;
    bool is_part = event->kind == MYSQLWIRE_EVENT_PART;
    /* A piece is paid for by its header, so that how it was cut in reading makes no difference. */
    size_t size = is_part ? 0 : MYSQLWIRE_HEADER_SIZE + (size_t)self->framer.size;
    uint64_t number = 0;
    enum err err = ERR_NONE;
    if (size > self->size_left) {
        return fail(reterr, ERR_LIMIT, "the target answers with more than %zu bytes",
                    self->size_max);
    }
    self->size_left -= size;
    if (!self->has_kind && (is_part || event->is_packet_last)) {
        err = mysqlwire_state_begin(&self->state, self->framer.size,
                                    is_part ? (uint8_t)event->bytes.at[0] : 0, &self->kind, &number,
                                    reterr);
        self->has_kind = true;
    }
    if (err == ERR_NONE && is_part) {
        must(buf_append(&self->body, event->bytes) == ERR_NONE); /* as large as all may be */
    }
    return err == ERR_NONE && event->is_packet_last ? query_end_packet(self) : err;
}

/* Takes what has been read. */
static void query_go_on(struct mysql_query *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && !self->is_over) {
        struct mysqlwire_event event;
        size_t taken = 0;
        err = mysqlwire_framer_next(&self->framer, self->in, &taken, &event);
        self->in = slice_from(self->in, taken);
        if (err == ERR_NONE) {
            err = query_take_event(self, &event);
        }
    }
    if (err == ERR_NONE) {
        query_succeed(self);
    } else if (err == ERR_MORE) {
        stream_watch(self->stream, STREAM_READABLE);
    } else {
        query_fail(self);
    }
}

/* The stream ----------------------------------------------------------------------------------- */

static void query_receive(struct mysql_query *self)
{
    size_t len = 0;
    enum err err = stream_read(self->stream, self->bytes, sizeof(self->bytes), &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err == ERR_NONE) {
        self->in = slice_of(self->bytes, len);
        query_go_on(self);
        return;
    }
    query_fail_with(self, err == ERR_CLOSED ? ERR_CLOSED : ERR_IO,
                    "the target closes the connection before it has answered");
}

/* Where it cannot be said, there may be a last word to read. */
static void query_send(struct mysql_query *self)
{
    struct slice bytes = buf_view(&self->out);
    size_t len = 0;
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    buf_consume(&self->out, err == ERR_NONE ? len : self->out.len);
    if (self->out.len == 0) {
        query_go_on(self);
    }
}

static void query_on_event(void *owner, unsigned events)
{
    struct mysql_query *self = owner;
    (void)events;
    if (self->is_done) {
        return;
    }
    if (self->out.len > 0) {
        query_send(self);
    } else {
        query_receive(self);
    }
}

/* Starting ------------------------------------------------------------------------------------- */

static void write_text(struct writer *writer, struct slice value)
{
    static const char digits[] = "0123456789ABCDEF";
    if (value.at == NULL) {
        writer_bytes(writer, SLICE("NULL"));
        return;
    }
    writer_bytes(writer, SLICE("_utf8mb4 X'"));
    for (size_t i = 0; i < value.len; i++) {
        unsigned byte = (unsigned char)value.at[i];
        writer_u8(writer, (uint8_t)digits[byte >> 4]);
        writer_u8(writer, (uint8_t)digits[byte & 15U]);
    }
    writer_u8(writer, '\'');
}

static void write_number(struct writer *writer, struct slice value)
{
    uint64_t number = 0;
    bool is_one = value.at != NULL && text_parse_u64(value, &number) == ERR_NONE;
    writer->failed = writer->failed || !is_one;
    writer_decimal(writer, number);
}

/* The texts are ours: there is a digit behind each sign, and a value of that number. */
static enum err query_write(struct mysql_query *self, const struct query_settings *settings)
{
    struct buf text CLEANUP(buf_release);
    static const char query[] = {MYSQLWIRE_QUERY};
    buf_init(&text, STATEMENT_SIZE);
    struct writer writer = writer_to(&text);
    for (size_t i = 0; i < settings->text.len; i++) {
        char byte = settings->text.at[i];
        if (byte != '$' && byte != '#') {
            writer_u8(&writer, (uint8_t)byte);
            continue;
        }
        must(i + 1 < settings->text.len);
        size_t index = (size_t)(settings->text.at[++i] - '1');
        must(index < settings->value_count);
        (byte == '$' ? write_text : write_number)(&writer, settings->values[index]);
    }
    enum err err = writer_done(&writer);
    if (err == ERR_NONE) {
        err = mysqlwire_data_write(&self->out, 0, slice_of(query, 1), buf_view(&text));
    }
    return err == ERR_NONE ? err
                           : fail(&self->failure.error, err,
                                  "what the target is to be asked is too long or not valid");
}

static void mysql_query_cancel(struct query *query)
{
    query_leave(CONTAINER_OF(query, struct mysql_query, query));
}

static void query_init(struct mysql_query *self, const struct query_settings *settings)
{
    uint64_t number = 0;
    self->query.cancel = mysql_query_cancel;
    self->arena = settings->arena;
    self->column_count = settings->column_count;
    self->row_count_max = settings->row_count_max;
    self->size_max = settings->size_max;
    self->size_left = settings->size_max;
    buf_init(&self->out, STATEMENT_SIZE + LIMIT_KIB(1));
    buf_init(&self->rest, LIMIT_GREETING_SIZE);
    buf_init(&self->body, settings->size_max);
    must(buf_append(&self->rest, settings->rest) == ERR_NONE);
    self->in = buf_view(&self->rest);
    mysqlwire_framer_init(&self->framer);
    mysqlwire_state_init(&self->state, MYSQL_QUERY_CAPABILITIES, MYSQLWIRE_STATUS_AUTOCOMMIT);
    must(mysqlwire_state_command(&self->state, MYSQLWIRE_QUERY, &number, &self->failure.error) ==
         ERR_NONE);
    timer_init(&self->deadline, query_on_deadline, self);
    loop_task_init(&self->fail_task, query_fail, self);
    loop_task_init(&self->free_task, query_free, self);
}

struct query *mysql_query_start(struct stream *take_stream, const struct query_settings *settings,
                                query_done_fn on_done, void *owner)
{
    must(settings->column_count > 0);
    struct mysql_query *self = memory_new(sizeof(*self));
    self->loop = take_stream->loop;
    self->on_done = on_done;
    self->owner = owner;
    query_init(self, settings);
    if (query_write(self, settings) != ERR_NONE) {
        stream_close(take_stream);
        loop_defer(self->loop, &self->fail_task);
        return &self->query;
    }
    self->stream = take_stream;
    timer_start(self->loop, &self->deadline, settings->timeout_ms);
    stream_own(take_stream, query_on_event, self);
    stream_watch(take_stream, STREAM_WRITABLE);
    return &self->query;
}
