/* SPDX-License-Identifier: MIT */
/* For the tests of the PostgreSQL front: a front on one end of a socket pair, its owner, and a
 * scripted client on the other end, on the same thread. The two take turns. */
#ifndef GH_TESTS_PG_FRONT_HELP_H
#define GH_TESTS_PG_FRONT_HELP_H

#include "protocol/postgres/pg_front.h"

#include "io/fault.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_auth.h"

#include <openssl/ssl.h>

#define PEER_VERIFIERS 3
#define PEER_NAME      "prod-db"
#define PEER_STATUS    "S\0\0\0\x16server_version\00017\0"

/* What a test wants of the owner and the configuration. */
struct peer_wish {
    struct fault *fault;
    struct tls_server *tls;
    bool needs_tls;
    bool cancels_late;
    uint64_t authentication_ms; /* 0: much */
    bool answers_late;          /* peer_answer() does */
    bool opens_late;            /* the test does */
    bool is_unknown;            /* nobody has a verifier for the name */
};

struct peer {
    struct peer_wish wish;
    struct loop *loop;
    struct pg_front *front; /* NULL once it is gone */
    struct scram_verifier verifiers[PEER_VERIFIERS];
    struct secret mock_key;
    struct arena arena;

    /* The client. */
    int fd; /* -1: closed */
    SSL *ssl;
    size_t piece_size; /* of what is sent; 0: whole */
    size_t cut_at;     /* one cut behind so many bytes; 0: none */
    size_t sent;
    struct buf said; /* by the front, and not looked at yet */
    bool is_closed;  /* by the front, in an orderly way */
    bool is_reset;
    struct scram_client *scram;

    /* What the owner was told. */
    unsigned name_count;
    unsigned refused_count;
    unsigned known_count;
    unsigned open_count;
    unsigned cancel_count;
    unsigned closed_count;
    size_t index;
    struct error reason;
    struct slice cancel_secret;
    uint32_t cancel_process;
    struct stream *taken;
    struct slice behind;
};

void peer_start(struct peer *peer, struct peer_wish wish);
/* Everything goes, whatever is left of it. */
void peer_end(struct peer *peer);

/* Lets the front do what it can, and takes what it says. */
void peer_turn(struct peer *peer);
/* The same until the front is gone, or for two seconds. */
void peer_wait_closed(struct peer *peer);
void peer_send(struct peer *peer, struct slice bytes);
/* A typed message. */
void peer_send_message(struct peer *peer, char type, struct slice body);
void peer_send_startup(struct peer *peer, uint32_t version,
                       const struct pgwire_parameter *parameters, size_t count);
void peer_send_request(struct peer *peer, enum pgwire_packet packet);
void peer_leave(struct peer *peer);
/* Shakes hands; ALPN in the form of RFC 7301 or NULL. */
bool peer_start_tls(struct peer *peer, const char *protocols, unsigned len);

/* One byte that is no message; '\0' when there is none. */
char peer_take_byte(struct peer *peer);
/* The next message, its type returned; '\0' when there is none. The body is in the arena. */
char peer_take(struct peer *peer, struct slice *ret_body);
/* The next message is a fatal error of this state; its text, else NULL. */
const char *peer_take_fatal(struct peer *peer, const char *sqlstate);
/* The next message is an authentication request of this kind; its data. */
bool peer_take_auth(struct peer *peer, enum pgwire_auth_kind kind, struct slice *ret_data);

/* The steps of a good client; each ends with what the front said untouched. */
void peer_begin(struct peer *peer); /* startup packet of 3.0 */
/* Takes the mechanisms, answers with 'password'. */
void peer_choose(struct peer *peer, const char *password);
void peer_prove(struct peer *peer);
/* All of them. */
void peer_sign_in(struct peer *peer, const char *password);
/* "password 0" to "password 2" are those of the verifiers. */
void peer_answer(struct peer *peer);
void peer_ready(struct peer *peer);
/* Takes AuthenticationSASLFinal to ReadyForQuery. */
bool peer_takes_session(struct peer *peer);

#endif
