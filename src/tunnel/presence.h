/* SPDX-License-Identifier: MIT */
/* Writes down in the store which agents have a link to this gateway: at once when one comes or
 * goes, and again every few seconds, since what is written is true only for a while; so a gateway
 * that dies takes nobody's word for longer. A thread of its own, which sleeps while nothing
 * changes. An agent that is not in the store any more loses its links. Where several gateways use
 * the store it says that this one is there, too, and looks every second who else is. */
#ifndef GH_TUNNEL_PRESENCE_H
#define GH_TUNNEL_PRESENCE_H

#include "store/store.h"
#include "tunnel/nodes.h"
#include "tunnel/registry.h"

struct presence;

struct presence_settings {
    struct store *store;
    struct registry *registry;
    struct nodes *nodes; /* NULL: there is no need to know of others */
    /* On presence's thread: other gateways have come or gone. */
    void (*on_nodes)(void *owner);
    void *owner;
};

enum err presence_start(const struct presence_settings *settings,
                        struct presence **ret_presence) MUST_USE;
/* When no link is left: what is still to be written is written first. */
void presence_stop(struct presence *presence);

#endif
