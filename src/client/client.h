/* SPDX-License-Identifier: MIT */
/* One person's way to one gateway: its address, the token, and requests over HTTP by libcurl, which
 * also knows HTTPS_PROXY and NO_PROXY. The token goes into a header and nowhere else. */
#ifndef GH_CLIENT_CLIENT_H
#define GH_CLIENT_CLIENT_H

#include "client/contexts.h"
#include "codec/json.h"

#include <stdint.h>

struct client {
    struct arena *arena;
    struct client_context context;
    struct slice token;    /* empty: nobody is signed in */
    bool has_token_of_env; /* of GATEHOUSE_TOKEN, which is no file's */
    int signal_fd;         /* tells that the person wants to stop; -1: a signal ends the process */
    int64_t deadline;      /* by clock_monotonic(); 0: none */
};

struct client_request {
    const char *method;
    struct slice path; /* behind the address: "/api/…" */
    struct slice body; /* at == NULL: none */
    bool is_form;      /* the body; else it is JSON */
};

struct client_answer {
    long status;
    struct slice body;
    struct json json; /* of a body that is JSON; else absent */
};

/* From now on SIGINT, SIGTERM and SIGHUP make requests end with ERR_CLOSED. */
enum err client_catch_signals(struct client *client, struct error *reterr) MUST_USE;
/* A signal that came meanwhile, which counts as told then. */
bool client_was_interrupted(const struct client *client);
/* Waits, or until a signal comes (ERR_CLOSED). */
enum err client_pause(const struct client *client, int64_t ms, struct error *reterr) MUST_USE;

/* Any status is an answer. ERR_UNAVAILABLE: there was none; ERR_CLOSED: interrupted; ERR_TIMEOUT:
 * the deadline. */
enum err client_ask(struct client *client, const struct client_request *request,
                    struct client_answer *ret_answer, struct error *reterr) MUST_USE;
/* As client_ask(), but statuses of 400 and more become errors, with the gateway's own words. */
enum err client_call(struct client *client, const struct client_request *request,
                     struct client_answer *ret_answer, struct error *reterr) MUST_USE;
/* GET, and no body means no JSON. */
enum err client_get(struct client *client, struct slice path, struct json *ret_json,
                    struct error *reterr) MUST_USE;

/* Takes the next bytes of an answer; whatever fails ends it. */
typedef enum err (*client_sink_fn)(void *context, struct slice bytes, struct error *reterr);
/* A GET whose answer is handed on as it comes, however long that takes. */
enum err client_stream(struct client *client, struct slice path, client_sink_fn sink, void *context,
                       struct error *reterr) MUST_USE;

/* What an answer of 400 and more means: its words, and what to do. */
enum err client_refusal(const struct client *client, const struct client_answer *answer,
                        struct error *reterr) MUST_USE;

/* An upgraded connection, for client/tunnel.c and client/terminal.c. */
struct client_link;

struct client_upgrade {
    struct slice path;
    const char *protocol;
    struct slice headers;         /* more of them, whole lines; may be empty */
    struct slice answer;          /* a line that the answer must have; of no length: none */
    struct client_wait *ret_wait; /* NULL: nothing is waited for */
};

/* Others must approve before the gateway agrees. */
struct client_wait {
    struct arena *arena;    /* of the caller's, for the rest */
    struct slice review_id; /* empty: nobody must */
    struct slice review_url;
};

/* Blocks until the gateway has agreed to the protocol. From any thread, several at once. */
enum err client_link_open(const struct client *client, const struct client_upgrade *upgrade,
                          struct client_link **ret_link, struct error *reterr) MUST_USE;
void client_link_close(struct client_link *link);
int client_link_fd(const struct client_link *link);
/* Says a line and waits for the one that answers, which is on 'arena' then, without its end. What
 * comes behind it is read by client_link_read(). ERR_CLOSED, ERR_TIMEOUT, ERR_LIMIT: there is none.
 */
enum err client_link_ask(struct client_link *link, struct arena *arena, struct slice line,
                         struct slice *ret_answer) MUST_USE;
/* Neither blocks: ERR_AGAIN; ERR_CLOSED at the end; ERR_IO. */
enum err client_link_read(struct client_link *link, char *at, size_t size,
                          size_t *ret_len) MUST_USE;
enum err client_link_write(struct client_link *link, struct slice bytes, size_t *ret_len) MUST_USE;
/* Nothing more is written; what comes can be read to its end. ERR_AGAIN: call again. */
enum err client_link_finish(struct client_link *link) MUST_USE;

#endif
