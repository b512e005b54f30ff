/* SPDX-License-Identifier: MIT */
#include "identity/ssh_authority.h"

#include "base/limits.h"
#include "base/must.h"
#include "codec/base64.h"

#include <sodium.h>

#define KEY_TYPE   "ssh-ed25519"
#define NONCE_SIZE 32

static const char *const authority_contexts[] = {
    [SSH_AUTHORITY_OF_PEOPLE] = "gatehouse ssh authority of people ",
    [SSH_AUTHORITY_OF_TARGETS] = "gatehouse ssh authority of targets ",
};

void ssh_authority_derive(const struct secret *key, enum ssh_authority_kind kind,
                          struct slice organization_id, struct ssh_authority *ret_authority)
{
    unsigned char seed[crypto_sign_SEEDBYTES];
    crypto_generichash_state state;
    struct slice bytes = slice_sub(secret_view(key), 0, crypto_generichash_KEYBYTES_MAX);
    struct slice context = slice_of_text(authority_contexts[kind]);
    must(bytes.len >= crypto_generichash_KEYBYTES_MIN);
    must(crypto_generichash_init(&state, (const unsigned char *)bytes.at, bytes.len,
                                 sizeof(seed)) == 0);
    must(crypto_generichash_update(&state, (const unsigned char *)context.at, context.len) == 0);
    must(crypto_generichash_update(&state, (const unsigned char *)organization_id.at,
                                   organization_id.len) == 0);
    must(crypto_generichash_final(&state, seed, sizeof(seed)) == 0);
    must(crypto_sign_seed_keypair(ret_authority->public, ret_authority->secret, seed) == 0);
    sodium_memzero(seed, sizeof(seed));
    sodium_memzero(&state, sizeof(state));
}

void ssh_authority_wipe(struct ssh_authority *authority)
{
    sodium_memzero(authority, sizeof(*authority));
}

struct slice ssh_authority_blob_in(struct arena *arena, const struct ssh_authority *authority)
{
    struct buf blob;
    buf_init(&blob, LIMIT_SSH_KEY_SIZE);
    must(sshwire_field_write(&blob, SLICE(KEY_TYPE)) == ERR_NONE);
    must(sshwire_field_write(&blob, slice_of(authority->public, sizeof(authority->public))) ==
         ERR_NONE);
    struct slice copy = arena_copy(arena, buf_view(&blob));
    buf_release(&blob);
    return copy;
}

struct slice ssh_authority_line_in(struct arena *arena, const struct ssh_authority *authority)
{
    struct slice blob = ssh_authority_blob_in(arena, authority);
    return arena_format(arena, KEY_TYPE " %.*s",
                        SLICE_ARG(base64_encode_in(arena, BASE64_STANDARD, blob)));
}

static enum err authority_put_signature(const struct ssh_authority *authority, struct buf *blob)
{
    unsigned char signature[crypto_sign_BYTES];
    struct buf field;
    buf_init(&field, LIMIT_SSH_KEY_SIZE);
    must(crypto_sign_detached(signature, NULL, (const unsigned char *)buf_view(blob).at, blob->len,
                              authority->secret) == 0);
    must(sshwire_field_write(&field, SLICE(KEY_TYPE)) == ERR_NONE);
    must(sshwire_field_write(&field, slice_of(signature, sizeof(signature))) == ERR_NONE);
    enum err err = sshwire_field_write(blob, buf_view(&field));
    buf_release(&field);
    return err;
}

enum err ssh_authority_sign_in(struct arena *arena, const struct ssh_authority *authority,
                               struct sshwire_certificate *certificate, struct slice *ret_blob,
                               struct error *reterr)
{
    unsigned char nonce[NONCE_SIZE];
    struct buf blob;
    buf_init(&blob, LIMIT_SSH_CERTIFICATE_SIZE);
    randombytes_buf(nonce, sizeof(nonce));
    randombytes_buf(&certificate->serial, sizeof(certificate->serial));
    certificate->serial >>= 1; /* positive wherever somebody reads it as signed */
    certificate->nonce = arena_copy(arena, slice_of(nonce, sizeof(nonce)));
    certificate->signer = ssh_authority_blob_in(arena, authority);
    enum err err = sshwire_certificate_write(certificate, &blob);
    if (err == ERR_NONE) {
        err = authority_put_signature(authority, &blob);
    }
    if (err == ERR_NONE) {
        *ret_blob = arena_copy(arena, buf_view(&blob));
    }
    buf_release(&blob);
    return err == ERR_NONE ? err : fail(reterr, ERR_INPUT, "there is too much in the certificate");
}
