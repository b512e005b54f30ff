/* SPDX-License-Identifier: MIT */
#include "base/must.h"
#include "identity/scram_internal.h"

#include <sodium.h>

/* The salt in base64, with NUL. */
#define SCRAM_SALT_TEXT_SIZE ((LIMIT_SCRAM_SALT_SIZE + 2) / 3 * 4 + 1)

void scram_verifier_derive(const struct secret *password, struct slice salt, uint32_t iterations,
                           struct scram_verifier *ret_verifier)
{
    struct scram_keys keys;
    scram_keys_derive(password, salt, iterations, &keys);
    *ret_verifier = (struct scram_verifier){.iterations = iterations, .salt_size = salt.len};
    memcpy(ret_verifier->salt, salt.at, salt.len);
    memcpy(ret_verifier->stored_key, keys.stored_key, sizeof(keys.stored_key));
    memcpy(ret_verifier->server_key, keys.server_key, sizeof(keys.server_key));
    explicit_bzero(&keys, sizeof(keys));
}

void scram_verifier_make(const struct secret *password, struct scram_verifier *ret_verifier)
{
    must(sodium_init() >= 0);
    unsigned char salt[SCRAM_SALT_SIZE];
    randombytes_buf(salt, sizeof(salt));
    scram_verifier_derive(password, slice_of(salt, sizeof(salt)), SCRAM_ITERATIONS_MIN,
                          ret_verifier);
}

static void scram_mock_part(const struct secret *key, struct slice part, struct slice name,
                            unsigned char *ret_hash)
{
    struct slice bytes = secret_view(key);
    crypto_auth_hmacsha256_state state;
    (void)crypto_auth_hmacsha256_init(&state, (const unsigned char *)bytes.at, bytes.len);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)part.at, part.len);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)name.at, name.len);
    (void)crypto_auth_hmacsha256_final(&state, ret_hash);
    explicit_bzero(&state, sizeof(state));
}

void scram_verifier_mock(const struct secret *key, struct slice name,
                         struct scram_verifier *ret_verifier)
{
    must(secret_view(key).len > 0);
    *ret_verifier = (struct scram_verifier){
        .iterations = SCRAM_ITERATIONS_MIN, .salt_size = SCRAM_SALT_SIZE, .is_mock = true};
    unsigned char hash[SCRAM_HASH_SIZE];
    scram_mock_part(key, SLICE("SCRAM salt:"), name, hash);
    memcpy(ret_verifier->salt, hash, SCRAM_SALT_SIZE);
    scram_mock_part(key, SLICE("SCRAM stored key:"), name, ret_verifier->stored_key);
    scram_mock_part(key, SLICE("SCRAM server key:"), name, ret_verifier->server_key);
    explicit_bzero(hash, sizeof(hash));
}

void scram_verifier_wipe(struct scram_verifier *verifier)
{
    explicit_bzero(verifier, sizeof(*verifier));
}

enum err scram_verifier_parse(struct slice text, struct scram_verifier *ret_verifier,
                              struct error *reterr)
{
    struct scram_verifier verifier = {0};
    struct slice rest;
    struct slice mechanism = slice_cut(text, '$', &rest);
    struct slice salt;
    struct slice iterations = slice_cut(slice_cut(rest, '$', &rest), ':', &salt);
    struct slice server_key;
    struct slice stored_key = slice_cut(rest, ':', &server_key);
    if (!slice_equals(mechanism, SLICE(SCRAM_MECHANISM)) ||
        scram_decode(salt, verifier.salt, sizeof(verifier.salt), &verifier.salt_size) != ERR_NONE ||
        scram_decode_hash(stored_key, verifier.stored_key) != ERR_NONE ||
        scram_decode_hash(server_key, verifier.server_key) != ERR_NONE) {
        scram_verifier_wipe(&verifier);
        return fail(reterr, ERR_INPUT, "text that is no SCRAM verifier");
    }
    enum err err = scram_parse_iterations(iterations, &verifier.iterations, reterr);
    if (err == ERR_NONE) {
        *ret_verifier = verifier;
    }
    scram_verifier_wipe(&verifier);
    return err;
}

static struct slice scram_encode(const unsigned char *bytes, size_t size, char *text,
                                 size_t text_size)
{
    return slice_of_text(
        sodium_bin2base64(text, text_size, bytes, size, sodium_base64_VARIANT_ORIGINAL));
}

void scram_verifier_print(const struct scram_verifier *verifier, struct secret *text)
{
    must(!verifier->is_mock);
    char salt[SCRAM_SALT_TEXT_SIZE];
    char stored_key[SCRAM_HASH_TEXT_SIZE];
    char server_key[SCRAM_HASH_TEXT_SIZE];
    char whole[SCRAM_SALT_TEXT_SIZE + 2 * SCRAM_HASH_TEXT_SIZE + 64];
    struct slice parts[] = {
        scram_encode(verifier->salt, verifier->salt_size, salt, sizeof(salt)),
        scram_encode(verifier->stored_key, SCRAM_HASH_SIZE, stored_key, sizeof(stored_key)),
        scram_encode(verifier->server_key, SCRAM_HASH_SIZE, server_key, sizeof(server_key)),
    };
    int len =
        snprintf(whole, sizeof(whole), SCRAM_MECHANISM "$%u:%.*s$%.*s:%.*s", verifier->iterations,
                 SLICE_ARG(parts[0]), SLICE_ARG(parts[1]), SLICE_ARG(parts[2]));
    must(len > 0 && (size_t)len < sizeof(whole));
    must(secret_set(text, slice_of(whole, (size_t)len)) == ERR_NONE);
    explicit_bzero(stored_key, sizeof(stored_key));
    explicit_bzero(server_key, sizeof(server_key));
    explicit_bzero(whole, sizeof(whole));
}
