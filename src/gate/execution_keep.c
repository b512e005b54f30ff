/* SPDX-License-Identifier: MIT */
/* What the target says to a script, as far as an answer shows it. */
#include "base/memory.h"
#include "base/must.h"
#include "gate/execution_internal.h"
#include "gate/gate_session.h"
#include "io/clock.h"

static void execution_release_text(void *at)
{
    buf_release(at);
}

struct execution_statement *execution_statement(struct execution *self)
{
    if (self->last == NULL || self->is_last_done) {
        struct execution_statement *statement = arena_alloc(&self->page, sizeof(*statement));
        statement->rows = -1;
        buf_init(&statement->text, LIMIT_EXECUTION_OUTPUT_SIZE);
        arena_on_end(&self->page, execution_release_text, &statement->text);
        *(self->last == NULL ? &self->result.first : &self->last->next) = statement;
        self->last = statement;
        self->is_last_done = false;
    }
    return self->last;
}

static bool execution_has_room(struct execution *self, struct execution_statement *statement,
                               size_t size)
{
    if (size > LIMIT_EXECUTION_OUTPUT_SIZE - self->size) {
        statement->is_truncated = true;
        self->result.is_truncated = true;
        return false;
    }
    self->size += size;
    return true;
}

void execution_take_columns(struct execution *self, const struct run_column *columns, size_t count)
{
    struct execution_statement *statement = execution_statement(self);
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += sizeof(*columns) + columns[i].name.len + columns[i].type.len;
    }
    if (!execution_has_room(self, statement, size)) {
        return;
    }
    statement->columns = arena_alloc_array(&self->page, count, sizeof(*columns));
    statement->column_count = count;
    for (size_t i = 0; i < count; i++) {
        statement->columns[i].name = arena_copy(&self->page, columns[i].name);
        statement->columns[i].type = arena_copy(&self->page, columns[i].type);
    }
}

static void execution_on_columns(void *owner, const struct run_column *columns, size_t count)
{
    execution_take_columns(owner, columns, count);
}

/* Whether what is behind the page must wait. */
static bool execution_page_is_full(const struct execution *self, size_t size)
{
    return execution_is_paged(self) &&
           (self->page_row_count >= self->request.page_rows ||
            (self->page_row_count > 0 && size > LIMIT_EXECUTION_OUTPUT_SIZE - self->size));
}

static void execution_truncate(struct execution *self, struct execution_statement *statement)
{
    statement->is_truncated = true;
    self->result.is_truncated = true;
}

static void execution_keep_row(struct execution *self, struct execution_statement *statement,
                               const struct slice *values, size_t count)
{
    struct execution_row *row = arena_alloc(&self->page, sizeof(*row));
    row->values = arena_alloc_array(&self->page, count + 1, sizeof(*row->values));
    for (size_t i = 0; i < count; i++) {
        row->values[i] = values[i].at == NULL ? SLICE_NONE : arena_copy(&self->page, values[i]);
    }
    *(statement->last == NULL ? &statement->first : &statement->last->next) = row;
    statement->last = row;
    statement->row_count++;
    self->page_row_count++;
}

/* A row that is larger than a page is one by itself, as far as an answer can show it. */
static bool execution_on_page_row(struct execution *self, const struct slice *values, size_t count,
                                  size_t size)
{
    struct execution_statement *statement = execution_statement(self);
    if (values == NULL || count != statement->column_count || size > LIMIT_EXECUTION_SHOWN_SIZE) {
        execution_truncate(self, statement);
        return true;
    }
    if (execution_page_is_full(self, size)) {
        execution_hold(self);
        return false;
    }
    size_t room = LIMIT_EXECUTION_OUTPUT_SIZE - self->size;
    self->size += size < room ? size : room;
    execution_keep_row(self, statement, values, count);
    return true;
}

/* Without pages, from the first row on that has no place none has: what is shown has no gaps. */
static bool execution_on_row(void *owner, const struct slice *values, size_t count)
{
    struct execution *self = owner;
    size_t size = sizeof(struct execution_row) + count * sizeof(*values);
    for (size_t i = 0; i < count; i++) {
        size += values[i].len;
    }
    if (execution_is_paged(self)) {
        return execution_on_page_row(self, values, count, size);
    }
    struct execution_statement *statement = execution_statement(self);
    if (statement->row_count == LIMIT_EXECUTION_ROWS || values == NULL ||
        count != statement->column_count) {
        execution_truncate(self, statement);
    }
    if (!statement->is_truncated && execution_has_room(self, statement, size)) {
        execution_keep_row(self, statement, values, count);
    }
    return true;
}

/* A piece of a copy fills its page by its size alone. */
static bool execution_on_bytes(void *owner, struct slice bytes)
{
    struct execution *self = owner;
    struct execution_statement *statement = execution_statement(self);
    if (execution_is_paged(self) && self->size > 0 &&
        bytes.len > LIMIT_EXECUTION_OUTPUT_SIZE - self->size) {
        execution_hold(self);
        return false;
    }
    if (!statement->is_truncated && execution_has_room(self, statement, bytes.len)) {
        must(buf_append(&statement->text, bytes) == ERR_NONE);
    }
    return true;
}

static struct run_notice execution_keep(struct execution *self, const struct run_notice *notice)
{
    return (struct run_notice){
        .severity = arena_copy(&self->page, notice->severity),
        .code = arena_copy(&self->page, notice->code),
        .message = arena_copy(&self->page, notice->message),
        .detail = arena_copy(&self->page, notice->detail),
        .hint = arena_copy(&self->page, notice->hint),
        .position = notice->position,
    };
}

static void execution_on_notice(void *owner, const struct run_notice *notice)
{
    struct execution *self = owner;
    struct execution_statement *statement = execution_statement(self);
    size_t size = sizeof(*notice) + notice->message.len + notice->detail.len + notice->hint.len;
    if (!execution_has_room(self, statement, size)) {
        return;
    }
    if (statement->notice_count == statement->notice_capacity) {
        size_t capacity = statement->notice_capacity * 2 + 4;
        struct run_notice *notices = arena_alloc_array(&self->page, capacity, sizeof(*notices));
        for (size_t i = 0; i < statement->notice_count; i++) {
            notices[i] = statement->notices[i];
        }
        statement->notices = notices;
        statement->notice_capacity = capacity;
    }
    statement->notices[statement->notice_count++] = execution_keep(self, notice);
}

static void execution_on_complete(void *owner, struct slice command, int64_t rows)
{
    struct execution *self = owner;
    struct execution_statement *statement = execution_statement(self);
    statement->command = arena_copy(&self->page, command);
    statement->rows = rows;
    self->is_last_done = true;
}

static void execution_on_error(void *owner, const struct run_notice *error)
{
    struct execution *self = owner;
    struct execution_statement *statement = execution_statement(self);
    struct run_notice *kept = arena_alloc(&self->page, sizeof(*kept));
    *kept = execution_keep(self, error);
    const struct gate_session *session =
        session_table_look_up(self->gate->table, self->request.id, self->worker);
    statement->error = kept;
    self->result.has_failed = true;
    self->result.is_blocked = session != NULL && gate_session_was_blocked(session);
    self->is_last_done = true;
}

static void execution_on_exit(void *owner, int code)
{
    struct execution *self = owner;
    self->result.has_exit_code = true;
    self->result.exit_code = code;
    self->result.has_failed = self->result.has_failed || code != 0;
}

void execution_on_end(void *owner, const struct error *error)
{
    struct execution *self = owner;
    self->run = NULL;
    if (error != NULL) {
        self->result.has_failed = true;
        self->result.failure = arena_format(&self->page, "%s", error->message);
    }
    self->result.is_over = true;
    self->result.duration_us = clock_monotonic() - self->began_at;
    if (execution_is_paged(self) && !self->worker->is_draining) {
        execution_hold(self);
        return;
    }
    execution_set_ready(self);
    execution_leave(self);
}

const struct run_events execution_events = {
    .on_columns = execution_on_columns,
    .on_row = execution_on_row,
    .on_bytes = execution_on_bytes,
    .on_notice = execution_on_notice,
    .on_complete = execution_on_complete,
    .on_error = execution_on_error,
    .on_exit = execution_on_exit,
    .on_end = execution_on_end,
};
