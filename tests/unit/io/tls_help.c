/* SPDX-License-Identifier: MIT */
#include "tls_help.h"

#include "base/must.h"
#include "io/socket_stream.h"
#include "io/tls_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define TURN_COUNT_MAX 200000
#define READ_SIZE_MAX  65536

static X509 *certificate_new(EVP_PKEY *key, const char *name, long starts_s, long ends_s)
{
    X509 *certificate = X509_new();
    must(certificate != NULL && X509_set_version(certificate, X509_VERSION_3) == 1);
    must(ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1);
    must(X509_gmtime_adj(X509_getm_notBefore(certificate), starts_s) != NULL);
    must(X509_gmtime_adj(X509_getm_notAfter(certificate), ends_s) != NULL);
    X509_NAME *subject = X509_get_subject_name(certificate);
    must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                                    -1, 0) == 1);
    must(X509_set_issuer_name(certificate, subject) == 1);
    must(X509_set_pubkey(certificate, key) == 1);
    must(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

static void files_write(struct tls_files *files, EVP_PKEY *key, X509 *certificate)
{
    (void)snprintf(files->folder, sizeof(files->folder), "/tmp/gatehouse-tls-XXXXXX");
    must(mkdtemp(files->folder) != NULL);
    (void)snprintf(files->certificate, sizeof(files->certificate), "%s/cert.pem", files->folder);
    (void)snprintf(files->key, sizeof(files->key), "%s/key.pem", files->folder);
    FILE *file = fopen(files->certificate, "we");
    must(file != NULL && PEM_write_X509(file, certificate) == 1 && fclose(file) == 0);
    file = fopen(files->key, "we");
    must(file != NULL && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    must(fclose(file) == 0);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

void tls_files_make(struct tls_files *files, const char *name, long starts_s, long ends_s)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    must(key != NULL);
    files_write(files, key, certificate_new(key, name, starts_s, ends_s));
}

void tls_files_make_rsa(struct tls_files *files, const char *name, unsigned bits)
{
    EVP_PKEY *key = EVP_RSA_gen(bits);
    must(key != NULL);
    files_write(files, key, certificate_new(key, name, -60, 3600));
}

void tls_file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    must(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

void tls_files_remove(const struct tls_files *files)
{
    (void)unlink(files->certificate);
    (void)unlink(files->key);
    must(rmdir(files->folder) == 0);
}

struct tls_server *tls_server_make(const char *name, struct slice protocols)
{
    struct tls_files files;
    struct tls_server *server = NULL;
    tls_files_make(&files, name, -60, 3600);
    must(tls_server_new(files.certificate, files.key, protocols, &server, NULL) == ERR_NONE);
    tls_files_remove(&files);
    return server;
}

static SSL *client_new(int fd, struct tls_wish wish)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    must(context != NULL);
    SSL_CTX_set_security_level(context, 0); /* it may be weaker than the server allows */
    must(SSL_CTX_set_min_proto_version(context, TLS1_VERSION) == 1);
    must(SSL_CTX_set_max_proto_version(context, wish.version_max) == 1);
    if (wish.ciphers != NULL) {
        must(SSL_CTX_set_cipher_list(context, wish.ciphers) == 1);
    }
    (void)SSL_CTX_set_mode(context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL *client = SSL_new(context);
    SSL_CTX_free(context);
    must(client != NULL && SSL_set_fd(client, fd) == 1);
    if (wish.protocols != NULL) {
        must(SSL_set_alpn_protos(client, (const unsigned char *)wish.protocols,
                                 wish.protocols_len) == 0);
    }
    if (wish.session != NULL) {
        must(SSL_set_session(client, wish.session) == 1);
    }
    SSL_set_connect_state(client);
    return client;
}

static void ignore_event(void *owner, unsigned events)
{
    (void)owner;
    (void)events;
}

void tls_peers_start(struct tls_peers *peers, struct tls_wish wish)
{
    int fds[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    for (size_t i = 0; wish.socket_buffer_size > 0 && i < 2; i++) {
        must(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &wish.socket_buffer_size,
                        sizeof(wish.socket_buffer_size)) == 0);
    }
    struct tls_server *server = wish.server == NULL
                                    ? tls_server_make("gateway.test", SLICE("h2,http/1.1"))
                                    : tls_server_ref(wish.server);
    peers->loop = loop_new(wish.fault);
    must(tls_stream_new(server, socket_stream_new(peers->loop, fds[0]), &peers->server) ==
         ERR_NONE);
    stream_own(peers->server, ignore_event, NULL);
    tls_server_unref(server);
    peers->client = client_new(fds[1], wish);
    peers->client_fd = fds[1];
}

void tls_peers_end(struct tls_peers *peers)
{
    if (peers->server != NULL) {
        stream_close(peers->server);
    }
    SSL_free(peers->client);
    (void)close(peers->client_fd);
    loop_free(peers->loop);
}

int tls_peers_shake_hands(struct tls_peers *peers)
{
    for (size_t i = 0; i < TURN_COUNT_MAX; i++) {
        int result = SSL_do_handshake(peers->client);
        if (result == 1) {
            return 1;
        }
        if (SSL_get_error(peers->client, result) != SSL_ERROR_WANT_READ) {
            return 0;
        }
        loop_turn(peers->loop);
    }
    return 0;
}

void tls_reader_on_event(void *owner, unsigned events)
{
    struct tls_seen *seen = owner;
    char *at = NULL;
    size_t len = 0;
    (void)events;
    must(seen->read_size <= READ_SIZE_MAX);
    must(buf_reserve(&seen->in, seen->read_size, &at) == ERR_NONE);
    seen->read_err = stream_read(seen->stream, at, seen->read_size, &len);
    buf_commit(&seen->in, len);
    if (seen->read_err != ERR_NONE && seen->read_err != ERR_AGAIN) {
        stream_watch(seen->stream, 0);
    }
}
