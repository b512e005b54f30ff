/* SPDX-License-Identifier: MIT */
#include "identity/mysql_proof.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sodium.h>

#define HASH_SIZE_MAX     32
#define PARSEC_NONCE_SIZE 32
#define PARSEC_SALT_SIZE  18
#define PARSEC_MORE_MAX   3
#define PLAIN_SIZE_MAX    512 /* of a password that fits under an RSA key of 4096 bits, and more */

/* Hashes --------------------------------------------------------------------------------------- */

static void hash_parts(const EVP_MD *kind, const struct slice *parts, size_t count,
                       unsigned char *ret_hash)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    must(context != NULL && EVP_DigestInit_ex(context, kind, NULL) == 1);
    for (size_t i = 0; i < count; i++) {
        must(EVP_DigestUpdate(context, parts[i].at, parts[i].len) == 1);
    }
    must(EVP_DigestFinal_ex(context, ret_hash, NULL) == 1);
    EVP_MD_CTX_free(context);
}

static void hash_one(const EVP_MD *kind, struct slice bytes, unsigned char *ret_hash)
{
    hash_parts(kind, &bytes, 1, ret_hash);
}

static void mix(unsigned char *bytes, const unsigned char *with, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= with[i];
    }
}

/* The kept side -------------------------------------------------------------------------------- */

static void hash_twice(const EVP_MD *kind, size_t size, struct slice password,
                       unsigned char *ret_hash)
{
    unsigned char once[HASH_SIZE_MAX];
    hash_one(kind, password, once);
    hash_one(kind, slice_of(once, size), ret_hash);
    sodium_memzero(once, sizeof(once));
}

void mysql_verifier_make(struct slice password, struct mysql_verifier *ret_verifier)
{
    hash_twice(EVP_sha256(), MYSQL_PROOF_SHA2_SIZE, password, ret_verifier->sha2);
    hash_twice(EVP_sha1(), MYSQL_PROOF_SHA1_SIZE, password, ret_verifier->sha1);
}

/* A proof is the password's hash, hidden under one of the nonce and what is kept: whoever knows
 * both sees it, and its own hash is what is kept. */
static bool takes(const EVP_MD *kind, const unsigned char *kept, size_t size,
                  const struct slice *nonce_parts, struct slice proof)
{
    unsigned char once[HASH_SIZE_MAX];
    unsigned char twice[HASH_SIZE_MAX];
    if (proof.len != size) {
        return false;
    }
    hash_parts(kind, nonce_parts, 2, once);
    mix(once, (const unsigned char *)proof.at, size);
    hash_one(kind, slice_of(once, size), twice);
    bool is_taken = sodium_memcmp(twice, kept, size) == 0;
    sodium_memzero(once, sizeof(once));
    return is_taken;
}

bool mysql_verifier_takes_sha2(const struct mysql_verifier *verifier, struct slice nonce,
                               struct slice proof)
{
    const struct slice parts[] = {slice_of(verifier->sha2, sizeof(verifier->sha2)), nonce};
    return takes(EVP_sha256(), verifier->sha2, sizeof(verifier->sha2), parts, proof);
}

bool mysql_verifier_takes_sha1(const struct mysql_verifier *verifier, struct slice nonce,
                               struct slice proof)
{
    const struct slice parts[] = {nonce, slice_of(verifier->sha1, sizeof(verifier->sha1))};
    return takes(EVP_sha1(), verifier->sha1, sizeof(verifier->sha1), parts, proof);
}

bool mysql_verifier_takes_clear(const struct mysql_verifier *verifier, struct slice password)
{
    struct mysql_verifier given;
    mysql_verifier_make(password, &given);
    return sodium_memcmp(given.sha2, verifier->sha2, sizeof(given.sha2)) == 0;
}

void mysql_verifier_prove_certificate(const struct mysql_verifier *verifier, struct slice nonce,
                                      struct slice certificate,
                                      char ret_proof[MYSQL_PROOF_CERTIFICATE_SIZE])
{
    static const char digits[] = "0123456789ABCDEF"; /* clients compare the text */
    unsigned char print[HASH_SIZE_MAX];
    unsigned char hash[HASH_SIZE_MAX];
    hash_one(EVP_sha256(), certificate, print);
    const struct slice parts[] = {slice_of(verifier->sha1, sizeof(verifier->sha1)), nonce,
                                  slice_of(print, sizeof(print))};
    hash_parts(EVP_sha256(), parts, COUNT_OF(parts), hash);
    for (size_t i = 0; i < sizeof(hash); i++) {
        ret_proof[2 * i] = digits[hash[i] >> 4];
        ret_proof[2 * i + 1] = digits[hash[i] & 15];
    }
}

/* The client's side ---------------------------------------------------------------------------- */

void mysql_proof_sha2(struct slice password, struct slice nonce, unsigned char *ret_proof)
{
    struct mysql_verifier verifier;
    unsigned char once[MYSQL_PROOF_SHA2_SIZE];
    mysql_verifier_make(password, &verifier);
    const struct slice parts[] = {slice_of(verifier.sha2, sizeof(verifier.sha2)), nonce};
    hash_parts(EVP_sha256(), parts, COUNT_OF(parts), ret_proof);
    hash_one(EVP_sha256(), password, once);
    mix(ret_proof, once, sizeof(once));
    sodium_memzero(once, sizeof(once));
}

void mysql_proof_sha1(struct slice password, struct slice nonce, unsigned char *ret_proof)
{
    struct mysql_verifier verifier;
    unsigned char once[MYSQL_PROOF_SHA1_SIZE];
    mysql_verifier_make(password, &verifier);
    const struct slice parts[] = {nonce, slice_of(verifier.sha1, sizeof(verifier.sha1))};
    hash_parts(EVP_sha1(), parts, COUNT_OF(parts), ret_proof);
    hash_one(EVP_sha1(), password, once);
    mix(ret_proof, once, sizeof(once));
    sodium_memzero(once, sizeof(once));
}

/* RFC 8032, 5.1.6, but that the password, of any length, stands where the private key does. */
void mysql_proof_ed25519(struct slice password, struct slice nonce, unsigned char *ret_proof)
{
    unsigned char key[crypto_hash_sha512_BYTES];
    unsigned char hash[crypto_hash_sha512_BYTES];
    unsigned char random[crypto_core_ed25519_SCALARBYTES];
    unsigned char public_key[crypto_core_ed25519_BYTES];
    crypto_hash_sha512_state state;
    (void)crypto_hash_sha512(key, (const unsigned char *)password.at, password.len);
    key[0] &= 248;
    key[31] &= 127;
    key[31] |= 64;
    must(crypto_scalarmult_ed25519_base_noclamp(public_key, key) == 0);
    (void)crypto_hash_sha512_init(&state);
    (void)crypto_hash_sha512_update(&state, key + 32, 32);
    (void)crypto_hash_sha512_update(&state, (const unsigned char *)nonce.at, nonce.len);
    (void)crypto_hash_sha512_final(&state, hash);
    crypto_core_ed25519_scalar_reduce(random, hash);
    must(crypto_scalarmult_ed25519_base_noclamp(ret_proof, random) == 0);
    (void)crypto_hash_sha512_init(&state);
    (void)crypto_hash_sha512_update(&state, ret_proof, 32);
    (void)crypto_hash_sha512_update(&state, public_key, sizeof(public_key));
    (void)crypto_hash_sha512_update(&state, (const unsigned char *)nonce.at, nonce.len);
    (void)crypto_hash_sha512_final(&state, hash);
    crypto_core_ed25519_scalar_reduce(ret_proof + 32, hash);
    crypto_core_ed25519_scalar_mul(ret_proof + 32, ret_proof + 32, key);
    crypto_core_ed25519_scalar_add(ret_proof + 32, ret_proof + 32, random);
    sodium_memzero(key, sizeof(key));
    sodium_memzero(random, sizeof(random));
    sodium_memzero(hash, sizeof(hash));
}

/* The salt is a letter for the algorithm, the power of two by which there are more iterations than
 * 1024, and its own bytes. */
enum err mysql_proof_parsec(struct slice password, struct slice nonce, struct slice salt,
                            unsigned char ret_proof[MYSQL_PROOF_PARSEC_SIZE], struct error *reterr)
{
    struct reader reader = reader_of(salt);
    uint8_t algorithm = reader_u8(&reader);
    uint8_t more = reader_u8(&reader);
    struct slice bytes = reader_view(&reader, PARSEC_SALT_SIZE);
    if (reader_done(&reader) != ERR_NONE || algorithm != 'P' || more > PARSEC_MORE_MAX ||
        nonce.len != PARSEC_NONCE_SIZE || password.len > INT32_MAX) {
        return fail(reterr, ERR_INPUT, "the target's salt is not one of parsec");
    }
    unsigned char seed[crypto_sign_SEEDBYTES];
    unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
    unsigned char key[crypto_sign_SECRETKEYBYTES];
    unsigned char both[2 * PARSEC_NONCE_SIZE];
    must(PKCS5_PBKDF2_HMAC(password.at, (int)password.len, (const unsigned char *)bytes.at,
                           (int)bytes.len, 1024 << more, EVP_sha512(), sizeof(seed), seed) == 1);
    must(crypto_sign_seed_keypair(public_key, key, seed) == 0);
    memcpy(both, nonce.at, PARSEC_NONCE_SIZE);
    randombytes_buf(both + PARSEC_NONCE_SIZE, PARSEC_NONCE_SIZE);
    memcpy(ret_proof, both + PARSEC_NONCE_SIZE, PARSEC_NONCE_SIZE);
    must(crypto_sign_detached(ret_proof + PARSEC_NONCE_SIZE, NULL, both, sizeof(both), key) == 0);
    sodium_memzero(seed, sizeof(seed));
    sodium_memzero(key, sizeof(key));
    return ERR_NONE;
}

/* Encrypted ------------------------------------------------------------------------------------ */

static EVP_PKEY *read_key(struct slice pem)
{
    BIO *bio = BIO_new_mem_buf(pem.at, (int)pem.len);
    EVP_PKEY *key = NULL;
    if (bio != NULL) {
        key = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
        BIO_free(bio);
    }
    return key;
}

static bool encrypt(EVP_PKEY *key, struct slice plain, struct buf *buf)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    size_t size = 0;
    char *at = NULL;
    bool is_done =
        context != NULL && EVP_PKEY_encrypt_init(context) == 1 &&
        EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1 &&
        EVP_PKEY_encrypt(context, NULL, &size, (const unsigned char *)plain.at, plain.len) == 1 &&
        buf_reserve(buf, size, &at) == ERR_NONE &&
        EVP_PKEY_encrypt(context, (unsigned char *)at, &size, (const unsigned char *)plain.at,
                         plain.len) == 1;
    if (is_done) {
        buf_commit(buf, size);
    }
    EVP_PKEY_CTX_free(context);
    return is_done;
}

/* The NUL behind the password counts. */
enum err mysql_proof_encrypt(const struct secret *password, struct slice nonce, struct slice key,
                             struct buf *buf, struct error *reterr)
{
    struct slice text = secret_view(password);
    unsigned char plain[PLAIN_SIZE_MAX];
    if (text.len >= sizeof(plain) || nonce.len == 0 || key.len > INT32_MAX) {
        return fail(reterr, ERR_INPUT, "the password is too long for the target's RSA key");
    }
    EVP_PKEY *server = read_key(key);
    for (size_t i = 0; i <= text.len; i++) {
        plain[i] = (unsigned char)(i < text.len ? text.at[i] : '\0');
        plain[i] ^= (unsigned char)nonce.at[i % nonce.len];
    }
    bool is_done = server != NULL && EVP_PKEY_get_base_id(server) == EVP_PKEY_RSA &&
                   encrypt(server, slice_of(plain, text.len + 1), buf);
    sodium_memzero(plain, sizeof(plain));
    EVP_PKEY_free(server);
    return is_done ? ERR_NONE
                   : fail(reterr, ERR_INPUT,
                          "the target's RSA key is none, or too small for the password");
}
