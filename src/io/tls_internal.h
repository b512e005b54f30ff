/* SPDX-License-Identifier: MIT */
/* What tls_server.c and tls_stream.c share, and nobody else. */
#ifndef GH_IO_TLS_INTERNAL_H
#define GH_IO_TLS_INTERNAL_H

#include "io/tls_server.h"

#include <stdatomic.h>

#include <openssl/bio.h>
#include <openssl/ssl.h>

#define TLS_PROTOCOLS_SIZE 64
#define TLS_WARNING_SIZE   320

struct tls_server {
    SSL_CTX *context;
    BIO_METHOD *method; /* how OpenSSL reaches the stream below; one for all connections */
    unsigned char
        protocols[TLS_PROTOCOLS_SIZE]; /* each with its length before it (RFC 7301, 3.1) */
    unsigned protocols_len;
    char warning[TLS_WARNING_SIZE];
    atomic_size_t reference_count;
};

BIO_METHOD *tls_stream_method_new(void);

#endif
