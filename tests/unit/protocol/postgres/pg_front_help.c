/* SPDX-License-Identifier: MIT */
#include "pg_front_help.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "base/writer.h"
#include "io/socket_stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_COUNT   6
#define FAULTY_TURNS 300
#define MUCH_MS      60000
#define CLOSED_MS    2600
#define SHAKES_COUNT 200

/* The owner ----------------------------------------------------------------------------------- */

void peer_answer(struct peer *peer)
{
    pg_front_answer(peer->front, peer->verifiers, peer->wish.is_unknown ? 0 : PEER_VERIFIERS);
}

static void on_name(void *owner, struct slice name)
{
    struct peer *peer = owner;
    must(slice_equals(name, pg_front_startup(peer->front)->user));
    peer->name_count++;
    if (!peer->wish.answers_late) {
        peer_answer(peer);
    }
}

static void on_refused(void *owner, struct slice name)
{
    struct peer *peer = owner;
    must(name.len > 0);
    peer->refused_count++;
}

void peer_ready(struct peer *peer)
{
    const struct pg_front_session session = {
        .parameter_statuses = SLICE(PEER_STATUS),
        .key = {.process = 7, .secret = SLICE("abcd")},
        .transaction = PGWIRE_IDLE,
    };
    must(pg_front_ready(peer->front, &session) == ERR_NONE);
}

static void on_known(void *owner, size_t index)
{
    struct peer *peer = owner;
    peer->known_count++;
    peer->index = index;
    if (!peer->wish.opens_late) {
        peer_ready(peer);
    }
}

static void on_open(void *owner, struct stream *take_stream, struct slice behind)
{
    struct peer *peer = owner;
    peer->open_count++;
    peer->taken = take_stream;
    peer->behind = arena_copy(&peer->arena, behind);
    peer->front = NULL;
}

static void on_cancel(void *owner, const struct cancel_key *key)
{
    struct peer *peer = owner;
    peer->cancel_count++;
    peer->cancel_process = key->number;
    peer->cancel_secret = arena_copy(&peer->arena, key->secret);
    if (!peer->wish.cancels_late) {
        pg_front_cancelled(peer->front);
    }
}

static void on_closed(void *owner, const struct error *reason)
{
    struct peer *peer = owner;
    peer->closed_count++;
    peer->reason = *reason;
    peer->front = NULL;
}

static const struct front_events events = {
    .on_name = on_name,
    .on_refused = on_refused,
    .on_known = on_known,
    .on_open = on_open,
    .on_cancel = on_cancel,
    .on_closed = on_closed,
};

static void make_verifiers(struct peer *peer)
{
    struct scram_verifier mock;
    secret_init(&peer->mock_key);
    must(secret_set(&peer->mock_key, SLICE("of the gateway")) == ERR_NONE);
    scram_verifier_mock(&peer->mock_key, SLICE(PEER_NAME), &mock);
    for (size_t i = 0; i < PEER_VERIFIERS; i++) {
        struct secret password CLEANUP(secret_release);
        secret_init(&password);
        must(secret_set(&password, arena_format(&peer->arena, "password %zu", i)) == ERR_NONE);
        scram_verifier_derive(&password, slice_of(mock.salt, mock.salt_size), mock.iterations,
                              &peer->verifiers[i]);
    }
}

/* Both ends ----------------------------------------------------------------------------------- */

void peer_start(struct peer *peer, struct peer_wish wish)
{
    static struct scram_verifier verifiers[PEER_VERIFIERS]; /* they take long to derive */
    int fds[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    *peer = (struct peer){.wish = wish, .fd = fds[1]};
    arena_init(&peer->arena);
    buf_init(&peer->said, LIMIT_MIB(1));
    memcpy(peer->verifiers, verifiers, sizeof(verifiers));
    if (verifiers[0].iterations == 0) {
        make_verifiers(peer);
        memcpy(verifiers, peer->verifiers, sizeof(verifiers));
    } else {
        secret_init(&peer->mock_key);
        must(secret_set(&peer->mock_key, SLICE("of the gateway")) == ERR_NONE);
    }
    struct front_config config = {
        .needs_tls = wish.needs_tls,
        .mock_key = &peer->mock_key,
        .authentication_ms = wish.authentication_ms == 0 ? MUCH_MS : wish.authentication_ms,
    };
    if (wish.tls != NULL) {
        front_config_set_tls(&config, wish.tls);
    }
    peer->loop = loop_new(wish.fault);
    peer->front = pg_front_new(socket_stream_new(peer->loop, fds[0]), &config, &events, peer);
}

void peer_leave(struct peer *peer)
{
    SSL_free(peer->ssl);
    peer->ssl = NULL;
    if (peer->fd >= 0) {
        (void)close(peer->fd);
    }
    peer->fd = -1;
}

void peer_end(struct peer *peer)
{
    if (peer->front != NULL) {
        pg_front_close(peer->front);
    }
    if (peer->taken != NULL) {
        stream_close(peer->taken);
    }
    peer_leave(peer);
    loop_free(peer->loop);
    buf_release(&peer->said);
    arena_release(&peer->arena);
    secret_release(&peer->mock_key);
}

static void receive(struct peer *peer)
{
    char bytes[8192];
    ssize_t len = 0;
    do {
        if (peer->ssl != NULL) {
            len = SSL_read(peer->ssl, bytes, sizeof(bytes));
            peer->is_closed =
                peer->is_closed || SSL_get_error(peer->ssl, (int)len) == SSL_ERROR_ZERO_RETURN;
        } else {
            len = read(peer->fd, bytes, sizeof(bytes));
            peer->is_closed = peer->is_closed || len == 0;
            peer->is_reset = peer->is_reset || (len < 0 && errno == ECONNRESET);
        }
        if (len > 0) {
            must(buf_append(&peer->said, slice_of(bytes, (size_t)len)) == ERR_NONE);
        }
    } while (len > 0);
}

void peer_turn(struct peer *peer)
{
    size_t count = peer->wish.fault == NULL ? TURN_COUNT : FAULTY_TURNS;
    for (size_t i = 0; i < count; i++) {
        loop_turn(peer->loop);
    }
    if (peer->fd >= 0) {
        receive(peer);
    }
}

void peer_wait_closed(struct peer *peer)
{
    for (size_t i = 0; i < CLOSED_MS / 10 && peer->closed_count == 0; i++) {
        (void)usleep(10000);
        peer_turn(peer);
    }
    peer_turn(peer);
}

static void send_now(struct peer *peer, struct slice bytes)
{
    while (bytes.len > 0 && !peer->is_reset) {
        ssize_t len = peer->ssl != NULL ? SSL_write(peer->ssl, bytes.at, (int)bytes.len)
                                        : send(peer->fd, bytes.at, bytes.len, MSG_NOSIGNAL);
        peer->is_reset = len < 0 && errno != EAGAIN;
        bytes = slice_from(bytes, len > 0 ? (size_t)len : 0);
        peer_turn(peer);
    }
}

void peer_send(struct peer *peer, struct slice bytes)
{
    while (bytes.len > 0) {
        size_t len = peer->piece_size == 0 ? bytes.len : peer->piece_size;
        if (peer->cut_at > peer->sent && peer->cut_at < peer->sent + len) {
            len = peer->cut_at - peer->sent;
        }
        struct slice piece = slice_sub(bytes, 0, len);
        send_now(peer, piece);
        peer->sent += piece.len;
        bytes = slice_from(bytes, piece.len);
    }
}

static void send_buf(struct peer *peer, struct buf *buf)
{
    peer_send(peer, buf_view(buf));
    buf_release(buf);
}

void peer_send_message(struct peer *peer, char type, struct slice body)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    struct writer writer = writer_to(&buf);
    writer_u8(&writer, (uint8_t)type);
    writer_u32(&writer, (uint32_t)body.len + 4);
    writer_bytes(&writer, body);
    must(writer_done(&writer) == ERR_NONE);
    send_buf(peer, &buf);
}

void peer_send_startup(struct peer *peer, uint32_t version,
                       const struct pgwire_parameter *parameters, size_t count)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    must(pgwire_startup_write(&buf, version, parameters, count) == ERR_NONE);
    send_buf(peer, &buf);
}

void peer_send_request(struct peer *peer, enum pgwire_packet packet)
{
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(1));
    must(pgwire_encryption_request_write(&buf, packet) == ERR_NONE);
    send_buf(peer, &buf);
}

bool peer_start_tls(struct peer *peer, const char *protocols, unsigned len)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    must(context != NULL);
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context);
    must(ssl != NULL && SSL_set_fd(ssl, peer->fd) == 1);
    if (protocols != NULL) {
        must(SSL_set_alpn_protos(ssl, (const unsigned char *)protocols, len) == 0);
    }
    SSL_set_connect_state(ssl);
    int result = 0;
    for (size_t i = 0; i < SHAKES_COUNT && result != 1; i++) {
        result = SSL_do_handshake(ssl);
        loop_turn(peer->loop);
    }
    if (result != 1) {
        SSL_free(ssl);
        return false;
    }
    peer->ssl = ssl;
    peer_turn(peer);
    return true;
}

/* What the front said ------------------------------------------------------------------------- */

char peer_take_byte(struct peer *peer)
{
    if (peer->said.len == 0) {
        return '\0';
    }
    char byte = buf_view(&peer->said).at[0];
    buf_consume(&peer->said, 1);
    return byte;
}

char peer_take(struct peer *peer, struct slice *ret_body)
{
    struct reader reader = reader_of(buf_view(&peer->said));
    char type = (char)reader_u8(&reader);
    uint32_t len = reader_u32(&reader);
    struct slice body = reader_view(&reader, len < 4 ? 0 : len - 4);
    if (reader.failed) {
        return '\0';
    }
    *ret_body = arena_copy(&peer->arena, body);
    buf_consume(&peer->said, reader.index);
    return type;
}

const char *peer_take_fatal(struct peer *peer, const char *sqlstate)
{
    struct slice body;
    struct slice fields;
    if (peer_take(peer, &body) != PGWIRE_SERVER_ERROR ||
        pgwire_notice_read(body, &fields, NULL) != ERR_NONE ||
        !slice_equals(pgwire_notice_find(fields, PGWIRE_FIELD_SEVERITY), SLICE("FATAL")) ||
        !slice_equals(pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE), slice_of_text(sqlstate))) {
        return NULL;
    }
    return arena_text(&peer->arena, pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE));
}

bool peer_take_auth(struct peer *peer, enum pgwire_auth_kind kind, struct slice *ret_data)
{
    struct slice body;
    struct pgwire_auth auth;
    if (peer_take(peer, &body) != PGWIRE_SERVER_AUTHENTICATION ||
        pgwire_auth_read(body, &auth, NULL) != ERR_NONE || auth.kind != kind) {
        return false;
    }
    *ret_data = auth.data;
    return true;
}

/* A good client ------------------------------------------------------------------------------- */

void peer_begin(struct peer *peer)
{
    const struct pgwire_parameter parameters[] = {{SLICE("user"), SLICE(PEER_NAME)},
                                                  {SLICE("database"), SLICE("shop")}};
    peer_send_startup(peer, PGWIRE_VERSION(3, 0), parameters, COUNT_OF(parameters));
}

static void end_point_of(struct peer *peer, struct scram_end_point *ret_end_point)
{
    X509 *certificate = SSL_get1_peer_certificate(peer->ssl);
    unsigned char *der = NULL;
    int size = i2d_X509(certificate, &der);
    must(size > 0);
    must(scram_end_point_of(slice_of(der, (size_t)size), ret_end_point, NULL) == ERR_NONE);
    OPENSSL_free(der);
    X509_free(certificate);
}

static void release_secret(void *at)
{
    secret_release(at);
}

void peer_choose(struct peer *peer, const char *password)
{
    struct slice data;
    struct slice name;
    struct secret *secret = arena_alloc(&peer->arena, sizeof(*secret));
    struct scram_end_point *end_point = arena_alloc(&peer->arena, sizeof(*end_point));
    must(peer_take_auth(peer, PGWIRE_AUTH_SASL, &data));
    secret_init(secret);
    arena_on_end(&peer->arena, release_secret, secret);
    must(secret_set(secret, slice_of_text(password)) == ERR_NONE);
    if (peer->ssl != NULL) {
        end_point_of(peer, end_point);
    }
    struct scram_client_options options = {
        .password = secret,
        .end_point = peer->ssl != NULL ? end_point : NULL,
    };
    while (pgwire_mechanism_next(&data, &name)) {
        options.plus_is_offered =
            options.plus_is_offered || slice_equals(name, SLICE(SCRAM_MECHANISM_PLUS));
    }
    peer->scram = scram_client_new_in(&peer->arena, &options);
    const struct pgwire_sasl_initial initial = {
        .mechanism = scram_client_mechanism(peer->scram),
        .response = scram_client_first_in(&peer->arena, peer->scram),
    };
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(4));
    must(pgwire_sasl_initial_write(&buf, &initial) == ERR_NONE);
    send_buf(peer, &buf);
}

void peer_prove(struct peer *peer)
{
    struct slice data;
    struct slice answer;
    struct buf buf;
    must(peer_take_auth(peer, PGWIRE_AUTH_SASL_CONTINUE, &data));
    must(scram_client_take_in(&peer->arena, peer->scram, data, &answer, NULL) == ERR_MORE);
    buf_init(&buf, LIMIT_KIB(4));
    must(pgwire_sasl_response_write(&buf, answer) == ERR_NONE);
    send_buf(peer, &buf);
}

void peer_sign_in(struct peer *peer, const char *password)
{
    peer_begin(peer);
    peer_choose(peer, password);
    peer_prove(peer);
}

bool peer_takes_session(struct peer *peer)
{
    struct slice data;
    struct slice answer;
    struct pgwire_key key;
    enum pgwire_transaction transaction;
    return peer_take_auth(peer, PGWIRE_AUTH_SASL_FINAL, &data) &&
           scram_client_take_in(&peer->arena, peer->scram, data, &answer, NULL) == ERR_NONE &&
           peer_take_auth(peer, PGWIRE_AUTH_OK, &data) &&
           peer_take(peer, &data) == PGWIRE_SERVER_PARAMETER_STATUS &&
           slice_equals(data, slice_from(SLICE(PEER_STATUS), 5)) &&
           peer_take(peer, &data) == PGWIRE_SERVER_BACKEND_KEY &&
           pgwire_key_read(data, &key, NULL) == ERR_NONE && key.process == 7 &&
           slice_equals(key.secret, SLICE("abcd")) &&
           peer_take(peer, &data) == PGWIRE_SERVER_READY &&
           pgwire_ready_read(data, &transaction, NULL) == ERR_NONE && transaction == PGWIRE_IDLE &&
           peer->said.len == 0;
}
