/* SPDX-License-Identifier: MIT */
#include "base/must.h"
#include "io/tls_internal.h"

#include <errno.h>
#include <limits.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

DEFINE_FREE_AT(X509_free, X509)
DEFINE_FREE_AT(EVP_PKEY_free, EVP_PKEY)

/* PEM that is being read, and what it is called in errors: "key '/etc/key.pem'". */
struct tls_source {
    BIO *bio;
    char name[ERROR_MESSAGE_SIZE / 2 + 64];
};

static void tls_source_release(struct tls_source *source)
{
    BIO_free_all(source->bio);
}

/* Why OpenSSL refused; its queue is empty afterwards. */
static const char *tls_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return reason == NULL ? "no reason is known" : reason;
}

static enum err tls_source_open(struct tls_source *source, const char *what,
                                const struct tls_pem *pem, struct error *reterr)
{
    ERR_clear_error();
    if (pem->path == NULL) {
        (void)snprintf(source->name, sizeof(source->name), "the %s", what);
        must(pem->bytes.len <= INT_MAX);
        source->bio = BIO_new_mem_buf(pem->bytes.at, (int)pem->bytes.len);
        must(source->bio != NULL);
        return ERR_NONE;
    }
    (void)snprintf(source->name, sizeof(source->name), "%s '%s'", what,
                   pem->name != NULL ? pem->name : pem->path);
    FILE *file = fopen(pem->path, "re");
    if (file == NULL) {
        return fail(reterr, ERR_IO, "%s cannot be read: %s", source->name, strerror(errno));
    }
    source->bio = BIO_new_fp(file, BIO_CLOSE);
    must(source->bio != NULL);
    return ERR_NONE;
}

/* Whether reading ended because there are no more certificates, and not inside one. */
static bool tls_source_ended(void)
{
    bool has_ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (has_ended) {
        ERR_clear_error();
    }
    return has_ended;
}

/* The identity --------------------------------------------------------------------------------- */

/* OpenSSL's own answer to a key with a passphrase is to ask for it on the terminal. */
static int tls_refuse_passphrase(char *at, int size, int is_writing, void *owner)
{
    (void)at;
    (void)size;
    (void)is_writing;
    *(bool *)owner = true;
    return -1;
}

static enum err tls_load_issuers(SSL_CTX *ssl, const struct tls_source *source,
                                 struct error *reterr)
{
    X509 *issuer = PEM_read_bio_X509(source->bio, NULL, NULL, NULL);
    while (issuer != NULL) {
        if (SSL_CTX_add0_chain_cert(ssl, issuer) != 1) {
            X509_free(issuer);
            return fail(reterr, ERR_INPUT, "%s has an unusable issuer: %s", source->name,
                        tls_reason());
        }
        issuer = PEM_read_bio_X509(source->bio, NULL, NULL, NULL);
    }
    if (!tls_source_ended()) {
        return fail(reterr, ERR_INPUT, "%s is damaged: %s", source->name, tls_reason());
    }
    return ERR_NONE;
}

static enum err tls_load_certificate(SSL_CTX *ssl, const struct tls_source *source,
                                     struct error *reterr)
{
    X509 *certificate CLEANUP(X509_free_at)
    = PEM_read_bio_X509_AUX(source->bio, NULL, NULL, NULL);
    if (certificate == NULL) {
        return fail(reterr, ERR_INPUT, "%s is not a PEM certificate: %s", source->name,
                    tls_reason());
    }
    if (SSL_CTX_use_certificate(ssl, certificate) != 1) {
        return fail(reterr, ERR_INPUT, "%s cannot be used: %s", source->name, tls_reason());
    }
    return tls_load_issuers(ssl, source, reterr);
}

static enum err tls_load_key(SSL_CTX *ssl, const struct tls_source *source,
                             const char *certificate_name, struct error *reterr)
{
    bool has_passphrase = false;
    EVP_PKEY *key CLEANUP(EVP_PKEY_free_at)
    = PEM_read_bio_PrivateKey(source->bio, NULL, tls_refuse_passphrase, &has_passphrase);
    if (has_passphrase) {
        ERR_clear_error();
        return fail(reterr, ERR_INPUT, "%s is protected by a passphrase", source->name);
    }
    if (key == NULL) {
        return fail(reterr, ERR_INPUT, "%s is not a PEM private key: %s", source->name,
                    tls_reason());
    }
    if (X509_check_private_key(SSL_CTX_get0_certificate(ssl), key) != 1) {
        ERR_clear_error();
        return fail(reterr, ERR_INPUT, "%s does not belong to %s", source->name, certificate_name);
    }
    if (SSL_CTX_use_PrivateKey(ssl, key) != 1) {
        return fail(reterr, ERR_INPUT, "%s cannot be used: %s", source->name, tls_reason());
    }
    return ERR_NONE;
}

enum err tls_context_load_identity(struct tls_context *context, const struct tls_pem *certificate,
                                   const struct tls_pem *key, struct error *reterr)
{
    struct tls_source certificates CLEANUP(tls_source_release) = {.bio = NULL};
    struct tls_source keys CLEANUP(tls_source_release) = {.bio = NULL};
    enum err err = tls_source_open(&certificates, "certificate", certificate, reterr);
    if (err == ERR_NONE) {
        err = tls_load_certificate(context->ssl, &certificates, reterr);
    }
    if (err == ERR_NONE) {
        err = tls_source_open(&keys, "key", key == NULL ? certificate : key, reterr);
    }
    if (err == ERR_NONE) {
        err = tls_load_key(context->ssl, &keys, certificates.name, reterr);
    }
    return err;
}

/* Whom to trust -------------------------------------------------------------------------------- */

static enum err tls_load_trusted(X509_STORE *store, const struct tls_source *source,
                                 struct error *reterr)
{
    size_t count = 0;
    X509 *certificate = PEM_read_bio_X509_AUX(source->bio, NULL, NULL, NULL);
    while (certificate != NULL) {
        bool is_taken = X509_STORE_add_cert(store, certificate) == 1;
        X509_free(certificate);
        if (!is_taken) {
            return fail(reterr, ERR_INPUT, "%s has an unusable certificate: %s", source->name,
                        tls_reason());
        }
        count++;
        certificate = PEM_read_bio_X509_AUX(source->bio, NULL, NULL, NULL);
    }
    if (!tls_source_ended()) {
        return fail(reterr, ERR_INPUT, "%s is damaged: %s", source->name, tls_reason());
    }
    return count > 0 ? ERR_NONE
                     : fail(reterr, ERR_INPUT, "%s holds no PEM certificate", source->name);
}

/* The file with all of them is read now; their folder would be read in the middle of handshakes. */
static void tls_trust_system(X509_STORE *store)
{
    if (X509_STORE_load_file(store, getenv(X509_get_default_cert_file_env())) != 1 &&
        X509_STORE_load_file(store, X509_get_default_cert_file()) != 1) {
        (void)X509_STORE_set_default_paths(store);
    }
    ERR_clear_error();
}

enum err tls_context_load_trusted(struct tls_context *context, const struct tls_pem *trusted,
                                  struct error *reterr)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context->ssl);
    if (trusted == NULL) {
        tls_trust_system(store);
        return ERR_NONE;
    }
    struct tls_source source CLEANUP(tls_source_release) = {.bio = NULL};
    /* What was named is trusted, although it may have an issuer itself. */
    must(X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) == 1);
    enum err err = tls_source_open(&source, "issuers' certificate", trusted, reterr);
    return err == ERR_NONE ? tls_load_trusted(store, &source, reterr) : err;
}

/* Life ----------------------------------------------------------------------------------------- */

static void tls_set_protocols(struct tls_context *context, struct slice protocols)
{
    struct slice rest = protocols;
    while (rest.len > 0) {
        struct slice name = slice_cut(rest, ',', &rest);
        must(name.len > 0 && name.len < TLS_PROTOCOLS_SIZE - context->protocols_len);
        context->protocols[context->protocols_len] = (unsigned char)name.len;
        memcpy(context->protocols + context->protocols_len + 1, name.at, name.len);
        context->protocols_len += (unsigned)name.len + 1;
    }
}

void tls_context_init(struct tls_context *context, const SSL_METHOD *method, struct slice protocols)
{
    atomic_init(&context->reference_count, 1);
    context->method = tls_stream_method_new();
    context->ssl = SSL_CTX_new(method);
    must(context->ssl != NULL);
    must(SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION) == 1);
    /* Unexpected end: see tls_stream.h. */
    (void)SSL_CTX_set_options(context->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                                SSL_OP_IGNORE_UNEXPECTED_EOF);
    /* One read for the header and the body of a record, and for several small records. */
    SSL_CTX_set_read_ahead(context->ssl, 1);
    tls_set_protocols(context, protocols);
}

void tls_context_ref(struct tls_context *context)
{
    (void)atomic_fetch_add_explicit(&context->reference_count, 1, memory_order_relaxed);
}

void tls_context_unref(struct tls_context *context)
{
    if (context == NULL ||
        atomic_fetch_sub_explicit(&context->reference_count, 1, memory_order_acq_rel) != 1) {
        return;
    }
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->method);
    memory_free(context);
}
