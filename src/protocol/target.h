/* SPDX-License-Identifier: MIT */
/* The way to a target, as the gate and agents take it whatever the protocol: where it is, what the
 * client asked for, what came of it. The secrets of a connection are known on this side alone. */
#ifndef GH_PROTOCOL_TARGET_H
#define GH_PROTOCOL_TARGET_H

#include "base/buf.h"
#include "io/dial.h"
#include "protocol/place.h"
#include "protocol/secret_cache.h"

struct commands;

/* What all of them need, of the worker they run on. */
struct dial_context {
    struct worker *worker;
    struct pool *pool; /* computes SCRAM; must end before the worker */
    struct resolver *resolver;
    struct secret_cache *cache;      /* of sign-ins; NULL: each computes its own */
    const struct commands *commands; /* what runs them; NULL: none are run here */
};

/* What cancels the work of a session. secret.at == NULL: it cannot be cancelled. */
struct cancel_key {
    uint32_t number;
    struct slice secret;
};

/* All is copied. */
struct open_request {
    const struct place *place;
    struct tls_client *tls;        /* of place_open(); kept alive; NULL: no TLS */
    struct slice database;         /* what the client asks for, when the place says nothing */
    struct shape_pairs parameters; /* of the client's start, in the protocol's own words */
    uint32_t version;              /* of the protocol that the client speaks */
    uint64_t timeout_ms;           /* for all of it */
    struct shape_texts command;    /* the connection's, where that is the target */
};

/* As whom and for whom a target is shown something that the gateway has made for one session. */
struct target_voucher {
    const struct secret *key; /* that the gateways of a store share */
    struct slice organization_id;
    struct slice id; /* what the target's own log is to show */
};

struct stop_request {
    const struct place *place; /* host, port and mode are used */
    struct tls_client *tls;
    struct cancel_key key;
    uint64_t timeout_ms;
};

/* The target is ready. Views are valid during the call; key and 'rest' are secrets or data. */
struct arrival {
    struct stream *take_stream; /* nothing is watched for */
    uint32_t version;           /* of the protocol that is spoken */
    char state;                 /* the protocol's own: PostgreSQL's of the transaction; or '\0' */
    struct cancel_key key;
    struct slice greeting; /* what the client is to be told of the start, in the protocol's bytes */
    struct slice rest;     /* what was already read behind it */
};

/* How far it came. */
enum target_stage {
    TARGET_STAGE_AGENT,   /* who was to reach it did not answer, or not usefully */
    TARGET_STAGE_NETWORK, /* it was not reached */
    TARGET_STAGE_TLS,
    TARGET_STAGE_SIGN_IN,
};

/* What is wrong, for programs. X(NAME, text) */
#define TARGET_PROBLEMS(X)                                                                         \
    X(TARGET_PROBLEM_CONFIGURATION, "configuration") /* the connection's variables */              \
    X(TARGET_PROBLEM_SECRETS, "secrets")             /* a reference leads nowhere */               \
    X(TARGET_PROBLEM_AGENT, "agent")                 /* it is not there, or too old */             \
    X(TARGET_PROBLEM_NETWORK, "network")                                                           \
    X(TARGET_PROBLEM_TLS, "tls")                                                                   \
    X(TARGET_PROBLEM_CREDENTIALS, "credentials")                                                   \
    X(TARGET_PROBLEM_DATABASE, "database") /* there is none of that name */                        \
    X(TARGET_PROBLEM_SERVER, "server")     /* it refuses otherwise, or is none of this protocol */ \
    X(TARGET_PROBLEM_QUERY, "query")                                                               \
    X(TARGET_PROBLEM_TIMEOUT, "timeout")

#define TARGET_PROBLEM_ENUM(name, text) name,
enum target_problem { TARGET_PROBLEM_NONE, TARGET_PROBLEMS(TARGET_PROBLEM_ENUM) };
#undef TARGET_PROBLEM_ENUM

const char *target_problem_text(enum target_problem problem);

#define TARGET_CODE_SIZE 6

struct target_failure {
    enum target_stage stage;
    struct error error;          /* for the log and for those who manage the target */
    char code[TARGET_CODE_SIZE]; /* the protocol's own, as the client sees it: an SQLSTATE */
    struct slice answer; /* for the client, in the protocol's bytes; valid during the call */
    /* "SHA256:…" of a server that was left because its key is not the one that the connection has;
     * empty: that was not why. Valid during the call. */
    struct slice host_key;
};

/* What is under way to a target: an open or a stop. The first member of what each protocol, and the
 * way through an agent, has of its own. It is gone by itself once it has called back. */
struct opening {
    void (*cancel)(struct opening *opening);
};

/* At any time before it has called back, which it then does not any more. */
void opening_cancel(struct opening *opening);

/* One of the two is NULL. */
typedef void (*opened_fn)(void *owner, const struct arrival *arrival,
                          const struct target_failure *failure);
/* NULL: the target has taken the request. */
typedef void (*stopped_fn)(void *owner, const struct error *error);

#endif
