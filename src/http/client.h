/* SPDX-License-Identifier: MIT */
/* Who a request is from: the peer of its connection, or, when that is a trusted proxy, whom the
 * proxy names. Judged anew for each request, since one connection of a proxy carries many people's.
 */
#ifndef GH_HTTP_CLIENT_H
#define GH_HTTP_CLIENT_H

#include "http/request.h"
#include "wire/address.h"

/* Of the connection, when it was accepted. */
void http_peer_set(struct http_peer *peer, const struct address *address);

/* The head is complete, and 'peer' is the connection's. */
void http_client_find(const struct network_list *trusted, struct http_request *request);

#endif
