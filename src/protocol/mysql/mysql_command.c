/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_command.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "io/timer.h"
#include "wire/mysqlwire_answer.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_start.h"

#define ANSWER_SIZE    LIMIT_KIB(8)
#define STATEMENT_SIZE 256

struct mysql_command {
    struct stream *stream;
    struct loop *loop;
    struct buf out;
    struct buf in;
    struct error error;
    struct timer deadline;
    struct loop_task free_task;
    mysql_command_fn on_done;
    void *owner;
};

static void command_free(void *owner)
{
    struct mysql_command *self = owner;
    buf_release(&self->out);
    buf_release(&self->in);
    memory_free(self);
}

static void command_leave(struct mysql_command *self)
{
    timer_stop(&self->deadline);
    stream_close(self->stream);
    loop_defer(self->loop, &self->free_task);
}

static void command_end(struct mysql_command *self, enum err err)
{
    command_leave(self);
    self->on_done(self->owner, err == ERR_NONE ? NULL : &self->error);
}

static void command_on_deadline(void *owner)
{
    struct mysql_command *self = owner;
    command_end(self, fail(&self->error, ERR_TIMEOUT, "the target takes too long to answer"));
}

static enum err command_take(struct mysql_command *self, struct slice body)
{
    struct mysqlwire_error error;
    if (body.len == 0 || (unsigned char)body.at[0] != MYSQLWIRE_FIRST_ERROR) {
        return ERR_NONE;
    }
    enum err err = mysqlwire_error_read(body, &error, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    struct buf text;
    buf_init(&text, 1024);
    struct writer writer = writer_to(&text);
    text_show(&writer, slice_sub(error.message, 0, 200));
    err = fail(&self->error, ERR_DENIED, "the target refuses to kill a statement: %u: %.*s",
               error.number, SLICE_ARG(buf_view(&text)));
    buf_release(&text);
    return err;
}

static void command_read(struct mysql_command *self)
{
    char *at = NULL;
    size_t len = 0;
    size_t taken = 0;
    uint8_t sequence = 0;
    struct slice body;
    must(buf_reserve(&self->in, self->in.size_max - self->in.len, &at) == ERR_NONE);
    enum err err = stream_read(self->stream, at, self->in.size_max - self->in.len, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err != ERR_NONE) {
        command_end(self, fail(&self->error, err, "the connection to the target broke"));
        return;
    }
    buf_commit(&self->in, len);
    err = mysqlwire_packet_read(buf_view(&self->in), ANSWER_SIZE - MYSQLWIRE_HEADER_SIZE, &taken,
                                &sequence, &body, &self->error);
    if (err != ERR_MORE) {
        command_end(self, err == ERR_NONE ? command_take(self, body) : err);
    }
}

static void command_on_event(void *owner, unsigned events)
{
    struct mysql_command *self = owner;
    (void)events;
    if (self->out.len == 0) {
        command_read(self);
        return;
    }
    struct slice bytes = buf_view(&self->out);
    size_t len = 0;
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    if (err == ERR_NONE) {
        buf_consume(&self->out, len);
        stream_watch(self->stream, self->out.len > 0 ? STREAM_WRITABLE : STREAM_READABLE);
    } else if (err != ERR_AGAIN) {
        command_end(self, fail(&self->error, err, "the connection to the target broke"));
    }
}

struct mysql_command *mysql_command_start(struct stream *take_stream, struct slice statement,
                                          uint64_t timeout_ms, mysql_command_fn on_done,
                                          void *owner)
{
    static const char query[] = {MYSQLWIRE_QUERY};
    struct mysql_command *self = memory_new(sizeof(*self));
    self->stream = take_stream;
    self->loop = take_stream->loop;
    self->on_done = on_done;
    self->owner = owner;
    buf_init(&self->out, STATEMENT_SIZE);
    buf_init(&self->in, ANSWER_SIZE);
    must(mysqlwire_data_write(&self->out, 0, slice_of(query, 1), statement) == ERR_NONE);
    timer_init(&self->deadline, command_on_deadline, self);
    timer_start(self->loop, &self->deadline, timeout_ms);
    loop_task_init(&self->free_task, command_free, self);
    stream_own(self->stream, command_on_event, self);
    stream_watch(self->stream, STREAM_WRITABLE);
    return self;
}

void mysql_command_cancel(struct mysql_command *command)
{
    command_leave(command);
}
