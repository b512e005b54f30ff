/* SPDX-License-Identifier: MIT */
/* A PostgreSQL server by script, at the other end of a socketpair: it says and hears bytes; the
 * loop turns meanwhile. And TLS as a stub that turns every byte around. */
#ifndef GH_TESTS_PG_HELP_H
#define GH_TESTS_PG_HELP_H

#include "base/memory.h"
#include "io/fault.h"
#include "protocol/postgres/pg_target.h"
#include "wire/pgwire_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define USER     "gate"
#define PASSWORD "p\xc3\xa4ss word"

#define assert_bytes(actual, text) assert_true(slice_equals((actual), SLICE(text)))
#define assert_text(actual, text)  assert_true(slice_equals((actual), slice_of_text(text)))

enum tls_stub {
    TLS_AT_ONCE,
    TLS_LATER,
    TLS_FAILS,
    TLS_NEVER,
    TLS_NONE_AFTER_ALL, /* hands a stream back that encrypts nothing */
};

struct wish {
    enum place_tls mode;
    enum tls_stub tls;
    const struct scram_end_point *end_point; /* that TLS tells */
    bool has_no_secret;
    bool is_remote;
    bool allows_cleartext;
    const char *password; /* NULL: PASSWORD */
    const struct pgwire_parameter *parameters;
    size_t parameter_count;
    uint32_t version; /* 0: 3.0 */
    uint64_t timeout_ms;
    struct fault *fault;
    size_t pool_queue; /* 0: enough */
    size_t piece;      /* the server says all in pieces of this size; 0: at once */
};

struct peer {
    struct wish wish;
    struct worker *worker;
    struct loop *loop;
    struct pool *pool;
    int fd; /* the server's end */
    char mask;
    size_t piece;
    struct buf heard; /* what the target said and nobody has taken yet */

    struct pg_target *target; /* until it is done */
    struct loop_task tls_task;
    struct stream *below; /* while TLS is late */
    pg_tls_done_fn tls_done;
    void *tls_owner;
    bool tls_cancelled;

    /* the outcome */
    unsigned done_count;
    struct stream *stream;
    uint32_t version;
    enum pgwire_transaction transaction;
    uint32_t process;
    struct buf key;
    struct buf greeting;
    struct buf rest;
    struct target_failure failure;
    struct buf answer;
};

/* The server's end alone, with a stream above the other one. */
struct stream *peer_open(struct peer *peer, const struct wish *wish);
struct pg_encryption_settings peer_encryption(struct peer *peer);
/* And a pg_target on it. */
void peer_start(struct peer *peer, const struct wish *wish);
/* Closes and frees all that is left. */
void peer_end(struct peer *peer);

void peer_turn(struct peer *peer);
void peer_say(struct peer *peer, struct slice bytes);
/* Until so many bytes were heard, or it is done. */
struct slice peer_hear(struct peer *peer, size_t size);
/* The next message of the target, which must have this type ('\0': the start), and its body; gone
 * with the next one. at == NULL when the target is done instead. */
struct slice peer_hear_message(struct peer *peer, char type);
void peer_forget(struct peer *peer, size_t size);
void peer_hang_up(struct peer *peer);

/* Turns until it is done or so much time is over; whether it is done. */
bool peer_await(struct peer *peer, unsigned ms);

/* What servers say. */
void say_auth(struct peer *peer, enum pgwire_auth_kind kind, struct slice data);
void say_sasl(struct peer *peer, const char *first, const char *second);
void say_error(struct peer *peer, const char *sqlstate, const char *message);
void say_session(struct peer *peer); /* two parameters, a key, ready */
/* SCRAM up to the server's last word, which is not said; 'ret_last' is it. */
void serve_scram(struct peer *peer, const char *mechanism, struct slice *ret_last,
                 struct arena *arena);

/* What went wrong, by its code, the client's SQLSTATE, and words that the text has. */
void assert_failed(struct peer *peer, enum err code, const char *sqlstate, const char *words);
/* Signed in, as after say_session(). */
void assert_ready(struct peer *peer);

#endif
