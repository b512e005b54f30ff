/* SPDX-License-Identifier: MIT */
/* HTTP/1.1 on the wire (RFC 9112), the server's side: bytes to requests and responses to bytes.
 * Strict: whatever two parsers could read in two ways is refused. Nothing is allocated or copied;
 * slices in a request point into the head that was parsed. On any result but ERR_NONE and
 * ERR_MORE the problem is set and the connection is beyond use after the answer: its next request
 * cannot be found. Does not decode targets, nor know what a route or a header means. */
#ifndef GH_WIRE_HTTP1_H
#define GH_WIRE_HTTP1_H

#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"
#include "base/writer.h"
#include "wire/http.h"

#include <stdint.h>

/* What to answer: 400, 414, 417, 431, 501 or 505, and a static text in lower case. */
struct http1_problem {
    int status;
    const char *text;
};

enum http1_body {
    HTTP1_BODY_NONE, /* also for Content-Length: 0 */
    HTTP1_BODY_LENGTH,
    HTTP1_BODY_CHUNKED,
};

struct http1_request {
    struct slice method;
    struct slice target; /* as sent, in any of its four forms */
    /* The target's parts: path starts with '/' (a static "/" when an absolute-form target has
     * none), is "*" for OPTIONS *, and empty for CONNECT. query is what follows '?', at == NULL
     * without one. Both are still percent-encoded. */
    struct slice path;
    struct slice query;
    /* With its port, as sent; from an absolute-form target if there is one, else from Host. Empty
     * only in HTTP/1.0. */
    struct slice host;
    unsigned version_minor; /* 0 or 1 */
    enum http1_body body;
    uint64_t content_length; /* 0 unless HTTP1_BODY_LENGTH */
    bool keep_alive;
    bool expect_continue; /* the client waits for 100 before it sends the body, which there is */
    bool upgrade;         /* Connection: upgrade, with an Upgrade header, in HTTP/1.1 */
    size_t header_count;
    struct http_header headers[LIMIT_HTTP_HEADER_COUNT]; /* the first header_count are set */
};

/* Finds where the head ends (after CR LF CR LF; up to two empty lines before the request line
 * belong to it, RFC 9112 2.2). 'input' starts at the head's first byte in each call; *scanned is 0
 * in the first and carries the progress, so that a head that comes byte by byte costs no more than
 * one that comes whole. ERR_NONE with *ret_size, ERR_MORE, ERR_INPUT at the first bare CR, bare LF
 * or NUL, ERR_LIMIT beyond LIMIT_HTTP_HEAD_SIZE. */
enum err http1_head_find(struct slice input, size_t *scanned, size_t *ret_size,
                         struct http1_problem *reterr_problem) MUST_USE;

/* Parses the head that http1_head_find() found, all *ret_size bytes of it. ERR_NONE, ERR_INPUT,
 * ERR_LIMIT (414, 431) or ERR_UNSUPPORTED (417, 501, 505); then *ret_request is not to be used. */
enum err http1_request_parse(struct slice head, struct http1_request *ret_request,
                             struct http1_problem *reterr_problem) MUST_USE;

enum http1_chunked_state {
    HTTP1_CHUNKED_SIZE,
    HTTP1_CHUNKED_EXTENSION,
    HTTP1_CHUNKED_SIZE_LF,
    HTTP1_CHUNKED_DATA,
    HTTP1_CHUNKED_DATA_CR,
    HTTP1_CHUNKED_DATA_LF,
    HTTP1_CHUNKED_TRAILER_START,
    HTTP1_CHUNKED_TRAILER_NAME,
    HTTP1_CHUNKED_TRAILER_VALUE,
    HTTP1_CHUNKED_TRAILER_LF,
    HTTP1_CHUNKED_END_LF,
};

/* All zero is the start of a body. */
struct http1_chunked {
    enum http1_chunked_state state;
    uint64_t left;         /* bytes of this chunk still to come */
    size_t digit_count;    /* of this chunk's size */
    size_t line_size;      /* of this chunk's first line, so far */
    size_t extension_size; /* of all chunks, so far */
    size_t trailer_size;   /* of all trailers, so far */
    bool done;             /* the body ended; what follows is the next request */
};

/* Takes bytes of a chunked body up to the end of a run of data, the end of the body or the end of
 * the input; nothing needs to be kept by the caller. Call it while input is left and !done.
 *   ERR_NONE: *ret_taken bytes were used; *ret_data views body bytes inside 'input', or done is set
 *             (then it is empty)
 *   ERR_MORE: all of 'input' was used, *ret_taken == input.len, *ret_data is empty
 *   ERR_INPUT, ERR_LIMIT (line or trailers too long): the decoder must not be used again. */
enum err http1_chunked_next(struct http1_chunked *chunked, struct slice input, size_t *ret_taken,
                            struct slice *ret_data) MUST_USE;

/* A response head: begin, any headers, end. An interim answer (100) is begin and end. A name that
 * is no token, or a value with a control byte, makes the writer failed, so that no value can add
 * headers of its own. */
void http1_response_begin(struct writer *writer, int status);
void http1_response_header(struct writer *writer, struct slice name, struct slice value);
void http1_response_end(struct writer *writer);

/* The line before 'size' bytes of data, and what follows them. size > 0: a chunk of 0 would end
 * the body. */
void http1_chunk_begin(struct writer *writer, size_t size);
void http1_chunk_end(struct writer *writer);
/* The last chunk, without trailers. */
void http1_chunk_last(struct writer *writer);

#endif
