/* SPDX-License-Identifier: MIT */
/* A request as a handler sees it, whatever HTTP version brought it. All slices live as long as the
 * exchange. */
#ifndef GH_HTTP_REQUEST_H
#define GH_HTTP_REQUEST_H

#include "wire/address.h"
#include "wire/http.h"

#include <stdint.h>

#define HTTP_PATH_VALUES_MAX 4

/* Who asks: of a request, behind the proxies that are trusted; of a connection, its other end. */
struct http_peer {
    struct address ip;
    char address[48]; /* the same as text; empty for the control socket */
    bool is_loopback;
    bool is_control; /* came over the socket that only the gateway's own user may open */
};

struct http_request {
    struct slice method;
    struct slice path;  /* as sent, percent-encoded, starts with '/' */
    struct slice query; /* what follows '?', percent-encoded */
    struct slice host;
    const struct http_header *headers;
    size_t header_count;
    struct slice body;
    /* The decoded {parts} of the route's pattern, in its order. */
    struct slice values[HTTP_PATH_VALUES_MAX];
    struct http_peer peer;
    bool has_trusted_peer;        /* a proxy's address that is believed in who asks it */
    bool needs_credential;        /* the route is open to others than who asks */
    bool is_encrypted;            /* here, or as far as the first trusted proxy */
    struct slice tunnel_protocol; /* of an extended CONNECT; else empty */
    struct slice cors_origin;     /* of the page that asks, if it may; else empty */
};

struct slice http_request_header(const struct http_request *request, struct slice name);

#endif
