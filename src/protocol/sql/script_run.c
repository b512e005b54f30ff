/* SPDX-License-Identifier: MIT */
#include "protocol/sql/script_run.h"

#include "base/must.h"

/* The end -------------------------------------------------------------------------------------- */

static void script_run_free(void *owner)
{
    struct script_run *self = owner;
    self->ops->free(self);
}

void script_run_release(struct script_run *self)
{
    arena_release(&self->arena);
    buf_release(&self->out);
    buf_release(&self->body);
}

static void leave(struct script_run *self)
{
    self->is_done = true;
    self->ops->stop_sign_in(self);
    if (self->stream != NULL) {
        stream_close(self->stream);
        self->stream = NULL;
    }
    loop_defer(self->loop, &self->free_task);
}

static void end(struct script_run *self, const struct error *error)
{
    const struct run_events *events = self->events;
    void *owner = self->owner;
    leave(self);
    events->on_end(owner, error);
}

static void script_run_cancel(struct run *run)
{
    leave(CONTAINER_OF(run, struct script_run, run));
}

void script_run_refuse(struct script_run *self, const struct ending_words *words,
                       const struct error *error)
{
    if (words != NULL) {
        const struct run_notice notice = {
            .severity = SLICE("FATAL"),
            .code = words->code,
            .message = words->message,
            .detail = SLICE(""),
            .hint = words->hint,
        };
        self->events->on_error(self->owner, &notice);
    }
    end(self, error);
}

/* The stream ----------------------------------------------------------------------------------- */

void script_run_send(struct script_run *self)
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

enum err script_run_send_next(struct script_run *self)
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
    enum err err = self->ops->write_statement(self, self->statements[self->next]);
    self->next++;
    if (err == ERR_NONE) {
        script_run_send(self);
    }
    return err;
}

static void watch(struct script_run *self)
{
    stream_watch(self->stream, (self->is_held ? 0U : STREAM_READABLE) |
                                   (self->out.len > 0 ? STREAM_WRITABLE : 0U));
}

/* The farewell is a courtesy: where it does not go out at once, the end of the connection says as
 * much. */
static void say_farewell(struct script_run *self)
{
    buf_clear(&self->out);
    must(self->ops->write_farewell(self) == ERR_NONE);
    script_run_send(self);
}

static void go_on(struct script_run *self, enum err err)
{
    while (err == ERR_NONE) {
        err = self->ops->step(self);
    }
    if (err == ERR_MORE || err == ERR_AGAIN) {
        script_run_send(self);
        watch(self);
    } else if (err == ERR_CLOSED) {
        say_farewell(self);
        end(self, NULL);
    } else {
        end(self, &self->error);
    }
}

static void on_event(void *owner, unsigned events)
{
    struct script_run *self = owner;
    size_t len = 0;
    (void)events;
    if (self->is_done) {
        return;
    }
    script_run_send(self);
    if (self->is_held) {
        watch(self);
        return;
    }
    enum err err = stream_read(self->stream, self->bytes, sizeof(self->bytes), &len);
    if (err == ERR_NONE) {
        self->in = slice_of(self->bytes, len);
        go_on(self, ERR_NONE);
    } else if (err == ERR_AGAIN) {
        watch(self);
    } else {
        must(fail(&self->error, ERR_CLOSED, "the session was ended before all was answered") ==
             ERR_CLOSED);
        end(self, &self->error);
    }
}

static void script_run_resume(struct run *run)
{
    struct script_run *self = CONTAINER_OF(run, struct script_run, run);
    if (self->is_held && !self->is_done) {
        self->is_held = false;
        go_on(self, self->ops->take_held(self));
    }
}

/* Starting ------------------------------------------------------------------------------------- */

void script_run_begin(struct script_run *self, struct stream *take_stream)
{
    self->stream = take_stream;
    stream_own(take_stream, on_event, self);
    go_on(self, script_run_send_next(self));
}

void script_run_init(struct script_run *self, const struct script_run_ops *ops, struct loop *loop,
                     const struct run_request *request)
{
    self->run.cancel = script_run_cancel;
    self->run.resume = script_run_resume;
    self->ops = ops;
    self->loop = loop;
    arena_init(&self->arena);
    struct slice *statements =
        arena_alloc_array(&self->arena, request->statement_count + 1, sizeof(*statements));
    for (size_t i = 0; i < request->statement_count; i++) {
        statements[i] = request->statements[i];
    }
    self->statements = statements;
    self->statement_count = request->statement_count;
    buf_init(&self->out, LIMIT_EXECUTION_SCRIPT_SIZE + LIMIT_KIB(1));
    buf_init(&self->body, LIMIT_EXECUTION_ROW_SIZE);
    loop_task_init(&self->free_task, script_run_free, self);
}

size_t script_run_split(struct arena *arena, struct slice script, const struct sql_script *parts,
                        struct slice **ret_statements)
{
    size_t count = parts == NULL ? 1 : parts->count;
    struct slice *statements = arena_alloc_array(arena, count + 1, sizeof(*statements));
    *ret_statements = statements;
    statements[0] = script;
    for (size_t i = 0; i < count && parts != NULL; i++) {
        statements[i] = slice_sub(script, parts->statements[i].offset, parts->statements[i].len);
    }
    return count;
}
