/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"
#include "identity/scram_internal.h"

#include <sodium.h>

struct scram_client {
    enum scram_state state;
    const struct secret *password; /* borrowed until it was used */
    struct slice header;
    struct slice bare; /* the first message behind the header */
    struct slice nonce;
    struct scram_end_point end_point; /* of no bytes without channel binding */
    struct scram_keys keys;
    bool has_keys;
    unsigned char server_signature[SCRAM_HASH_SIZE]; /* as it must come */
};

static void scram_client_wipe(void *at)
{
    explicit_bzero(at, sizeof(struct scram_client));
}

/* RFC 5802 section 5.1. */
static struct slice scram_escape_in(struct arena *arena, struct slice name)
{
    char *text = arena_alloc(arena, 3 * name.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < name.len; i++) {
        bool is_escaped = name.at[i] == ',' || name.at[i] == '=';
        text[len++] = is_escaped ? '=' : name.at[i];
        if (is_escaped) {
            text[len++] = name.at[i] == ',' ? '2' : '3';
            text[len++] = name.at[i] == ',' ? 'C' : 'D';
        }
    }
    return slice_of(text, len);
}

struct scram_client *scram_client_new_in(struct arena *arena,
                                         const struct scram_client_options *options)
{
    struct scram_client *client = arena_alloc(arena, sizeof(*client));
    arena_on_end(arena, scram_client_wipe, client);
    client->password = options->password;
    client->header = SLICE("n,,");
    if (options->end_point != NULL) {
        client->header = SLICE("y,,");
        if (options->plus_is_offered) {
            client->header = SLICE(SCRAM_END_POINT_FLAG ",,");
            client->end_point = *options->end_point;
        }
    }
    client->nonce = scram_nonce_in(arena, options->nonce);
    if (options->is_marked) {
        client->nonce = arena_format(arena, SCRAM_MARK "%.*s", SLICE_ARG(client->nonce));
    }
    struct slice name = scram_escape_in(arena, options->user);
    client->bare = arena_format(arena, "n=%.*s,r=%.*s", SLICE_ARG(name), SLICE_ARG(client->nonce));
    return client;
}

struct slice scram_client_mechanism(const struct scram_client *client)
{
    return client->end_point.size > 0 ? SLICE(SCRAM_MECHANISM_PLUS) : SLICE(SCRAM_MECHANISM);
}

struct slice scram_client_first_in(struct arena *arena, const struct scram_client *client)
{
    return arena_format(arena, "%.*s%.*s", SLICE_ARG(client->header), SLICE_ARG(client->bare));
}

struct scram_challenge {
    struct slice nonce;
    struct scram_salt salt;
};

static enum err scram_client_read_first(const struct scram_client *client, struct slice message,
                                        struct scram_challenge *ret_challenge, struct error *reterr)
{
    struct slice rest = message;
    struct slice salt;
    struct slice iterations;
    struct scram_salt *ret_salt = &ret_challenge->salt;
    enum err err = scram_take_nonce(&rest, &ret_challenge->nonce, reterr);
    err = err != ERR_NONE ? err : scram_take(&rest, 's', &salt, reterr);
    err = err != ERR_NONE ? err : scram_take(&rest, 'i', &iterations, reterr);
    err = err != ERR_NONE ? err : scram_take_extensions(&rest, '\0', reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (!slice_starts_with(ret_challenge->nonce, client->nonce) ||
        ret_challenge->nonce.len == client->nonce.len) {
        return fail(reterr, ERR_UNAUTHENTICATED, "SCRAM server answers another nonce");
    }
    if (scram_decode(salt, ret_salt->bytes, sizeof(ret_salt->bytes), &ret_salt->size) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "SCRAM message whose salt is not valid");
    }
    return scram_parse_iterations(iterations, &ret_salt->iterations, reterr);
}

enum err scram_client_look(const struct scram_client *client, struct slice message,
                           struct scram_salt *ret_salt, struct error *reterr)
{
    struct scram_challenge challenge = {0};
    must(client->state == SCRAM_AT_FIRST);
    enum err err = scram_check_message(message, reterr);
    err = err != ERR_NONE ? err : scram_client_read_first(client, message, &challenge, reterr);
    if (err == ERR_NONE) {
        *ret_salt = challenge.salt;
    }
    return err;
}

void scram_client_use_keys(struct scram_client *client, const struct scram_keys *keys)
{
    must(client->state == SCRAM_AT_FIRST);
    client->keys = *keys;
    client->has_keys = true;
    client->password = NULL;
}

const struct scram_keys *scram_client_keys(const struct scram_client *client)
{
    must(client->has_keys);
    return &client->keys;
}

static void scram_sign(const unsigned char *key, const struct slice *parts, size_t count,
                       unsigned char *ret_signature)
{
    crypto_auth_hmacsha256_state state;
    (void)crypto_auth_hmacsha256_init(&state, key, SCRAM_HASH_SIZE);
    for (size_t i = 0; i < count; i++) {
        (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)parts[i].at,
                                            parts[i].len);
    }
    (void)crypto_auth_hmacsha256_final(&state, ret_signature);
    explicit_bzero(&state, sizeof(state));
}

static enum err scram_client_take_first(struct arena *arena, struct scram_client *client,
                                        struct slice message, struct slice *ret_answer,
                                        struct error *reterr)
{
    struct scram_challenge challenge = {0};
    enum err err = scram_client_read_first(client, message, &challenge, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct scram_keys *keys = &client->keys;
    if (!client->has_keys) {
        const struct scram_salt *salt = &challenge.salt;
        scram_keys_derive(client->password, slice_of(salt->bytes, salt->size), salt->iterations,
                          &client->keys);
        client->has_keys = true;
    }
    client->password = NULL;
    struct slice binding = scram_binding_in(arena, client->header, &client->end_point);
    struct slice unproven =
        arena_format(arena, "c=%.*s,r=%.*s", SLICE_ARG(binding), SLICE_ARG(challenge.nonce));
    const struct slice parts[] = {client->bare, SLICE(","), message, SLICE(","), unproven};
    unsigned char proof[SCRAM_HASH_SIZE];
    scram_sign(keys->stored_key, parts, COUNT_OF(parts), proof);
    scram_sign(keys->server_key, parts, COUNT_OF(parts), client->server_signature);
    for (size_t i = 0; i < sizeof(proof); i++) {
        proof[i] ^= keys->client_key[i];
    }
    struct slice text = base64_encode_in(arena, BASE64_STANDARD, slice_of(proof, sizeof(proof)));
    *ret_answer = arena_format(arena, "%.*s,p=%.*s", SLICE_ARG(unproven), SLICE_ARG(text));
    client->state = SCRAM_AT_FINAL;
    return ERR_MORE;
}

static enum err scram_client_take_final(struct scram_client *client, struct slice message,
                                        struct error *reterr)
{
    if (slice_starts_with(message, SLICE("e="))) {
        return fail(reterr, ERR_UNAUTHENTICATED, "SCRAM server refuses the password");
    }
    struct slice rest = message;
    struct slice text;
    enum err err = scram_take(&rest, 'v', &text, reterr);
    err = err != ERR_NONE ? err : scram_take_extensions(&rest, '\0', reterr);
    if (err != ERR_NONE) {
        return err;
    }
    unsigned char signature[SCRAM_HASH_SIZE];
    if (scram_decode_hash(text, signature) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "SCRAM message whose signature is not valid");
    }
    if (sodium_memcmp(signature, client->server_signature, sizeof(signature)) != 0) {
        return fail(reterr, ERR_UNAUTHENTICATED, "SCRAM server does not know the password");
    }
    client->state = SCRAM_DONE;
    return ERR_NONE;
}

enum err scram_client_take_in(struct arena *arena, struct scram_client *client,
                              struct slice message, struct slice *ret_answer, struct error *reterr)
{
    enum scram_state state = client->state;
    client->state = SCRAM_FAILED; /* until it turns out otherwise */
    enum err err = scram_check_message(message, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    switch (state) {
    case SCRAM_AT_FIRST:
        return scram_client_take_first(arena, client, message, ret_answer, reterr);
    case SCRAM_AT_FINAL:
        return scram_client_take_final(client, message, reterr);
    case SCRAM_DONE:
    case SCRAM_FAILED:
        break;
    }
    return fail(reterr, ERR_INPUT, "SCRAM message after the last one");
}

bool scram_client_is_done(const struct scram_client *client)
{
    return client->state == SCRAM_DONE;
}
