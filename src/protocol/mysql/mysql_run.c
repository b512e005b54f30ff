/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_run.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_hello.h"
#include "protocol/mysql/mysql_target.h"
#include "protocol/mysql/mysql_type_name.h"
#include "protocol/sql/script_run.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_state.h"
#include "wire/mysqlwire_value.h"

#define COMMAND_SIZE 160 /* a statement's word and the number of rows */

/* No LOCAL_FILES: an execution has no files. What was not told apart is sent as one text. */
#define RUN_CAPABILITIES                                                                           \
    (MYSQLWIRE_LONG_PASSWORD | MYSQLWIRE_LONG_FLAG | MYSQLWIRE_PROTOCOL_41 |                       \
     MYSQLWIRE_TRANSACTIONS | MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_MULTI_STATEMENTS |           \
     MYSQLWIRE_MULTI_RESULTS | MYSQLWIRE_PS_MULTI_RESULTS | MYSQLWIRE_PLUGIN_AUTH |                \
     MYSQLWIRE_CONNECT_ATTRS | MYSQLWIRE_PLUGIN_AUTH_LENENC | MYSQLWIRE_SESSION_TRACK |            \
     MYSQLWIRE_DEPRECATE_EOF)

struct mysql_run {
    struct script_run script;
    struct target_server server; /* the front is there already: nothing is dialed */
    struct mysql_target *target; /* signs in; NULL when it has */
    struct mysqlwire_framer framer;
    struct mysqlwire_state state;
    enum mysqlwire_kind kind; /* of the packet that comes */
    bool has_kind;
    bool is_skipped;            /* the row is too long to be shown */
    struct arena names;         /* of the columns */
    struct run_column *columns; /* of the rows that come */
    size_t column_count;
    size_t columns_read;
    struct slice *values;
    int64_t rows;
};

/* The end -------------------------------------------------------------------------------------- */

static void run_free(struct script_run *script)
{
    struct mysql_run *self = CONTAINER_OF(script, struct mysql_run, script);
    target_server_release(&self->server);
    arena_release(&self->names);
    script_run_release(script);
    memory_free(self);
}

static void run_stop_sign_in(struct script_run *script)
{
    struct mysql_run *self = CONTAINER_OF(script, struct mysql_run, script);
    if (self->target != NULL) {
        mysql_target_cancel(self->target);
        self->target = NULL;
    }
}

/* Sending -------------------------------------------------------------------------------------- */

/* In as many pieces as it needs. */
static enum err run_write(struct script_run *script, uint8_t command, struct slice text)
{
    struct writer writer = writer_to(&script->out);
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

static enum err run_write_statement(struct script_run *script, struct slice statement)
{
    struct mysql_run *self = CONTAINER_OF(script, struct mysql_run, script);
    uint64_t number = 0;
    enum err err = mysqlwire_state_command(&self->state, MYSQLWIRE_QUERY, &number, &script->error);
    if (err == ERR_NONE && run_write(script, MYSQLWIRE_QUERY, statement) != err) {
        err = fail(&script->error, ERR_LIMIT, "the statement is too long");
    }
    return err;
}

static enum err run_write_farewell(struct script_run *script)
{
    return run_write(script, MYSQLWIRE_QUIT, SLICE(""));
}

/* Packets -------------------------------------------------------------------------------------- */

/* The word that the statement begins with stands for what servers do not say. */
static struct slice run_word(const struct mysql_run *self, char word[COMMAND_SIZE])
{
    struct slice text = self->script.statements[self->script.next - 1];
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
    self->script.events->on_notice(self->script.owner, &notice);
}

static enum err run_take_ok(struct mysql_run *self, struct slice body)
{
    char word[COMMAND_SIZE];
    char text[COMMAND_SIZE];
    struct mysqlwire_ok ok;
    enum err err = mysqlwire_ok_read(body, self->state.capabilities, &ok, &self->script.error);
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
        self->script.events->on_complete(self->script.owner, first, -1);
    } else {
        int len = snprintf(text, sizeof(text), "%.*s %lld", SLICE_ARG(first), (long long)rows);
        self->script.events->on_complete(self->script.owner, slice_of(text, (size_t)len), rows);
    }
    self->column_count = 0;
    return ERR_NONE;
}

static enum err run_take_error(struct mysql_run *self, struct slice body)
{
    char code[TARGET_CODE_SIZE];
    struct mysqlwire_error error;
    enum err err = mysqlwire_error_read(body, &error, &self->script.error);
    if (err != ERR_NONE) {
        return err;
    }
    (void)snprintf(code, sizeof(code), "%u", error.number);
    const struct run_notice notice = {.severity = SLICE("ERROR"),
                                      .code = slice_of_text(code),
                                      .message = error.message,
                                      .detail = SLICE(""),
                                      .hint = SLICE("")};
    self->script.has_failed = true;
    self->column_count = 0;
    self->script.events->on_error(self->script.owner, &notice);
    return ERR_NONE;
}

static enum err run_take_count(struct mysql_run *self, struct slice body)
{
    uint64_t count = 0;
    enum err err = mysqlwire_column_count_read(body, &count, &self->script.error);
    if (err == ERR_NONE && (count == 0 || count > LIMIT_MYSQL_REPLAY_COLUMNS)) {
        err = fail(&self->script.error, ERR_INPUT, "a result has too many columns");
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
    enum err err = mysqlwire_column_read(body, &column, &self->script.error);
    if (err != ERR_NONE) {
        return err;
    }
    must(self->columns_read < self->column_count); /* the state counts them */
    self->columns[self->columns_read++] = (struct run_column){
        .name = arena_copy(&self->names, column.name), .type = mysql_type_name(&column)};
    if (self->columns_read == self->column_count) {
        self->script.events->on_columns(self->script.owner, self->columns, self->column_count);
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
        return fail(&self->script.error, err, "a row of the target is malformed");
    }
    self->script.is_held =
        !self->script.events->on_row(self->script.owner, self->values, self->column_count);
    self->rows += self->script.is_held ? 0 : 1;
    return self->script.is_held ? ERR_AGAIN : ERR_NONE;
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
    return fail(&self->script.error, ERR_INPUT, "the server answers what it was not asked");
}

/* The packet was taken; the next statement is sent when its last answer was. */
static enum err run_finish_packet(struct mysql_run *self)
{
    bool is_last = false;
    self->has_kind = false;
    enum err err = mysqlwire_state_end(&self->state, self->kind, buf_view(&self->script.body),
                                       &is_last, &self->script.error);
    buf_truncate(&self->script.body, 0); /* its room is for the next row */
    return err == ERR_NONE && is_last ? script_run_send_next(&self->script) : err;
}

static enum err run_end_packet(struct mysql_run *self)
{
    enum err err = ERR_NONE;
    if (self->is_skipped) {
        (void)self->script.events->on_row(self->script.owner, NULL, 0);
        self->rows++;
    } else {
        err = run_take_body(self, buf_view(&self->script.body));
    }
    return err == ERR_NONE ? run_finish_packet(self) : err;
}

static enum err run_begin_packet(struct mysql_run *self, uint8_t first)
{
    uint64_t number = 0;
    self->is_skipped = false;
    enum err err = mysqlwire_state_begin(&self->state, self->framer.size, first, &self->kind,
                                         &number, &self->script.error);
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
    if (self->script.body.len + bytes.len <= most) {
        return buf_append(&self->script.body, bytes);
    }
    self->is_skipped = is_row;
    buf_truncate(&self->script.body, 0);
    return is_row ? ERR_NONE
                  : fail(&self->script.error, ERR_LIMIT, "an answer of the target is too long");
}

static enum err run_step(struct script_run *script)
{
    struct mysql_run *self = CONTAINER_OF(script, struct mysql_run, script);
    struct mysqlwire_event event;
    size_t taken = 0;
    enum err err = mysqlwire_framer_next(&self->framer, self->script.in, &taken, &event);
    self->script.in = slice_from(self->script.in, taken);
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

static enum err run_take_held(struct script_run *script)
{
    struct mysql_run *self = CONTAINER_OF(script, struct mysql_run, script);
    enum err err = run_take_row(self, buf_view(&script->body));
    return err == ERR_NONE ? run_finish_packet(self) : err;
}

/* Signing in ----------------------------------------------------------------------------------- */

static void run_on_target(void *owner, const struct arrival *arrival,
                          const struct target_failure *failure)
{
    struct mysql_run *self = owner;
    struct mysqlwire_ok ok = {.status = MYSQLWIRE_STATUS_AUTOCOMMIT};
    self->target = NULL;
    if (arrival == NULL) {
        struct ending_words words = {.message = SLICE("")};
        bool is_said = mysql_answer_read(failure->answer, &words);
        script_run_refuse(&self->script, is_said ? &words : NULL, &failure->error);
        return;
    }
    enum err err = mysqlwire_ok_read(arrival->greeting, arrival->version, &ok, &self->script.error);
    must(err == ERR_NONE); /* it was read before */
    mysqlwire_state_init(&self->state, arrival->version, ok.status);
    script_run_begin(&self->script, arrival->take_stream);
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

static const struct script_run_ops script_ops = {
    .step = run_step,
    .take_held = run_take_held,
    .write_statement = run_write_statement,
    .write_farewell = run_write_farewell,
    .stop_sign_in = run_stop_sign_in,
    .free = run_free,
};

static struct mysql_run *run_new(struct loop *loop, const struct run_request *request)
{
    struct mysql_run *self = memory_new(sizeof(*self));
    const struct place front = {.host = SLICE(""), .mode = PLACE_TLS_DISABLE};
    script_run_init(&self->script, &script_ops, loop, request);
    arena_init(&self->names);
    target_server_init(&self->server, &front, NULL, loop, request->sign_in_ms);
    mysqlwire_framer_init(&self->framer);
    return self;
}

static struct run *mysql_run_start(struct stream *take_stream, const struct run_request *request,
                                   const struct run_events *events, void *owner)
{
    struct mysql_run *self = run_new(take_stream->loop, request);
    struct secret none;
    secret_init(&none);
    self->script.events = events;
    self->script.owner = owner;
    const struct mysql_target_settings settings = {
        .server = &self->server,
        .user = arena_copy(&self->script.arena, request->name),
        .database = SLICE(""),
        .attributes = run_attributes_in(&self->script.arena, request),
        .charset = MYSQLWIRE_UTF8MB4,
        .capabilities = RUN_CAPABILITIES,
        .take_secret = mysql_secret_new(&none), /* the front knows who it is */
        .is_local = true,
    };
    self->target = mysql_target_start(take_stream, &settings, run_on_target, self);
    return &self->script.run;
}

/* A text whose words are not understood to its end is sent as it is. */
static size_t mysql_run_split(struct arena *arena, struct slice script,
                              struct slice **ret_statements)
{
    const struct sql_settings settings = {
        .dialect = SQL_MYSQL, .is_backslash_quoted = true, .database = SLICE("")};
    const struct sql_script parts = sql_analyze_effects(arena, &settings, script);
    bool is_understood = parts.is_cut && parts.other == NULL;
    return script_run_split(arena, script, is_understood ? &parts : NULL, ret_statements);
}

const struct run_ops mysql_run_ops = {.start = mysql_run_start, .split = mysql_run_split};
