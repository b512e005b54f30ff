/* SPDX-License-Identifier: MIT */
/* For the tests of TLS: certificates with issuers and hosts, and two ends of ours, a server and a
 * client, that shake hands on one loop. */
#ifndef GH_TESTS_TLS_ISSUER_H
#define GH_TESTS_TLS_ISSUER_H

#include "io/fault.h"
#include "io/tls_handshake.h"
#include "io/tls_stream.h"
#include "tls_help.h"

/* A certificate and its key; the first is often its own issuer. */
struct tls_issuer {
    X509 *certificate;
    EVP_PKEY *key;
    char folder[TLS_PATH_SIZE];
    char path[TLS_PATH_SIZE + 16]; /* certificate and key in one PEM file */
    struct buf chain;              /* the PEM of the certificates up to here, without the root */
};

/* What a test wants different from a certificate that is valid for an hour. */
struct tls_subject {
    const char *name;
    const char *hosts;               /* "DNS:db.test,IP:127.0.0.1"; NULL: none */
    const struct tls_issuer *issuer; /* NULL: itself */
    const char *digest;              /* NULL: SHA256; "ED25519": the key is of that kind, too */
    long starts_s;                   /* from now on; 0: a minute ago */
    long ends_s;                     /* 0: in an hour */
    bool is_issuer;
};

void tls_issuer_make(struct tls_issuer *made, struct tls_subject subject);
void tls_issuer_free(struct tls_issuer *issuer);

/* The server that shows it, with its issuers. */
struct tls_server *tls_issuer_server(const struct tls_issuer *issuer, struct slice protocols);
/* A client that trusts it alone. */
struct tls_client *tls_issuer_client(const struct tls_issuer *trusted, enum tls_verify verify);

struct tls_end {
    struct tls_handshake *handshake; /* NULL when it is over */
    struct stream *stream;           /* when it was good */
    struct error error;              /* when it was not */
};

struct tls_pair {
    struct loop *loop;
    struct loop *own_loop; /* NULL: it is another's */
    struct tls_end server;
    struct tls_end client;
};

struct tls_pair_wish {
    struct tls_server *server;
    struct tls_client *client;
    struct slice host;
    struct loop *loop; /* NULL: one is made */
    struct fault *fault;
    int socket_buffer_size; /* 0: the system's */
};

void tls_pair_start(struct tls_pair *pair, struct tls_pair_wish wish);
/* Both handshakes to their end; true when both were good. */
bool tls_pair_await(struct tls_pair *pair);
void tls_pair_end(struct tls_pair *pair);

/* The done function of a struct tls_end. */
void tls_end_on_done(void *owner, struct stream *take_stream, const struct error *error);

#endif
