/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_run.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "protocol/postgres/pg_ending.h"
#include "protocol/postgres/pg_hello.h"
#include "protocol/postgres/pg_target.h"
#include "protocol/sql/script_run.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"
#include "wire/pgwire_query.h"
#include "wire/pgwire_type_name.h"

struct pg_run {
    struct script_run script;
    struct pg_target *target; /* signs in; NULL when it has */
    struct arena names;       /* of types of the columns */
    bool holds_row;           /* what the owner did not take: a row, or bytes of a copy */
    struct slice held;        /* in 'body', 'rest' or 'bytes', which stay as they are */
    struct buf rest;          /* what was read with the sign-in */
    struct pgwire_framer framer;
    struct run_column *columns; /* of the rows that come */
    struct slice *values;
    size_t column_capacity;
};

/* The end ------------------------------------------------------------------------------------- */

static void pg_run_free(struct script_run *script)
{
    struct pg_run *self = CONTAINER_OF(script, struct pg_run, script);
    arena_release(&self->names);
    buf_release(&self->rest);
    memory_free(self->columns);
    memory_free(self->values);
    script_run_release(script);
    memory_free(self);
}

static void pg_run_stop_sign_in(struct script_run *script)
{
    struct pg_run *self = CONTAINER_OF(script, struct pg_run, script);
    if (self->target != NULL) {
        pg_target_cancel(self->target);
        self->target = NULL;
    }
}

static void pg_run_hold(struct pg_run *self, struct slice what, bool is_row)
{
    self->script.is_held = true;
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
    enum err err = pgwire_notice_read(body, &fields, &self->script.error);
    if (err != ERR_NONE) {
        return err;
    }
    const struct run_notice notice = pg_run_notice_of(fields);
    self->script.has_failed = self->script.has_failed || is_error;
    (is_error ? self->script.events->on_error : self->script.events->on_notice)(self->script.owner,
                                                                                &notice);
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
    enum err err = pgwire_row_description_read(body, &fields, &self->script.error);
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
    self->script.events->on_columns(self->script.owner, self->columns, count);
    return ERR_NONE;
}

static enum err pg_run_take_row(struct pg_run *self, struct slice body)
{
    struct pgwire_values columns;
    struct slice value;
    enum err err = pgwire_row_read(body, &columns, &self->script.error);
    if (err != ERR_NONE) {
        return err;
    }
    size_t count = columns.count;
    pg_run_make_room(self, count);
    for (size_t i = 0; pgwire_value_next(&columns, &value); i++) {
        self->values[i] = value;
    }
    if (!self->script.events->on_row(self->script.owner, self->values, count)) {
        pg_run_hold(self, body, true);
    }
    return ERR_NONE;
}

static void pg_run_take_bytes(struct pg_run *self, struct slice bytes)
{
    if (!self->script.events->on_bytes(self->script.owner, bytes)) {
        pg_run_hold(self, bytes, false);
    }
}

static enum err pg_run_take_completion(struct pg_run *self, struct slice body)
{
    struct pgwire_completion completion;
    enum err err = pgwire_completion_read(body, &completion, &self->script.error);
    if (err == ERR_NONE) {
        self->script.events->on_complete(self->script.owner, completion.tag,
                                         completion.has_row_count ? (int64_t)completion.row_count
                                                                  : -1);
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

static enum err pg_run_write_statement(struct script_run *script, struct slice statement)
{
    enum err err = pgwire_query_write(&script->out, statement);
    return err == ERR_NONE
               ? err
               : fail(&script->error, err, "the statement is too long, or has a NUL inside");
}

static enum err pg_run_write_farewell(struct script_run *script)
{
    return pgwire_terminate_write(&script->out);
}

static enum err pg_run_fail_copy(struct pg_run *self)
{
    enum err err = pgwire_copy_fail_write(&self->script.out, SLICE("an execution has no input"));
    if (err == ERR_NONE) {
        script_run_send(&self->script);
    }
    return err;
}

/* What a header alone says; a body that is wanted is collected. */
static enum err pg_run_take_header(struct pg_run *self)
{
    switch ((int)pgwire_server_kind_of(&self->framer.frame)) {
    case PGWIRE_SERVER_READY:
        return script_run_send_next(&self->script);
    case PGWIRE_SERVER_COPY_IN:
    case PGWIRE_SERVER_COPY_BOTH:
        return pg_run_fail_copy(self);
    case PGWIRE_SERVER_DATA_ROW:
        if (self->framer.frame.size > LIMIT_EXECUTION_ROW_SIZE) {
            (void)self->script.events->on_row(self->script.owner, NULL, 0);
            return ERR_NONE;
        }
        return pgwire_framer_collect(&self->framer, &self->script.body, &self->script.error);
    case PGWIRE_SERVER_ROW_DESCRIPTION:
    case PGWIRE_SERVER_COMMAND_COMPLETE:
    case PGWIRE_SERVER_ERROR:
    case PGWIRE_SERVER_NOTICE:
        return pgwire_framer_collect(&self->framer, &self->script.body, &self->script.error);
    default:
        return ERR_NONE;
    }
}

/* What was collected of a message is done with; its room is for the next row. */
static enum err pg_run_let_go(struct pg_run *self, enum err err)
{
    if (self->script.is_held) {
        return ERR_AGAIN;
    }
    buf_truncate(&self->script.body, 0);
    return err;
}

static enum err pg_run_step(struct script_run *script)
{
    struct pg_run *self = CONTAINER_OF(script, struct pg_run, script);
    struct pgwire_event event;
    size_t taken = 0;
    enum err err =
        pgwire_framer_next(&self->framer, self->script.in, &taken, &event, &self->script.error);
    self->script.in = slice_from(self->script.in, taken);
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
        return self->script.is_held ? ERR_AGAIN : ERR_NONE;
    }
    return pg_run_let_go(self, pg_run_take_body(self, event.bytes));
}

static enum err pg_run_take_held(struct script_run *script)
{
    struct pg_run *self = CONTAINER_OF(script, struct pg_run, script);
    if (self->holds_row) {
        return pg_run_let_go(self, pg_run_take_row(self, self->held));
    }
    pg_run_take_bytes(self, self->held);
    return self->script.is_held ? ERR_AGAIN : ERR_NONE;
}

/* Signing in ---------------------------------------------------------------------------------- */

static void pg_run_on_target(void *owner, const struct arrival *arrival,
                             const struct target_failure *failure)
{
    struct pg_run *self = owner;
    self->target = NULL;
    if (arrival == NULL) {
        struct ending_words words = {.message = SLICE("")};
        bool is_said = pg_answer_read(failure->answer, &words);
        words.code = slice_of_text(failure->code);
        script_run_refuse(&self->script, is_said ? &words : NULL, &failure->error);
        return;
    }
    must(buf_append(&self->rest, arrival->rest) == ERR_NONE);
    self->script.in = buf_view(&self->rest);
    script_run_begin(&self->script, arrival->take_stream);
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

static const struct script_run_ops script_ops = {
    .step = pg_run_step,
    .take_held = pg_run_take_held,
    .write_statement = pg_run_write_statement,
    .write_farewell = pg_run_write_farewell,
    .stop_sign_in = pg_run_stop_sign_in,
    .free = pg_run_free,
};

static struct pg_run *pg_run_new(struct loop *loop, const struct run_request *request)
{
    struct pg_run *self = memory_new(sizeof(*self));
    script_run_init(&self->script, &script_ops, loop, request);
    arena_init(&self->names);
    buf_init(&self->rest, LIMIT_PG_READ_SIZE);
    pgwire_framer_init(&self->framer, PGWIRE_FROM_SERVER);
    return self;
}

static struct run *pg_run_start(struct stream *take_stream, const struct run_request *request,
                                const struct run_events *events, void *owner)
{
    struct pg_run *self = pg_run_new(take_stream->loop, request);
    self->script.events = events;
    self->script.owner = owner;
    struct pgwire_parameter *parameters = NULL;
    size_t parameter_count = pg_run_parameters_in(&self->script.arena, request, &parameters);
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
    return &self->script.run;
}

/* A text whose words are not understood to its end is sent as it is. */
static size_t pg_run_split(struct arena *arena, struct slice script, struct slice **ret_statements)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    const struct sql_script parts = sql_analyze_effects(arena, &settings, script);
    bool is_understood = parts.is_cut && parts.count > 0;
    return script_run_split(arena, script, is_understood ? &parts : NULL, ret_statements);
}

const struct run_ops pg_run_ops = {.start = pg_run_start, .split = pg_run_split};
