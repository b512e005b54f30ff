/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/base64.h"
#include "identity/saslprep.h"
#include "identity/scram_internal.h"

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <sodium.h>

#include <limits.h>

#define SCRAM_NONCE_BYTES 18

static void scram_hmac(const unsigned char *key, struct slice text, unsigned char *ret_hash)
{
    crypto_auth_hmacsha256_state state;
    (void)crypto_auth_hmacsha256_init(&state, key, SCRAM_HASH_SIZE);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)text.at, text.len);
    (void)crypto_auth_hmacsha256_final(&state, ret_hash);
    explicit_bzero(&state, sizeof(state));
}

void scram_keys_derive(const struct secret *password, struct slice salt, uint32_t iterations,
                       struct scram_keys *ret_keys)
{
    must(iterations > 0 && iterations <= LIMIT_SCRAM_ITERATIONS &&
         salt.len <= LIMIT_SCRAM_SALT_SIZE);
    struct secret prepared CLEANUP(secret_release);
    secret_init(&prepared);
    saslprep(password, &prepared);
    struct slice text = secret_view(&prepared);
    unsigned char salted[SCRAM_HASH_SIZE];
    must(PKCS5_PBKDF2_HMAC(text.len > 0 ? text.at : "", (int)text.len,
                           (const unsigned char *)salt.at, (int)salt.len, (int)iterations,
                           EVP_sha256(), sizeof(salted), salted) == 1);
    scram_hmac(salted, SLICE("Client Key"), ret_keys->client_key);
    scram_hmac(salted, SLICE("Server Key"), ret_keys->server_key);
    (void)crypto_hash_sha256(ret_keys->stored_key, ret_keys->client_key, SCRAM_HASH_SIZE);
    explicit_bzero(salted, sizeof(salted));
}

enum err scram_check_message(struct slice message, struct error *reterr)
{
    if (message.len > LIMIT_SCRAM_MESSAGE_SIZE) {
        return fail(reterr, ERR_LIMIT, "SCRAM message of %zu bytes", message.len);
    }
    if (!text_is_utf8(message) || slice_find_byte(message, '\0') != message.len) {
        return fail(reterr, ERR_INPUT, "SCRAM message that is not text");
    }
    return ERR_NONE;
}

/* 'm' is what RFC 5802 keeps for extensions that must be understood: none is. */
static enum err scram_take_attribute(struct slice *rest, struct slice *ret_attribute,
                                     struct error *reterr)
{
    struct slice attribute = slice_cut(*rest, ',', rest);
    if (attribute.len < 2 || attribute.at[1] != '=') {
        return fail(reterr, ERR_INPUT, "SCRAM message with something that is no attribute");
    }
    if (attribute.at[0] == 'm') {
        return fail(reterr, ERR_UNSUPPORTED, "SCRAM message with a mandatory extension");
    }
    *ret_attribute = attribute;
    return ERR_NONE;
}

enum err scram_take(struct slice *rest, char name, struct slice *ret_value, struct error *reterr)
{
    struct slice attribute;
    enum err err = scram_take_attribute(rest, &attribute, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (attribute.at[0] != name) {
        return fail(reterr, ERR_INPUT, "SCRAM message without '%c' in its place", name);
    }
    *ret_value = slice_from(attribute, 2);
    return ERR_NONE;
}

/* RFC 5802 section 7: "printable", and no comma. */
static bool scram_nonce_is_valid(struct slice nonce)
{
    for (size_t i = 0; i < nonce.len; i++) {
        if (nonce.at[i] < 0x21 || nonce.at[i] > 0x7e || nonce.at[i] == ',') {
            return false;
        }
    }
    return nonce.len > 0 && nonce.len <= LIMIT_SCRAM_NONCE_SIZE;
}

enum err scram_take_nonce(struct slice *rest, struct slice *ret_nonce, struct error *reterr)
{
    struct slice nonce;
    enum err err = scram_take(rest, 'r', &nonce, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (!scram_nonce_is_valid(nonce)) {
        return fail(reterr, ERR_INPUT, "SCRAM message whose nonce is not valid");
    }
    *ret_nonce = nonce;
    return ERR_NONE;
}

enum err scram_take_extensions(struct slice *rest, char until, struct error *reterr)
{
    while (rest->at != NULL) {
        if (until != '\0' && rest->len > 0 && rest->at[0] == until) {
            return ERR_NONE;
        }
        struct slice extension = SLICE("");
        enum err err = scram_take_attribute(rest, &extension, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        char name = (char)(extension.at[0] | 0x20);
        if (name < 'a' || name > 'z' || extension.len < 3 ||
            slice_find_byte(SLICE("aceinprsv"), extension.at[0]) < strlen("aceinprsv")) {
            return fail(reterr, ERR_INPUT, "SCRAM message with an attribute out of place");
        }
    }
    return ERR_NONE;
}

enum err scram_parse_iterations(struct slice text, uint32_t *ret_iterations, struct error *reterr)
{
    uint64_t iterations = 0;
    if (slice_starts_with(text, SLICE("0")) || text_parse_u64(text, &iterations) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "SCRAM iterations that are no number");
    }
    if (iterations < SCRAM_ITERATIONS_MIN || iterations > LIMIT_SCRAM_ITERATIONS) {
        return fail(reterr, ERR_LIMIT, "SCRAM iterations outside of %d to %d", SCRAM_ITERATIONS_MIN,
                    LIMIT_SCRAM_ITERATIONS);
    }
    *ret_iterations = (uint32_t)iterations;
    return ERR_NONE;
}

enum err scram_decode(struct slice text, unsigned char *bytes, size_t size_max, size_t *ret_size)
{
    enum err err = base64_decode(BASE64_STANDARD, text, bytes, size_max, ret_size);
    return err != ERR_NONE || *ret_size == 0 ? ERR_INPUT : ERR_NONE;
}

enum err scram_decode_hash(struct slice text, unsigned char *hash)
{
    size_t size = 0;
    enum err err = scram_decode(text, hash, SCRAM_HASH_SIZE, &size);
    return err != ERR_NONE || size != SCRAM_HASH_SIZE ? ERR_INPUT : ERR_NONE;
}

struct slice scram_nonce_in(struct arena *arena, struct slice given)
{
    if (given.at != NULL) {
        must(scram_nonce_is_valid(given));
        return arena_copy(arena, given);
    }
    must(sodium_init() >= 0);
    unsigned char bytes[SCRAM_NONCE_BYTES];
    randombytes_buf(bytes, sizeof(bytes));
    return base64_encode_in(arena, BASE64_STANDARD, slice_of(bytes, sizeof(bytes)));
}

struct slice scram_binding_in(struct arena *arena, struct slice header,
                              const struct scram_end_point *end_point)
{
    struct buf bytes CLEANUP(buf_release);
    buf_init(&bytes, LIMIT_SCRAM_MESSAGE_SIZE);
    struct slice parts[] = {header, slice_of(end_point->bytes, end_point->size)};
    must(buf_append_parts(&bytes, parts, COUNT_OF(parts)) == ERR_NONE);
    return base64_encode_in(arena, BASE64_STANDARD, buf_view(&bytes));
}

static const EVP_MD *scram_end_point_hash(X509 *certificate)
{
    int hash = NID_undef;
    if (X509_get_signature_info(certificate, &hash, NULL, NULL, NULL) != 1) {
        return NULL;
    }
    /* RFC 5929 section 4.1. */
    if (hash == NID_md5 || hash == NID_sha1) {
        hash = NID_sha256;
    }
    return hash == NID_undef ? NULL : EVP_get_digestbynid(hash);
}

enum err scram_end_point_of(struct slice der, struct scram_end_point *ret_end_point,
                            struct error *reterr)
{
    const unsigned char *at = (const unsigned char *)der.at;
    X509 *certificate = der.len > LONG_MAX ? NULL : d2i_X509(NULL, &at, (long)der.len);
    if (certificate == NULL || at != (const unsigned char *)der.at + der.len) {
        X509_free(certificate);
        return fail(reterr, ERR_INPUT, "certificate that cannot be read");
    }
    const EVP_MD *hash = scram_end_point_hash(certificate);
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    bool is_made = hash != NULL && EVP_Digest(der.at, der.len, bytes, &size, hash, NULL) == 1;
    X509_free(certificate);
    if (!is_made) {
        return fail(reterr, ERR_UNSUPPORTED, "certificate whose signature names no hash");
    }
    must(size <= sizeof(ret_end_point->bytes));
    *ret_end_point = (struct scram_end_point){.size = size};
    memcpy(ret_end_point->bytes, bytes, size);
    return ERR_NONE;
}
