/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_target_internal.h"

#include "base/memory.h"
#include "base/must.h"

/* The end ------------------------------------------------------------------------------------- */

static void pg_target_free(void *owner)
{
    struct pg_target *self = owner;
    buf_release(&self->user);
    buf_wipe(&self->out);
    buf_release(&self->body);
    buf_release(&self->greeting);
    buf_release(&self->answer);
    buf_wipe(&self->key);
    memory_free(self);
}

/* Nothing is called back from now on; the memory goes at the end of the turn. */
static void pg_target_leave(struct pg_target *self)
{
    self->state = PG_TARGET_DONE;
    timer_stop(&self->deadline);
    loop_task_cancel(&self->fail_task);
    pg_encryption_end(&self->encryption, &self->stream);
    pg_secret_free(self->secret);
    self->secret = NULL;
    loop_defer(self->loop, &self->free_task);
}

/* self->error says why. */
static void pg_target_fail(struct pg_target *self, enum err code)
{
    must(code == self->error.code);
    enum target_stage stage =
        self->state == PG_TARGET_AT_ENCRYPTION ? TARGET_STAGE_TLS : TARGET_STAGE_SIGN_IN;
    pg_target_explain(self);
    pg_target_leave(self);
    struct target_failure failure = {
        .stage = stage,
        .error = self->error,
        .answer = buf_view(&self->answer),
    };
    memcpy(failure.code, self->sqlstate, sizeof(failure.code));
    self->on_done(self->owner, NULL, &failure);
}

static void pg_target_hand_over(struct pg_target *self)
{
    struct arrival arrival = {
        .take_stream = self->stream,
        .version = self->version,
        .key = {.number = self->key_process, .secret = buf_view(&self->key)},
        .state = (char)self->transaction,
        .greeting = buf_view(&self->greeting),
        .rest = self->in,
    };
    stream_watch(self->stream, 0);
    self->stream = NULL;
    pg_target_leave(self);
    self->on_done(self->owner, &arrival, NULL);
}

static void pg_target_on_deadline(void *owner)
{
    struct pg_target *self = owner;
    const char *what = self->state == PG_TARGET_AT_ENCRYPTION ? "TLS was not agreed on with it"
                       : !self->has_spoken                    ? "it has not said a word"
                       : self->state == PG_TARGET_AT_READY    ? "it was signed in to"
                                                              : "the sign-in was under way";
    pg_target_fail(self, fail(&self->error, ERR_TIMEOUT,
                              "the target was not ready in time: %s until then", what));
}

static void pg_target_on_bad_start(void *owner)
{
    struct pg_target *self = owner;
    pg_target_fail(self, self->error.code);
}

/* Messages ------------------------------------------------------------------------------------ */

/* Whatever comes first and is no message is no PostgreSQL server's. */
static enum err pg_target_not_understood(struct pg_target *self, enum err err)
{
    if (!self->has_spoken) {
        return fail(&self->error, ERR_INPUT, "the target does not speak PostgreSQL's protocol");
    }
    error_prefix(&self->error, "the target breaks the protocol: ");
    return err;
}

/* Up to the next message, or ERR_MORE. */
static enum err pg_target_step(struct pg_target *self)
{
    struct pgwire_event event;
    size_t taken = 0;
    enum err err = pgwire_framer_next(&self->framer, self->in, &taken, &event, &self->error);
    self->in = slice_from(self->in, taken);
    if (err == ERR_MORE) {
        return err;
    }
    if (err == ERR_NONE && event.kind == PGWIRE_EVENT_HEADER) {
        err = pg_target_expect(self);
        err =
            err != ERR_NONE ? err : pgwire_framer_collect(&self->framer, &self->body, &self->error);
        self->has_spoken = self->has_spoken || err == ERR_NONE;
        return err == ERR_NONE ? ERR_NONE : pg_target_not_understood(self, err);
    }
    if (err != ERR_NONE) {
        return pg_target_not_understood(self, err);
    }
    must(event.kind == PGWIRE_EVENT_BODY);
    err = pg_target_take(self, event.bytes);
    buf_clear(&self->body);
    return err;
}

static unsigned pg_target_events(const struct pg_target *self)
{
    if (self->is_asking) {
        return 0;
    }
    if (self->is_cut_off) {
        return STREAM_READABLE | STREAM_WRITABLE; /* what is to be read is there now, or never */
    }
    return self->out.len > 0 ? STREAM_WRITABLE : STREAM_READABLE;
}

/* Takes what has been read. A message is not looked at before the answer to the last one is gone,
 * so that a password is alone in its buffer. */
static void pg_target_go_on(struct pg_target *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && !self->is_asking && self->out.len == 0) {
        if (self->state == PG_TARGET_DONE) {
            pg_target_hand_over(self);
            return;
        }
        err = pg_target_step(self);
    }
    if (err != ERR_NONE && err != ERR_MORE) {
        pg_target_fail(self, err);
    } else {
        stream_watch(self->stream, pg_target_events(self));
    }
}

void pg_target_answered(struct pg_target *target, enum err err)
{
    if (err != ERR_NONE) {
        pg_target_fail(target, err);
    } else {
        pg_target_go_on(target);
    }
}

/* The stream ---------------------------------------------------------------------------------- */

static void pg_target_receive(struct pg_target *self)
{
    size_t len = 0;
    enum err err = stream_read(self->stream, self->bytes, sizeof(self->bytes), &len);
    if (err == ERR_AGAIN && !self->is_cut_off) {
        return;
    }
    if (err == ERR_NONE) {
        self->in = slice_of(self->bytes, len);
        pg_target_go_on(self);
        return;
    }
    const char *when = !self->has_spoken                   ? "without a word"
                       : self->state == PG_TARGET_AT_READY ? "before it is ready"
                                                           : "in the middle of the sign-in";
    err = err == ERR_CLOSED && !self->is_cut_off ? ERR_CLOSED : ERR_IO;
    pg_target_fail(self, fail(&self->error, err, "the target %s %s",
                              err == ERR_CLOSED ? "closes the connection" : "breaks the connection",
                              when));
}

/* A server that has no room may say so and leave before it has read anything: then a write fails,
 * but its last word can still be read. */
static void pg_target_send(struct pg_target *self)
{
    struct slice bytes = buf_view(&self->out);
    size_t len = 0;
    enum err err = self->is_cut_off ? ERR_IO : stream_write(self->stream, &bytes, 1, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    self->is_cut_off = err != ERR_NONE;
    buf_consume(&self->out, self->is_cut_off ? self->out.len : len);
    if (self->out.len == 0) {
        buf_wipe(&self->out);
        pg_target_go_on(self);
    }
}

static void pg_target_on_event(void *owner, unsigned events)
{
    struct pg_target *self = owner;
    (void)events;
    if (self->state == PG_TARGET_DONE || self->is_asking) {
        return;
    }
    if (self->out.len > 0) {
        pg_target_send(self);
    } else {
        pg_target_receive(self);
    }
}

static void pg_target_on_encrypted(void *owner, struct stream *take_stream,
                                   const struct scram_end_point *end_point,
                                   const struct error *error)
{
    struct pg_target *self = owner;
    self->encryption = NULL;
    if (take_stream == NULL) {
        self->error = *error;
        pg_target_fail(self, error->code);
        return;
    }
    self->stream = take_stream;
    self->has_end_point = end_point != NULL;
    if (end_point != NULL) {
        self->end_point = *end_point;
    }
    self->state = PG_TARGET_AT_AUTHENTICATION;
    stream_own(take_stream, pg_target_on_event, self);
    stream_watch(take_stream, STREAM_WRITABLE);
}

/* Starting ------------------------------------------------------------------------------------ */

/* Those words that PostgreSQL reads as 'false', in whole; all others ask for something. */
static bool is_false(struct slice value)
{
    static const struct slice words[] = {SLICE_INIT("false"), SLICE_INIT("off"), SLICE_INIT("no"),
                                         SLICE_INIT("0")};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (slice_equals_nocase(value, words[i])) {
            return true;
        }
    }
    return false;
}

static bool is_ours(struct slice name)
{
    return slice_equals(name, SLICE("user")) || slice_equals(name, SLICE("database")) ||
           slice_equals(name, SLICE("replication")) || pgwire_is_protocol_option(name);
}

static enum err pg_target_write_startup(struct pg_target *self,
                                        const struct pg_target_settings *settings)
{
    struct pgwire_parameter list[LIMIT_START_PARAMETERS + 2] = {
        {SLICE("user"), settings->user}, {SLICE("database"), settings->database}};
    size_t count = settings->database.len > 0 ? 2 : 1;
    for (size_t i = 0; i < settings->parameter_count && i < LIMIT_START_PARAMETERS; i++) {
        const struct pgwire_parameter *parameter = &settings->parameters[i];
        if (slice_equals(parameter->name, SLICE("replication")) && !is_false(parameter->value)) {
            memcpy(self->sqlstate, "0A000", sizeof("0A000")); /* feature_not_supported */
            return fail(&self->error, ERR_UNSUPPORTED,
                        "replication does not go through the gateway");
        }
        if (!is_ours(parameter->name)) {
            list[count++] = *parameter;
        }
    }
    if (settings->user.len == 0 || settings->parameter_count > LIMIT_START_PARAMETERS ||
        buf_append(&self->user, settings->user) != ERR_NONE ||
        pgwire_startup_write(&self->out, settings->version, list, count) != ERR_NONE) {
        return fail(&self->error, ERR_INPUT,
                    "what the target is to be told at the start is too long or not valid");
    }
    return ERR_NONE;
}

static struct pg_target *pg_target_new(const struct pg_target_settings *settings, opened_fn on_done,
                                       void *owner)
{
    struct pg_target *self = memory_new(sizeof(*self));
    self->secret = settings->take_secret;
    self->version = settings->version;
    self->is_local = settings->is_local;
    self->allows_cleartext = settings->allows_cleartext;
    self->on_done = on_done;
    self->owner = owner;
    buf_init(&self->user, LIMIT_PGWIRE_STARTUP_SIZE);
    buf_init(&self->out, SECRET_SIZE_MAX + LIMIT_PGWIRE_STARTUP_SIZE);
    buf_init(&self->key, LIMIT_CANCEL_KEY_SIZE);
    buf_init(&self->body, LIMIT_GREETING_SIZE);
    buf_init(&self->greeting, LIMIT_GREETING_SIZE);
    buf_init(&self->answer, 2 * LIMIT_GREETING_SIZE);
    pgwire_framer_init(&self->framer, PGWIRE_FROM_SERVER);
    timer_init(&self->deadline, pg_target_on_deadline, self);
    loop_task_init(&self->fail_task, pg_target_on_bad_start, self);
    loop_task_init(&self->free_task, pg_target_free, self);
    return self;
}

struct pg_target *pg_target_start(struct stream *take_stream,
                                  const struct pg_target_settings *settings, opened_fn on_done,
                                  void *owner)
{
    struct pg_target *self = pg_target_new(settings, on_done, owner);
    self->loop = take_stream->loop;
    if (pg_target_write_startup(self, settings) != ERR_NONE) {
        stream_close(take_stream);
        loop_defer(self->loop, &self->fail_task);
        return self;
    }
    timer_start(self->loop, &self->deadline, settings->timeout_ms);
    self->encryption =
        pg_encryption_start(take_stream, &settings->encryption, pg_target_on_encrypted, self);
    return self;
}

void pg_target_cancel(struct pg_target *target)
{
    pg_target_leave(target);
}
