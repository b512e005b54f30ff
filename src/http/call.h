/* SPDX-License-Identifier: MIT */
/* What a handler on the pool works with: the request, the answer, an arena that dies with both, and
 * what the program gave the server as its context. */
#ifndef GH_HTTP_CALL_H
#define GH_HTTP_CALL_H

#include "base/arena.h"
#include "codec/json_writer.h"
#include "http/exchange.h"

struct http_call {
    struct arena *arena;
    const struct http_request *request;
    struct http_response *response;
    void *context;
    struct exchange *exchange; /* for call.c */
    bool may_ask;              /* on the pool of what asks others, see http_call_run */
    void *state;               /* NULL at first; kept from one run to the next, in the arena */
    int64_t retry_after_s;     /* told with an error; 0: nothing is known */
};

/* Starts a JSON body; close it with http_call_json_end. */
struct json_writer http_call_json(struct http_call *call, int status);
enum err http_call_json_end(struct http_call *call, const struct json_writer *json,
                            struct error *reterr) MUST_USE;

/* A streamed answer: begin, then any number of writes, which block until the client has taken them,
 * so that memory stays constant. ERR_CLOSED: the client is gone, stop. The stream ends when the
 * handler returns; when it returns an error then, the connection is cut so that the client sees
 * that the answer is not whole. */
enum err http_call_stream_begin(struct http_call *call) MUST_USE;
enum err http_call_stream_write(struct http_call *call, struct slice bytes) MUST_USE;

/* After the handler has returned ERR_NONE the connection speaks 'protocol' (a literal), and is
 * given away on its worker: 'owner' is of the call's arena, which dies after 'on_upgraded'; that is
 * not called when the client has gone. ERR_INPUT: the client did not ask for this, or cannot. */
enum err http_call_upgrade(struct http_call *call, struct slice protocol,
                           exchange_upgraded_fn on_upgraded, void *owner,
                           struct error *reterr) MUST_USE;

/* Whether the client asks for a WebSocket (RFC 6455 4.2.1). ERR_INPUT says what is wrong. */
enum err http_call_check_websocket(const struct http_call *call, struct error *reterr) MUST_USE;
/* As http_call_upgrade(), after that check: what is given away speaks WebSocket from here on. */
enum err http_call_websocket(struct http_call *call, exchange_upgraded_fn on_upgraded, void *owner,
                             struct error *reterr) MUST_USE;

/* For later.c: the call of an exchange; an error as its answer. */
struct http_call http_call_of(struct exchange *exchange);
void http_call_answer_error(struct http_call *call, const struct error *error);

/* For exchange.c: runs the route's handler on this pool thread and sends the exchange back. A
 * handler that returns ERR_AGAIN is run once more: one that may not ask others on the pool where it
 * may, one that may on the route's own. What it has answered until then is forgotten. */
void http_call_run(struct pool_job *job);

#endif
