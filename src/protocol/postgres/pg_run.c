/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_run.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "protocol/postgres/pg_ending.h"
#include "protocol/postgres/pg_hello.h"
#include "protocol/postgres/pg_target.h"
#include "sql/sql.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"
#include "wire/pgwire_query.h"
#include "wire/pgwire_type_name.h"

struct pg_run {
    struct run run;
    struct loop *loop;
    struct pg_target *target; /* signs in; NULL when it has */
    struct stream *stream;    /* NULL before and at the end */
    const struct run_events *events;
    void *owner;
    struct arena arena; /* of the request */
    struct arena names; /* of types of the columns */
    const struct slice *statements;
    size_t statement_count;
    size_t next; /* the statement to be sent */
    bool has_failed;
    bool is_done;
    bool is_held;      /* by the owner: nothing is read */
    bool holds_row;    /* what waits for it: a row, or bytes of a copy */
    struct slice held; /* in 'body', 'rest' or 'bytes', which stay as they are */

    struct buf out;
    struct buf rest; /* what was read with the sign-in */
    struct slice in; /* what of 'rest' or 'bytes' has not been taken */
    struct pgwire_framer framer;
    struct buf body;
    struct run_column *columns; /* of the rows that come */
    struct slice *values;
    size_t column_capacity;

    struct error error;
    struct loop_task free_task;
    char bytes[LIMIT_PG_READ_SIZE];
};

/* The end ------------------------------------------------------------------------------------- */

static void pg_run_free(void *owner)
{
    struct pg_run *self = owner;
    arena_release(&self->arena);
    arena_release(&self->names);
    buf_release(&self->out);
    buf_release(&self->rest);
    buf_release(&self->body);
    memory_free(self->columns);
    memory_free(self->values);
    memory_free(self);
}

static void pg_run_leave(struct pg_run *self)
{
    self->is_done = true;
    if (self->target != NULL) {
        pg_target_cancel(self->target);
        self->target = NULL;
    }
    if (self->stream != NULL) {
        stream_close(self->stream);
        self->stream = NULL;
    }
    loop_defer(self->loop, &self->free_task);
}

static void pg_run_end(struct pg_run *self, const struct error *error)
{
    const struct run_events *events = self->events;
    void *owner = self->owner;
    pg_run_leave(self);
    events->on_end(owner, error);
}

static void pg_run_fail(struct pg_run *self, enum err code, const char *text)
{
    must(fail(&self->error, code, "%s", text) == code);
    pg_run_end(self, &self->error);
}

static void pg_run_cancel(struct run *run)
{
    pg_run_leave(CONTAINER_OF(run, struct pg_run, run));
}

static void pg_run_hold(struct pg_run *self, struct slice what, bool is_row)
{
    self->is_held = true;
    self->holds_row = is_row;
    self->held = what;
}

/* Messages ------------------------------------------------------------------------------------ */

static struct run_notice pg_run_notice_of(struct slice fields)
{
    struct slice position = pgwire_notice_find(fields, 'P');
    struct slice plain = pgwire_notice_find(fields, PGWIRE_FIELD_SEVERITY_PLAIN);
    struct run_notice notice = {
        .severity = plain.at == NULL ? pgwire_notice_find(fields, PGWIRE_FIELD_SEVERITY) : plain,
        .code = pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE),
        .message = pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE),
        .detail = pgwire_notice_find(fields, PGWIRE_FIELD_DETAIL),
        .hint = pgwire_notice_find(fields, PGWIRE_FIELD_HINT),
    };
    if (text_parse_u64(position, &notice.position) != ERR_NONE) {
        notice.position = 0;
    }
    return notice;
}

static enum err pg_run_take_notice(struct pg_run *self, struct slice body, bool is_error)
{
    struct slice fields;
    enum err err = pgwire_notice_read(body, &fields, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    const struct run_notice notice = pg_run_notice_of(fields);
    self->has_failed = self->has_failed || is_error;
    (is_error ? self->events->on_error : self->events->on_notice)(self->owner, &notice);
    return ERR_NONE;
}

static void pg_run_make_room(struct pg_run *self, size_t count)
{
    if (count > self->column_capacity) {
        self->columns = memory_resize(self->columns, count * sizeof(*self->columns));
        self->values = memory_resize(self->values, count * sizeof(*self->values));
        self->column_capacity = count;
    }
}

static enum err pg_run_take_columns(struct pg_run *self, struct slice body)
{
    struct pgwire_fields fields;
    struct pgwire_field field;
    enum err err = pgwire_row_description_read(body, &fields, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    size_t count = fields.count;
    arena_reset(&self->names);
    pg_run_make_room(self, count);
    for (size_t i = 0; pgwire_field_next(&fields, &field); i++) {
        self->columns[i] = (struct run_column){
            .name = field.name, .type = pgwire_type_name_in(&self->names, field.type)};
    }
    self->events->on_columns(self->owner, self->columns, count);
    return ERR_NONE;
}

static enum err pg_run_take_row(struct pg_run *self, struct slice body)
{
    struct pgwire_values columns;
    struct slice value;
    enum err err = pgwire_row_read(body, &columns, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    size_t count = columns.count;
    pg_run_make_room(self, count);
    for (size_t i = 0; pgwire_value_next(&columns, &value); i++) {
        self->values[i] = value;
    }
    if (!self->events->on_row(self->owner, self->values, count)) {
        pg_run_hold(self, body, true);
    }
    return ERR_NONE;
}

static void pg_run_take_bytes(struct pg_run *self, struct slice bytes)
{
    if (!self->events->on_bytes(self->owner, bytes)) {
        pg_run_hold(self, bytes, false);
    }
}

static enum err pg_run_take_completion(struct pg_run *self, struct slice body)
{
    struct pgwire_completion completion;
    enum err err = pgwire_completion_read(body, &completion, &self->error);
    if (err == ERR_NONE) {
        self->events->on_complete(self->owner, completion.tag,
                                  completion.has_row_count ? (int64_t)completion.row_count : -1);
    }
    return err;
}

static enum err pg_run_take_body(struct pg_run *self, struct slice body)
{
    switch ((int)pgwire_server_kind_of(&self->framer.frame)) {
    case PGWIRE_SERVER_ROW_DESCRIPTION:
        return pg_run_take_columns(self, body);
    case PGWIRE_SERVER_DATA_ROW:
        return pg_run_take_row(self, body);
    case PGWIRE_SERVER_COMMAND_COMPLETE:
        return pg_run_take_completion(self, body);
    case PGWIRE_SERVER_ERROR:
        return pg_run_take_notice(self, body, true);
    case PGWIRE_SERVER_NOTICE:
        return pg_run_take_notice(self, body, false);
    default:
        return ERR_NONE;
    }
}

static void pg_run_send(struct pg_run *self)
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

/* At once: what is behind the end of an answer must not be taken for an answer to the next. */
static enum err pg_run_send_next(struct pg_run *self)
{
    if (self->has_failed) {
        return ERR_CLOSED; /* maybe before all of it was sent: it was too long */
    }
    if (self->out.len > 0) {
        return fail(&self->error, ERR_INPUT, "the server answers what it was not asked");
    }
    if (self->next == self->statement_count) {
        return ERR_CLOSED;
    }
    enum err err = pgwire_query_write(&self->out, self->statements[self->next]);
    self->next++;
    if (err != ERR_NONE) {
        return fail(&self->error, err, "the statement is too long, or has a NUL inside");
    }
    pg_run_send(self);
    return ERR_NONE;
}

static enum err pg_run_fail_copy(struct pg_run *self)
{
    enum err err = pgwire_copy_fail_write(&self->out, SLICE("an execution has no input"));
    if (err == ERR_NONE) {
        pg_run_send(self);
    }
    return err;
}

/* What a header alone says; a body that is wanted is collected. */
static enum err pg_run_take_header(struct pg_run *self)
{
    switch ((int)pgwire_server_kind_of(&self->framer.frame)) {
    case PGWIRE_SERVER_READY:
        return pg_run_send_next(self);
    case PGWIRE_SERVER_COPY_IN:
    case PGWIRE_SERVER_COPY_BOTH:
        return pg_run_fail_copy(self);
    case PGWIRE_SERVER_DATA_ROW:
        if (self->framer.frame.size > LIMIT_EXECUTION_ROW_SIZE) {
            (void)self->events->on_row(self->owner, NULL, 0);
            return ERR_NONE;
        }
        return pgwire_framer_collect(&self->framer, &self->body, &self->error);
    case PGWIRE_SERVER_ROW_DESCRIPTION:
    case PGWIRE_SERVER_COMMAND_COMPLETE:
    case PGWIRE_SERVER_ERROR:
    case PGWIRE_SERVER_NOTICE:
        return pgwire_framer_collect(&self->framer, &self->body, &self->error);
    default:
        return ERR_NONE;
    }
}

/* What was collected of a message is done with; its room is for the next row. */
static enum err pg_run_let_go(struct pg_run *self, enum err err)
{
    if (self->is_held) {
        return ERR_AGAIN;
    }
    buf_truncate(&self->body, 0);
    return err;
}

/* Up to the next event. ERR_MORE: all that came was taken; ERR_CLOSED: nothing is left to do;
 * ERR_AGAIN: the owner takes nothing now. */
static enum err pg_run_step(struct pg_run *self)
{
    struct pgwire_event event;
    size_t taken = 0;
    enum err err = pgwire_framer_next(&self->framer, self->in, &taken, &event, &self->error);
    self->in = slice_from(self->in, taken);
    if (err != ERR_NONE) {
        return err;
    }
    if (event.kind == PGWIRE_EVENT_HEADER) {
        return pg_run_take_header(self);
    }
    if (event.kind == PGWIRE_EVENT_PART) {
        if (pgwire_server_kind_of(&self->framer.frame) == PGWIRE_SERVER_COPY_DATA) {
            pg_run_take_bytes(self, event.bytes);
        }
        return self->is_held ? ERR_AGAIN : ERR_NONE;
    }
    return pg_run_let_go(self, pg_run_take_body(self, event.bytes));
}

/* The stream ---------------------------------------------------------------------------------- */

static void pg_run_watch(struct pg_run *self)
{
    stream_watch(self->stream, (self->is_held ? 0U : STREAM_READABLE) |
                                   (self->out.len > 0 ? STREAM_WRITABLE : 0U));
}

/* The farewell is a courtesy: where it does not go out at once, the end of the connection says as
 * much. */
static void pg_run_say_farewell(struct pg_run *self)
{
    size_t len = 0;
    buf_clear(&self->out);
    must(pgwire_terminate_write(&self->out) == ERR_NONE);
    struct slice bytes = buf_view(&self->out);
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    (void)err;
}

static void pg_run_go_on(struct pg_run *self, enum err err)
{
    while (err == ERR_NONE) {
        err = pg_run_step(self);
    }
    if (err == ERR_MORE || err == ERR_AGAIN) {
        pg_run_send(self);
        pg_run_watch(self);
    } else if (err == ERR_CLOSED) {
        pg_run_say_farewell(self);
        pg_run_end(self, NULL);
    } else {
        pg_run_end(self, &self->error);
    }
}

static void pg_run_on_event(void *owner, unsigned events)
{
    struct pg_run *self = owner;
    size_t len = 0;
    (void)events;
    if (self->is_done) {
        return;
    }
    pg_run_send(self);
    if (self->is_held) {
        pg_run_watch(self);
        return;
    }
    enum err err = stream_read(self->stream, self->bytes, sizeof(self->bytes), &len);
    if (err == ERR_NONE) {
        self->in = slice_of(self->bytes, len);
        pg_run_go_on(self, ERR_NONE);
    } else if (err == ERR_AGAIN) {
        pg_run_watch(self);
    } else {
        pg_run_fail(self, ERR_CLOSED, "the session was ended before all was answered");
    }
}

static void pg_run_resume(struct run *run)
{
    struct pg_run *self = CONTAINER_OF(run, struct pg_run, run);
    enum err err = ERR_NONE;
    if (!self->is_held || self->is_done) {
        return;
    }
    self->is_held = false;
    if (self->holds_row) {
        err = pg_run_let_go(self, pg_run_take_row(self, self->held));
    } else {
        pg_run_take_bytes(self, self->held);
        err = self->is_held ? ERR_AGAIN : ERR_NONE;
    }
    pg_run_go_on(self, err);
}

/* Signing in ---------------------------------------------------------------------------------- */

static void pg_run_on_refused(struct pg_run *self, const struct target_failure *failure)
{
    struct ending_words words = {.message = SLICE("")};
    if (pg_answer_read(failure->answer, &words)) {
        const struct run_notice error = {
            .severity = SLICE("FATAL"),
            .code = slice_of_text(failure->code),
            .message = words.message,
            .detail = SLICE(""),
            .hint = words.hint,
        };
        self->events->on_error(self->owner, &error);
    }
    pg_run_end(self, &failure->error);
}

static void pg_run_on_target(void *owner, const struct arrival *arrival,
                             const struct target_failure *failure)
{
    struct pg_run *self = owner;
    self->target = NULL;
    if (arrival == NULL) {
        pg_run_on_refused(self, failure);
        return;
    }
    self->stream = arrival->take_stream;
    must(buf_append(&self->rest, arrival->rest) == ERR_NONE);
    self->in = buf_view(&self->rest);
    stream_own(self->stream, pg_run_on_event, self);
    pg_run_go_on(self, pg_run_send_next(self));
}

/* Metadata comes as a native client may send it, too: as parameters. */
static size_t pg_run_parameters_in(struct arena *arena, const struct run_request *request,
                                   struct pgwire_parameter **ret_parameters)
{
    size_t count = 0;
    struct pgwire_parameter *all =
        arena_alloc_array(arena, request->metadata.count + 2, sizeof(*all));
    all[count++] = (struct pgwire_parameter){.name = SLICE("application_name"),
                                             .value = request->application_name};
    all[count++] =
        (struct pgwire_parameter){.name = SLICE("client_encoding"), .value = SLICE("UTF8")};
    for (size_t i = 0; i < request->metadata.count; i++) {
        const struct shape_pair *pair = &request->metadata.pairs[i];
        all[count++] = (struct pgwire_parameter){
            .name = arena_format(arena, "%.*s%.*s", SLICE_ARG(PG_HELLO_METADATA_PREFIX),
                                 SLICE_ARG(pair->key)),
            .value = pair->value,
        };
    }
    *ret_parameters = all;
    return count;
}

static struct pg_run *pg_run_new(struct loop *loop, const struct run_request *request)
{
    struct pg_run *self = memory_new(sizeof(*self));
    struct arena *arena = &self->arena;
    arena_init(arena);
    arena_init(&self->names);
    self->run.cancel = pg_run_cancel;
    self->run.resume = pg_run_resume;
    self->loop = loop;
    struct slice *statements =
        arena_alloc_array(arena, request->statement_count + 1, sizeof(*statements));
    for (size_t i = 0; i < request->statement_count; i++) {
        statements[i] = request->statements[i];
    }
    self->statements = statements;
    self->statement_count = request->statement_count;
    buf_init(&self->out, LIMIT_EXECUTION_SCRIPT_SIZE + LIMIT_KIB(1));
    buf_init(&self->rest, LIMIT_PG_READ_SIZE);
    buf_init(&self->body, LIMIT_EXECUTION_ROW_SIZE);
    pgwire_framer_init(&self->framer, PGWIRE_FROM_SERVER);
    loop_task_init(&self->free_task, pg_run_free, self);
    return self;
}

static struct run *pg_run_start(struct stream *take_stream, const struct run_request *request,
                                const struct run_events *events, void *owner)
{
    struct pg_run *self = pg_run_new(take_stream->loop, request);
    self->events = events;
    self->owner = owner;
    struct pgwire_parameter *parameters = NULL;
    size_t parameter_count = pg_run_parameters_in(&self->arena, request, &parameters);
    const struct pg_target_settings settings = {
        .user = request->name,
        .parameters = parameters,
        .parameter_count = parameter_count,
        .version = PGWIRE_VERSION(3, 0),
        .encryption = {.mode = PLACE_TLS_DISABLE},
        .is_local = true,
        .timeout_ms = request->sign_in_ms,
    };
    self->target = pg_target_start(take_stream, &settings, pg_run_on_target, self);
    return &self->run;
}

/* A text whose words are not understood to its end is sent as it is. */
static size_t pg_run_split(struct arena *arena, struct slice script, struct slice **ret_statements)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    const struct sql_script parts = sql_analyze_effects(arena, &settings, script);
    struct slice *statements = arena_alloc_array(arena, parts.count + 1, sizeof(*statements));
    *ret_statements = statements;
    if (!parts.is_cut || parts.count == 0) {
        statements[0] = script;
        return 1;
    }
    for (size_t i = 0; i < parts.count; i++) {
        statements[i] = slice_sub(script, parts.statements[i].offset, parts.statements[i].len);
    }
    return parts.count;
}

const struct run_ops pg_run_ops = {.start = pg_run_start, .split = pg_run_split};
