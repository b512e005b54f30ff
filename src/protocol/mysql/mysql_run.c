/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_run.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_hello.h"
#include "protocol/mysql/mysql_target.h"
#include "protocol/mysql/mysql_type_name.h"
#include "sql/sql.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_state.h"
#include "wire/mysqlwire_value.h"

#define READ_SIZE    LIMIT_KIB(16)
#define COMMAND_SIZE 160 /* a statement's word and the number of rows */

/* No LOCAL_FILES: an execution has no files. What was not told apart is sent as one text. */
#define RUN_CAPABILITIES                                                                           \
    (MYSQLWIRE_LONG_PASSWORD | MYSQLWIRE_LONG_FLAG | MYSQLWIRE_PROTOCOL_41 |                       \
     MYSQLWIRE_TRANSACTIONS | MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_MULTI_STATEMENTS |           \
     MYSQLWIRE_MULTI_RESULTS | MYSQLWIRE_PS_MULTI_RESULTS | MYSQLWIRE_PLUGIN_AUTH |                \
     MYSQLWIRE_CONNECT_ATTRS | MYSQLWIRE_PLUGIN_AUTH_LENENC | MYSQLWIRE_SESSION_TRACK |            \
     MYSQLWIRE_DEPRECATE_EOF)

struct mysql_run {
    struct run run;
    struct loop *loop;
    struct target_server server; /* the front is there already: nothing is dialed */
    struct mysql_target *target; /* signs in; NULL when it has */
    struct stream *stream;       /* NULL before and at the end */
    const struct run_events *events;
    void *owner;
    struct arena arena; /* of the request */
    const struct slice *statements;
    size_t statement_count;
    size_t next; /* the statement to be sent */
    bool has_failed;
    bool is_done;
    bool is_held; /* by the owner: nothing is read, and the row in 'body' waits */

    struct buf out;
    struct slice in; /* what of 'bytes' has not been taken */
    struct mysqlwire_framer framer;
    struct mysqlwire_state state;
    enum mysqlwire_kind kind; /* of the packet that comes */
    bool has_kind;
    bool is_skipped; /* the row is too long to be shown */
    struct buf body;
    struct arena names;         /* of the columns */
    struct run_column *columns; /* of the rows that come */
    size_t column_count;
    size_t columns_read;
    struct slice *values;
    int64_t rows;

    struct error error;
    struct loop_task free_task;
    char bytes[READ_SIZE];
};

/* The end -------------------------------------------------------------------------------------- */

static void run_free(void *owner)
{
    struct mysql_run *self = owner;
    target_server_release(&self->server);
    arena_release(&self->arena);
    arena_release(&self->names);
    buf_release(&self->out);
    buf_release(&self->body);
    memory_free(self);
}

static void run_leave(struct mysql_run *self)
{
    self->is_done = true;
    if (self->target != NULL) {
        mysql_target_cancel(self->target);
        self->target = NULL;
    }
    if (self->stream != NULL) {
        stream_close(self->stream);
        self->stream = NULL;
    }
    loop_defer(self->loop, &self->free_task);
}

static void run_end(struct mysql_run *self, const struct error *error)
{
    const struct run_events *events = self->events;
    void *owner = self->owner;
    run_leave(self);
    events->on_end(owner, error);
}

static void mysql_run_cancel(struct run *run)
{
    run_leave(CONTAINER_OF(run, struct mysql_run, run));
}

/* Sending -------------------------------------------------------------------------------------- */

static void run_send(struct mysql_run *self)
{
    struct slice bytes = buf_view(&self->out);
    size_t len = 0;
    if (bytes.len == 0) {
        return;
    }
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    if (err == ERR_NONE) {
        buf_consume(&self->out, len);
    } else if (err != ERR_AGAIN) {
        buf_clear(&self->out); /* what is left to read says why */
    }
}

/* In as many pieces as it needs. */
static enum err run_write(struct mysql_run *self, uint8_t command, struct slice text)
{
    struct writer writer = writer_to(&self->out);
    struct slice first = slice_of((const char *)&command, 1);
    uint8_t sequence = 0;
    size_t size = MYSQLWIRE_PIECE_MAX;
    while (size == MYSQLWIRE_PIECE_MAX) {
        size_t room = MYSQLWIRE_PIECE_MAX - first.len;
        struct slice part = slice_sub(text, 0, room);
        size = first.len + part.len;
        mysqlwire_write_u24(&writer, (uint32_t)size);
        writer_u8(&writer, sequence++);
        writer_bytes(&writer, first);
        writer_bytes(&writer, part);
        text = slice_from(text, part.len);
        first = SLICE("");
    }
    return writer_done(&writer);
}

/* ERR_CLOSED: nothing is left to do. */
static enum err run_send_next(struct mysql_run *self)
{
    uint64_t number = 0;
    if (self->has_failed || self->next == self->statement_count) {
        return ERR_CLOSED;
    }
    if (self->out.len > 0) {
        return fail(&self->error, ERR_INPUT, "the server answers what it was not asked");
    }
    enum err err = mysqlwire_state_command(&self->state, MYSQLWIRE_QUERY, &number, &self->error);
    if (err == ERR_NONE && run_write(self, MYSQLWIRE_QUERY, self->statements[self->next]) != err) {
        err = fail(&self->error, ERR_LIMIT, "the statement is too long");
    }
    self->next++;
    if (err == ERR_NONE) {
        run_send(self);
    }
    return err;
}

/* Packets -------------------------------------------------------------------------------------- */

/* The word that the statement begins with stands for what servers do not say. */
static struct slice run_word(const struct mysql_run *self, char word[COMMAND_SIZE])
{
    struct slice text = self->statements[self->next - 1];
    size_t len = 0;
    while (len < text.len && len < 32 &&
           ((text.at[len] | 0x20) >= 'a' && (text.at[len] | 0x20) <= 'z')) {
        word[len] = (char)(text.at[len] & ~0x20);
        len++;
    }
    return slice_of(word, len);
}

static bool run_changes_rows(struct slice word)
{
    static const struct slice words[] = {SLICE_INIT("INSERT"), SLICE_INIT("UPDATE"),
                                         SLICE_INIT("DELETE"), SLICE_INIT("REPLACE"),
                                         SLICE_INIT("LOAD")};
    bool is_one = false;
    for (size_t i = 0; i < COUNT_OF(words) && !is_one; i++) {
        is_one = slice_equals(word, words[i]);
    }
    return is_one;
}

static void run_tell_warnings(struct mysql_run *self, uint16_t count)
{
    char text[96];
    (void)snprintf(text, sizeof(text), "%u %s: SHOW WARNINGS behind the statement tells of them",
                   count, count == 1 ? "warning" : "warnings");
    const struct run_notice notice = {.severity = SLICE("WARNING"),
                                      .code = SLICE(""),
                                      .message = slice_of_text(text),
                                      .detail = SLICE(""),
                                      .hint = SLICE("")};
    self->events->on_notice(self->owner, &notice);
}

static enum err run_take_ok(struct mysql_run *self, struct slice body)
{
    char word[COMMAND_SIZE];
    char text[COMMAND_SIZE];
    struct mysqlwire_ok ok;
    enum err err = mysqlwire_ok_read(body, self->state.capabilities, &ok, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice first = run_word(self, word);
    bool has_result = self->column_count > 0;
    int64_t rows = has_result ? self->rows : (int64_t)(ok.affected_rows & INT64_MAX);
    if (ok.warnings > 0 && !slice_equals(first, SLICE("SHOW"))) {
        run_tell_warnings(self, ok.warnings);
    }
    if (!has_result && rows == 0 && !run_changes_rows(first)) {
        self->events->on_complete(self->owner, first, -1);
    } else {
        int len = snprintf(text, sizeof(text), "%.*s %lld", SLICE_ARG(first), (long long)rows);
        self->events->on_complete(self->owner, slice_of(text, (size_t)len), rows);
    }
    self->column_count = 0;
    return ERR_NONE;
}

static enum err run_take_error(struct mysql_run *self, struct slice body)
{
    char code[TARGET_CODE_SIZE];
    struct mysqlwire_error error;
    enum err err = mysqlwire_error_read(body, &error, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    (void)snprintf(code, sizeof(code), "%u", error.number);
    const struct run_notice notice = {.severity = SLICE("ERROR"),
                                      .code = slice_of_text(code),
                                      .message = error.message,
                                      .detail = SLICE(""),
                                      .hint = SLICE("")};
    self->has_failed = true;
    self->column_count = 0;
    self->events->on_error(self->owner, &notice);
    return ERR_NONE;
}

static enum err run_take_count(struct mysql_run *self, struct slice body)
{
    uint64_t count = 0;
    enum err err = mysqlwire_column_count_read(body, &count, &self->error);
    if (err == ERR_NONE && (count == 0 || count > LIMIT_MYSQL_REPLAY_COLUMNS)) {
        err = fail(&self->error, ERR_INPUT, "a result has too many columns");
    }
    if (err != ERR_NONE) {
        return err;
    }
    arena_reset(&self->names);
    self->column_count = (size_t)count;
    self->columns_read = 0;
    self->rows = 0;
    self->columns = arena_alloc_array(&self->names, self->column_count, sizeof(*self->columns));
    self->values = arena_alloc_array(&self->names, self->column_count, sizeof(*self->values));
    return ERR_NONE;
}

static enum err run_take_column(struct mysql_run *self, struct slice body)
{
    struct mysqlwire_column column;
    enum err err = mysqlwire_column_read(body, &column, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    must(self->columns_read < self->column_count); /* the state counts them */
    self->columns[self->columns_read++] = (struct run_column){
        .name = arena_copy(&self->names, column.name), .type = mysql_type_name(&column)};
    if (self->columns_read == self->column_count) {
        self->events->on_columns(self->owner, self->columns, self->column_count);
    }
    return ERR_NONE;
}

static enum err run_take_row(struct mysql_run *self, struct slice body)
{
    struct reader reader = reader_of(body);
    for (size_t i = 0; i < self->column_count; i++) {
        self->values[i] = mysqlwire_text_value_read(&reader);
    }
    enum err err = reader_done(&reader);
    if (err != ERR_NONE) {
        return fail(&self->error, err, "a row of the target is malformed");
    }
    self->is_held = !self->events->on_row(self->owner, self->values, self->column_count);
    self->rows += self->is_held ? 0 : 1;
    return self->is_held ? ERR_AGAIN : ERR_NONE;
}

static enum err run_take_body(struct mysql_run *self, struct slice body)
{
    switch (self->kind) {
    case MYSQLWIRE_KIND_OK:
    case MYSQLWIRE_KIND_EOF:
        return run_take_ok(self, body);
    case MYSQLWIRE_KIND_ERROR:
        return run_take_error(self, body);
    case MYSQLWIRE_KIND_COLUMN_COUNT:
        return run_take_count(self, body);
    case MYSQLWIRE_KIND_COLUMN:
        return run_take_column(self, body);
    case MYSQLWIRE_KIND_TEXT_ROW:
        return run_take_row(self, body);
    case MYSQLWIRE_KIND_BETWEEN:
        return ERR_NONE;
    case MYSQLWIRE_KIND_BINARY_ROW:
    case MYSQLWIRE_KIND_PREPARED:
    case MYSQLWIRE_KIND_DESCRIBED:
    case MYSQLWIRE_KIND_INFILE:
    case MYSQLWIRE_KIND_TEXT:
        break;
    }
    return fail(&self->error, ERR_INPUT, "the server answers what it was not asked");
}

/* The packet was taken; the next statement is sent when its last answer was. */
static enum err run_finish_packet(struct mysql_run *self)
{
    bool is_last = false;
    self->has_kind = false;
    enum err err = mysqlwire_state_end(&self->state, self->kind, buf_view(&self->body), &is_last,
                                       &self->error);
    buf_truncate(&self->body, 0); /* its room is for the next row */
    return err == ERR_NONE && is_last ? run_send_next(self) : err;
}

static enum err run_end_packet(struct mysql_run *self)
{
    enum err err = ERR_NONE;
    if (self->is_skipped) {
        (void)self->events->on_row(self->owner, NULL, 0);
        self->rows++;
    } else {
        err = run_take_body(self, buf_view(&self->body));
    }
    return err == ERR_NONE ? run_finish_packet(self) : err;
}

static enum err run_begin_packet(struct mysql_run *self, uint8_t first)
{
    uint64_t number = 0;
    self->is_skipped = false;
    enum err err = mysqlwire_state_begin(&self->state, self->framer.size, first, &self->kind,
                                         &number, &self->error);
    self->has_kind = err == ERR_NONE;
    return err;
}

static enum err run_take_part(struct mysql_run *self, struct slice bytes)
{
    bool is_row = self->kind == MYSQLWIRE_KIND_TEXT_ROW;
    size_t most = is_row ? LIMIT_EXECUTION_ROW_SIZE : LIMIT_MYSQL_ANSWER_SIZE;
    if (self->is_skipped) {
        return ERR_NONE;
    }
    if (self->body.len + bytes.len <= most) {
        return buf_append(&self->body, bytes);
    }
    self->is_skipped = is_row;
    buf_truncate(&self->body, 0);
    return is_row ? ERR_NONE : fail(&self->error, ERR_LIMIT, "an answer of the target is too long");
}

/* Up to the next event. ERR_MORE: all that came was taken; ERR_CLOSED: nothing is left to do;
 * ERR_AGAIN: the owner takes nothing now. */
static enum err run_step(struct mysql_run *self)
{
    struct mysqlwire_event event;
    size_t taken = 0;
    enum err err = mysqlwire_framer_next(&self->framer, self->in, &taken, &event);
    self->in = slice_from(self->in, taken);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_part = event.kind == MYSQLWIRE_EVENT_PART;
    if (!self->has_kind && (is_part || event.is_packet_last)) {
        err = run_begin_packet(self, is_part ? (uint8_t)event.bytes.at[0] : 0);
    }
    if (err == ERR_NONE && is_part) {
        err = run_take_part(self, event.bytes);
    }
    return err == ERR_NONE && event.is_packet_last ? run_end_packet(self) : err;
}

/* The stream ----------------------------------------------------------------------------------- */

static void run_watch(struct mysql_run *self)
{
    stream_watch(self->stream, (self->is_held ? 0U : STREAM_READABLE) |
                                   (self->out.len > 0 ? STREAM_WRITABLE : 0U));
}

/* The farewell is a courtesy: where it does not go out at once, the end of the connection says as
 * much. */
static void run_say_farewell(struct mysql_run *self)
{
    buf_clear(&self->out);
    must(run_write(self, MYSQLWIRE_QUIT, SLICE("")) == ERR_NONE);
    run_send(self);
}

static void run_go_on(struct mysql_run *self, enum err err)
{
    while (err == ERR_NONE) {
        err = run_step(self);
    }
    if (err == ERR_MORE || err == ERR_AGAIN) {
        run_send(self);
        run_watch(self);
    } else if (err == ERR_CLOSED) {
        run_say_farewell(self);
        run_end(self, NULL);
    } else {
        run_end(self, &self->error);
    }
}

static void run_on_event(void *owner, unsigned events)
{
    struct mysql_run *self = owner;
    size_t len = 0;
    (void)events;
    if (self->is_done) {
        return;
    }
    run_send(self);
    if (self->is_held) {
        run_watch(self);
        return;
    }
    enum err err = stream_read(self->stream, self->bytes, sizeof(self->bytes), &len);
    if (err == ERR_NONE) {
        self->in = slice_of(self->bytes, len);
        run_go_on(self, ERR_NONE);
    } else if (err == ERR_AGAIN) {
        run_watch(self);
    } else {
        must(fail(&self->error, ERR_CLOSED, "the session was ended before all was answered") ==
             ERR_CLOSED);
        run_end(self, &self->error);
    }
}

static void mysql_run_resume(struct run *run)
{
    struct mysql_run *self = CONTAINER_OF(run, struct mysql_run, run);
    if (!self->is_held || self->is_done) {
        return;
    }
    self->is_held = false;
    enum err err = run_take_row(self, buf_view(&self->body));
    run_go_on(self, err == ERR_NONE ? run_finish_packet(self) : err);
}

/* Signing in ----------------------------------------------------------------------------------- */

static void run_on_refused(struct mysql_run *self, const struct target_failure *failure)
{
    struct ending_words words = {.message = SLICE("")};
    if (mysql_answer_read(failure->answer, &words)) {
        const struct run_notice error = {
            .severity = SLICE("FATAL"),
            .code = words.code,
            .message = words.message,
            .detail = SLICE(""),
            .hint = words.hint,
        };
        self->events->on_error(self->owner, &error);
    }
    run_end(self, &failure->error);
}

static void run_on_target(void *owner, const struct arrival *arrival,
                          const struct target_failure *failure)
{
    struct mysql_run *self = owner;
    struct mysqlwire_ok ok = {.status = MYSQLWIRE_STATUS_AUTOCOMMIT};
    self->target = NULL;
    if (arrival == NULL) {
        run_on_refused(self, failure);
        return;
    }
    enum err err = mysqlwire_ok_read(arrival->greeting, arrival->version, &ok, &self->error);
    must(err == ERR_NONE); /* it was read before */
    mysqlwire_state_init(&self->state, arrival->version, ok.status);
    self->stream = arrival->take_stream;
    stream_own(self->stream, run_on_event, self);
    err = run_send_next(self);
    run_go_on(self, err == ERR_NONE ? ERR_MORE : err);
}

/* Metadata comes as a native client may send it, too: as attributes. */
static struct slice run_attributes_in(struct arena *arena, const struct run_request *request)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MYSQL_START_SIZE);
    struct writer writer = writer_to(&buf);
    mysqlwire_write_lenenc_text(&writer, SLICE("program_name"));
    mysqlwire_write_lenenc_text(&writer, request->application_name);
    for (size_t i = 0; i < request->metadata.count; i++) {
        const struct shape_pair *pair = &request->metadata.pairs[i];
        struct slice name =
            arena_format(arena, "%s%.*s", MYSQL_HELLO_METADATA_PREFIX, SLICE_ARG(pair->key));
        mysqlwire_write_lenenc_text(&writer, name);
        mysqlwire_write_lenenc_text(&writer, pair->value);
    }
    must(writer_done(&writer) == ERR_NONE);
    struct slice attributes = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return attributes;
}

static struct mysql_run *run_new(struct loop *loop, const struct run_request *request)
{
    struct mysql_run *self = memory_new(sizeof(*self));
    const struct place front = {.host = SLICE(""), .mode = PLACE_TLS_DISABLE};
    arena_init(&self->arena);
    arena_init(&self->names);
    self->run.cancel = mysql_run_cancel;
    self->run.resume = mysql_run_resume;
    self->loop = loop;
    target_server_init(&self->server, &front, NULL, loop, request->sign_in_ms);
    struct slice *statements =
        arena_alloc_array(&self->arena, request->statement_count + 1, sizeof(*statements));
    for (size_t i = 0; i < request->statement_count; i++) {
        statements[i] = request->statements[i];
    }
    self->statements = statements;
    self->statement_count = request->statement_count;
    buf_init(&self->out, LIMIT_EXECUTION_SCRIPT_SIZE + LIMIT_KIB(1));
    buf_init(&self->body, LIMIT_EXECUTION_ROW_SIZE);
    mysqlwire_framer_init(&self->framer);
    loop_task_init(&self->free_task, run_free, self);
    return self;
}

static struct run *mysql_run_start(struct stream *take_stream, const struct run_request *request,
                                   const struct run_events *events, void *owner)
{
    struct mysql_run *self = run_new(take_stream->loop, request);
    struct secret none;
    secret_init(&none);
    self->events = events;
    self->owner = owner;
    const struct mysql_target_settings settings = {
        .server = &self->server,
        .user = arena_copy(&self->arena, request->name),
        .database = SLICE(""),
        .attributes = run_attributes_in(&self->arena, request),
        .charset = MYSQLWIRE_UTF8MB4,
        .capabilities = RUN_CAPABILITIES,
        .take_secret = mysql_secret_new(&none), /* the front knows who it is */
        .is_local = true,
    };
    self->target = mysql_target_start(take_stream, &settings, run_on_target, self);
    return &self->run;
}

/* A text whose words are not understood to its end is sent as it is. */
static size_t mysql_run_split(struct arena *arena, struct slice script,
                              struct slice **ret_statements)
{
    const struct sql_settings settings = {
        .dialect = SQL_MYSQL, .is_backslash_quoted = true, .database = SLICE("")};
    const struct sql_script parts = sql_analyze_effects(arena, &settings, script);
    struct slice *statements = arena_alloc_array(arena, parts.count + 1, sizeof(*statements));
    *ret_statements = statements;
    if (!parts.is_cut || parts.other != NULL) {
        statements[0] = script;
        return 1;
    }
    for (size_t i = 0; i < parts.count; i++) {
        statements[i] = slice_sub(script, parts.statements[i].offset, parts.statements[i].len);
    }
    return parts.count;
}

const struct run_ops mysql_run_ops = {.start = mysql_run_start, .split = mysql_run_split};
