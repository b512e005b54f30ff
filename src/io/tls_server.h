/* SPDX-License-Identifier: MIT */
/* What a TLS server shows its clients: a certificate chain, its key, and the application protocols
 * it offers. Immutable once made, and shared by all threads: a reload makes a new one, which new
 * connections use, while the old one ends with its last connection. TLS 1.2 with ephemeral keys
 * and authenticated ciphers only, and TLS 1.3; no renegotiation, no compression, no early data. */
#ifndef GH_IO_TLS_SERVER_H
#define GH_IO_TLS_SERVER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"

struct tls_server;

/* Both files are PEM; the first certificate is the server's, its issuers may follow. 'protocols' is
 * the ALPN list, best first, with commas ("h2,http/1.1"); a client that offers others only is
 * refused. Empty: ALPN is not answered. */
enum err tls_server_new(const char *certificate_path, const char *key_path, struct slice protocols,
                        struct tls_server **ret_server, struct error *reterr) MUST_USE;

/* From any thread. */
struct tls_server *tls_server_ref(struct tls_server *server);
void tls_server_unref(struct tls_server *server);

DEFINE_FREE_AT(tls_server_unref, struct tls_server)

/* A line for the log when the certificate is expired or not valid yet, else empty. Lives as long as
 * the server. Clients decide for themselves, so this is no reason to refuse to start. */
struct slice tls_server_warning(const struct tls_server *server);

/* Appends the DER of the certificate that clients see: what channel binding is bound to. */
enum err tls_server_certificate(const struct tls_server *server, struct buf *der) MUST_USE;

#endif
