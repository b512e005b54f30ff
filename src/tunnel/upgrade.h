/* SPDX-License-Identifier: MIT */
/* The HTTP/1.1 request with which an agent asks a gateway for a link, and the answer. Pure. */
#ifndef GH_TUNNEL_UPGRADE_H
#define GH_TUNNEL_UPGRADE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"

struct upgrade_request {
    struct slice authority; /* host:port, as in a URL */
    struct slice prefix;    /* of the path, of a gateway behind a proxy; may be empty */
    struct slice name;      /* the agent's, as it was told; may be empty */
    struct slice secret;
    size_t link; /* which of the agent's links to the node this is, from 0 */
};

/* Of the header that says so. */
#define UPGRADE_LINK_HEADER "Gatehouse-Link"

/* ERR_LIMIT: the buffer is too small; ERR_INPUT: a value that cannot stand in a header. */
enum err upgrade_write(const struct upgrade_request *request, struct buf *buf) MUST_USE;

/* Reads the answer: ERR_NONE with its size, what is behind it is the link's; ERR_MORE; or what the
 * gateway has against it: ERR_UNAUTHENTICATED, ERR_UNAVAILABLE, ERR_UNSUPPORTED, ERR_INPUT. At most
 * LIMIT_TUNNEL_ANSWER_SIZE bytes are looked at. */
enum err upgrade_read(struct slice bytes, size_t *ret_size, struct error *reterr) MUST_USE;

#endif
