/* SPDX-License-Identifier: MIT */
/* What a MySQL server says to a gateway that signs in. The first byte says how the gateway is set
 * up, the second in pieces of which size the rest comes. Held: pieces make no difference, it ends
 * once in one way, its answer is a good ERR packet, what it keeps is an OK, and a password goes out
 * in clear text only where it may. */
#include "fuzz.h"
#include "fuzz_stream.h"

#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_hello.h"
#include "protocol/mysql/mysql_target.h"
#include "wire/mysqlwire_frame.h"

#define PASSWORD       "a-secret-of-the-gateway"
#define TURN_COUNT_MAX 2000000u

enum flag {
    FLAG_TLS = 1,
    FLAG_REQUIRED = 2,
    FLAG_REMOTE = 4,
    FLAG_DATABASE = 8,
    FLAG_EMPTY = 16,  /* the password */
    FLAG_BEHIND = 32, /* more comes in one piece with the greeting */
    FLAG_NO_TLS = 64, /* the handshake fails at once */
};

struct outcome {
    unsigned count;
    bool is_ready;
    enum err err;
    char code[TARGET_CODE_SIZE];
    struct buf greeting;
    size_t left; /* behind the server's OK */
};

static struct loop *loop;
static uint8_t flags;

/* In the place of what dials and encrypts; the server's time is not over here. */
uint64_t target_server_left_ms(const struct target_server *server)
{
    (void)server;
    return 3600000;
}

enum err target_server_encrypt(const struct target_server *server, struct stream *take_stream,
                               tls_handshake_done_fn on_done, void *owner,
                               struct tls_handshake **ret_handshake, struct error *reterr)
{
    must(server->mode != PLACE_TLS_DISABLE && !script_of(take_stream)->is_encrypted);
    if ((flags & FLAG_NO_TLS) != 0) {
        stream_close(take_stream);
        return fail(reterr, ERR_UNSUPPORTED, "no TLS");
    }
    *ret_handshake = NULL;
    script_of(take_stream)->is_encrypted = true;
    on_done(owner, take_stream, NULL);
    return ERR_NONE;
}

static void check_answer(const struct target_failure *failure)
{
    struct ending_words words;
    must(failure->error.message[0] != '\0');
    must(mysql_answer_read(failure->answer, &words) && words.message.len > 0);
    must(slice_find(failure->answer, SLICE(PASSWORD)) == failure->answer.len);
}

static void on_done(void *owner, const struct arrival *ready, const struct target_failure *failure)
{
    struct outcome *outcome = owner;
    outcome->count++;
    outcome->is_ready = ready != NULL;
    if (failure != NULL) {
        check_answer(failure);
        outcome->err = failure->error.code;
        memcpy(outcome->code, failure->code, sizeof(outcome->code));
        return;
    }
    struct error error;
    must(mysql_arrival_check(ready, &error) == ERR_NONE && ready->rest.len == 0);
    must((ready->version & MYSQLWIRE_PROTOCOL_41) != 0);
    must(script_of(ready->take_stream)->watched == 0);
    must(buf_append(&outcome->greeting, ready->greeting) == ERR_NONE);
    outcome->left = script_of(ready->take_stream)->in.len;
}

static struct mysql_secret *make_secret(void)
{
    struct secret password;
    secret_init(&password);
    must(secret_set(&password, (flags & FLAG_EMPTY) != 0 ? SLICE("") : SLICE(PASSWORD)) ==
         ERR_NONE);
    return mysql_secret_new(&password);
}

static enum place_tls tls_mode(void)
{
    enum place_tls mode = (flags & FLAG_REQUIRED) != 0 ? PLACE_TLS_REQUIRE : PLACE_TLS_PREFER;
    return (flags & FLAG_TLS) != 0 ? mode : PLACE_TLS_DISABLE;
}

/* The size of the greeting, as its header says. */
static size_t first_packet_size(struct slice in)
{
    struct reader reader = reader_of(in);
    return MYSQLWIRE_HEADER_SIZE + (size_t)mysqlwire_read_u24(&reader);
}

static void run(struct script *script, struct outcome *outcome)
{
    bool is_alone = (flags & FLAG_TLS) != 0 && (flags & FLAG_BEHIND) == 0;
    script->alone = is_alone ? first_packet_size(script->in) : 0;
    script->stream = (struct stream){.ops = &script_ops, .loop = loop};
    buf_init(&script->out, LIMIT_MIB(1));
    buf_init(&outcome->greeting, LIMIT_MIB(1));
    const struct target_server server = {.loop = loop, .mode = tls_mode()};
    const struct mysql_target_settings settings = {
        .server = &server,
        .user = SLICE("gate"),
        .database = (flags & FLAG_DATABASE) != 0 ? SLICE("shop") : SLICE(""),
        .attributes = SLICE("\3one\3two"),
        .charset = MYSQLWIRE_UTF8MB4,
        .capabilities = MYSQL_SERVED_CAPABILITIES,
        .take_secret = make_secret(),
        .is_local = (flags & FLAG_REMOTE) == 0,
    };
    (void)mysql_target_start(&script->stream, &settings, on_done, outcome);
    for (unsigned i = 0; outcome->count == 0; i++) {
        must(i < TURN_COUNT_MAX && script->watched != 0);
        script->stream.on_event(script->stream.owner, script->watched);
    }
    loop_turn(loop);
    loop_turn(loop);
    must(outcome->count == 1 && script->is_closed != outcome->is_ready);
    bool may_be_clear = script->is_encrypted || settings.is_local;
    must(may_be_clear || slice_find(buf_view(&script->out), SLICE(PASSWORD)) == script->out.len);
}

static void release(struct script *script, struct outcome *outcome)
{
    buf_release(&script->out);
    buf_release(&outcome->greeting);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice input = slice_from(slice_of(bytes, size), 2);
    if (size < 2 || slice_find(input, SLICE(PASSWORD)) < input.len) { /* it may come back */
        return 0;
    }
    if (loop == NULL) {
        loop = loop_new(NULL);
    }
    flags = bytes[0];
    struct script whole = {.in = input, .piece = SIZE_MAX};
    struct script split = {.in = input, .piece = 1u + bytes[1]};
    struct outcome first = {0};
    struct outcome second = {0};
    run(&whole, &first);
    run(&split, &second);
    /* More than it was asked for is seen where it comes at once; so is what goes before TLS. */
    bool is_more = second.is_ready && second.left > 0;
    if (!is_more && (flags & (FLAG_TLS | FLAG_BEHIND)) != (FLAG_TLS | FLAG_BEHIND)) {
        must(first.is_ready == second.is_ready && first.err == second.err);
        must(memcmp(first.code, second.code, sizeof(first.code)) == 0);
        must(slice_equals(buf_view(&first.greeting), buf_view(&second.greeting)));
    }
    release(&whole, &first);
    release(&split, &second);
    return 0;
}
