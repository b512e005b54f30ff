/* SPDX-License-Identifier: MIT */
/* What the two halves of an HTTP/1.1 connection share: http1_conn.c reads, http1_answer.c writes.
 */
#ifndef GH_HTTP_HTTP1_CONN_INTERNAL_H
#define GH_HTTP_HTTP1_CONN_INTERNAL_H

#include "http/http1_conn.h"

/* "HTTP/1.1 100", a head, a chunk line, a part, the chunk's end. */
#define HTTP1_OUT_MAX 6

enum http1_phase {
    HTTP1_PHASE_HEAD,   /* reading a head, or idle before it */
    HTTP1_PHASE_BODY,   /* reading a body */
    HTTP1_PHASE_HANDLE, /* a handler works, or streams and has nothing to send right now */
    HTTP1_PHASE_ANSWER, /* bytes of an answer are going out */
    HTTP1_PHASE_LINGER, /* answered and closing; what still comes is dropped so that no reset
                           destroys the answer on its way */
    HTTP1_PHASE_CLOSED,
};

struct http1_conn {
    struct http_conn conn;
    struct stream *stream;
    struct loop_task free_task;
    struct loop_task sent_task;
    struct timer timer;
    enum http1_phase phase;
    struct exchange *exchange;
    struct buf inbox; /* read, not yet used */
    size_t scanned;   /* of the inbox, by the search for the head's end */
    uint64_t body_left;
    struct http1_chunked chunked;
    enum http1_body body_kind;
    bool is_http10;
    bool is_new;       /* nothing was read yet */
    bool keep_alive;   /* after the current answer */
    bool input_ended;  /* the client will send no more */
    bool is_shut_down; /* our end is sent */
    bool is_consuming; /* the input loop is running, further down the stack */
    bool is_chunked_out;
    bool is_last_out; /* what is going out ends the answer */
    struct slice out[HTTP1_OUT_MAX];
    size_t out_count;
    char chunk_line[24];
    /* After 101 is out, and what came behind the request is in the inbox. */
    bool is_upgrade_ready;
    exchange_upgraded_fn on_upgraded;
    void *upgrade_owner;
};

extern const struct exchange_transport http1_transport;

/* http1_conn.c */
void http1_conn_close(struct http1_conn *conn);
void http1_conn_watch(struct http1_conn *conn);
/* The answer is out: the next request, or the end. */
void http1_conn_answered(struct http1_conn *conn);
void http1_conn_upgrade(struct http1_conn *conn);

/* http1_answer.c */
void http1_conn_put(struct http1_conn *conn, struct slice bytes);
void http1_conn_flush(struct http1_conn *conn);
void http1_conn_part_sent(void *owner);

#endif
