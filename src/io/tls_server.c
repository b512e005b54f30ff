/* SPDX-License-Identifier: MIT */
#include "io/tls_server.h"

#include "base/must.h"
#include "io/tls_internal.h"

#include <openssl/x509.h>

#define TLS12_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"
#define TLS_GROUPS    "X25519:P-256:P-384"

static void tls_set_warning(struct tls_server *server, const char *path)
{
    const X509 *certificate = SSL_CTX_get0_certificate(server->context.ssl);
    const ASN1_TIME *start = X509_get0_notBefore(certificate);
    const ASN1_TIME *end = X509_get0_notAfter(certificate);
    bool is_early = X509_cmp_current_time(start) > 0;
    bool is_late = X509_cmp_current_time(end) < 0;
    if (!is_early && !is_late) {
        return;
    }
    char date[TLS_DATE_SIZE];
    tls_certificate_date(is_early ? start : end, date);
    (void)snprintf(server->warning, sizeof(server->warning), "certificate '%.240s' %s %s", path,
                   is_early ? "is not valid before" : "expired on", date);
}

static int tls_choose_protocol(SSL *ssl, const unsigned char **ret_at, unsigned char *ret_len,
                               const unsigned char *offered, unsigned offered_len, void *owner)
{
    (void)ssl;
    const struct tls_server *server = owner;
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, ret_len, server->context.protocols,
                              server->context.protocols_len, offered,
                              offered_len) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL; /* RFC 7301, 3.2 */
    }
    *ret_at = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static void tls_server_set_up(struct tls_server *server)
{
    SSL_CTX *ssl = server->context.ssl;
    char groups[] = TLS_GROUPS;
    must(SSL_CTX_set_cipher_list(ssl, TLS12_CIPHERS) == 1);
    must(SSL_CTX_set1_groups_list(ssl, groups) == 1);
    (void)SSL_CTX_set_options(ssl, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    /* Tickets carry the session, so that nothing is kept and no lock is taken here. */
    (void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    must(SSL_CTX_set_num_tickets(ssl, 1) == 1);
    if (server->context.protocols_len > 0) {
        SSL_CTX_set_alpn_select_cb(ssl, tls_choose_protocol, server);
    }
}

enum err tls_server_new(const char *certificate_path, const char *key_path, struct slice protocols,
                        struct tls_server **ret_server, struct error *reterr)
{
    struct tls_server *server CLEANUP(tls_server_unref_at)
    = memory_new(sizeof(*server));
    struct tls_pem certificate = {.path = certificate_path};
    struct tls_pem key = {.path = key_path};
    tls_context_init(&server->context, TLS_server_method(), protocols);
    tls_server_set_up(server);
    enum err err = tls_context_load_identity(&server->context, &certificate, &key, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    tls_set_warning(server, certificate_path);
    *ret_server = server;
    server = NULL;
    return ERR_NONE;
}

struct tls_server *tls_server_ref(struct tls_server *server)
{
    tls_context_ref(&server->context);
    return server;
}

void tls_server_unref(struct tls_server *server)
{
    tls_context_unref(server == NULL ? NULL : &server->context);
}

struct slice tls_server_warning(const struct tls_server *server)
{
    return slice_of_text(server->warning);
}
