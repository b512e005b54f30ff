/* SPDX-License-Identifier: MIT */
/* What the API's handlers work on. 'struct api' is made at the start and, but for has_users,
 * read-only afterwards; what it points to is safe to use from any thread. 'struct api_call' is one
 * request: when its handler runs, who calls is known and may call this route. */
#ifndef GH_API_API_H
#define GH_API_API_H

#include "codec/shape.h"
#include "http/call.h"
#include "http/server.h"
#include "identity/identity.h"
#include "model/caller.h"
#include "session/replay.h"
#include "store/audit_store.h"
#include "store/store.h"

#include <stdatomic.h>

struct askers;
struct courier;
struct gate;
struct reader_slots;
struct seal_keys;
struct protocols;
struct organization_list;
struct secret_trust;
struct target_calls;

/* Where native clients of one protocol connect to. */
struct native_address {
    struct slice subtype; /* of the connections that they reach */
    struct slice host;
    unsigned port;
    bool needs_tls; /* clients come with it or not at all */
};

struct native_addresses {
    const struct native_address *items;
    size_t count;
};

struct api {
    struct store *store;
    struct identity *identity;
    struct pool *pool;
    const struct router *router;
    struct http_worker **workers;
    size_t worker_count;
    const char *version;
    struct rate_limit *address_rate; /* of sign-ins */
    struct rate_limit *account_rate;
    struct refusals *refusals;
    struct askers *askers;   /* who waits for the identity provider */
    struct pool *hashing;    /* of passwords */
    struct slice public_url; /* under which people reach this gateway, without a slash at the end */
    bool knows_public_url;   /* it was given, or is this machine */
    bool takes_passwords;
    atomic_bool has_users;    /* once there are some, there always are: the last admin stays */
    struct slice setup_code;  /* lets the first person in from elsewhere than this machine */
    struct slice description; /* the OpenAPI document */
    bool uses_tls;
    const struct protocols *protocols;
    struct native_addresses native;
    struct gate *gate;         /* NULL: there are no native clients */
    struct registry *registry; /* of the agents' links */
    struct gateway_side *gateway_side;
    struct nodes *nodes; /* the other gateways of this store */
    struct seal_keys *keys;
    const char *recordings;     /* their folder */
    replay_find_fn find_replay; /* how they are read */
    struct reader_slots *readers;
    struct target_calls *target_calls;
    const struct secret_trust *secret_trust;
    const struct organization_list *local_commands;
    int64_t review_us;       /* that a request for a review, and an approved script, wait */
    struct slice process_id; /* of this start of the gateway */
    struct courier *courier; /* sends notifications */
};

struct api_route;

struct api_call {
    struct api *api;
    const struct api_route *route;
    struct http_call *http;
    struct arena *arena;
    const struct http_request *request;
    struct http_response *response;
    struct caller caller;  /* zeroed on routes that anyone may call */
    struct slice token_id; /* of a signed-in person */
    bool has_lent_token;
    int64_t token_expires_at;
    int audited_status; /* of the last entry that was written; 0: none was */
    bool has_body;      /* it was asked for, and is 'body' */
    struct json body;
    struct shape_texts warnings; /* about members of it; the answer has them */
};

/* For what asks the identity provider: ERR_NONE where it may; else ERR_AGAIN, to be returned at
 * once, and the handler is run again where it may. What can be known without asking is found out
 * before. */
enum err api_may_ask(const struct api_call *call, struct error *reterr) MUST_USE;

/* Who calls, asked again in the course of a long answer. ERR_UNAUTHENTICATED: nobody any more. */
enum err api_verify_again(const struct api_call *call, struct arena *arena,
                          struct caller *ret_caller, struct error *reterr) MUST_USE;

/* What the caller has proven himself with, for who outlives the call: a secret. */
struct identity_credential api_credential_in(struct arena *arena, const struct api_call *call);

typedef enum err (*api_handler_fn)(struct api_call *call, struct error *reterr);

/* The body of a route that has one: every member of it is known to the route's shape, or idle
 * (idle_members.h). Asked for again, it is the same. */
enum err api_body(struct api_call *call, struct json *ret_body, struct error *reterr) MUST_USE;
/* Reads it, strictly, into the zeroed 'target'. */
enum err api_read_body(struct api_call *call, enum shape_mode mode, const struct shape *shape,
                       void *target, struct error *reterr) MUST_USE;
enum err api_read_query(struct api_call *call, const struct shape *shape, void *target,
                        struct error *reterr) MUST_USE;

/* SLICE_NONE when there is none. */
struct slice api_cookie(const struct api_call *call, struct slice name);

/* Starts the answer; end it with api_answer_end. */
struct json_writer api_answer(struct api_call *call, int status);
enum err api_answer_end(struct api_call *call, const struct json_writer *json,
                        struct error *reterr) MUST_USE;
/* 'pages' of a list: {"page", "size", "total"}. */
struct api_page {
    struct shape_int page;
    struct shape_int page_size;
};

#define API_PAGE_SIZE 50

int64_t api_page_limit(const struct api_page *page);
int64_t api_page_offset(const struct api_page *page);
void api_write_pages(struct json_writer *json, const struct api_page *page, int64_t total);
/* A place in a list, where it goes on: a number, and text behind it. With 'cursor', which may be
 * empty for the start, an answer has 'next_cursor', and no more than LIMIT_LIST_LOOKED rows are
 * looked at. */
struct api_cursor {
    bool is_given;
    int64_t number; /* 0: from the start */
    struct slice text;
};

/* As api_read_query; names that the shape does not have are refused. 'ret_cursor' is set from the
 * query's 'cursor'. */
enum err api_read_list_query(struct api_call *call, const struct shape *shape, void *target,
                             struct api_cursor *ret_cursor, struct error *reterr) MUST_USE;
/* 'next' may be NULL: the list ends here. */
void api_write_cursor(struct api_call *call, struct json_writer *json,
                      const struct api_cursor *next);
#define API_CURSOR_FIELD(type, member)                                                             \
    {                                                                                              \
        .name = "cursor", .kind = SHAPE_TEXT, .offset = offsetof(type, member), .max = 300,        \
        .about = "'next_cursor' of the answer before, or empty for the first; it takes the place " \
                 "of a page's number"                                                              \
    }
/* The fields of a query that every list has. */
#define API_PAGE_FIELDS(type, member)                                                              \
    {.name = "page",                                                                               \
     .kind = SHAPE_INT,                                                                            \
     .offset = offsetof(type, member) + offsetof(struct api_page, page),                           \
     .min = 1,                                                                                     \
     .max = 1000000000,                                                                            \
     .about = "the page, from 1 on"},                                                              \
    {                                                                                              \
        .name = "page_size", .kind = SHAPE_INT,                                                    \
        .offset = offsetof(type, member) + offsetof(struct api_page, page_size), .min = 1,         \
        .max = 100, .about = "how many of them on a page"                                          \
    }

/* The audit entry of this call, in the transaction of the change: 'payload' is a JSON object of
 * what may be shown, or empty. The body of the transaction may run again. */
enum err api_audit(struct api_call *call, struct store_tx *tx, const char *action, int status,
                   struct slice payload, struct error *reterr) MUST_USE;
/* The same entry, for what writes it later. */
struct audit_entry api_audit_entry(struct api_call *call, const char *action, int status,
                                   struct slice payload);
/* The entry of something that was refused, and why, in a transaction that goes through. */
enum err api_audit_refusal(struct api_call *call, struct store_tx *tx, const char *action,
                           int status, struct slice reason, struct error *reterr) MUST_USE;
/* The same in a transaction of its own, for what changes nothing but is to be known. */
enum err api_audit_alone(struct api_call *call, const char *action, int status,
                         struct slice payload, struct error *reterr) MUST_USE;

/* A JSON text being made for the arena, for payloads. */
struct api_text {
    struct buf buf;
    struct json_writer json;
};

void api_text_begin(struct api_text *text);
struct slice api_text_end_in(struct arena *arena, struct api_text *text);

/* The one route handler that http sees: who calls, may he, the handler, the entry of what failed.
 */
enum err api_run(struct http_call *http, struct error *reterr);

#endif
