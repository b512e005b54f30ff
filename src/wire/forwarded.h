/* SPDX-License-Identifier: MIT */
/* What proxies say of a request that they pass on: X-Forwarded-For and X-Forwarded-Proto, or
 * Forwarded (RFC 7239) where there is no X-Forwarded-For. Each proxy adds who asked it at the right
 * end, so the walk goes from there to the left as long as what speaks is trusted. What stands
 * further left was written by somebody who is not, and is not even looked at. */
#ifndef GH_WIRE_FORWARDED_H
#define GH_WIRE_FORWARDED_H

#include "wire/address.h"
#include "wire/http.h"

struct forwarded {
    /* The first address from the right that is not trusted; when all are, the last one; the peer
     * when the headers name nobody. */
    struct address client;
    /* Something that is no address ended the walk: 'client' is a proxy, and who asked it is not
     * known. */
    bool is_cut;
    bool is_https; /* what the client spoke, if a trusted proxy says so */
};

/* Whether one of the headers is there, be it empty: then somebody else asks than the peer. */
bool forwarded_is_there(const struct http_header *headers, size_t count);

/* To be called for a trusted peer only. */
struct forwarded forwarded_read(const struct http_header *headers, size_t count,
                                const struct network_list *trusted, const struct address *peer);

#endif
