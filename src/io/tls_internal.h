/* SPDX-License-Identifier: MIT */
/* What the files tls_*.c share, and nobody else. */
#ifndef GH_IO_TLS_INTERNAL_H
#define GH_IO_TLS_INTERNAL_H

#include "base/writer.h"
#include "io/stream.h"
#include "io/timer.h"
#include "io/tls_client.h"
#include "io/tls_server.h"

#include <stdatomic.h>

#include <openssl/bio.h>
#include <openssl/ssl.h>

#define TLS_PROTOCOLS_SIZE 64
#define TLS_WARNING_SIZE   320
#define TLS_DATE_SIZE      32

/* The start of a server and of a client: what all of its connections share. */
struct tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *method; /* how OpenSSL reaches the stream below */
    unsigned char
        protocols[TLS_PROTOCOLS_SIZE]; /* each with its length before it (RFC 7301, 3.1) */
    unsigned protocols_len;
    atomic_size_t reference_count;
};

struct tls_server {
    struct tls_context context;
    char warning[TLS_WARNING_SIZE];
};

struct tls_client {
    struct tls_context context;
    enum tls_verify verify;
};

/* tls_context.c */
void tls_context_init(struct tls_context *context, const SSL_METHOD *method,
                      struct slice protocols);
void tls_context_ref(struct tls_context *context);
/* With the last reference the server or client goes that it is the start of. */
void tls_context_unref(struct tls_context *context);
/* The certificate, its issuers, and its key: out of the certificate's PEM when 'key' is empty. */
enum err tls_context_load_identity(struct tls_context *context, const struct tls_pem *certificate,
                                   const struct tls_pem *key, struct error *reterr) MUST_USE;
/* The certificates that others are trusted by. */
enum err tls_context_load_trusted(struct tls_context *context, const struct tls_pem *trusted,
                                  struct error *reterr) MUST_USE;

/* tls_client.c */
/* Says on a connection who is meant. '*ret_host' stays as it is when the host is empty. */
enum err tls_client_prepare(const struct tls_client *client, SSL *ssl, struct slice host,
                            char **ret_host, struct error *reterr) MUST_USE;

/* A record carries no more (RFC 8446, 5.1). */
#define TLS_RECORD_SIZE 16384
/* And when it is sealed (RFC 8446, 5.2; RFC 5246, 6.2.3 allows even more than we send). */
#define TLS_SEALED_SIZE_MAX (5 + TLS_RECORD_SIZE + 256)

/* The parts of one stream_write, from the first byte not yet taken on. */
struct tls_parts {
    const struct slice *parts;
    size_t count;
    size_t offset; /* in parts[0] */
};

/* OpenSSL's buffers of a connection, 17 KiB for each direction: kept while it is busy, given back
 * once it has been quiet for LIMIT_TLS_QUIET_MS. */
struct tls_buffers {
    SSL *ssl;
    struct timer timer; /* runs while they are there */
    bool are_there;
    bool were_used; /* since the timer was started */
};

/* tls_buffers.c */
void tls_buffers_init(struct tls_buffers *buffers, SSL *ssl);
/* Before OpenSSL is called. */
void tls_buffers_use(struct tls_buffers *buffers, struct loop *loop);
/* Before the connection ends or leaves its loop. On the new one they count as used. */
void tls_buffers_stop(struct tls_buffers *buffers);

/* tls_parts.c */
void tls_parts_skip(struct tls_parts *left, size_t len);
/* The bytes of the next record: out of the part itself where it fills one or is the last, else
 * joined in 'scratch', so that the head and the body of an answer go out together. */
struct slice tls_parts_take(struct tls_parts *left, char *scratch);

/* tls_stream.c */
BIO_METHOD *tls_stream_method_new(void);
SSL *tls_stream_ssl(const struct stream *stream);
/* ERR_NONE once the handshake is over, ERR_AGAIN before: watch STREAM_READABLE, call again. */
enum err tls_stream_shake_hands(struct stream *stream) MUST_USE;
/* Words to explain the end with, unless there are some already: the first are the cause. */
void tls_stream_note(struct stream *stream, struct slice words);

/* tls_certificate.c */
/* Judges the peer's certificate, and notes on the stream why it is refused. */
int tls_certificate_on_step(int is_good, X509_STORE_CTX *step);
/* "2026-01-31", in TLS_DATE_SIZE bytes. */
void tls_certificate_date(const ASN1_TIME *time, char *ret_date);

#endif
