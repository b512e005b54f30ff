/* SPDX-License-Identifier: MIT */
#include "io/tls_stream.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/must.h"
#include "io/tls_internal.h"

#include <openssl/err.h>

/* OpenSSL never waits for a write: what the stream below does not take at once is kept in 'unsent'
 * and sent before anything else. So there is but one reason to wait inside OpenSSL, which is to
 * read, and a write that has to be tried again may come with other bytes. */
struct tls_stream {
    struct stream stream;
    struct stream *below;
    struct tls_context *context;
    SSL *ssl;
    char *host;    /* a client's peer, for errors */
    char *failure; /* words about what went wrong first */
    struct buf unsent;
    struct buf first; /* read from the stream below before this one was made */
    struct tls_buffers buffers;
    struct loop_task task;
    unsigned watched;
    enum err read_end;  /* what each read answers from now on; ERR_NONE while it is open */
    enum err write_end; /* the same for writes */
    bool below_ended;
    bool is_gathering; /* records go to 'unsent', to be sent together */
    bool is_holding;   /* OpenSSL may have bytes that nobody has read */
    bool shut_down;
};

static struct tls_stream *tls_stream_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct tls_stream, stream);
}

static int tls_method_read(BIO *bio, char *at, size_t size, size_t *ret_len)
{
    struct tls_stream *self = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (self->first.len > 0) {
        struct slice bytes = slice_sub(buf_view(&self->first), 0, size);
        memcpy(at, bytes.at, bytes.len);
        buf_consume(&self->first, bytes.len);
        *ret_len = bytes.len;
        return 1;
    }
    buf_clear(&self->first);
    enum err err = stream_read(self->below, at, size, ret_len);
    if (err == ERR_NONE) {
        self->is_holding = true;
        return 1;
    }
    if (err == ERR_AGAIN) {
        BIO_set_retry_read(bio);
    }
    self->below_ended = err == ERR_CLOSED;
    return 0;
}

static int tls_method_write(BIO *bio, const char *at, size_t size, size_t *ret_len)
{
    struct tls_stream *self = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    struct slice sealed = slice_of(at, size);
    size_t len = 0;
    if (self->unsent.len == 0 && self->write_end == ERR_NONE && !self->is_gathering) {
        enum err err = stream_write(self->below, &sealed, 1, &len);
        if (err != ERR_NONE && err != ERR_AGAIN) {
            self->write_end = ERR_IO;
        }
    }
    if (self->write_end == ERR_NONE && len < size &&
        buf_append(&self->unsent, slice_from(sealed, len)) != ERR_NONE) {
        self->write_end = ERR_IO;
    }
    *ret_len = size;
    return self->write_end == ERR_NONE ? 1 : 0;
}

static long tls_method_control(BIO *bio, int command, long number, void *at)
{
    (void)number;
    (void)at;
    const struct tls_stream *self = BIO_get_data(bio);
    if (command == BIO_CTRL_EOF) {
        return self->below_ended ? 1 : 0;
    }
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD *tls_stream_method_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "stream");
    must(method != NULL);
    must(BIO_meth_set_read_ex(method, tls_method_read) == 1);
    must(BIO_meth_set_write_ex(method, tls_method_write) == 1);
    must(BIO_meth_set_ctrl(method, tls_method_control) == 1);
    return method;
}

static enum err tls_flush(struct tls_stream *self)
{
    while (self->unsent.len > 0) {
        struct slice sealed = buf_view(&self->unsent);
        size_t len = 0;
        enum err err = stream_write(self->below, &sealed, 1, &len);
        if (err == ERR_AGAIN) {
            return ERR_AGAIN;
        }
        if (err != ERR_NONE) {
            self->write_end = ERR_IO;
            len = sealed.len;
        }
        buf_consume(&self->unsent, len);
    }
    buf_clear(&self->unsent); /* most connections never need it again */
    return self->write_end;
}

static char *tls_copy_text(struct slice text)
{
    char *copy = memory_new(text.len + 1);
    memcpy(copy, text.at, text.len);
    return copy;
}

void tls_stream_note(struct stream *stream, struct slice words)
{
    struct tls_stream *self = tls_stream_of(stream);
    if (self->failure == NULL) {
        self->failure = tls_copy_text(words);
    }
}

/* OpenSSL's list of alerts in words ends before TLS 1.3. */
static const char *tls_alert_text(int alert)
{
    return alert == TLS13_AD_CERTIFICATE_REQUIRED ? "certificate required"
                                                  : SSL_alert_desc_string_long(alert);
}

/* What OpenSSL's first complaint means to a person. */
static void tls_note_failure(struct tls_stream *self)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_REASON(error);
    char words[128];
    const char *text = ERR_reason_error_string(error);
    if (ERR_GET_LIB(error) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET) {
        (void)snprintf(words, sizeof(words), "refused by the other side: %s",
                       tls_alert_text(reason - SSL_AD_REASON_OFFSET));
        text = words;
    } else if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
        text = "the other side does not speak TLS";
    } else if (reason == SSL_R_UNSUPPORTED_PROTOCOL) {
        text = "the other side speaks only versions of TLS that are too old";
    }
    if (text != NULL) {
        tls_stream_note(&self->stream, slice_of_text(text));
    }
}

/* What a call into OpenSSL that did not succeed means. */
static enum err tls_outcome(struct tls_stream *self, int result)
{
    int reason = SSL_get_error(self->ssl, result);
    if (reason == SSL_ERROR_SSL) {
        tls_note_failure(self);
    }
    ERR_clear_error();
    if (reason == SSL_ERROR_WANT_READ) {
        self->is_holding = false; /* at most a part of a record */
        return ERR_AGAIN;
    }
    if (reason == SSL_ERROR_ZERO_RETURN) {
        self->read_end = ERR_CLOSED;
        return ERR_CLOSED;
    }
    self->read_end = self->below_ended ? ERR_CLOSED : ERR_IO;
    self->write_end = ERR_IO;
    return self->read_end;
}

/* SSL_get_error() takes what others left in the thread's queue for its own; to empty an empty one
 * costs more than to look. */
static void tls_enter(struct tls_stream *self)
{
    tls_buffers_use(&self->buffers, self->stream.loop);
    if (ERR_peek_error() != 0) {
        ERR_clear_error();
    }
}

static bool tls_is_shaking_hands(const struct tls_stream *self)
{
    return SSL_is_init_finished(self->ssl) == 0;
}

static enum err tls_shake_hands(struct tls_stream *self)
{
    if (self->read_end != ERR_NONE || !tls_is_shaking_hands(self)) {
        return self->read_end;
    }
    tls_enter(self);
    int result = SSL_do_handshake(self->ssl);
    if (result == 1) {
        self->is_holding = SSL_has_pending(self->ssl) == 1;
        return ERR_NONE;
    }
    enum err err = tls_outcome(self, result);
    if (err != ERR_AGAIN) {
        self->write_end = ERR_IO;
    }
    return err;
}

static bool tls_holds_bytes(const struct tls_stream *self)
{
    return self->first.len > 0 || self->is_holding;
}

/* What can be done although the stream below may stay silent. */
static unsigned tls_ready_events(const struct tls_stream *self)
{
    unsigned ready = 0;
    if (self->read_end != ERR_NONE || self->write_end != ERR_NONE || tls_holds_bytes(self)) {
        ready |= STREAM_READABLE;
    }
    if (self->write_end != ERR_NONE) {
        ready |= STREAM_WRITABLE;
    }
    return ready & self->watched;
}

/* During the handshake a writer, too, waits for the peer's bytes. */
static unsigned tls_events_for_write(const struct tls_stream *self)
{
    bool waits = tls_is_shaking_hands(self) && !self->shut_down;
    return waits ? STREAM_READABLE : STREAM_WRITABLE;
}

/* Called after everything that may have changed the state. */
static void tls_watch_below(struct tls_stream *self)
{
    unsigned events = 0;
    if ((self->watched & STREAM_READABLE) != 0 && self->read_end == ERR_NONE) {
        events |= STREAM_READABLE;
    }
    if ((self->watched & STREAM_WRITABLE) != 0 && self->write_end == ERR_NONE) {
        events |= tls_events_for_write(self);
    }
    if (self->unsent.len > 0) {
        events |= STREAM_WRITABLE;
    }
    stream_watch(self->below, events);
    if (tls_ready_events(self) != 0) {
        loop_defer(self->stream.loop, &self->task);
    }
}

/* The owner may close the stream, or give it to another thread: nothing is touched after the call.
 * What he leaves undone is told again by the task that is put off before. */
static void tls_report(struct tls_stream *self, unsigned events)
{
    unsigned ready = events & self->watched;
    tls_watch_below(self);
    if (ready != 0) {
        self->stream.on_event(self->stream.owner, ready);
    }
}

static void tls_on_task(void *owner)
{
    struct tls_stream *self = owner;
    tls_report(self, tls_ready_events(self));
}

static void tls_on_below(void *owner, unsigned events)
{
    struct tls_stream *self = owner;
    unsigned ready = 0;
    bool sent = true;
    if ((events & STREAM_WRITABLE) != 0 && self->unsent.len > 0) {
        sent = tls_flush(self) != ERR_AGAIN;
    }
    if ((events & STREAM_READABLE) != 0) {
        ready |= STREAM_READABLE;
    }
    if ((events & tls_events_for_write(self)) != 0 && sent) {
        ready |= STREAM_WRITABLE;
    }
    tls_report(self, ready | tls_ready_events(self));
}

static enum err tls_open_record(struct tls_stream *self, char *at, size_t size, size_t *ret_len)
{
    if (self->read_end != ERR_NONE) {
        return self->read_end;
    }
    tls_enter(self);
    int result = SSL_read_ex(self->ssl, at, size, ret_len);
    if (result == 1) {
        self->is_holding = SSL_has_pending(self->ssl) == 1;
        return ERR_NONE;
    }
    return tls_outcome(self, result);
}

static enum err tls_stream_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct tls_stream *self = tls_stream_of(stream);
    must(size > 0);
    size_t taken = 0;
    enum err err = tls_shake_hands(self);
    if (err == ERR_NONE) {
        err = tls_open_record(self, at, size, &taken);
    }
    while (err == ERR_NONE && taken < size && tls_holds_bytes(self)) {
        size_t len = 0;
        err = tls_open_record(self, at + taken, size - taken, &len);
        taken += len;
    }
    if (err == ERR_AGAIN && self->write_end != ERR_NONE) {
        err = self->read_end = ERR_IO; /* nobody would come to write and hear of it */
    }
    tls_watch_below(self);
    if (taken == 0) {
        return err;
    }
    *ret_len = taken; /* what went wrong behind these bytes is said by the next call */
    return ERR_NONE;
}

static enum err tls_seal_record(struct tls_stream *self, struct slice bytes)
{
    size_t len = 0;
    tls_enter(self);
    int result = SSL_write_ex(self->ssl, bytes.at, bytes.len, &len);
    return result == 1 ? ERR_NONE : tls_outcome(self, result);
}

/* ERR_NONE when a record may be sealed now. */
static enum err tls_prepare_write(struct tls_stream *self)
{
    if (self->write_end != ERR_NONE || self->shut_down) {
        return ERR_IO;
    }
    enum err err = tls_shake_hands(self);
    if (tls_is_shaking_hands(self)) {
        return err == ERR_AGAIN ? ERR_AGAIN : ERR_IO;
    }
    return tls_flush(self);
}

/* A record that is not the last one of a write waits for the next, as far as there is room for one
 * more: what is long goes out in few calls. */
static enum err tls_seal_all(struct tls_stream *self, struct tls_parts *left, size_t *taken)
{
    char scratch[TLS_RECORD_SIZE];
    enum err err = ERR_NONE;
    while (err == ERR_NONE && left->count > 0) {
        struct slice bytes = tls_parts_take(left, scratch);
        self->is_gathering = left->count > 0 || self->unsent.len > 0;
        if (self->is_gathering && self->unsent.len == 0) {
            char *at = NULL; /* at once, so that nothing is moved */
            must(buf_reserve(&self->unsent, LIMIT_TLS_UNSENT_SIZE, &at) == ERR_NONE);
        }
        err = tls_seal_record(self, bytes);
        *taken += err == ERR_NONE ? bytes.len : 0;
        bool is_full = self->unsent.len + TLS_SEALED_SIZE_MAX > LIMIT_TLS_UNSENT_SIZE;
        if (err == ERR_NONE && (is_full || left->count == 0)) {
            err = tls_flush(self);
        }
    }
    self->is_gathering = false;
    return err == ERR_AGAIN && *taken > 0 ? ERR_NONE : err;
}

static enum err tls_stream_write(struct stream *stream, const struct slice *parts, size_t count,
                                 size_t *ret_len)
{
    struct tls_stream *self = tls_stream_of(stream);
    struct tls_parts left = {.parts = parts, .count = count, .offset = 0};
    size_t taken = 0;
    tls_parts_skip(&left, 0);
    enum err err = tls_prepare_write(self);
    if (err == ERR_NONE) {
        err = tls_seal_all(self, &left, &taken);
    }
    tls_watch_below(self);
    if (err != ERR_NONE && taken == 0) {
        return err == ERR_AGAIN ? ERR_AGAIN : ERR_IO;
    }
    *ret_len = taken;
    return ERR_NONE;
}

static void tls_stream_watch(struct stream *stream, unsigned events)
{
    struct tls_stream *self = tls_stream_of(stream);
    if (self->watched != events) {
        self->watched = events;
        tls_watch_below(self);
    }
}

static enum err tls_stream_shutdown(struct stream *stream)
{
    struct tls_stream *self = tls_stream_of(stream);
    if (!self->shut_down && self->write_end == ERR_NONE && !tls_is_shaking_hands(self)) {
        tls_enter(self);
        if (SSL_shutdown(self->ssl) < 0) {
            self->write_end = ERR_IO;
        }
        ERR_clear_error();
    }
    self->shut_down = true;
    enum err err = self->write_end == ERR_NONE ? tls_flush(self) : ERR_IO;
    if (err == ERR_NONE) {
        err = stream_shutdown(self->below);
    }
    tls_watch_below(self);
    return err;
}

static void tls_stream_free(void *owner)
{
    struct tls_stream *self = owner;
    SSL_free(self->ssl);
    buf_release(&self->unsent);
    buf_release(&self->first);
    tls_context_unref(self->context);
    memory_free(self->host);
    memory_free(self->failure);
    memory_free(self);
}

static void tls_stream_close(struct stream *stream)
{
    struct tls_stream *self = tls_stream_of(stream);
    stream_close(self->below);
    tls_buffers_stop(&self->buffers);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, tls_stream_free, self);
    loop_defer(stream->loop, &self->task);
}

static const struct tls_stream *tls_stream_view(const struct stream *stream)
{
    return (const void *)((const char *)stream - offsetof(struct tls_stream, stream));
}

SSL *tls_stream_ssl(const struct stream *stream)
{
    return tls_stream_view(stream)->ssl;
}

static struct slice tls_stream_protocol(const struct stream *stream)
{
    const unsigned char *name = NULL;
    unsigned len = 0;
    SSL_get0_alpn_selected(tls_stream_ssl(stream), &name, &len);
    return slice_of(name, len);
}

static bool tls_stream_is_encrypted(const struct stream *stream)
{
    (void)stream;
    return true;
}

static void tls_stream_detach(struct stream *stream)
{
    struct tls_stream *self = tls_stream_of(stream);
    must(self->watched == 0);
    loop_task_cancel(&self->task);
    tls_buffers_stop(&self->buffers);
    stream_watch(self->below, 0);
    stream_detach(self->below);
}

static void tls_stream_attach(struct stream *stream, struct loop *loop)
{
    struct tls_stream *self = tls_stream_of(stream);
    stream_attach(self->below, loop);
    tls_buffers_use(&self->buffers, loop);
    tls_watch_below(self);
}

static const struct stream_ops tls_stream_ops = {
    .read = tls_stream_read,
    .write = tls_stream_write,
    .watch = tls_stream_watch,
    .shutdown = tls_stream_shutdown,
    .close = tls_stream_close,
    .protocol = tls_stream_protocol,
    .is_encrypted = tls_stream_is_encrypted,
    .detach = tls_stream_detach,
    .attach = tls_stream_attach,
};

enum err tls_stream_shake_hands(struct stream *stream)
{
    struct tls_stream *self = tls_stream_of(stream);
    must(stream->ops == &tls_stream_ops);
    enum err err = tls_shake_hands(self);
    if (err == ERR_AGAIN && self->write_end != ERR_NONE) {
        err = self->read_end = ERR_IO;
    }
    tls_watch_below(self);
    return err;
}

enum err tls_stream_explain(const struct stream *stream, struct error *reterr)
{
    const struct tls_stream *self = tls_stream_view(stream);
    must(stream->ops == &tls_stream_ops);
    const char *words = self->failure;
    if (words == NULL) {
        bool has_ended = self->read_end == ERR_CLOSED;
        words = has_ended ? "the other side ended the connection" : "the connection broke";
    }
    const char *when =
        tls_is_shaking_hands(self) && self->failure == NULL ? " in the handshake" : "";
    return self->host == NULL
               ? fail(reterr, ERR_UNAVAILABLE, "TLS: %s%s", words, when)
               : fail(reterr, ERR_UNAVAILABLE, "TLS with '%s': %s%s", self->host, words, when);
}

/* NULL when the TLS library is out of memory; the stream below is closed then. */
static struct tls_stream *tls_stream_make(struct tls_context *context, struct stream *take_below)
{
    SSL *ssl = SSL_new(context->ssl);
    BIO *bio = BIO_new(context->method);
    if (ssl == NULL || bio == NULL) {
        SSL_free(ssl);
        (void)BIO_free(bio);
        ERR_clear_error();
        stream_close(take_below);
        return NULL;
    }
    struct tls_stream *self = memory_new(sizeof(*self));
    self->stream.ops = &tls_stream_ops;
    self->stream.loop = take_below->loop;
    self->below = take_below;
    self->context = context;
    tls_context_ref(context);
    self->ssl = ssl;
    buf_init(&self->unsent, LIMIT_TLS_UNSENT_SIZE);
    buf_init(&self->first, LIMIT_TLS_FIRST_SIZE);
    tls_buffers_init(&self->buffers, ssl);
    loop_task_init(&self->task, tls_on_task, self);
    BIO_set_data(bio, self);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, &self->stream);
    stream_own(take_below, tls_on_below, self);
    return self;
}

enum err tls_stream_new_behind(struct tls_server *server, struct stream *take_below,
                               struct slice first, struct stream **ret_stream)
{
    struct tls_stream *self = tls_stream_make(&server->context, take_below);
    if (self == NULL) {
        return ERR_UNAVAILABLE;
    }
    must(buf_append(&self->first, first) == ERR_NONE);
    SSL_set_accept_state(self->ssl);
    *ret_stream = &self->stream;
    return ERR_NONE;
}

enum err tls_stream_new(struct tls_server *server, struct stream *take_below,
                        struct stream **ret_stream)
{
    return tls_stream_new_behind(server, take_below, SLICE_NONE, ret_stream);
}

enum err tls_stream_new_client(struct tls_client *client, struct slice host,
                               struct stream *take_below, struct stream **ret_stream,
                               struct error *reterr)
{
    struct tls_stream *self = tls_stream_make(&client->context, take_below);
    if (self == NULL) {
        return fail(reterr, ERR_UNAVAILABLE, "TLS: out of memory");
    }
    SSL_set_connect_state(self->ssl);
    enum err err = tls_client_prepare(client, self->ssl, host, &self->host, reterr);
    if (err != ERR_NONE) {
        stream_close(&self->stream);
        return err;
    }
    *ret_stream = &self->stream;
    return ERR_NONE;
}
