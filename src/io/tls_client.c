/* SPDX-License-Identifier: MIT */
#include "io/tls_client.h"

#include "base/limits.h"
#include "base/must.h"
#include "io/tls_internal.h"

#include <arpa/inet.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

/* The last ones are for servers of databases that know no authenticated ciphers. */
#define TLS12_CLIENT_CIPHERS                                                                       \
    "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:ECDHE+AES:!aNULL:!eNULL"
#define TLS_CLIENT_GROUPS "X25519:P-256:P-384:P-521"

static void tls_client_set_up(struct tls_client *client)
{
    SSL_CTX *ssl = client->context.ssl;
    char groups[] = TLS_CLIENT_GROUPS;
    must(SSL_CTX_set_cipher_list(ssl, TLS12_CLIENT_CIPHERS) == 1);
    must(SSL_CTX_set1_groups_list(ssl, groups) == 1);
    (void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    if (client->verify != TLS_VERIFY_NONE) {
        SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, tls_certificate_on_step);
    }
    if (client->context.protocols_len > 0) {
        must(SSL_CTX_set_alpn_protos(ssl, client->context.protocols,
                                     client->context.protocols_len) == 0);
    }
}

static bool tls_pem_is_given(const struct tls_pem *pem)
{
    return pem->path != NULL || pem->bytes.len > 0;
}

enum err tls_client_new(const struct tls_client_settings *settings, struct tls_client **ret_client,
                        struct error *reterr)
{
    struct tls_client *client CLEANUP(tls_client_unref_at)
    = memory_new(sizeof(*client));
    client->verify = settings->verify;
    tls_context_init(&client->context, TLS_client_method(), settings->protocols);
    tls_client_set_up(client);
    enum err err = ERR_NONE;
    if (client->verify != TLS_VERIFY_NONE) {
        err = tls_context_load_trusted(
            &client->context, tls_pem_is_given(&settings->trusted) ? &settings->trusted : NULL,
            reterr);
    }
    if (err == ERR_NONE && tls_pem_is_given(&settings->certificate)) {
        err = tls_context_load_identity(&client->context, &settings->certificate,
                                        tls_pem_is_given(&settings->key) ? &settings->key : NULL,
                                        reterr);
    } else if (err == ERR_NONE && tls_pem_is_given(&settings->key)) {
        err = fail(reterr, ERR_INPUT, "a key was given without its certificate");
    }
    if (err != ERR_NONE) {
        return err;
    }
    *ret_client = client;
    client = NULL;
    return ERR_NONE;
}

struct tls_client *tls_client_ref(struct tls_client *client)
{
    tls_context_ref(&client->context);
    return client;
}

void tls_client_unref(struct tls_client *client)
{
    tls_context_unref(client == NULL ? NULL : &client->context);
}

/* A connection's host ----------------------------------------------------------------------------
 */

/* As certificates and SNI have it: no dot at the end, no zone behind an address. */
static struct slice host_trim(struct slice host)
{
    size_t zone = slice_find_byte(host, '%');
    if (slice_find_byte(host, ':') < zone) {
        return slice_sub(host, 0, zone);
    }
    bool has_dot = host.len > 1 && host.at[host.len - 1] == '.';
    return slice_sub(host, 0, host.len - (has_dot ? 1 : 0));
}

static bool host_is_plain(struct slice host)
{
    bool is_plain = host.len > 0 && host.len < LIMIT_HOST_SIZE;
    for (size_t i = 0; i < host.len && is_plain; i++) {
        is_plain = host.at[i] > ' ' && host.at[i] < 0x7f;
    }
    return is_plain;
}

static bool host_set(SSL *ssl, char *host, bool must_match)
{
    unsigned char address[sizeof(struct in6_addr)];
    X509_VERIFY_PARAM *wanted = SSL_get0_param(ssl);
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1) {
        return !must_match || X509_VERIFY_PARAM_set1_ip_asc(wanted, host) == 1;
    }
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set_tlsext_host_name(ssl, host) == 1 &&
           (!must_match || X509_VERIFY_PARAM_set1_host(wanted, host, 0) == 1);
}

enum err tls_client_prepare(const struct tls_client *client, SSL *ssl, struct slice host,
                            char **ret_host, struct error *reterr)
{
    bool must_match = client->verify == TLS_VERIFY_FULL;
    struct slice name = host_trim(host);
    char text[LIMIT_HOST_SIZE] = "";
    if (name.len == 0 && !must_match) {
        return ERR_NONE;
    }
    bool is_set = host_is_plain(name);
    if (is_set) {
        memcpy(text, name.at, name.len);
        is_set = host_set(ssl, text, must_match);
        ERR_clear_error();
    }
    if (!is_set) {
        return fail(reterr, ERR_INPUT, "TLS: the host's name is none that a certificate has");
    }
    *ret_host = memory_new(name.len + 1);
    memcpy(*ret_host, text, name.len);
    return ERR_NONE;
}
