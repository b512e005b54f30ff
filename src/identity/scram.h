/* SPDX-License-Identifier: MIT */
/* SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677) as PostgreSQL uses them, both sides.
 * Channel binding is tls-server-end-point (RFC 5929) only. The name of the user stands in the
 * startup packet: the one inside these messages decides nothing, and no other identity can be asked
 * for (authzid).
 *
 * Each side takes the messages of the other: ERR_MORE comes with an answer to be sent, after which
 * one more message is due; ERR_NONE ends it, and only then is the other side known. Any other error
 * ends it too: ERR_INPUT and ERR_LIMIT malformed, ERR_UNSUPPORTED, ERR_UNAUTHENTICATED. */
#ifndef GH_IDENTITY_SCRAM_H
#define GH_IDENTITY_SCRAM_H

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/secret.h"

#include <stdint.h>

#define SCRAM_MECHANISM      "SCRAM-SHA-256"
#define SCRAM_MECHANISM_PLUS "SCRAM-SHA-256-PLUS"

#define SCRAM_HASH_SIZE      32
#define SCRAM_SALT_SIZE      16
#define SCRAM_ITERATIONS_MIN 4096 /* and at most LIMIT_SCRAM_ITERATIONS */

/* What the TLS connection is bound by: the hash of the server's certificate. */
struct scram_end_point {
    unsigned char bytes[64];
    size_t size;
};

/* By the hash that the certificate is signed with, by SHA-256 where that is MD5 or SHA-1. 'der' is
 * one certificate. ERR_UNSUPPORTED when its signature has no hash of its own (Ed25519): channel
 * binding is not to be offered then, and not possible with such a server. */
enum err scram_end_point_of(struct slice der, struct scram_end_point *ret_end_point,
                            struct error *reterr) MUST_USE;

/* What a server keeps instead of a password: proves that a client knows it, and to the client that
 * the server does. Still a secret: with the server key anybody can pose as the server. */
struct scram_verifier {
    uint32_t iterations;
    unsigned char salt[LIMIT_SCRAM_SALT_SIZE];
    size_t salt_size;
    unsigned char stored_key[SCRAM_HASH_SIZE];
    unsigned char server_key[SCRAM_HASH_SIZE];
    bool is_mock; /* nobody's: no proof is right */
};

/* With a new salt and SCRAM_ITERATIONS_MIN: what it is for are secrets of 256 random bits, which
 * more iterations would not make harder to guess. */
void scram_verifier_make(const struct secret *password, struct scram_verifier *ret_verifier);
/* The salt has at most LIMIT_SCRAM_SALT_SIZE. */
void scram_verifier_derive(const struct secret *password, struct slice salt, uint32_t iterations,
                           struct scram_verifier *ret_verifier);
/* For a user that is not there: the same for the same name at each attempt, and like those that
 * scram_verifier_make() makes, so that the messages and their time say nothing. 'key' is secret and
 * stays the same across starts. */
void scram_verifier_mock(const struct secret *key, struct slice name,
                         struct scram_verifier *ret_verifier);
void scram_verifier_wipe(struct scram_verifier *verifier);

/* PostgreSQL's form: SCRAM-SHA-256$4096:salt$StoredKey:ServerKey. */
enum err scram_verifier_parse(struct slice text, struct scram_verifier *ret_verifier,
                              struct error *reterr) MUST_USE;
/* Not for a mock. */
void scram_verifier_print(const struct scram_verifier *verifier, struct secret *text);

struct scram_server_options {
    /* Of each who may sign in by this name, all with the same salt and iterations: what is sent
     * before the proof is the same for all of them (else ERR_INTERNAL). Copied; at least 1, at
     * most LIMIT_SCRAM_VERIFIERS. */
    const struct scram_verifier *verifiers;
    size_t count;
    /* Of the certificate that the client sees: SCRAM-SHA-256-PLUS is offered too. NULL without TLS
     * or without a hash of the certificate: it was not offered. */
    const struct scram_end_point *end_point;
    struct slice mechanism; /* the one that the client chose */
    bool refuses_marked;    /* by SCRAM_MARK: ERR_DENIED */
    struct slice nonce;     /* SLICE_NONE for a random one, as it must be outside of tests */
};

struct scram_server;

/* Ends, wiped, with the arena. ERR_UNSUPPORTED when the mechanism was not offered. */
enum err scram_server_new_in(struct arena *arena, const struct scram_server_options *options,
                             struct scram_server **ret_server, struct error *reterr) MUST_USE;
/* The answer goes out with ERR_MORE (AuthenticationSASLContinue) and with ERR_NONE
 * (AuthenticationSASLFinal). */
enum err scram_server_take_in(struct arena *arena, struct scram_server *server,
                              struct slice message, struct slice *ret_answer,
                              struct error *reterr) MUST_USE;
/* After ERR_NONE: which of the verifiers the proof fits, the first if there are several. To
 * one who is refused, the time of the search says neither that nor how many they were; one who is
 * let in can tell from it, in steps of eight, how many stand before his. */
size_t scram_server_index(const struct scram_server *server);

/* What the nonce of a gateway's, or an agent's, own client begins with. A gateway refuses such a
 * client: a connection whose target is a gateway's port would open itself again and again, whatever
 * address leads there. Base64 has no '-', so that no nonce of others begins like it by chance; to
 * servers it is a nonce like any other, and no pooler on the way minds it, as it would a parameter
 * that it does not know. */
#define SCRAM_MARK "gatehouse-"

struct scram_client_options {
    const struct secret *password; /* as it was given: it is prepared here (saslprep.h) */
    struct slice user;             /* SLICE_NONE for PostgreSQL */
    /* Of the certificate that was seen; NULL without TLS, and where channel binding is not wanted
     * or not possible. */
    const struct scram_end_point *end_point;
    bool plus_is_offered; /* by the server */
    bool is_marked;       /* by SCRAM_MARK */
    struct slice nonce;   /* SLICE_NONE for a random one, as it must be outside of tests */
};

/* What a password becomes with a salt, at the cost of the iterations (RFC 5802 section 3). As
 * secret as the password: who has it can sign in. Wiped by whoever has it. */
struct scram_keys {
    unsigned char client_key[SCRAM_HASH_SIZE];
    unsigned char stored_key[SCRAM_HASH_SIZE];
    unsigned char server_key[SCRAM_HASH_SIZE];
};

struct scram_salt {
    unsigned char bytes[LIMIT_SCRAM_SALT_SIZE];
    size_t size;
    uint32_t iterations;
};

struct scram_client;

/* Ends, wiped, with the arena. Password and user are borrowed until the first message was taken. */
struct scram_client *scram_client_new_in(struct arena *arena,
                                         const struct scram_client_options *options);
/* The mechanism to choose: with channel binding when both sides can. */
struct slice scram_client_mechanism(const struct scram_client *client);
struct slice scram_client_first_in(struct arena *arena, const struct scram_client *client);
/* What the first message asks for; it is still to be taken. The errors are those of taking it. */
enum err scram_client_look(const struct scram_client *client, struct slice message,
                           struct scram_salt *ret_salt, struct error *reterr) MUST_USE;
/* Before the first message is taken: what the password makes with its salt, from an earlier
 * sign-in. Copied; the password is not asked for any more. */
void scram_client_use_keys(struct scram_client *client, const struct scram_keys *keys);
/* After the first message was taken; theirs is the arena. The server has shown that they are right
 * when the client is done. */
const struct scram_keys *scram_client_keys(const struct scram_client *client);
/* The first message costs as much time as the server's iterations, unless there are keys: up to
 * half a second at LIMIT_SCRAM_ITERATIONS, so not on a loop. */
enum err scram_client_take_in(struct arena *arena, struct scram_client *client,
                              struct slice message, struct slice *ret_answer,
                              struct error *reterr) MUST_USE;
/* Whether the server has shown that it knows the password: an AuthenticationOk before that is a
 * lie. */
bool scram_client_is_done(const struct scram_client *client);

#endif
