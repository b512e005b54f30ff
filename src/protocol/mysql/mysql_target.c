/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_target.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "io/timer.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_hello.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_start.h"

#define READ_SIZE   LIMIT_KIB(4)
#define OUTPUT_SIZE (SECRET_SIZE_MAX + LIMIT_MYSQL_ATTRIBUTES_SIZE + 4096)
#define ANSWER_SIZE 4096
/* Nothing that passes could be understood without these, or not by both sides alike. */
#define NEEDED                                                                                     \
    (MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_TRANSACTIONS |                \
     MYSQLWIRE_MULTI_RESULTS | MYSQLWIRE_PS_MULTI_RESULTS | MYSQLWIRE_SESSION_TRACK |              \
     MYSQLWIRE_DEPRECATE_EOF)
#define OWN                                                                                        \
    (MYSQLWIRE_LONG_PASSWORD | MYSQLWIRE_LONG_FLAG | MYSQLWIRE_PROTOCOL_41 |                       \
     MYSQLWIRE_TRANSACTIONS | MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_PLUGIN_AUTH |                \
     MYSQLWIRE_PLUGIN_AUTH_LENENC | MYSQLWIRE_CONNECT_ATTRS)

enum mysql_target_state {
    MYSQL_TARGET_AT_GREETING,
    MYSQL_TARGET_ASKING_TLS, /* the request is on its way */
    MYSQL_TARGET_ENCRYPTING,
    MYSQL_TARGET_AT_SIGN_IN,
    MYSQL_TARGET_DONE,
};

struct mysql_target {
    struct loop *loop;
    struct stream *stream; /* NULL while it is encrypted, and at the end */
    struct tls_handshake *handshake;
    struct mysql_target_settings settings;
    opened_fn on_done;
    void *owner;
    enum mysql_target_state state;
    bool is_encrypted;
    uint8_t sequence; /* of our next packet */
    uint32_t number;  /* of the connection, as the server says */
    uint32_t capabilities;
    struct mysqlwire_greeting greeting;
    struct buf plugin; /* of the greeting */
    struct buf in;
    struct buf out; /* may hold a password: wiped when it is sent */
    struct error error;
    struct ending_words words; /* for the client; its texts are constants, or in 'told' */
    struct buf told;
    struct timer deadline;
    struct loop_task free_task;
};

/* The end -------------------------------------------------------------------------------------- */

static void target_free(void *owner)
{
    struct mysql_target *self = owner;
    buf_release(&self->plugin);
    buf_release(&self->in);
    buf_wipe(&self->out);
    buf_release(&self->told);
    memory_free(self);
}

static void target_leave(struct mysql_target *self)
{
    self->state = MYSQL_TARGET_DONE;
    timer_stop(&self->deadline);
    if (self->handshake != NULL) {
        tls_handshake_cancel(self->handshake);
        self->handshake = NULL;
    }
    if (self->stream != NULL) {
        stream_close(self->stream);
        self->stream = NULL;
    }
    mysql_secret_free(self->settings.take_secret);
    self->settings.take_secret = NULL;
    loop_defer(self->loop, &self->free_task);
}

/* self->error says why. What the client hears is that, unless there are other words. */
static void target_fail(struct mysql_target *self, enum err code)
{
    must(code == self->error.code);
    bool is_tls = self->state == MYSQL_TARGET_ASKING_TLS || self->state == MYSQL_TARGET_ENCRYPTING;
    struct target_failure failure = {.stage = is_tls ? TARGET_STAGE_TLS : TARGET_STAGE_SIGN_IN,
                                     .error = self->error};
    struct buf answer;
    if (self->words.message.len == 0) {
        self->words = (struct ending_words){.why = ENDING_CONNECTION,
                                            .code = SLICE(""),
                                            .message = slice_of_text(self->error.message),
                                            .hint = SLICE("")};
    }
    buf_init(&answer, ANSWER_SIZE);
    must(mysql_answer_write(&self->words, failure.code, &answer) == ERR_NONE);
    failure.answer = buf_view(&answer);
    target_leave(self);
    self->on_done(self->owner, NULL, &failure);
    buf_release(&answer);
}

static void target_on_deadline(void *owner)
{
    struct mysql_target *self = owner;
    target_fail(self, fail(&self->error, ERR_TIMEOUT, "the target takes too long to sign in"));
}

static enum err target_succeed(struct mysql_target *self, struct slice ok)
{
    char number[24];
    struct mysqlwire_ok read;
    enum err err = mysqlwire_ok_read(ok, self->capabilities, &read, &self->error);
    if (err == ERR_NONE && self->in.len > 0) {
        err = fail(&self->error, ERR_INPUT, "the target goes on without being asked");
    }
    if (err != ERR_NONE) {
        return err;
    }
    (void)snprintf(number, sizeof(number), "%010u", self->number);
    const struct arrival arrival = {
        .take_stream = self->stream,
        .version = self->capabilities,
        .key = {.number = self->number, .secret = slice_of_text(number)},
        .greeting = ok,
        .rest = SLICE(""),
    };
    stream_watch(self->stream, 0);
    self->stream = NULL;
    target_leave(self);
    self->on_done(self->owner, &arrival, NULL);
    return ERR_NONE;
}

/* What the server refuses ---------------------------------------------------------------------- */

/* Those whose words name the gateway's user, or the gateway, are for its log alone. */
static bool is_about_gateway(uint16_t number)
{
    static const uint16_t numbers[] = {1045, 1129, 1130, 1251, 1698, 1862, 3118, 4151};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (numbers[i] == number) {
            return true;
        }
    }
    return false;
}

static enum err target_refused(struct mysql_target *self, struct slice body)
{
    struct mysqlwire_error error;
    char code[TARGET_CODE_SIZE];
    enum err err = mysqlwire_error_read(body, &error, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    struct writer writer = writer_to(&self->told);
    (void)snprintf(code, sizeof(code), "%05u", error.number);
    writer_bytes(&writer, slice_of_text(code));
    text_escape(&writer, slice_sub(error.message, 0, 400));
    struct slice told = buf_view(&self->told);
    struct slice message = slice_from(told, TARGET_CODE_SIZE - 1);
    if (is_about_gateway(error.number)) {
        self->words = (struct ending_words){
            .why = ENDING_CONNECTION,
            .code = SLICE(""),
            .message =
                SLICE("the target refuses the credentials that the gateway has stored for it"),
            .hint = SLICE("This is not about your own password. An administrator of the gateway "
                          "can correct it"),
        };
        return fail(&self->error, ERR_DENIED,
                    "the target refuses the credentials that the gateway has stored for it: %u: "
                    "%.*s",
                    error.number, SLICE_ARG(message));
    }
    bool is_database = error.number == MYSQL_ERROR_DATABASE; /* whose words name the user, too */
    self->words = (struct ending_words){
        .why = ENDING_CONNECTION,
        .code = slice_sub(told, 0, TARGET_CODE_SIZE - 1),
        .message = is_database ? SLICE("the target refuses the database to the user that the "
                                       "gateway has stored for it")
                               : message,
        .hint = SLICE("")};
    return fail(&self->error, ERR_DENIED, "the target refuses the connection: %u: %.*s",
                error.number, SLICE_ARG(message));
}

/* Signing in ----------------------------------------------------------------------------------- */

static void target_wait(struct mysql_target *self)
{
    stream_watch(self->stream, self->out.len > 0 ? STREAM_WRITABLE : STREAM_READABLE);
}

static struct mysqlwire_response target_response(const struct mysql_target *self)
{
    return (struct mysqlwire_response){
        .capabilities = self->capabilities | (self->is_encrypted ? MYSQLWIRE_SSL : 0U),
        .packet_max = UINT32_C(1) << 30,
        .charset = self->settings.charset,
        .user = self->settings.user,
        .database = self->settings.database,
        .attributes = self->settings.attributes,
    };
}

/* The greeting's plugin, or where there is no proof of its kind one that the server can do without:
 * it says then which it wants. */
static enum err target_answer_greeting(struct mysql_target *self)
{
    struct slice plugin = buf_view(&self->plugin);
    struct mysqlwire_response response = target_response(self);
    struct buf proof;
    response.plugin = mysql_secret_knows_first(plugin) ? plugin : SLICE(MYSQLWIRE_PLUGIN_NATIVE);
    const struct mysql_challenge challenge = {.plugin = response.plugin,
                                              .nonce = self->greeting.scramble,
                                              .is_encrypted = self->is_encrypted,
                                              .is_local = self->settings.is_local};
    char *at = NULL;
    buf_init(&proof, OUTPUT_SIZE);
    must(buf_reserve(&proof, OUTPUT_SIZE, &at) == ERR_NONE); /* at once, see mysql_secret */
    must(buf_reserve(&self->out, OUTPUT_SIZE, &at) == ERR_NONE);
    enum err err =
        mysql_secret_answer(self->settings.take_secret, &challenge, &proof, &self->error);
    response.proof = buf_view(&proof);
    if (err == ERR_NONE &&
        mysqlwire_response_write(&self->out, self->sequence++, &response) != ERR_NONE) {
        err = fail(&self->error, ERR_LIMIT, "there is too much to say to the target");
    }
    buf_wipe(&proof);
    self->state = MYSQL_TARGET_AT_SIGN_IN;
    return err;
}

static enum err target_send(struct mysql_target *self, struct buf *body)
{
    enum err err = mysqlwire_data_write(&self->out, self->sequence++, buf_view(body), SLICE(""));
    buf_wipe(body);
    return err == ERR_NONE ? ERR_NONE
                           : fail(&self->error, err, "there is too much to say to the target");
}

static enum err target_switch(struct mysql_target *self, struct slice body)
{
    struct mysqlwire_switch asked;
    struct buf proof;
    char *at = NULL;
    enum err err = mysqlwire_switch_read(body, &asked, &self->error);
    if (err != ERR_NONE) {
        return err;
    }
    const struct mysql_challenge challenge = {.plugin = asked.plugin,
                                              .nonce = asked.data,
                                              .is_encrypted = self->is_encrypted,
                                              .is_local = self->settings.is_local};
    buf_init(&proof, OUTPUT_SIZE);
    must(buf_reserve(&proof, OUTPUT_SIZE, &at) == ERR_NONE);
    must(buf_reserve(&self->out, OUTPUT_SIZE, &at) == ERR_NONE);
    err = mysql_secret_answer(self->settings.take_secret, &challenge, &proof, &self->error);
    if (err != ERR_NONE) {
        buf_wipe(&proof);
        return err;
    }
    return target_send(self, &proof);
}

static enum err target_more(struct mysql_target *self, struct slice data)
{
    struct buf answer;
    char *at = NULL;
    bool is_wanted = false;
    buf_init(&answer, OUTPUT_SIZE);
    must(buf_reserve(&answer, OUTPUT_SIZE, &at) == ERR_NONE);
    must(buf_reserve(&self->out, OUTPUT_SIZE, &at) == ERR_NONE);
    enum err err =
        mysql_secret_go_on(self->settings.take_secret, data, &answer, &is_wanted, &self->error);
    if (err != ERR_NONE || !is_wanted) {
        buf_wipe(&answer);
        return err;
    }
    return target_send(self, &answer);
}

static enum err target_take_sign_in(struct mysql_target *self, struct slice body)
{
    if (body.len == 0) {
        return fail(&self->error, ERR_INPUT, "the target answers with nothing");
    }
    switch ((unsigned char)body.at[0]) {
    case MYSQLWIRE_FIRST_OK:
        return target_succeed(self, body);
    case MYSQLWIRE_FIRST_ERROR:
        return target_refused(self, body);
    case MYSQLWIRE_FIRST_EOF:
        return target_switch(self, body);
    case MYSQLWIRE_FIRST_MORE:
        return target_more(self, slice_from(body, 1));
    default:
        if (mysql_secret_awaits_data(self->settings.take_secret)) {
            return target_more(self, body);
        }
        return fail(&self->error, ERR_INPUT, "the target does not speak MySQL's protocol");
    }
}

/* The greeting --------------------------------------------------------------------------------- */

static enum err target_agree(struct mysql_target *self)
{
    uint32_t served = self->greeting.capabilities;
    uint32_t wanted = self->settings.capabilities | OWN;
    if (self->settings.database.len == 0) {
        wanted &= ~MYSQLWIRE_CONNECT_WITH_DB;
    } else {
        wanted |= MYSQLWIRE_CONNECT_WITH_DB;
    }
    if ((wanted & NEEDED & ~served) != 0) {
        return fail(&self->error, ERR_UNSUPPORTED,
                    "the target is too old: sessions need MySQL 5.7 or MariaDB 10.2");
    }
    self->capabilities = wanted & (served | MYSQLWIRE_LONG_PASSWORD);
    return ERR_NONE;
}

static enum err target_ask_tls(struct mysql_target *self)
{
    struct mysqlwire_response response = target_response(self);
    response.capabilities |= MYSQLWIRE_SSL;
    if (self->in.len > 0) {
        return fail(&self->error, ERR_INPUT,
                    "the target sends more than its greeting: it is no MySQL server, or somebody "
                    "stands in between");
    }
    must(mysqlwire_ssl_request_write(&self->out, self->sequence++, &response) == ERR_NONE);
    self->state = MYSQL_TARGET_ASKING_TLS;
    return ERR_NONE;
}

static enum err target_take_greeting(struct mysql_target *self, struct slice body)
{
    enum err err = mysqlwire_greeting_read(body, &self->greeting, &self->error);
    enum place_tls mode = self->settings.server->mode;
    if (err == ERR_DENIED) {
        return target_refused(self, body);
    }
    if (err == ERR_NONE) {
        err = buf_append(&self->plugin, slice_sub(self->greeting.plugin, 0, 64));
        self->number = self->greeting.connection_id;
    }
    if (err == ERR_NONE) {
        err = target_agree(self);
    }
    if (err != ERR_NONE) {
        return err;
    }
    bool has_tls = (self->greeting.capabilities & MYSQLWIRE_SSL) != 0;
    if (mode >= PLACE_TLS_REQUIRE && !has_tls) {
        return fail(&self->error, ERR_UNSUPPORTED, "the target does not support TLS");
    }
    return mode != PLACE_TLS_DISABLE && has_tls ? target_ask_tls(self)
                                                : target_answer_greeting(self);
}

static void target_own(struct mysql_target *self);

static void target_on_encrypted(void *owner, struct stream *take_stream, const struct error *error)
{
    struct mysql_target *self = owner;
    self->handshake = NULL;
    self->stream = take_stream;
    if (take_stream == NULL) {
        self->error = *error;
        target_fail(self, error->code);
        return;
    }
    self->is_encrypted = true;
    target_own(self);
    enum err err = target_answer_greeting(self);
    if (err != ERR_NONE) {
        target_fail(self, err);
    } else {
        target_wait(self);
    }
}

static void target_encrypt(struct mysql_target *self)
{
    struct stream *stream = self->stream;
    self->stream = NULL;
    self->state = MYSQL_TARGET_ENCRYPTING;
    stream_watch(stream, 0);
    enum err err = target_server_encrypt(self->settings.server, stream, target_on_encrypted, self,
                                         &self->handshake, &self->error);
    if (err != ERR_NONE) {
        target_fail(self, err);
    }
}

/* Bytes ---------------------------------------------------------------------------------------- */

static enum err target_take_packets(struct mysql_target *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && self->out.len == 0 && self->state != MYSQL_TARGET_DONE) {
        size_t taken = 0;
        uint8_t sequence = 0;
        struct slice body;
        err = mysqlwire_packet_read(buf_view(&self->in), LIMIT_GREETING_SIZE, &taken, &sequence,
                                    &body, &self->error);
        if (err == ERR_MORE) {
            return ERR_NONE;
        }
        if (err == ERR_NONE && sequence != self->sequence) {
            err = fail(&self->error, ERR_INPUT, "the target does not speak MySQL's protocol");
        }
        if (err != ERR_NONE) {
            return err;
        }
        self->sequence = (uint8_t)(sequence + 1);
        buf_consume(&self->in, taken); /* its bytes stay until something is appended */
        err = self->state == MYSQL_TARGET_AT_GREETING ? target_take_greeting(self, body)
                                                      : target_take_sign_in(self, body);
    }
    return err;
}

static enum err target_read(struct mysql_target *self)
{
    char *at = NULL;
    size_t len = 0;
    size_t left = self->in.size_max - self->in.len;
    must(left > 0);
    size_t room = left < READ_SIZE ? left : READ_SIZE;
    must(buf_reserve(&self->in, room, &at) == ERR_NONE);
    enum err err = stream_read(self->stream, at, room, &len);
    if (err == ERR_AGAIN) {
        return ERR_NONE;
    }
    if (err != ERR_NONE) {
        return fail(&self->error, err, "the target ends the connection before it is ready");
    }
    buf_commit(&self->in, len);
    return target_take_packets(self);
}

static enum err target_write(struct mysql_target *self)
{
    struct slice bytes = buf_view(&self->out);
    size_t len = 0;
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    if (err == ERR_AGAIN) {
        return ERR_NONE;
    }
    if (err != ERR_NONE) {
        return fail(&self->error, err, "the connection to the target broke");
    }
    buf_consume(&self->out, len);
    if (self->out.len > 0) {
        return ERR_NONE;
    }
    buf_wipe(&self->out);
    return self->state == MYSQL_TARGET_ASKING_TLS ? ERR_NONE : target_take_packets(self);
}

static void target_on_event(void *owner, unsigned events)
{
    struct mysql_target *self = owner;
    (void)events;
    enum err err = self->out.len > 0 ? target_write(self) : target_read(self);
    if (err != ERR_NONE) {
        target_fail(self, err);
    } else if (self->state == MYSQL_TARGET_ASKING_TLS && self->out.len == 0) {
        target_encrypt(self);
    } else if (self->state != MYSQL_TARGET_DONE) {
        target_wait(self);
    }
}

static void target_own(struct mysql_target *self)
{
    stream_own(self->stream, target_on_event, self);
}

/* Starting and cancelling ---------------------------------------------------------------------- */

struct mysql_target *mysql_target_start(struct stream *take_stream,
                                        const struct mysql_target_settings *settings,
                                        opened_fn on_done, void *owner)
{
    struct mysql_target *self = memory_new(sizeof(*self));
    self->loop = take_stream->loop;
    self->stream = take_stream;
    self->settings = *settings;
    self->on_done = on_done;
    self->owner = owner;
    buf_init(&self->plugin, MYSQLWIRE_NAME_SIZE_MAX);
    buf_init(&self->in, LIMIT_GREETING_SIZE + MYSQLWIRE_HEADER_SIZE);
    buf_init(&self->out, OUTPUT_SIZE);
    buf_init(&self->told, 4096);
    timer_init(&self->deadline, target_on_deadline, self);
    timer_start(self->loop, &self->deadline, target_server_left_ms(settings->server));
    loop_task_init(&self->free_task, target_free, self);
    target_own(self);
    stream_watch(self->stream, STREAM_READABLE);
    return self;
}

void mysql_target_cancel(struct mysql_target *target)
{
    target_leave(target);
}
