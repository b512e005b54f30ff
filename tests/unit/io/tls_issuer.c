/* SPDX-License-Identifier: MIT */
#include "tls_issuer.h"

#include "base/limits.h"
#include "base/must.h"
#include "io/socket_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define PAIR_TURNS      200000
#define PAIR_TIMEOUT_MS 20000

static void add_extension(X509 *certificate, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    must(extension != NULL && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static void certificate_fill(X509 *certificate, const struct tls_subject *subject)
{
    static long number = 1;
    long ends_s = subject->ends_s == 0 ? 3600 : subject->ends_s;
    long starts_s = subject->starts_s == 0 ? -60 : subject->starts_s;
    X509_NAME *name = X509_get_subject_name(certificate);
    must(X509_set_version(certificate, X509_VERSION_3) == 1);
    must(ASN1_INTEGER_set(X509_get_serialNumber(certificate), number++) == 1);
    must(X509_gmtime_adj(X509_getm_notBefore(certificate), starts_s) != NULL);
    must(X509_gmtime_adj(X509_getm_notAfter(certificate), ends_s) != NULL);
    must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)subject->name,
                                    -1, -1, 0) == 1);
    if (subject->is_issuer) {
        add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
    }
    if (subject->hosts != NULL) {
        add_extension(certificate, NID_subject_alt_name, subject->hosts);
    }
}

static void issuer_write(struct tls_issuer *made)
{
    (void)snprintf(made->folder, sizeof(made->folder), "/tmp/gatehouse-tls-XXXXXX");
    must(mkdtemp(made->folder) != NULL);
    (void)snprintf(made->path, sizeof(made->path), "%s/all.pem", made->folder);
    FILE *file = fopen(made->path, "we");
    must(file != NULL && PEM_write_X509(file, made->certificate) == 1);
    must(fwrite(made->chain.memory == NULL ? "" : buf_view(&made->chain).at, 1, made->chain.len,
                file) == made->chain.len);
    must(PEM_write_PrivateKey(file, made->key, NULL, NULL, 0, NULL, NULL) == 1);
    must(fclose(file) == 0);
}

/* What stands behind the certificates that this one issues. */
static void issuer_add_to_chain(struct tls_issuer *made)
{
    char pem[8192];
    BIO *text = BIO_new(BIO_s_mem());
    must(text != NULL && PEM_write_bio_X509(text, made->certificate) == 1);
    int len = BIO_read(text, pem, sizeof(pem));
    must(len > 0 && buf_append(&made->chain, slice_of(pem, (size_t)len)) == ERR_NONE);
    BIO_free_all(text);
}

void tls_issuer_make(struct tls_issuer *made, struct tls_subject subject)
{
    bool is_edwards = subject.digest != NULL && strcmp(subject.digest, "ED25519") == 0;
    const EVP_MD *digest = is_edwards               ? NULL
                           : subject.digest == NULL ? EVP_sha256()
                                                    : EVP_get_digestbyname(subject.digest);
    *made = (struct tls_issuer){.certificate = X509_new()};
    made->key = is_edwards ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519") : EVP_EC_gen("P-256");
    must(made->certificate != NULL && made->key != NULL);
    const struct tls_issuer *issuer = subject.issuer == NULL ? made : subject.issuer;
    certificate_fill(made->certificate, &subject);
    must(X509_set_issuer_name(made->certificate, X509_get_subject_name(issuer->certificate)) == 1);
    must(X509_set_pubkey(made->certificate, made->key) == 1);
    must(X509_sign(made->certificate, issuer->key, digest) > 0);
    buf_init(&made->chain, LIMIT_KIB(64));
    must(buf_append(&made->chain, buf_view(&issuer->chain)) == ERR_NONE);
    issuer_write(made);
    if (subject.issuer != NULL) {
        issuer_add_to_chain(made);
    }
}

void tls_issuer_free(struct tls_issuer *issuer)
{
    X509_free(issuer->certificate);
    EVP_PKEY_free(issuer->key);
    buf_release(&issuer->chain);
    (void)unlink(issuer->path);
    must(rmdir(issuer->folder) == 0);
}

struct tls_server *tls_issuer_server(const struct tls_issuer *issuer, struct slice protocols)
{
    struct tls_server *server = NULL;
    must(tls_server_new(issuer->path, issuer->path, protocols, &server, NULL) == ERR_NONE);
    return server;
}

struct tls_client *tls_issuer_client(const struct tls_issuer *trusted, enum tls_verify verify)
{
    struct tls_client *client = NULL;
    struct tls_client_settings settings = {.verify = verify, .trusted = {.path = trusted->path}};
    must(tls_client_new(&settings, &client, NULL) == ERR_NONE);
    return client;
}

void tls_end_on_done(void *owner, struct stream *take_stream, const struct error *error)
{
    struct tls_end *end = owner;
    must(end->handshake != NULL && (take_stream == NULL) == (error != NULL));
    end->handshake = NULL;
    end->stream = take_stream;
    if (error != NULL) {
        end->error = *error;
    }
}

void tls_pair_start(struct tls_pair *pair, struct tls_pair_wish wish)
{
    int fds[2];
    struct stream *server = NULL;
    struct stream *client = NULL;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    for (size_t i = 0; wish.socket_buffer_size > 0 && i < 2; i++) {
        must(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &wish.socket_buffer_size,
                        sizeof(wish.socket_buffer_size)) == 0);
    }
    *pair = (struct tls_pair){.own_loop = wish.loop == NULL ? loop_new(wish.fault) : NULL};
    pair->loop = wish.loop == NULL ? pair->own_loop : wish.loop;
    must(tls_stream_new(wish.server, socket_stream_new(pair->loop, fds[0]), &server) == ERR_NONE);
    must(tls_stream_new_client(wish.client, wish.host, socket_stream_new(pair->loop, fds[1]),
                               &client, NULL) == ERR_NONE);
    pair->server.handshake =
        tls_handshake_start(server, PAIR_TIMEOUT_MS, tls_end_on_done, &pair->server);
    pair->client.handshake =
        tls_handshake_start(client, PAIR_TIMEOUT_MS, tls_end_on_done, &pair->client);
}

bool tls_pair_await(struct tls_pair *pair)
{
    for (size_t i = 0; i < PAIR_TURNS; i++) {
        if (pair->server.handshake == NULL && pair->client.handshake == NULL) {
            break;
        }
        loop_turn(pair->loop);
    }
    must(pair->server.handshake == NULL && pair->client.handshake == NULL);
    return pair->server.stream != NULL && pair->client.stream != NULL;
}

static void end_close(struct tls_end *end)
{
    if (end->handshake != NULL) {
        tls_handshake_cancel(end->handshake);
    }
    if (end->stream != NULL) {
        stream_close(end->stream);
    }
}

void tls_pair_end(struct tls_pair *pair)
{
    end_close(&pair->server);
    end_close(&pair->client);
    loop_free(pair->own_loop);
}
