/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_front.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"
#include "io/tls_stream.h"
#include "protocol/mysql/mysql_compressed.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_hello.h"
#include "protocol/mysql/mysql_sign_in.h"
#include "wire/mysqlwire_frame.h"

#include <sodium.h>

#define LINGER_MS    2000
#define READ_SIZE    4096 /* at once; what comes behind a request for TLS is no more */
#define OUTPUT_SIZE  (LIMIT_GREETING_SIZE + 4096)
#define DISCARD_SIZE 4096
#define WRONG        "Access denied: the connection or the secret is wrong"
/* Numbers of connections: other than the small ones that targets give, positive in any type. */
#define FRONT_NUMBER_BIT 0x40000000U

enum mysql_front_state {
    MYSQL_FRONT_AT_ANSWER, /* the greeting is said; the client's answer to it comes */
    MYSQL_FRONT_AT_PROOF,  /* it was asked for another proof */
    MYSQL_FRONT_ASKING,    /* the owner looks for verifiers */
    MYSQL_FRONT_PROVEN,    /* it is to be told who the client is */
    MYSQL_FRONT_KNOWN,     /* the owner opens the session */
    MYSQL_FRONT_OPENING,   /* what opens it is on its way */
    MYSQL_FRONT_ENDING, /* the last words are on their way, then the client's end is waited for */
    MYSQL_FRONT_GONE,
};

struct mysql_front {
    struct front front;
    struct stream *stream; /* NULL when it is closed or taken */
    struct loop *loop;
    struct front_config config;
    const struct front_events *events;
    void *owner;
    enum mysql_front_state state;
    struct arena arena; /* of the client's answer; wiped */
    struct buf input;
    struct buf output;
    struct mysql_sign_in sign_in;
    uint32_t number;  /* of the connection, for who wants to kill what it runs */
    uint8_t sequence; /* of our next packet */
    struct mysqlwire_response response;
    struct slice name; /* of the connection that the user's name says */
    size_t index;      /* of the verifier that its proof is right for */
    bool has_seen_tls; /* the certificate that is offered here */
    bool is_refused;   /* the proof was wrong, which the owner is to be told */
    bool is_shut;      /* our direction */
    bool is_peer_done;
    struct timer timer;
    struct loop_task task;
    struct error reason;
};

static struct mysql_front *mysql_front_of(struct front *front)
{
    return CONTAINER_OF(front, struct mysql_front, front);
}

/* The end -------------------------------------------------------------------------------------- */

static void front_free(void *owner)
{
    struct mysql_front *self = owner;
    buf_wipe(&self->input);
    buf_wipe(&self->output);
    arena_release(&self->arena);
    tls_server_unref(self->config.tls);
    memory_free(self);
}

static void front_leave(struct mysql_front *self)
{
    self->state = MYSQL_FRONT_GONE;
    self->stream = NULL;
    timer_stop(&self->timer);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, front_free, self);
    loop_defer(self->loop, &self->task);
}

static void mysql_front_close(struct front *front)
{
    struct mysql_front *self = mysql_front_of(front);
    must(self->state != MYSQL_FRONT_GONE);
    stream_close(self->stream);
    front_leave(self);
}

static void front_close_and_tell(struct mysql_front *self)
{
    if (self->stream != NULL) {
        stream_close(self->stream);
    }
    front_leave(self);
    self->events->on_closed(self->owner, &self->reason);
}

/* Why it ends, if nothing was said of that yet. */
static void front_drop(struct mysql_front *self, enum err code, const char *why)
{
    if (self->state != MYSQL_FRONT_ENDING) {
        must(fail(&self->reason, code, "%s", why) == code);
    }
    front_close_and_tell(self);
}

static void front_end(struct mysql_front *self, uint16_t number, const struct ending_words *words)
{
    must(mysql_ending_write(number, self->sequence, words, &self->output) == ERR_NONE);
    must(fail(&self->reason, ERR_UNAUTHENTICATED, "%.*s", SLICE_ARG(words->message)) != ERR_NONE);
    self->state = MYSQL_FRONT_ENDING;
    buf_wipe(&self->input);
    timer_start(self->loop, &self->timer, LINGER_MS);
    loop_defer(self->loop, &self->task);
}

static void front_end_plainly(struct mysql_front *self, uint16_t number, const char *message)
{
    const struct ending_words words = {.message = slice_of_text(message), .hint = SLICE("")};
    front_end(self, number, &words);
}

/* Who the client is ---------------------------------------------------------------------------- */

static void front_take_proof(struct mysql_front *self)
{
    self->state = MYSQL_FRONT_ASKING;
    stream_watch(self->stream, 0); /* what it sends now is for the target */
    self->name = mysql_hello_name(&self->response);
    self->events->on_name(self->owner, self->name);
}

/* The client is the gateway itself. */
static void front_skip_proof(struct mysql_front *self)
{
    self->state = MYSQL_FRONT_PROVEN;
    self->sign_in.method = MYSQL_METHOD_NATIVE; /* nothing is said before the OK */
    stream_watch(self->stream, 0);
    self->name = mysql_hello_name(&self->response);
    loop_defer(self->loop, &self->task);
}

/* With random bytes of its own, for those of the greeting were for another method. */
static void front_ask_proof(struct mysql_front *self)
{
    char data[MYSQLWIRE_SCRAMBLE_SIZE + 1] = {0};
    mysql_sign_in_scramble(&self->sign_in);
    memcpy(data, self->sign_in.scramble, sizeof(self->sign_in.scramble));
    const struct mysqlwire_switch asked = {.plugin = mysql_sign_in_plugin(&self->sign_in),
                                           .data = slice_of(data, sizeof(data))};
    must(mysqlwire_switch_write(&self->output, self->sequence++, &asked) == ERR_NONE);
    self->state = MYSQL_FRONT_AT_PROOF;
}

/* Bytes in ------------------------------------------------------------------------------------- */

static void front_on_event(void *owner, unsigned events);

/* What came behind the request is TLS's, or nothing. */
static void front_start_tls(struct mysql_front *self)
{
    struct stream *stream = NULL;
    if (self->config.tls == NULL || stream_is_encrypted(self->stream)) {
        front_drop(self, ERR_INPUT, "client asks for TLS that was not offered");
        return;
    }
    stream_watch(self->stream, 0);
    enum err err =
        tls_stream_new_behind(self->config.tls, self->stream, buf_view(&self->input), &stream);
    self->stream = stream;
    if (err != ERR_NONE) {
        front_drop(self, err, "TLS is out of memory");
        return;
    }
    buf_clear(&self->input);
    self->has_seen_tls = true;
    stream_own(self->stream, front_on_event, self);
}

static void front_take_answer(struct mysql_front *self, struct slice body)
{
    struct slice kept = arena_copy(&self->arena, body);
    struct mysqlwire_response *response = &self->response;
    enum err err = mysqlwire_response_read(kept, response, &self->reason);
    if (err != ERR_NONE) {
        front_end_plainly(self, MYSQL_ERROR_HANDSHAKE,
                          err == ERR_UNSUPPORTED ? "clients older than MySQL 4.1 are not served"
                                                 : "the answer to the greeting is malformed");
        return;
    }
    if (response->is_ssl_request) {
        front_start_tls(self);
        return;
    }
    if (self->config.needs_tls && !stream_is_encrypted(self->stream)) {
        const struct ending_words words = {
            .message = SLICE("this gateway takes connections with TLS only"),
            .hint = SLICE("Connect with --ssl, or --ssl-mode=REQUIRED")};
        front_end(self, MYSQL_ERROR_NEEDS_TLS, &words);
        return;
    }
    if (self->config.is_inside) {
        front_skip_proof(self);
        return;
    }
    if (mysql_hello_is_marked(response)) {
        front_end_plainly(self, MYSQL_ERROR_REFUSED,
                          "the target of the connection is a gateway's own port: it would lead to "
                          "itself");
        return;
    }
    if (mysql_sign_in_choose(&self->sign_in, response, stream_is_encrypted(self->stream))) {
        front_take_proof(self);
    } else {
        front_ask_proof(self);
    }
}

static void front_take_packet(struct mysql_front *self, struct slice body)
{
    if (self->state == MYSQL_FRONT_AT_ANSWER) {
        front_take_answer(self, body);
        return;
    }
    mysql_sign_in_take(&self->sign_in, arena_copy(&self->arena, body));
    front_take_proof(self);
}

static bool front_takes_packets(const struct mysql_front *self)
{
    return self->state == MYSQL_FRONT_AT_ANSWER || self->state == MYSQL_FRONT_AT_PROOF;
}

static void front_take_packets(struct mysql_front *self)
{
    while (front_takes_packets(self)) {
        size_t taken = 0;
        uint8_t sequence = 0;
        struct slice body;
        enum err err = mysqlwire_packet_read(buf_view(&self->input), LIMIT_MYSQL_START_SIZE, &taken,
                                             &sequence, &body, NULL);
        if (err == ERR_MORE) {
            return;
        }
        if (err != ERR_NONE) {
            front_drop(self, err, "the client's packet is too long");
            return;
        }
        if (sequence != self->sequence) {
            front_drop(self, ERR_INPUT, "the client's packets are out of order");
            return;
        }
        self->sequence = (uint8_t)(sequence + 1);
        buf_consume(&self->input, taken); /* its bytes stay until something is appended */
        front_take_packet(self, body);
    }
}

static void front_read(struct mysql_front *self)
{
    char *at = NULL;
    size_t len = 0;
    size_t left = self->input.size_max - self->input.len;
    size_t room = left < READ_SIZE ? left : READ_SIZE;
    must(room > 0 && buf_reserve(&self->input, room, &at) == ERR_NONE);
    enum err err = stream_read(self->stream, at, room, &len);
    if (err == ERR_NONE) {
        buf_commit(&self->input, len);
        front_take_packets(self);
    } else if (err != ERR_AGAIN) {
        front_drop(self, err, err == ERR_CLOSED ? "client left" : "connection broke");
    } else if (self->input.len == 0) {
        buf_clear(&self->input); /* who stays silent holds no buffer */
    }
}

/* An end that leaves unread bytes behind is a reset, which may overtake the last words. */
static void front_discard(struct mysql_front *self)
{
    char bytes[DISCARD_SIZE];
    size_t len = 0;
    enum err err = stream_read(self->stream, bytes, sizeof(bytes), &len);
    self->is_peer_done = self->is_peer_done || (err != ERR_NONE && err != ERR_AGAIN);
}

/* Bytes out ------------------------------------------------------------------------------------ */

/* False when there is something left to do later, or when the connection has broken. */
static bool front_flush(struct mysql_front *self)
{
    while (self->output.len > 0) {
        struct slice bytes = buf_view(&self->output);
        size_t len = 0;
        enum err err = stream_write(self->stream, &bytes, 1, &len);
        if (err == ERR_AGAIN) {
            return false;
        }
        if (err != ERR_NONE) {
            front_drop(self, ERR_IO, "connection broke");
            return false;
        }
        buf_consume(&self->output, len);
    }
    buf_clear(&self->output);
    return true;
}

static void front_finish(struct mysql_front *self)
{
    if (!front_flush(self)) {
        return;
    }
    if (!self->is_shut) {
        enum err err = stream_shutdown(self->stream);
        if (err == ERR_AGAIN) {
            return;
        }
        self->is_shut = true;
        self->is_peer_done = self->is_peer_done || err != ERR_NONE;
    }
    if (self->is_peer_done) {
        front_close_and_tell(self);
    }
}

static void front_open_now(struct mysql_front *self)
{
    if (!front_flush(self)) {
        return;
    }
    struct stream *stream = self->stream;
    struct slice behind = buf_view(&self->input); /* stays until the end of the turn */
    enum mysql_packing method = mysql_packing_of(self->response.capabilities);
    stream_watch(stream, 0);
    if (method != MYSQL_UNPACKED) {
        stream = mysql_compressed_new(stream, method, behind);
        behind = SLICE("");
    }
    front_leave(self);
    self->events->on_open(self->owner, stream, behind);
}

/* Turns ---------------------------------------------------------------------------------------- */

static unsigned front_wanted(const struct mysql_front *self)
{
    unsigned events = self->output.len > 0 ? STREAM_WRITABLE : 0;
    if (self->state == MYSQL_FRONT_ENDING) {
        events |= self->is_shut ? 0 : STREAM_WRITABLE;
        return events | (self->is_peer_done ? 0 : STREAM_READABLE);
    }
    return events | (front_takes_packets(self) ? STREAM_READABLE : 0);
}

static void front_run(void *owner)
{
    struct mysql_front *self = owner;
    if (self->is_refused && self->state != MYSQL_FRONT_GONE) {
        self->is_refused = false;
        if (self->events->on_refused != NULL) {
            self->events->on_refused(self->owner, self->name);
        }
    }
    switch (self->state) {
    case MYSQL_FRONT_AT_ANSWER:
    case MYSQL_FRONT_AT_PROOF:
    case MYSQL_FRONT_ASKING: /* what it was asked for may still be on its way */
    case MYSQL_FRONT_KNOWN:
        (void)front_flush(self);
        break;
    case MYSQL_FRONT_PROVEN:
        timer_stop(&self->timer);
        self->state = MYSQL_FRONT_KNOWN;
        self->events->on_known(self->owner, self->index);
        break;
    case MYSQL_FRONT_OPENING:
        front_open_now(self);
        break;
    case MYSQL_FRONT_ENDING:
        front_finish(self);
        break;
    case MYSQL_FRONT_GONE:
        break;
    }
    if (self->state != MYSQL_FRONT_GONE) {
        stream_watch(self->stream, front_wanted(self));
    }
}

static void front_on_event(void *owner, unsigned events)
{
    struct mysql_front *self = owner;
    if ((events & STREAM_READABLE) != 0) {
        if (self->state == MYSQL_FRONT_ENDING) {
            front_discard(self);
        } else if (front_takes_packets(self)) {
            front_read(self);
        }
    }
    if (self->state != MYSQL_FRONT_GONE) {
        front_run(self);
    }
}

static void front_on_deadline(void *owner)
{
    front_drop(owner, ERR_TIMEOUT, "client took too long");
}

/* The owner's calls ---------------------------------------------------------------------------- */

static void front_greet(struct mysql_front *self)
{
    const struct mysqlwire_greeting greeting = {
        .version = slice_equals(self->config.greeting, SLICE("mariadb"))
                       ? SLICE(MYSQL_FRONT_VERSION_MARIADB)
                       : SLICE(MYSQL_FRONT_VERSION),
        .connection_id = self->number,
        .capabilities = MYSQL_SERVED_CAPABILITIES | MYSQLWIRE_COMPRESS | MYSQLWIRE_ZSTD |
                        (self->config.tls == NULL ? 0U : MYSQLWIRE_SSL),
        .charset = MYSQLWIRE_UTF8MB4,
        .status = MYSQLWIRE_STATUS_AUTOCOMMIT,
        .scramble = slice_of(self->sign_in.scramble, sizeof(self->sign_in.scramble)),
        .plugin = mysql_sign_in_first_plugin(self->config.tls != NULL),
    };
    must(mysqlwire_greeting_write(&self->output, &greeting) == ERR_NONE);
    self->sequence = 1;
}

static struct front *mysql_front_start(struct stream *take_stream,
                                       const struct front_config *config,
                                       const struct front_events *events, void *owner)
{
    struct mysql_front *self = memory_new(sizeof(*self));
    self->front.ops = &mysql_front_ops;
    self->stream = take_stream;
    self->loop = take_stream->loop;
    self->config = *config;
    self->config.tls = config->tls == NULL ? NULL : tls_server_ref(config->tls);
    self->events = events;
    self->owner = owner;
    self->number = FRONT_NUMBER_BIT | (randombytes_random() & (FRONT_NUMBER_BIT - 1));
    arena_init_small(&self->arena);
    arena_hold_secrets(&self->arena);
    buf_init(&self->input, LIMIT_MYSQL_START_SIZE + MYSQLWIRE_HEADER_SIZE);
    buf_init(&self->output, OUTPUT_SIZE);
    mysql_sign_in_scramble(&self->sign_in);
    front_greet(self);
    timer_init(&self->timer, front_on_deadline, self);
    timer_start(self->loop, &self->timer, config->authentication_ms);
    loop_task_init(&self->task, front_run, self);
    stream_own(self->stream, front_on_event, self);
    loop_defer(self->loop, &self->task);
    return &self->front;
}

static void mysql_front_answer(struct front *front, const struct front_verifiers *verifiers)
{
    struct mysql_front *self = mysql_front_of(front);
    const struct tls_server *shown = self->has_seen_tls ? self->config.tls : NULL;
    if (self->state != MYSQL_FRONT_ASKING) {
        return; /* it is on its way out */
    }
    size_t found =
        mysql_sign_in_check(&self->sign_in, verifiers, self->name, self->config.mock_key, shown);
    if (found == verifiers->count) {
        self->is_refused = true;
        front_end_plainly(self, MYSQL_ERROR_ACCESS, WRONG);
        return;
    }
    self->state = MYSQL_FRONT_PROVEN;
    self->index = found;
    loop_defer(self->loop, &self->task);
}

/* The target's OK, with what is said of our certificate in the place of what it may say of its own,
 * which MariaDB puts into the info. */
static enum err mysql_front_open(struct front *front, const struct arrival *arrival,
                                 const struct cancel_key *key)
{
    static const char fast_ok[] = {MYSQLWIRE_FIRST_MORE, MYSQLWIRE_SHA2_FAST_OK};
    struct mysql_front *self = mysql_front_of(front);
    struct mysqlwire_ok ok;
    (void)key;
    if (self->state != MYSQL_FRONT_KNOWN) {
        return ERR_NONE;
    }
    uint32_t capabilities = arrival->version;
    enum err err = mysqlwire_ok_read(arrival->greeting, capabilities, &ok, NULL);
    ok.info = slice_of(self->sign_in.told, self->sign_in.told_len);
    if (err == ERR_NONE && self->sign_in.method == MYSQL_METHOD_SHA2) {
        err = mysqlwire_data_write(&self->output, self->sequence++,
                                   slice_of(fast_ok, sizeof(fast_ok)), SLICE(""));
    }
    if (err == ERR_NONE) {
        err = mysqlwire_ok_write(&self->output, self->sequence++, capabilities, &ok);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->state = MYSQL_FRONT_OPENING;
    timer_start(self->loop, &self->timer, LIMIT_FRONT_WRITE_MS);
    loop_defer(self->loop, &self->task);
    return ERR_NONE;
}

static void mysql_front_cancelled(struct front *front)
{
    (void)front; /* who wants to kill something signs in for it */
}

static void mysql_front_refuse(struct front *front, const struct ending_words *words)
{
    struct mysql_front *self = mysql_front_of(front);
    if (self->state < MYSQL_FRONT_ENDING) {
        front_end(self, mysql_ending_number(words), words);
    }
}

static struct hello mysql_front_hello_in(struct arena *arena, const struct front *front)
{
    const struct mysql_front *self = CONTAINER_OF_CONST(front, struct mysql_front, front);
    return mysql_hello_in(arena, &self->response, self->number);
}

const struct front_ops mysql_front_ops = {
    .start = mysql_front_start,
    .answer = mysql_front_answer,
    .open = mysql_front_open,
    .cancelled = mysql_front_cancelled,
    .refuse = mysql_front_refuse,
    .hello_in = mysql_front_hello_in,
    .close = mysql_front_close,
};
