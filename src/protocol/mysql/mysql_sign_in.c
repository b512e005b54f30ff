/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_sign_in.h"

#include "base/limits.h"
#include "identity/native_credential.h"

#include <sodium.h>

#define CERTIFICATE_SIZE_MAX LIMIT_KIB(64)
#define PROOF_MARK           '\x01' /* the info of an OK that begins so is about the certificate */

/* Neither a NUL, which ends it for some clients, nor '$', which ends it for some servers. */
void mysql_sign_in_scramble(struct mysql_sign_in *sign_in)
{
    for (size_t i = 0; i < sizeof(sign_in->scramble); i++) {
        sign_in->scramble[i] = (char)('a' + randombytes_uniform(26));
        if (randombytes_uniform(2) == 0) {
            sign_in->scramble[i] = (char)('0' + randombytes_uniform(10));
        }
    }
}

/* MariaDB's clients from 11.4 on go no further when they see a certificate that nobody vouches for,
 * unless it can be proved to them, which they know for mysql_native_password and not for the other
 * one; MySQL's own have one that they begin with, whatever the greeting says. */
struct slice mysql_sign_in_first_plugin(bool has_tls)
{
    return has_tls ? SLICE(MYSQLWIRE_PLUGIN_NATIVE) : SLICE(MYSQLWIRE_PLUGIN_SHA2);
}

/* A client that would rather have another method than the greeting's may answer with nothing yet,
 * or by the greeting's bytes at once: a proof has just one length. */
bool mysql_sign_in_choose(struct mysql_sign_in *sign_in, const struct mysqlwire_response *response,
                          bool is_encrypted)
{
    bool has_plugins = (response->capabilities & MYSQLWIRE_PLUGIN_AUTH) != 0;
    struct slice plugin = has_plugins ? response->plugin : SLICE(MYSQLWIRE_PLUGIN_NATIVE);
    size_t size = MYSQL_PROOF_SHA2_SIZE;
    sign_in->method = MYSQL_METHOD_SHA2;
    if (slice_equals(plugin, SLICE(MYSQLWIRE_PLUGIN_NATIVE))) {
        sign_in->method = MYSQL_METHOD_NATIVE;
        size = MYSQL_PROOF_SHA1_SIZE;
    } else if (slice_equals(plugin, SLICE(MYSQLWIRE_PLUGIN_CLEAR)) && is_encrypted) {
        sign_in->method = MYSQL_METHOD_CLEAR;
        return false;
    } else if (!slice_equals(plugin, SLICE(MYSQLWIRE_PLUGIN_SHA2))) {
        return false;
    }
    sign_in->proof = response->proof;
    return !has_plugins || response->proof.len == size;
}

struct slice mysql_sign_in_plugin(const struct mysql_sign_in *sign_in)
{
    switch (sign_in->method) {
    case MYSQL_METHOD_SHA2:
        return SLICE(MYSQLWIRE_PLUGIN_SHA2);
    case MYSQL_METHOD_NATIVE:
        return SLICE(MYSQLWIRE_PLUGIN_NATIVE);
    case MYSQL_METHOD_CLEAR:
        return SLICE(MYSQLWIRE_PLUGIN_CLEAR);
    }
    return SLICE("");
}

void mysql_sign_in_take(struct mysql_sign_in *sign_in, struct slice packet)
{
    sign_in->proof = packet;
    if (sign_in->method == MYSQL_METHOD_CLEAR) {
        sign_in->proof = mysqlwire_scramble_of(packet); /* a NUL ends it likewise */
    }
}

static bool sign_in_is_taken(const struct mysql_sign_in *sign_in,
                             const struct mysql_verifier *verifier)
{
    struct slice nonce = slice_of(sign_in->scramble, sizeof(sign_in->scramble));
    switch (sign_in->method) {
    case MYSQL_METHOD_SHA2:
        return mysql_verifier_takes_sha2(verifier, nonce, sign_in->proof);
    case MYSQL_METHOD_NATIVE:
        return mysql_verifier_takes_sha1(verifier, nonce, sign_in->proof);
    case MYSQL_METHOD_CLEAR:
        return mysql_verifier_takes_clear(verifier, sign_in->proof);
    }
    return false;
}

static void sign_in_prove_certificate(struct mysql_sign_in *sign_in,
                                      const struct mysql_verifier *verifier,
                                      const struct tls_server *shown)
{
    struct slice nonce = slice_of(sign_in->scramble, sizeof(sign_in->scramble));
    struct buf certificate;
    buf_init(&certificate, CERTIFICATE_SIZE_MAX);
    if (tls_server_certificate(shown, &certificate) == ERR_NONE) {
        sign_in->told[0] = PROOF_MARK;
        mysql_verifier_prove_certificate(verifier, nonce, buf_view(&certificate),
                                         sign_in->told + 1);
        sign_in->told_len = sizeof(sign_in->told);
    }
    buf_release(&certificate);
}

size_t mysql_sign_in_check(struct mysql_sign_in *sign_in, const struct front_verifiers *verifiers,
                           struct slice name, const struct secret *mock_key,
                           const struct tls_server *shown)
{
    struct mysql_verifier verifier;
    size_t found = verifiers->count;
    if (verifiers->count == 0) {
        native_credential_mysql_mock(mock_key, name, &verifier);
        (void)sign_in_is_taken(sign_in, &verifier);
    }
    for (size_t i = 0; i < verifiers->count; i++) {
        native_credential_mysql(verifiers->kept[i], &verifier);
        if (sign_in_is_taken(sign_in, &verifier)) {
            found = i;
        }
    }
    if (found < verifiers->count && shown != NULL && sign_in->method == MYSQL_METHOD_NATIVE) {
        native_credential_mysql(verifiers->kept[found], &verifier);
        sign_in_prove_certificate(sign_in, &verifier, shown);
    }
    sodium_memzero(&verifier, sizeof(verifier));
    return found;
}
