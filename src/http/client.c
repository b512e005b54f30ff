/* SPDX-License-Identifier: MIT */
#include "http/client.h"

#include "wire/forwarded.h"

_Static_assert(sizeof(((struct http_peer *)NULL)->address) >= ADDRESS_TEXT_SIZE, "it fits");

void http_peer_set(struct http_peer *peer, const struct address *address)
{
    peer->ip = *address;
    peer->is_loopback = address_is_loopback(address);
    (void)address_format(address, peer->address);
}

void http_client_find(const struct network_list *trusted, struct http_request *request)
{
    struct http_peer *peer = &request->peer;
    if (trusted->count == 0 || peer->is_control || !network_list_has(trusted, &peer->ip)) {
        return;
    }
    request->has_trusted_peer = true;
    struct forwarded forwarded =
        forwarded_read(request->headers, request->header_count, trusted, &peer->ip);
    http_peer_set(peer, &forwarded.client);
    /* Somebody whom the proxy cannot name is not the proxy. */
    peer->is_loopback = peer->is_loopback && !forwarded.is_cut;
    request->is_encrypted = request->is_encrypted || forwarded.is_https;
}
