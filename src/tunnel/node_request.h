/* SPDX-License-Identifier: MIT */
/* What one gateway asks of another that uses the same store, as bytes. It is sealed when it travels
 * (nodes.h). Pure: bytes in, struct out, and back. */
#ifndef GH_TUNNEL_NODE_REQUEST_H
#define GH_TUNNEL_NODE_REQUEST_H

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

enum node_wish {
    NODE_WISH_RECORDING, /* a piece of a session's recording, as it lies in the file */
    NODE_WISH_CANCEL,    /* that what a session does is cancelled */
};

struct node_request {
    struct slice id;      /* of this request: the answer is bound to it */
    struct slice node_id; /* who is asked */
    int64_t asked_at;
    enum node_wish wish;
    struct slice session_id; /* of a recording */
    int64_t started_at;
    uint64_t from;       /* where the piece begins */
    uint32_t key_number; /* of what cancels */
    struct slice key_secret;
};

enum err node_request_write(const struct node_request *request, struct buf *buf) MUST_USE;
/* Its texts are views. */
enum err node_request_read(struct slice bytes, struct node_request *ret_request,
                           struct error *reterr) MUST_USE;

/* What is answered to the wish for a recording; bytes that are a view. */
struct node_piece {
    struct slice bytes; /* empty: the file ends before */
    uint64_t size;      /* of the file */
    bool is_written_to; /* its session goes on */
};

enum err node_piece_write(const struct node_piece *piece, struct buf *buf) MUST_USE;
enum err node_piece_read(struct slice bytes, struct node_piece *ret_piece,
                         struct error *reterr) MUST_USE;

#endif
