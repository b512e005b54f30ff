/* SPDX-License-Identifier: MIT */
#include "io/tls_server.h"

#include "base/must.h"
#include "io/tls_internal.h"

#include <errno.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define TLS12_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"
#define TLS_GROUPS    "X25519:P-256:P-384"

DEFINE_FREE_AT(BIO_free_all, BIO)
DEFINE_FREE_AT(X509_free, X509)
DEFINE_FREE_AT(EVP_PKEY_free, EVP_PKEY)

/* Why OpenSSL refused; its queue is empty afterwards. */
static const char *tls_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return reason == NULL ? "no reason is known" : reason;
}

static enum err tls_open(const char *what, const char *path, BIO **ret_file, struct error *reterr)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return fail(reterr, ERR_IO, "%s '%s' cannot be read: %s", what, path, strerror(errno));
    }
    *ret_file = BIO_new_fp(file, BIO_CLOSE);
    must(*ret_file != NULL);
    ERR_clear_error();
    return ERR_NONE;
}

/* OpenSSL's own answer to a key with a passphrase is to ask for it on the terminal. */
static int tls_refuse_passphrase(char *at, int size, int is_writing, void *owner)
{
    (void)at;
    (void)size;
    (void)is_writing;
    *(bool *)owner = true;
    return -1;
}

static enum err tls_load_issuers(SSL_CTX *context, BIO *file, const char *path,
                                 struct error *reterr)
{
    X509 *issuer = PEM_read_bio_X509(file, NULL, NULL, NULL);
    while (issuer != NULL) {
        if (SSL_CTX_add0_chain_cert(context, issuer) != 1) {
            X509_free(issuer);
            return fail(reterr, ERR_INPUT, "certificate '%s' has an unusable issuer: %s", path,
                        tls_reason());
        }
        issuer = PEM_read_bio_X509(file, NULL, NULL, NULL);
    }
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
        return fail(reterr, ERR_INPUT, "certificate '%s' is damaged: %s", path, tls_reason());
    }
    ERR_clear_error();
    return ERR_NONE;
}

static enum err tls_load_certificate(SSL_CTX *context, const char *path, struct error *reterr)
{
    BIO *file CLEANUP(BIO_free_all_at)
    = NULL;
    enum err err = tls_open("certificate", path, &file, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    X509 *certificate CLEANUP(X509_free_at)
    = PEM_read_bio_X509_AUX(file, NULL, NULL, NULL);
    if (certificate == NULL) {
        return fail(reterr, ERR_INPUT, "certificate '%s' is not a PEM certificate: %s", path,
                    tls_reason());
    }
    if (SSL_CTX_use_certificate(context, certificate) != 1) {
        return fail(reterr, ERR_INPUT, "certificate '%s' cannot be used: %s", path, tls_reason());
    }
    return tls_load_issuers(context, file, path, reterr);
}

static enum err tls_load_key(SSL_CTX *context, const char *path, const char *certificate_path,
                             struct error *reterr)
{
    BIO *file CLEANUP(BIO_free_all_at)
    = NULL;
    enum err err = tls_open("key", path, &file, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool has_passphrase = false;
    EVP_PKEY *key CLEANUP(EVP_PKEY_free_at)
    = PEM_read_bio_PrivateKey(file, NULL, tls_refuse_passphrase, &has_passphrase);
    if (has_passphrase) {
        ERR_clear_error();
        return fail(reterr, ERR_INPUT, "key '%s' is protected by a passphrase", path);
    }
    if (key == NULL) {
        return fail(reterr, ERR_INPUT, "key '%s' is not a PEM private key: %s", path, tls_reason());
    }
    if (X509_check_private_key(SSL_CTX_get0_certificate(context), key) != 1) {
        ERR_clear_error();
        return fail(reterr, ERR_INPUT, "key '%s' does not belong to certificate '%s'", path,
                    certificate_path);
    }
    if (SSL_CTX_use_PrivateKey(context, key) != 1) {
        return fail(reterr, ERR_INPUT, "key '%s' cannot be used: %s", path, tls_reason());
    }
    return ERR_NONE;
}

static void tls_set_warning(struct tls_server *server, const char *path)
{
    const X509 *certificate = SSL_CTX_get0_certificate(server->context);
    const ASN1_TIME *start = X509_get0_notBefore(certificate);
    const ASN1_TIME *end = X509_get0_notAfter(certificate);
    bool is_early = X509_cmp_current_time(start) > 0;
    bool is_late = X509_cmp_current_time(end) < 0;
    if (!is_early && !is_late) {
        return;
    }
    struct tm when = {.tm_mday = 1};
    (void)ASN1_TIME_to_tm(is_early ? start : end, &when);
    char date[sizeof("YYYY-MM-DD") + 16] = "";
    (void)strftime(date, sizeof(date), "%Y-%m-%d", &when);
    (void)snprintf(server->warning, sizeof(server->warning), "certificate '%.240s' %s %s", path,
                   is_early ? "is not valid before" : "expired on", date);
}

static int tls_choose_protocol(SSL *ssl, const unsigned char **ret_at, unsigned char *ret_len,
                               const unsigned char *offered, unsigned offered_len, void *owner)
{
    (void)ssl;
    const struct tls_server *server = owner;
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, ret_len, server->protocols, server->protocols_len, offered,
                              offered_len) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL; /* RFC 7301, 3.2 */
    }
    *ret_at = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static void tls_set_protocols(struct tls_server *server, struct slice protocols)
{
    struct slice rest = protocols;
    while (rest.len > 0) {
        struct slice name = slice_cut(rest, ',', &rest);
        must(name.len > 0 && name.len < TLS_PROTOCOLS_SIZE - server->protocols_len);
        server->protocols[server->protocols_len] = (unsigned char)name.len;
        memcpy(server->protocols + server->protocols_len + 1, name.at, name.len);
        server->protocols_len += (unsigned)name.len + 1;
    }
    if (server->protocols_len > 0) {
        SSL_CTX_set_alpn_select_cb(server->context, tls_choose_protocol, server);
    }
}

static SSL_CTX *tls_context_new(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    must(context != NULL);
    must(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
    must(SSL_CTX_set_cipher_list(context, TLS12_CIPHERS) == 1);
    char groups[] = TLS_GROUPS;
    must(SSL_CTX_set1_groups_list(context, groups) == 1);
    /* Unexpected end: see tls_stream.h. */
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    /* Tickets carry the session, so that nothing is kept and no lock is taken here. */
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    must(SSL_CTX_set_num_tickets(context, 1) == 1);
    /* One read for the header and the body of a record, and for several small records. */
    SSL_CTX_set_read_ahead(context, 1);
    return context;
}

enum err tls_server_new(const char *certificate_path, const char *key_path, struct slice protocols,
                        struct tls_server **ret_server, struct error *reterr)
{
    struct tls_server *server CLEANUP(tls_server_unref_at)
    = memory_new(sizeof(*server));
    atomic_init(&server->reference_count, 1);
    server->context = tls_context_new();
    server->method = tls_stream_method_new();
    enum err err = tls_load_certificate(server->context, certificate_path, reterr);
    if (err == ERR_NONE) {
        err = tls_load_key(server->context, key_path, certificate_path, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    tls_set_warning(server, certificate_path);
    tls_set_protocols(server, protocols);
    *ret_server = server;
    server = NULL;
    return ERR_NONE;
}

struct tls_server *tls_server_ref(struct tls_server *server)
{
    (void)atomic_fetch_add_explicit(&server->reference_count, 1, memory_order_relaxed);
    return server;
}

void tls_server_unref(struct tls_server *server)
{
    if (server == NULL ||
        atomic_fetch_sub_explicit(&server->reference_count, 1, memory_order_acq_rel) != 1) {
        return;
    }
    SSL_CTX_free(server->context);
    BIO_meth_free(server->method);
    memory_free(server);
}

struct slice tls_server_warning(const struct tls_server *server)
{
    return slice_of_text(server->warning);
}
