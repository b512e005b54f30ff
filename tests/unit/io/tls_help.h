/* SPDX-License-Identifier: MIT */
/* For the tests of TLS: certificates made on the spot, and a connection whose one end is a stream
 * of ours on a loop and whose other end is OpenSSL's own client on the same thread. The two take
 * turns. */
#ifndef GH_TESTS_TLS_HELP_H
#define GH_TESTS_TLS_HELP_H

#include "base/buf.h"
#include "io/fault.h"
#include "io/stream.h"
#include "io/tls_server.h"

#include <openssl/ssl.h>

#define TLS_PATH_SIZE 128

struct tls_files {
    char folder[TLS_PATH_SIZE];
    char certificate[TLS_PATH_SIZE + 16];
    char key[TLS_PATH_SIZE + 16];
};

/* A self-signed certificate for 'name', valid between these seconds from now on. */
void tls_files_make(struct tls_files *files, const char *name, long starts_s, long ends_s);
/* The same with an RSA key of so many bits, valid now. */
void tls_files_make_rsa(struct tls_files *files, const char *name, unsigned bits);
/* Replaces the contents of one of the files. */
void tls_file_write(const char *path, const char *text);
void tls_files_remove(const struct tls_files *files);

/* A server with such a certificate, valid now. */
struct tls_server *tls_server_make(const char *name, struct slice protocols);

/* What a test wants different from an ordinary connection. */
struct tls_wish {
    struct fault *fault;
    struct tls_server *server; /* NULL: one is made */
    int version_max;           /* of the client; 0: no wish */
    const char *ciphers;       /* the client's, TLS 1.2 */
    const char *protocols;     /* the client's, in the form of RFC 7301 */
    unsigned protocols_len;
    SSL_SESSION *session;   /* to be resumed */
    int socket_buffer_size; /* 0: the system's */
};

struct tls_peers {
    struct loop *loop;
    struct stream *server; /* NULL once a test has closed it */
    SSL *client;
    int client_fd;
};

void tls_peers_start(struct tls_peers *peers, struct tls_wish wish);
/* Closes what is still open. */
void tls_peers_end(struct tls_peers *peers);
/* Turns until the client's handshake is over; its result: 1, or 0 when it failed. */
int tls_peers_shake_hands(struct tls_peers *peers);

/* What an owner that does nothing special has seen. */
struct tls_seen {
    struct stream *stream;
    struct buf in; /* all that was read */
    enum err read_err;
    size_t read_size;
};

/* An owner that reads once for each call, and stops to watch when reading ended. */
void tls_reader_on_event(void *owner, unsigned events);

#endif
