/* SPDX-License-Identifier: MIT */
/* Writes down in the store which agents have a link to this gateway: at once when one comes or
 * goes, and again every few seconds, since what is written is true only for a while; so a gateway
 * that dies takes nobody's word for longer. A thread of its own, which sleeps while nothing
 * changes. An agent that is not in the store any more loses its links. */
#ifndef GH_TUNNEL_PRESENCE_H
#define GH_TUNNEL_PRESENCE_H

#include "store/store.h"
#include "tunnel/registry.h"

struct presence;

enum err presence_start(struct store *store, struct registry *registry,
                        struct presence **ret_presence) MUST_USE;
/* When no link is left: what is still to be written is written first. */
void presence_stop(struct presence *presence);

#endif
