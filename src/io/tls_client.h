/* SPDX-License-Identifier: MIT */
/* How we are the client of TLS servers: whom to trust, what to show, which application protocols to
 * offer. Immutable once made, and shared by all threads and connections that have the same
 * settings. TLS 1.2 with ephemeral keys, and TLS 1.3; no renegotiation, no compression. */
#ifndef GH_IO_TLS_CLIENT_H
#define GH_IO_TLS_CLIENT_H

#include "base/err.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"

struct tls_client;

enum tls_verify {
    TLS_VERIFY_FULL, /* a trusted issuer, and the name or address that was asked for */
    TLS_VERIFY_CA,   /* a trusted issuer, whatever the name */
    TLS_VERIFY_NONE, /* anybody: keeps out those who only listen */
};

/* A file's path, or else the bytes themselves; neither: there is none. */
struct tls_pem {
    const char *path;
    const char *name; /* what errors call the file instead of its path; may be NULL */
    struct slice bytes;
};

struct tls_client_settings {
    enum tls_verify verify;
    struct tls_pem trusted;     /* certificates of issuers, or of servers; none: the system's */
    struct tls_pem certificate; /* what we show servers that ask, its issuers behind it; or none */
    struct tls_pem key;         /* none: it stands in the certificate's PEM */
    struct slice protocols;     /* ALPN, best first, with commas; empty: nothing is offered */
};

/* Reads files, the system's certificates for some milliseconds: not on a loop. ERR_INPUT or ERR_IO
 * with the file's name. */
enum err tls_client_new(const struct tls_client_settings *settings, struct tls_client **ret_client,
                        struct error *reterr) MUST_USE;

/* From any thread. */
struct tls_client *tls_client_ref(struct tls_client *client);
void tls_client_unref(struct tls_client *client);

DEFINE_FREE_AT(tls_client_unref, struct tls_client)

#endif
